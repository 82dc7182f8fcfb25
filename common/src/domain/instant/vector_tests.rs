//! Vectors that programs in Python and JavaScript agree on; every rule of a plan.

use std::num::NonZeroU64;

use proptest::prelude::*;

use super::*;
use crate::domain::Timestamp;
use crate::domain::campaign::Window;
use crate::domain::digest::Digest;

const HEADER: &str = r#"{"algorithm":"svc-instant-v1","campaign":"chai-bora-2026","caps":{"day":1,"total":2},"chain":"52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971","curves":{"holiday":[2,1,1,1],"weekday":[1,1,1,1,1,2,4,8,10,10,10,10,12,12,10,10,10,14,18,20,20,14,6,3]},"days":[{"curve":"weekday","from":1798059600,"prizes":[5,1],"to":1798146000},{"curve":"holiday","from":1798146000,"prizes":[3,0],"to":1798232400}],"environment":"live","prizes":["Airtime 1,000","Simu"],"round":35085212,"secret":"7427de665d75452e8470ed24146debe125b97dc1f3cfdf07d8e18af6b0bc881f"}"#;

/// Randomness of quicknet's round 657413.
const RANDOMNESS: &str = "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587";

/// `None` for an entry without a prize.
pub(super) const ENTRIES: [(i64, &str, &str, Option<usize>); 13] = [
    (1_798_079_372_037, "AAAA-2222", "a", None),
    (1_798_079_372_038, "BBBB-3333", "b", Some(0)),
    (1_798_079_372_039, "CCCC-4444", "c", None),
    (1_798_097_734_907, "DDDD-5555", "b", None),
    (1_798_097_800_000, "EEEE-6666", "c", Some(0)),
    (1_798_131_131_536, "FFFF-7777", "d", Some(0)),
    (1_798_131_131_540, "GGGG-8888", "e", Some(0)),
    (1_798_131_536_197, "HHHH-9999", "f", Some(1)),
    (1_798_145_999_999, "JJJJ-2A2A", "g", Some(0)),
    (1_798_146_000_000, "KKKK-3A3A", "b", None),
    (1_798_149_646_659, "LLLL-4A4A", "h", Some(0)),
    (1_798_232_399_999, "MMMM-5A5A", "b", Some(0)),
    (1_798_232_399_999, "NNNN-6A6A", "i", Some(0)),
];

pub(super) fn header() -> Header {
    serde_json::from_str(HEADER).expect("a header")
}

fn secret() -> PlanSecret {
    PlanSecret::from_bytes(*Digest::from_parts(&[b"secret of the vector"]).as_bytes())
}

pub(super) fn schedule() -> Schedule {
    schedule_of(header())
}

pub(super) fn schedule_of(header: Header) -> Schedule {
    let plan = Plan::new(header).expect("no problem");
    let randomness = RANDOMNESS.parse().expect("a digest");
    Schedule::new(plan, &secret(), randomness).expect("its secret")
}

pub(super) fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn bytes_and_commitment_are_the_vectors() {
    let plan = Plan::new(header()).expect("no problem");
    assert_eq!((plan.json(), plan.json().len()), (HEADER, 560));
    assert_eq!(
        Digest::from_parts(&[plan.json().as_bytes()]).to_string(),
        "bd42fc7006551c31ad1516ea26251935f05c231c1f35d39df4019b75b05131aa"
    );
    assert_eq!(
        plan.commitment().to_string(),
        "e8d5ba700a57540c41ba4e66af5d5d638810764fa1b1b2bd58ea3c0aaee434bd"
    );
}

#[test]
fn seed_and_moments_are_the_vectors() {
    let schedule = schedule();
    assert_eq!(
        schedule.seed().to_string(),
        "29be266afbf3912281b1356f90c7b01ee8ae3c687da86f36a6c716d996589fa2"
    );
    let airtime = [
        1_798_079_372_038,
        1_798_082_254_278,
        1_798_097_734_907,
        1_798_126_350_165,
        1_798_131_536_197,
        1_798_149_646_659,
        1_798_162_036_708,
        1_798_202_627_157,
    ];
    let phone = [1_798_131_109_019];
    assert_eq!(
        schedule.all_moments(),
        [airtime.map(time).to_vec(), phone.map(time).to_vec(),]
    );
    let other = PlanSecret::from_bytes([1; 32]);
    let randomness = RANDOMNESS.parse().expect("a digest");
    let plan = schedule.plan().clone();
    assert!(Schedule::new(plan, &other, randomness).is_none());
}

