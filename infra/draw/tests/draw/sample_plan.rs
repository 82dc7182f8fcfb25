//! A finished plan of instant prizes with a real round of quicknet, and forged ones.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use common::domain::Timestamp;
use common::domain::instant::{Algorithm, Caps, Day, Header, Plan, PlanSecret, Schedule};
use draw::beacon::Chain;
use draw::{
    Digest, LoggedDay, PlanCertificate, PlanFiles, PlanResult, PrizeRow, Stop, VerifiedPlan,
    rows_csv,
};

const SIGNATURE: &str = "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b";

#[derive(Clone)]
pub(crate) struct SamplePlan {
    header: String,
    commitment: String,
    secret: String,
    pub(crate) result: PlanResult,
    pub(crate) rows: Vec<PrizeRow>,
    /// Instead of `rows`.
    csv: Option<String>,
}

fn digest(text: &str) -> Digest {
    Digest::from_parts(&[text.as_bytes()])
}

/// Six of airtime and a phone on two days.
fn header() -> Header {
    let day = |curve: &str, from, prizes: [u32; 2]| Day {
        curve: curve.to_owned(),
        from,
        prizes: prizes.to_vec(),
        to: from + 86_400,
    };
    Header {
        algorithm: Algorithm::V1,
        campaign: "chai-bora-2026".parse().expect("a slug"),
        caps: Caps { day: 1, total: 2 },
        chain: Chain::quicknet().hash(),
        curves: BTreeMap::from([
            ("evening".to_owned(), vec![0, 1, 2, 5]),
            ("even".to_owned(), vec![1]),
        ]),
        days: vec![
            day("evening", 1_798_059_600, [4, 1]),
            day("even", 1_798_146_000, [2, 0]),
        ],
        environment: "live".parse().expect("an environment"),
        prizes: vec!["Airtime <b>1,000</b>".to_owned(), "Simu".to_owned()],
        round: 657_413.try_into().expect("not zero"),
        secret: Digest::from_parts(&[digest("secret of the vector").as_bytes()]),
    }
}

impl SamplePlan {
    pub(crate) fn new() -> Self {
        let secret = *digest("secret of the vector").as_bytes();
        let plan = Plan::new(header()).expect("no problem");
        let signature = SIGNATURE.parse().expect("hexadecimal");
        let randomness = draw::randomness(&hex::decode(SIGNATURE).expect("hexadecimal"));
        let (header, commitment) = (plan.json().to_owned(), plan.commitment().to_string());
        let schedule = Schedule::new(plan, &PlanSecret::from_bytes(secret), randomness);
        let rows = played(&schedule.expect("its secret"));
        let result = PlanResult {
            round: 657_413.try_into().expect("not zero"),
            signature,
            randomness,
            given: Vec::new(),
            stops: Vec::new(),
            days: Vec::new(),
            other_plans: Vec::new(),
        };
        let mut played = Self {
            header,
            commitment,
            secret: hex::encode(secret),
            result,
            rows,
            csv: None,
        };
        played.count_given();
        played.log_days();
        played
    }

    /// As `rows` have them.
    pub(crate) fn count_given(&mut self) {
        let given = |prize| {
            let rows = self.rows.iter().filter(|row| row.prize == Some(prize));
            rows.count().try_into().expect("few")
        };
        self.result.given = [0, 1].map(given).to_vec();
    }

    /// Each day ten minutes after its end.
    pub(crate) fn log_days(&mut self) {
        let at = |millis: u64| Timestamp::from_millis(millis.try_into().expect("small"));
        let stops = self.result.stops.iter();
        let stops: Vec<_> = stops.map(|stop| at(stop.from)..at(stop.to)).collect();
        let header = header();
        let wins = self.rows.iter().filter_map(|row| {
            let prize = row.prize?;
            Some((row.accepted_at, row.reference, row.entrant, prize))
        });
        let wins: Vec<_> = wins.collect();
        let logged = (0_u64..).zip(&header.days).map(|(day, of_plan)| {
            let index = usize::try_from(day).expect("small");
            let digest = header.day_digest(index, wins.clone(), &stops);
            let logged_at = of_plan.end().shifted(600_000).as_millis();
            LoggedDay {
                day,
                sha256: digest.expect("a day"),
                logged_at: logged_at.unsigned_abs(),
            }
        });
        self.result.days = logged.collect();
    }