#[test]
fn earlier_days_count_from_the_header_alone() {
    let (schedule, all) = (schedule(), schedule().all_moments());
    let start = header().days[0].start();
    assert_eq!(schedule.moments_at(start.shifted(-1)), None);
    let of_all = |prize: usize, at| all[prize].iter().filter(|moment| **moment <= at).count();
    let moments = all.iter().flatten().flat_map(|at| [at.shifted(-1), *at]);
    let days = header().days;
    let bounds = days
        .iter()
        .flat_map(|day| [day.start(), day.end().shifted(-1), day.end()]);
    for at in moments
        .chain(bounds)
        .chain([days[1].end().shifted(1 << 40)])
    {
        let of_day = schedule.moments_at(at).expect("a day");
        for prize in 0..2 {
            let due = usize::try_from(of_day.due(prize, at)).expect("few");
            assert_eq!(due, of_all(prize, at), "{prize} at {at}");
        }
    }
}

/// Gives each entry the oldest open prize, unless its entrant is at a cap.
#[test]
fn entries_win_as_in_the_vector() {
    let (schedule, caps) = (schedule(), header().caps);
    let (mut given, mut wins) = ([0_u32; 2], Vec::new());
    for (at, reference, entrant, expected) in ENTRIES {
        let at = time(at);
        let moments = schedule.moments_at(at).expect("a day");
        let mut of_entrant = wins.iter().filter(|(who, _)| *who == entrant);
        let total = of_entrant.clone().count();
        let of_day = of_entrant.by_ref().filter(|(_, day)| *day == moments.day());
        let is_capped = total >= 2 || of_day.count() >= 1;
        let open = schedule.open_prizes(&moments, at, &given);
        let won = open.first().copied().filter(|_| !is_capped);
        assert_eq!(won, expected, "{reference}");
        if let Some(prize) = won {
            given[prize] += 1;
            wins.push((entrant, moments.day()));
        }
    }
    assert_eq!((given, caps), ([8, 1], Caps { day: 1, total: 2 }));
}

#[test]
fn oldest_open_moment_goes_first_whatever_its_day() {
    let schedule = schedule();
    let open = |at, given: [u32; 2]| {
        let at = time(at);
        let moments = schedule.moments_at(at).expect("a day");
        schedule.open_prizes(&moments, at, &given)
    };
    let second_day = 1_798_150_000_000;
    // Moments of the first day: airtime at …126350165, the phone at …131109019, airtime at …131536197.
    assert_eq!(open(second_day, [3, 0]), [0, 1]);
    assert_eq!(open(second_day, [4, 0]), [1, 0]);
    assert_eq!(open(second_day, [5, 0]), [1, 0]);
    assert_eq!(open(second_day, [6, 0]), [1]);
    assert!(open(second_day, [6, 1]).is_empty());
    assert_eq!(open(1_798_131_200_000, [3, 0]), [0, 1]);
}

#[test]
fn prizes_of_past_days_are_given_in_the_order_of_moments() {
    let mut header = header();
    header.days.push(Day {
        from: header.days[1].to,
        to: header.days[1].to + 86_400,
        ..header.days[1].clone()
    });
    header.days[1].prizes = vec![3, 3];
    let end = header.days[2].end();
    let schedule = schedule_of(header);
    let (all, moments) = (schedule.all_moments(), schedule.moments_at(end));
    let moments = moments.expect("a day");
    let of_prize =
        |(prize, moments): (usize, Vec<Timestamp>)| moments.into_iter().map(move |at| (at, prize));
    let mut order: Vec<_> = all.into_iter().enumerate().flat_map(of_prize).collect();
    order.sort_unstable();
    let mut given = [0, 0];
    for (_, prize) in order {
        let open = schedule.open_prizes(&moments, end, &given);
        assert_eq!(open.first(), Some(&prize), "{given:?}");
        given[prize] += 1;
    }
}

#[test]
fn no_moment_is_in_a_part_without_weight() {
    let mut header = header();
    // Parts of a millisecond.
    header.curves.insert("holiday".into(), [1, 0].repeat(500));
    header.days[1].to = header.days[1].from + 1;
    header.days[1].prizes = vec![100, 0];
    let start = header.days[1].start();
    let all = schedule_of(header).all_moments();
    let of_day: Vec<_> = all[0].iter().filter(|at| **at >= start).collect();
    assert_eq!(of_day.len(), 100);
    assert!(
        of_day.iter().all(|at| at.as_millis() % 2 == 0),
        "{of_day:?}"
    );
}

#[test]
fn claim_is_to_the_oldest_open_prize() {
    let (schedule, at) = (schedule(), time(1_798_131_536_197));
    let moments = schedule.moments_at(at).expect("a day");
    let expected = Claim {
        plan: schedule.plan().commitment(),
        prize: 1,
        text: "Simu".to_owned(),
        due: 1,
        day: 0,
        caps: header().caps,
    };
    assert_eq!(schedule.claim(&moments, at, &[4, 0]), Some(expected));
    assert_eq!(schedule.claim(&moments, at, &[5, 1]), None);
}

#[test]
fn day_digest_is_of_the_days_sorted_lines() {
    let header = header();
    let [first, second] = [header.days[0].start(), header.days[1].start()];
    let wins = [
        (second.shifted(-1), "r1", "e1", 0),
        (second, "r2", "e2", 0),
        (first, "r3", "e3", 1),
    ];
    let stops = [first..first.shifted(5), first.shifted(7)..second.shifted(9)];
    let digest = |day| header.day_digest(day, wins, &stops);
    let lines =
        "1798059600000,r3,e3,1\n1798145999999,r1,e1,0\nstart,1798059600005\nstop,1798059600007\n";
    assert_eq!(digest(0), Some(Digest::from_parts(&[lines.as_bytes()])));
    let lines = "1798146000000,r2,e2,0\nstart,1798146000009\n";
    assert_eq!(digest(1), Some(Digest::from_parts(&[lines.as_bytes()])));
    assert_eq!(digest(2), None);
}

#[test]
fn only_the_published_bytes_are_read() {
    for (text, expected) in [
        (HEADER.replace(":35085212", ": 35085212"), "another form"),
        (
            HEADER.replace("\"round\":35085212,", ""),
            "missing field `round`",
        ),
        (HEADER.replace(":35085212", ":35085212.0"), "invalid type"),
        (
            HEADER.replace("{\"day\":1,\"total\":2}", "{\"total\":2,\"day\":1}"),
            "another form",
        ),
        (HEADER.replace("Simu", "S\\u0069mu"), "another form"),
        (
            HEADER.replace("\"round\"", "\"extra\":1,\"round\""),
            "unknown field `extra`",
        ),
        (HEADER.replace("7427de", "7427DE"), "lower-case"),
        (
            HEADER.replace("instant-v1", "instant-v2"),
            "unknown variant",
        ),
        (
            HEADER.replace("\"total\":2", "\"total\":0"),
            "caps.total must be at least 1",
        ),
        (format!("{HEADER}\n"), "another form"),
    ] {
        let refused = Plan::read(&text).expect_err(&text).to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn each_broken_rule_names_its_place() {
    type Change = fn(&mut Header);
    let cases: [(Change, &str); 25] = [
        (
            |h| h.days[1].from -= 1,
            "days[1].from is 2026-12-24T20:59:59.000Z, and overlaps",
        ),
        (
            |h| h.days[1].from += 1,
            "days[1].from is 2026-12-24T21:00:01.000Z, and leaves a gap",
        ),
        (
            |h| h.days.swap(0, 1),
            "days[1].from is 2026-12-23T21:00:00.000Z, and not in order",
        ),
        (
            |h| h.days[1].from = h.days[0].from,
            "days[1].from is 2026-12-23T21:00:00.000Z, and not in order",
        ),
        (
            |h| h.days[1].to = h.days[1].from,
            "days[1].to must be later",
        ),
        (|h| h.days[1].to -= 86_401, "days[1].to must be later"),
        (
            |h| h.days[1].to = i64::MAX,
            "days[1] must have times in the years 1970 to 9999",
        ),
        (
            |h| h.curves.get_mut("holiday").unwrap().extend([1; 3]),
            "days[1] has 86400 seconds, which holiday does not divide into 7",
        ),
        (
            |h| h.curves.get_mut("holiday").unwrap().fill(0),
            "curves.holiday must have at least one weight",
        ),
        (
            |h| h.curves.get_mut("holiday").unwrap().clear(),
            "curves.holiday must have at least one weight",
        ),
        (
            |h| h.curves.get_mut("holiday").unwrap()[2] = 1_000_001,
            "curves.holiday[2] must be 1000000 at most",
        ),
        (
            |h| {
                // 125 parts of 2^27 milliseconds; weights add up to 2^26.
                let weights = [vec![536_870; 124], vec![536_984]].concat();
                h.curves.insert("heavy".into(), weights);
                h.days[0].curve = "heavy".into();
                h.days[0].from = h.days[0].to - 16_777_216;
            },
            "days[0].curve has too much weight",
        ),
        (
            |h| {
                h.curves.insert("A b".into(), vec![1]);
            },
            "curves.A b must be named",
        ),
        (
            |h| h.days[0].curve = "other".into(),
            "days[0].curve names no curve",
        ),
        (|h| h.days.clear(), "days must be 1 to 731 days, not 0"),
        (
            |h| h.days = vec![h.days[0].clone(); 732],
            "days must be 1 to 731 days, not 732",
        ),
        (|h| h.prizes.clear(), "prizes must be 1 to 20 prizes, not 0"),
        (
            |h| h.prizes = (0..21).map(|n| n.to_string()).collect(),
            "prizes must be 1 to 20 prizes, not 21",
        ),
        (
            |h| h.prizes[1] = String::new(),
            "prizes[1] must be 1 to 120 printable",
        ),
        (
            |h| h.prizes[1] = "x".repeat(121),
            "prizes[1] must be 1 to 120 printable",
        ),
        (
            |h| h.prizes[1] = h.prizes[0].clone(),
            "prizes[1] is there twice",
        ),
        (
            |h| h.days[1].prizes = vec![1],
            "days[1].prizes must have a number for each of 2",
        ),
        (
            |h| h.days[1].prizes = vec![u32::MAX, 20_001],
            "days[1].prizes must add up to 20000",
        ),
        (|h| h.caps.day = 0, "caps.day must be at least 1"),
        (
            |h| h.round = NonZeroU64::new(1 << 53).unwrap(),
            "round must be below 2^53",
        ),
    ];
    for (change, expected) in cases {
        let mut header = header();
        change(&mut header);
        let problems = Plan::new(header).expect_err(expected);
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert!(
            problems.iter().any(|problem| problem.starts_with(expected)),
            "{expected}: {problems:?}"
        );
    }
}

#[test]
fn day_without_time_or_weights_is_one_problem() {
    let changes: [fn(&mut Header); 2] = [
        |h| h.days[1].to = h.days[1].from,
        |h| h.curves.get_mut("holiday").unwrap().clear(),
    ];
    for change in changes {
        let mut header = header();
        change(&mut header);
        assert_eq!(header.problems().len(), 1, "{:?}", header.problems());
    }
}

#[test]
fn plan_lies_ahead_and_within_the_window() {
    let (header, days) = (header(), header().days);
    let (start, end) = (days[0].start(), days[1].end());
    let problems = |start, end, now| {
        let found = header.problems_within(Window { start, end }, now);
        found
            .into_iter()
            .map(|problem| problem.field)
            .collect::<Vec<_>>()
    };
    let before = start.shifted(-1);
    assert!(problems(Some(start), Some(end), before).is_empty());
    assert_eq!(problems(None, None, start), ["days[0].from"]);
    let (late, early) = (Some(start.shifted(1)), Some(end.shifted(-1)));
    assert_eq!(
        problems(late, early, before),
        ["days[0].from", "days[1].to"]
    );
}

proptest! {
    /// Whatever is accepted and revoked in whatever order, given never exceeds due, and a run by
    /// the rules passes the check.
    #[test]
    fn given_never_exceeds_due(
        steps in prop::collection::vec((0_i64..20_000_000, 0_usize..6, prop::bool::weighted(0.2)), 1..120)
    ) {
        let schedule = schedule();
        let caps = header().caps;
        let entrants = ["a", "b", "c", "d", "e", "f"];
        let references: Vec<_> = (0..steps.len()).map(|n| format!("{n:08}")).collect();
        let mut at = header().days[0].start();
        let mut given = [0_u32; 2];
        let mut rows: Vec<Row<'_>> = Vec::new();
        for ((pause, entrant, revokes), reference) in steps.into_iter().zip(&references) {
            at = at.shifted(pause + 1);
            let winner = rows.iter_mut().find(|row| row.prize.is_some() && row.revoked_at.is_none());
            if let Some(winner) = winner.filter(|_| revokes) {
                winner.revoked_at = Some(at);
                given[winner.prize.unwrap()] -= 1;
                continue;
            }
            let moments = schedule.moments_at(at).expect("a day");
            let entrant = entrants[entrant];
            let wins = || rows.iter().filter(|row| row.entrant == entrant && row.prize.is_some());
            let of_day = wins().filter(|row| schedule.day_at(row.accepted_at) == Some(moments.day()));
            let (total, of_day) = (wins().count(), of_day.count());
            let open = schedule.open_prizes(&moments, at, &given);
            let prize = open.first().copied().filter(|_| {
                total < usize::try_from(caps.total).unwrap() && of_day < usize::try_from(caps.day).unwrap()
            });
            if let Some(prize) = prize {
                given[prize] += 1;
            }
            rows.push(Row { accepted_at: at, reference, entrant, prize, revoked_at: None });
            for (prize, given) in given.iter().enumerate() {
                prop_assert!(*given <= moments.due(prize, at));
            }
        }
        let checked = check(&rows, &schedule, &[]);
        // An eligible entrant has the prize: nothing waits, even at the end.
        prop_assert_eq!(checked, Ok(()));
    }
}