    fn files(&self) -> [(&'static str, String); 5] {
        let csv = self.csv.clone();
        [
            ("header.json", self.header.clone()),
            ("commitment.txt", self.commitment.clone()),
            ("secret.txt", self.secret.clone()),
            (
                "result.json",
                serde_json::to_string(&self.result).expect("JSON"),
            ),
            (
                "rows.csv",
                csv.unwrap_or_else(|| rows_csv(self.rows.clone())),
            ),
        ]
    }

    pub(crate) fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).expect("a disk");
        for (name, text) in self.files() {
            fs::write(folder.join(name), text).expect("a disk");
        }
        fs::write(folder.join("verify.py"), draw::VERIFY_PY).expect("a disk");
    }

    pub(crate) fn certificate(&self) -> String {
        let [
            (_, header),
            (_, commitment),
            (_, secret),
            (_, result),
            (_, rows),
        ] = self.files();
        let certificate = PlanCertificate {
            campaign: "Chai <b>Bora</b>",
            brand: "Kampuni ya Chai Bora",
            header: &header,
            commitment: &commitment,
            secret: &secret,
            result: &result,
            chain: &Chain::quicknet(),
        };
        certificate.html(Some(&rows))
    }

    pub(crate) fn verified(&self) -> Result<VerifiedPlan, String> {
        let files = self.files();
        let [header, commitment, secret, result, rows] =
            std::array::from_fn(|at| files[at].1.as_bytes());
        let files = PlanFiles {
            header,
            commitment,
            secret,
            result,
            rows,
        };
        let verified = files.verify(&Chain::quicknet());
        verified.map_err(|difference| difference.to_string())
    }

    pub(crate) fn library(&self) -> Option<String> {
        self.verified().err()
    }

    pub(crate) fn winners(&mut self) -> Vec<&mut PrizeRow> {
        self.rows
            .iter_mut()
            .filter(|row| row.prize.is_some())
            .collect()
    }
}

/// Ten entrants, an entry every 20 minutes; each takes the oldest prize that is open.
fn played(schedule: &Schedule) -> Vec<PrizeRow> {
    let header = schedule.plan().header();
    let (mut given, mut totals) = ([0_u32; 2], HashMap::new());
    let mut rows = Vec::new();
    for number in 0..144_i64 {
        let accepted_at = header.days[0].start().shifted(number * 1_200_000);
        let moments = schedule.moments_at(accepted_at).expect("a day");
        let who = number % 10;
        let wins: &mut Vec<usize> = totals.entry(who).or_default();
        let is_capped = wins.len() >= 2 || wins.contains(&moments.day());
        let open = schedule.open_prizes(&moments, accepted_at, &given);
        let prize = open.first().copied().filter(|_| !is_capped);
        if let Some(prize) = prize {
            given[prize] += 1;
            wins.push(moments.day());
        }
        rows.push(PrizeRow {
            accepted_at,
            reference: digest(&format!("AAAA-{number:04}")),
            entrant: digest(&format!("entrant {who}")),
            prize,
            revoked_at: None,
        });
    }
    rows.sort();
    rows
}

pub(crate) struct ForgedPlan {
    pub(crate) what: &'static str,
    change: fn(&mut SamplePlan),
    pub(crate) expected: &'static str,
}

impl ForgedPlan {
    pub(crate) fn applied(&self) -> SamplePlan {
        let mut forged = SamplePlan::new();
        (self.change)(&mut forged);
        forged
    }
}

/// A changed header, and the commitment to it.
fn recommitted(plan: &mut SamplePlan, from: &str, to: &str) {
    assert!(plan.header.contains(from), "{from}");
    plan.header = plan.header.replacen(from, to, 1);
    let text = format!("svc-instant-v1\n{}", plan.header);
    plan.commitment = digest(&text).to_string();
}

pub(crate) const FORGED: [ForgedPlan; 28] = [
    ForgedPlan {
        what: "won early",
        change: |plan| {
            let winner = plan.winners().remove(0);
            winner.accepted_at = winner.accepted_at.shifted(-1_200_001);
        },
        expected: "won before a moment was due: 1 given, 0 due",
    },
    ForgedPlan {
        what: "passed over",
        change: |plan| plan.winners()[0].prize = None,
        expected: "entered while a prize was open, and did not win",
    },
    ForgedPlan {
        what: "over the cap",
        change: |plan| {
            let first = plan.winners()[0].entrant;
            plan.winners()[1].entrant = first;
        },
        expected: "is over the cap",
    },
    ForgedPlan {
        what: "a prize twice",
        change: |plan| {
            let winner = *plan.winners()[0];
            plan.rows.push(PrizeRow {
                accepted_at: winner.accepted_at.shifted(1),
                reference: digest("another"),
                entrant: digest("another"),
                ..winner
            });
        },
        expected: "won before a moment was due: 2 given, 1 due",
    },
    ForgedPlan {
        what: "an entry twice",
        change: |plan| {
            let row = plan.rows[0];
            let accepted_at = row.accepted_at.shifted(1);
            plan.rows.push(PrizeRow { accepted_at, ..row });
        },
        expected: "rows.csv, line 2: ",
    },
    ForgedPlan {
        what: "a prize that there is not",
        change: |plan| plan.winners()[0].prize = Some(2),
        expected: "won a prize that the plan does not have",
    },
    ForgedPlan {
        what: "an entry before the first day",
        change: |plan| plan.rows[0].accepted_at = plan.rows[0].accepted_at.shifted(-1),
        expected: "rows.csv, line 1 is before the first day",
    },
    ForgedPlan {
        what: "a prize that is given back and given to no one",
        change: |plan| {
            let winner = plan.winners().remove(0);
            winner.revoked_at = Some(winner.accepted_at.shifted(1));
        },
        expected: "entered while a prize was open, and did not win",
    },
    ForgedPlan {
        what: "a prize given back without one",
        change: |plan| plan.rows[0].revoked_at = Some(Timestamp::from_millis(1_798_200_000_000)),
        expected: "rows.csv, line 1 gives back a prize that it did not have",
    },
    ForgedPlan {
        what: "lines in another order",
        change: |plan| {
            let csv = rows_csv(plan.rows.clone());
            let (first, rest) = csv.split_once('\n').expect("lines");
            plan.csv = Some(format!("{rest}{first}\n"));
        },
        expected: "is not after the line before",
    },
    ForgedPlan {
        what: "a line without an end",
        change: |plan| {
            let csv = rows_csv(plan.rows.clone());
            plan.csv = Some(csv.trim_end().to_owned());
        },
        expected: "rows.csv, line 144 is not a time, two digests",
    },
    ForgedPlan {
        what: "another cap",
        change: |plan| plan.header = plan.header.replace("\"total\":2", "\"total\":3"),
        expected: "but header.json leads to",
    },
    ForgedPlan {
        what: "a header in another form",
        change: |plan| recommitted(plan, "\"round\":", "\"round\": "),
        expected: "another form",
    },
    ForgedPlan {
        what: "a day with too many prizes",
        change: |plan| recommitted(plan, "[4,1]", "[4,1,1]"),
        expected: "header.json: ",
    },
    ForgedPlan {
        what: "a round after the first day",
        change: |plan| {
            recommitted(plan, ":657413", ":36000000");
            plan.result.round = 36_000_000.try_into().expect("not zero");
        },
        expected: "round 36000000 was given a",
    },
    ForgedPlan {
        what: "another secret",
        change: |plan| plan.secret = digest("another").to_string(),
        expected: "secret.txt leads to ",
    },
    ForgedPlan {
        what: "another randomness",
        change: |plan| plan.result.randomness = digest("another"),
        expected: "but its signature leads to fc1873a1",
    },
    ForgedPlan {
        what: "another number of prizes",
        change: |plan| plan.result.given[1] = 0,
        expected: "prizes were given, but rows.csv has [",
    },
    ForgedPlan {
        what: "a stop that ends before it begins",
        change: |plan| plan.result.stops.push(Stop { from: 2, to: 1 }),
        expected: "result.json has stops that are not in order",
    },
    ForgedPlan {
        what: "stops that overlap",
        change: |plan| plan.result.stops = vec![Stop { from: 1, to: 3 }, Stop { from: 2, to: 4 }],
        expected: "result.json has stops that are not in order",
    },
    ForgedPlan {
        what: "a prize won in the middle of a stop",
        change: |plan| {
            let at = plan.winners()[0].accepted_at.as_millis().unsigned_abs();
            let (from, to) = (at - 10_001, at + 10_001);
            plan.result.stops.push(Stop { from, to });
        },
        expected: "won while nothing could be won",
    },
    ForgedPlan {
        what: "a win that is added after its day was logged",
        change: |plan| {
            let winner = plan.winners().remove(0);
            let taken_back = winner.accepted_at.shifted(1);
            winner.revoked_at = Some(taken_back);
            let added = PrizeRow {
                accepted_at: taken_back,
                reference: digest("added"),
                entrant: digest("added"),
                prize: winner.prize,
                revoked_at: None,
            };
            plan.rows.push(added);
        },
        expected: "day 0's wins are not those that were logged",
    },
    ForgedPlan {
        what: "a win that is moved to another time",
        change: |plan| {
            let winner = plan.winners().remove(0);
            winner.accepted_at = winner.accepted_at.shifted(1);
        },
        expected: "day 0's wins are not those that were logged",
    },
    ForgedPlan {
        what: "a win that is moved to another entry",
        change: |plan| plan.winners()[0].reference = digest("another"),
        expected: "day 0's wins are not those that were logged",
    },
    ForgedPlan {
        what: "a stop that is added after its day was logged",
        change: |plan| {
            let from = 1_798_059_700_000;
            let to = from + 60_000;
            plan.result.stops.push(Stop { from, to });
        },
        expected: "day 0's wins are not those that were logged",
    },
    ForgedPlan {
        what: "a day that was logged before it ended",
        change: |plan| plan.result.days[1].logged_at = 1_798_232_399_999,
        expected: "result.json: day 1 was logged before it ended",
    },
    ForgedPlan {
        what: "a day twice",
        change: |plan| plan.result.days[1] = plan.result.days[0],
        expected: "result.json: day 0 is not in order",
    },
    ForgedPlan {
        what: "a day that there is not",
        change: |plan| plan.result.days[1].day = 2,
        expected: "result.json: day 2 is not in order, or header.json does not have it",
    },
];
