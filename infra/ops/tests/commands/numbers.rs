//! `ops numbers`.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use common::domain::code_record::CodeKey;
use common::domain::message::MessageKey;
use common::domain::statistics::{ALL_DAYS, Amount, Metric};
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use common::store::retention::{CampaignRetention, Deletion, Revised};
use common::store::submission_writes::{RecordKeys, SubmissionWrite, WriteResult};
use ops_core::statistics::QUIET;
use serde_json::{Value, json};
use service_tests::counting::Counter;
use service_tests::text::{len_of, list_of, parse_json, text_of};

use crate::submission::{submission, waiting, write};
use crate::support::{CHAI, NOW, Stack, live};

const SHOW: &str = "numbers --campaign chai-bora-2026";
const VERIFY: &str = "numbers verify --campaign chai-bora-2026 --yes";
const RECOUNT: &str = "numbers recount --campaign chai-bora-2026 --yes";
const WHY: &str = "--why 'Receipt seen'";

/// Pauses long enough for a recount.
async fn pause(stack: &Stack) {
    stack.fine("campaign pause chai-bora-2026").await;
    stack.clock.advance(QUIET);
}

/// Verifies wrong numbers.
async fn verify_wrong(stack: &Stack) -> Value {
    let ended = stack.run(format!("{VERIFY} --json")).await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE, "{}", ended.err);
    serde_json::from_str(&ended.out).expect("one JSON document")
}

/// Counted: two accepted submissions, one a winner with a minted code, and one that an operator
/// rejected.
pub(crate) async fn counted() -> (Stack, Counter) {
    let stack = Stack::with_chai().await;
    let mint = "code mint --campaign chai-bora-2026 --environment live --count 5";
    let named = format!(
        "--output {} --prize 'A kettle' --batch kettles",
        stack.arg("codes.csv")
    );
    stack.fine(format!("{mint} {named}")).await;
    let key = CodeKey::Minted(0);
    let won = Submission {
        batch: Some("kettles".to_owned()),
        code_key: Some(key.in_scope(&live())),
        ..submission(won(), None)
    };
    write(&stack, &won, Some(&key)).await;
    let accepted = SubmissionStatus::accepted(2, None);
    let elsewhere = Submission {
        region: None,
        channel: None,
        day: "2026-03-02".to_owned(),
        ..submission(accepted, None)
    };
    write(&stack, &elsewhere, None).await;
    let reviewed = Submission {
        receipt_id: Some(random::receipt_id()),
        ..submission(waiting(), None)
    };
    write(
        &stack,
        &Submission {
            receipt_id: None,
            ..reviewed.clone()
        },
        None,
    )
    .await;
    let mut counter = Counter::new(&stack.env, &stack.clock);
    counter.count_all().await;
    let reject = format!(
        "submission settle {} --reject receipt_wrong_store",
        reviewed.submission_id
    );
    stack.fine(format!("{reject} {WHY}")).await;
    counter.count_all().await;
    (stack, counter)
}

fn won() -> SubmissionStatus {
    SubmissionStatus::accepted(2, Some("A kettle".to_owned()))
}

#[tokio::test]
async fn numbers_are_shown_by_day_hour_outcome_and_place() {
    let (stack, _) = counted().await;
    let shown = stack.json(SHOW).await;
    let day = |day: &str, submissions: u32, entries: u32, phones: [u32; 2]| {
        let [new, active] = phones;
        json!({ "day": day, "submissions": submissions, "entries": entries, "new_phones": new, "active_phones": active })
    };
    assert_eq!(
        shown["days"],
        json!([
            day("2026-03-01", 2, 2, [1, 1]),
            day("2026-03-02", 1, 2, [0, 1])
        ])
    );
    let outcome = |state: &str, key: &str, entries: u32| json!({ "state": state, "message_key": key, "submissions": 1, "entries": entries });
    let outcomes = [
        outcome("accepted", "entered", 2),
        outcome("accepted", "instant_win", 2),
        outcome("rejected", "receipt_wrong_store", 0),
    ];
    assert_eq!(shown["outcomes"], json!(outcomes));
    assert_eq!(
        shown["hours"],
        json!([{ "hour": "2026-03-01T00:00:00Z", "submissions": 3, "entries": 4 }])
    );
    let region = |region: Value, submissions: u32, entries: u32| json!({ "region": region, "submissions": submissions, "entries": entries });
    assert_eq!(
        shown["regions"],
        json!([region(Value::Null, 1, 2), region(json!("Mwanza"), 2, 2)])
    );
    assert_eq!(
        shown["channels"],
        json!([{ "channel": "sms", "submissions": 2, "entries": 2 }])
    );
    assert_eq!(
        shown["prizes"],
        json!([{ "prize": "A kettle", "submissions": 1, "entries": 2 }])
    );
    let codes = json!([{ "batch": "kettles", "codes": 5, "redeemed": 1, "prize": "A kettle" }]);
    assert_eq!(shown["codes"], codes);
    assert_eq!(
        shown["entries_per_phone"],
        json!([{ "range": "3-5", "phones": 1, "entries": 4 }])
    );
    assert_eq!(shown["phones"], 1);
    assert_eq!(shown["unknown_now"], 0);
    let text = stack.fine(SHOW).await;
    assert_contains!(
        text,
        "Unique phones                  1\n",
        "kettles  1         5   A kettle  ██████\n",
        "DAY         SUBMISSIONS  ENTRIES  NEW PHONES  ACTIVE PHONES",
        "2026-03-01  2            2        1           1              ████",
        "2026-03-02  1            2        0           1              ████"
    );
}

/// One phone entered on both days: active on the second, not new.
#[tokio::test]
async fn phones_of_some_days_are_told_as_new_and_active() {
    let (stack, _) = counted().await;
    let second = format!("{SHOW} --from 2026-03-02");
    let text = stack.fine(&second).await;
    assert_contains!(
        text,
        "New phones                     0\n",
        "2026-03-02  1            2        0           1              ████"
    );
    assert_lacks!(text, "Entries of a phone");
    assert_contains!(stack.fine(SHOW).await, "Entries of a phone");
    let shown = stack.json(&second).await;
    assert_eq!(shown["phones"], Value::Null);
    assert_eq!(shown["new_phones"], 0);
    assert_eq!(shown["entries_per_phone"], Value::Null);
    assert_eq!(
        stack.json(format!("{SHOW} --to 2026-03-01")).await["new_phones"],
        1
    );
}

#[tokio::test]
async fn prizes_left_are_those_of_active_batches_whatever_the_days() {
    let (stack, _) = counted().await;
    let left = |batch: &str, prize: &str, status: &str, codes: u32, at_most: Value| json!({ "batch": batch, "prize": prize, "status": status, "codes": codes, "left_at_most": at_most });
    let second = format!("{SHOW} --from 2026-03-02");
    let kettles = left("kettles", "A kettle", "active", 5, json!(4));
    assert_eq!(stack.json(SHOW).await["prizes_left"], json!([kettles]));
    assert_eq!(
        stack.json(&second).await["prizes_left"],
        json!([kettles]),
        "one was won the day before"
    );
    let live = "--campaign chai-bora-2026 --environment live";
    let mint = "code mint --count 7 --batch";
    for (batch, prize) in [("mugs", "--prize 'A mug'"), ("plain", "")] {
        let output = stack.arg(&format!("{batch}.csv"));
        stack
            .fine(format!("{mint} {batch} {live} --output {output} {prize}"))
            .await;
    }
    stack
        .fine(format!("code void --yes --batch mugs {live}"))
        .await;
    let mugs = left("mugs", "A mug", "void", 7, Value::Null);
    assert_eq!(
        stack.json(SHOW).await["prizes_left"],
        json!([kettles, mugs])
    );
    let text = stack.fine(SHOW).await;
    let part = text.split("Prizes left, at most\n").nth(1).expect("a part");
    for line in [
        "kettles  A kettle  active  4     5   ████",
        "mugs     A mug     void    -     7",
        "`ops code batches --used`",
    ] {
        assert!(part.contains(line), "{line}: {text}");
    }
    assert!(!part.contains("plain"), "{text}");
}

#[tokio::test]
async fn numbers_follow_a_revocation_and_a_reopening() {
    let stack = Stack::with_chai().await;
    let mint = "code mint --campaign chai-bora-2026 --environment live --count 5";
    stack
        .fine(format!(
            "{mint} --output {} --batch plain",
            stack.arg("codes.csv")
        ))
        .await;
    let key = CodeKey::Minted(0);
    let entered = Submission {
        batch: Some("plain".to_owned()),
        code_key: Some(key.in_scope(&live())),
        ..submission(SubmissionStatus::accepted(2, None), None)
    };
    write(&stack, &entered, Some(&key)).await;
    let mut counter = Counter::new(&stack.env, &stack.clock);
    let id = entered.submission_id.to_string();
    let accepted = ("accepted", 2, 1, 1);
    for (command, (state, entries, redeemed, phones)) in [
        ("", accepted),
        (&format!("submission revoke {id}"), ("rejected", 0, 0, 0)),
        (&format!("submission reopen {id}"), ("unknown", 0, 0, 1)),
        (&format!("submission settle {id} --accept"), accepted),
        (
            &format!("submission revoke {id} --free-code"),
            ("rejected", 0, 0, 0),
        ),
    ] {
        if !command.is_empty() {
            stack.fine(format!("{command} {WHY}")).await;
        }
        counter.count_all().await;
        let shown = stack.json(SHOW).await;
        assert_eq!(len_of(&shown["outcomes"]), 1, "{command:?}: {shown}");
        assert_eq!(shown["outcomes"][0]["state"], state, "{command:?}");
        assert_eq!(
            (&shown["submissions"], &shown["entries"]),
            (&json!(1), &json!(entries)),
            "{command:?}"
        );
        assert_eq!(shown["codes"][0]["redeemed"], redeemed, "{command:?}");
        assert_eq!(shown["phones"], phones, "{command:?}");
        assert_eq!(
            stack.json(VERIFY).await["differences"],
            json!([]),
            "{command:?}"
        );
    }
}

#[tokio::test]
async fn numbers_can_be_of_some_days_or_of_the_other_environment() {
    let (stack, _) = counted().await;
    let days = async |more: &str| {
        let shown = stack.json(format!("{SHOW} {more}")).await;
        let days = list_of(&shown["days"]).iter();
        days.map(|day| text_of(&day["day"]).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(days("--from 2026-03-02").await, ["2026-03-02"]);
    assert_eq!(days("--to 2026-03-01").await, ["2026-03-01"]);
    assert_eq!(days("--from 2026-03-01 --to 2026-03-02").await.len(), 2);
    assert_eq!(days("--environment test").await, Vec::<String>::new());
    let nothing = stack.fine(format!("{SHOW} --environment test")).await;
    assert_contains!(nothing, "Nothing has been counted.");
    stack
        .refused("numbers --campaign nobody", "campaign_unknown")
        .await;
    let wrong = stack.run(format!("{SHOW} --from yesterday")).await;
    assert_eq!(wrong.code, ops_core::EXIT_USAGE);
    assert_eq!(
        stack.run("numbers").await.code,
        ops_core::EXIT_USAGE,
        "a campaign has to be named"
    );
}

#[tokio::test]
async fn wrong_number_is_named_and_set_by_a_recount() {
    let (stack, mut counter) = counted().await;
    let right = stack.json(VERIFY).await;
    assert_eq!(right["differences"], json!([]));
    assert_eq!(right["records"], 4);
    assert!(
        stack
            .fine(VERIFY)
            .await
            .ends_with("All numbers are right.\n")
    );

    let (tables, scope) = (stack.tables(), live());
    let days = tables
        .statistics
        .counters(&scope, Metric::Days, ALL_DAYS)
        .await
        .expect("it answers");
    let (total, _) = days.iter().next().expect("a day");
    let wrong = Amount {
        records: 5,
        entries: -1,
    };
    assert!(
        tables
            .statistics
            .correct(total, days.amount(total), wrong)
            .await
            .expect("it answers")
    );
    let wrong = verify_wrong(&stack).await;
    let difference = json!([{
        "metric": "days",
        "day": "all",
        "hour": "",
        "dimension": "2026-03-01",
        "counted": { "records": 7, "entries": 1 },
        "expected": { "records": 2, "entries": 2 },
        "is_changing": false,
    }]);
    assert_eq!(wrong["differences"], difference);
    let text = stack.run(VERIFY).await.out;
    assert_contains!(
        text,
        "days    all              2026-03-01  7        1        2            2        false\n"
    );

    stack.refused(RECOUNT, "not_paused").await;
    stack.fine("campaign pause chai-bora-2026").await;
    stack.refused(RECOUNT, "not_quiet").await;
    stack.clock.advance(QUIET);
    assert_eq!(stack.json(RECOUNT).await["corrected"], true);
    assert_eq!(stack.json(VERIFY).await["differences"], json!([]));

    // Before streams, nobody counted records.
    write(
        &stack,
        &submission(SubmissionStatus::accepted(1, None), None),
        None,
    )
    .await;
    counter.next_batches().await;
    assert!(!list_of(&verify_wrong(&stack).await["differences"]).is_empty());
    stack.clock.advance(QUIET);
    stack.fine(RECOUNT).await;
    assert_eq!(stack.json(VERIFY).await["differences"], json!([]));
    assert!(stack.clock.now() > NOW);
}

#[tokio::test]
async fn one_of_two_operators_recounts_at_once() {
    let stack = Stack::with_chai().await;
    write(&stack, &submission(won(), None), None).await;
    pause(&stack).await;
    let (tables, scope, read) = (stack.tables(), live(), AtomicU64::new(0));
    let now = stack.clock.now();
    let verify = || Box::pin(ops_core::statistics::verify(&tables, &scope, &read, now));
    let (one, other) = (
        verify().await.expect("it answers"),
        verify().await.expect("it answers"),
    );
    assert!(!one.differences.is_empty());
    ops_core::statistics::recount(&tables, &scope, &one, now)
        .await
        .expect("it answers");
    let second = ops_core::statistics::recount(&tables, &scope, &other, now).await;
    assert_eq!(second.expect_err("they are right").code, "numbers_changed");
    assert_eq!(stack.json(VERIFY).await["differences"], json!([]));
}

#[tokio::test]
async fn recount_waits_for_the_changes_of_an_erasure() {
    let (stack, mut counter) = counted().await;
    pause(&stack).await;
    let erase = "person erase --phone 0712345678 --why 'Letter of 3 March' --yes";
    stack.fine(erase).await;
    stack.refused(RECOUNT, "not_quiet").await;
    counter.count_all().await;
    stack.clock.advance(QUIET);
    assert_eq!(stack.json(RECOUNT).await["differences"], json!([]));
}

async fn damage(stack: &Stack, metric: Metric, day: &str) {
    let (tables, scope) = (stack.tables(), live());
    let counters = tables
        .statistics
        .counters(&scope, metric, day)
        .await
        .expect("it answers");
    let (total, counted) = counters.iter().next().expect("a number");
    let wrong = Amount {
        records: 1,
        entries: 0,
    };
    assert!(
        tables
            .statistics
            .correct(total, counted, wrong)
            .await
            .expect("it answers")
    );
}

#[tokio::test]
async fn paused_campaign_is_recounted_although_it_refuses() {
    let (stack, mut counter) = counted().await;
    damage(&stack, Metric::Prizes, "2026-03-01").await;
    damage(&stack, Metric::Days, ALL_DAYS).await;
    pause(&stack).await;
    let refused = SubmissionStatus::rejected(MessageKey::CampaignPaused);
    let refused = Submission {
        created_at: stack.clock.now(),
        updated_at: stack.clock.now(),
        ..submission(refused, None)
    };
    let tables = stack.tables();
    let key = "the-key-of-the-refusal".parse().expect("a key");
    let write = SubmissionWrite {
        keys: RecordKeys {
            scope: &refused.scope,
            key: &key,
            entrant: &refused.entrant_id,
            code: None,
            receipt: None,
        },
        body_hash: "",
        submission: &refused,
    };
    let written = tables
        .store
        .create_rejected(write, None, stack.clock.now())
        .await
        .expect("it answers");
    assert!(matches!(written, WriteResult::Committed), "{written:?}");

    let ended = stack.run(format!("{RECOUNT} --json")).await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE, "{}", ended.err);
    let report = parse_json(&ended.out);
    assert_eq!(report["corrected"], false);
    counter.count_all().await;
    let left = differing_metrics(&stack).await;
    assert_eq!(
        left,
        ["days"],
        "the refusal is not counted twice, and the prize is right"
    );
    stack.clock.advance(QUIET);
    assert_eq!(stack.json(RECOUNT).await["corrected"], true);
    assert_eq!(stack.json(VERIFY).await["differences"], json!([]));
}

/// Metrics that differ.
async fn differing_metrics(stack: &Stack) -> Vec<String> {
    let ended = stack.run(format!("{VERIFY} --json")).await;
    let report = parse_json(&ended.out);
    let differences = list_of(&report["differences"]).iter();
    differences
        .map(|difference| text_of(&difference["metric"]).to_owned())
        .collect()
}

#[tokio::test]
async fn recount_waits_for_the_deletion_of_phones() {
    let (stack, _) = counted().await;
    let kept = CHAI.replace("end: null", "end: 2026-03-01T12:00:00+03:00");
    stack.apply(kept + "retention: { phones_days: 1 }\n").await;
    damage(&stack, Metric::Days, ALL_DAYS).await;
    stack.clock.advance(Duration::from_hours(3 * 24));
    pause(&stack).await;
    let not_begun = stack.refused(RECOUNT, "not_quiet").await;
    assert_contains!(not_begun.message, "are being deleted");

    let tables = stack.tables();
    let campaign = tables
        .campaign(&live().campaign)
        .await
        .expect("it is there");
    let mut retention = Revised::<CampaignRetention>::default();
    while let Some(next) = retention.value.next(&campaign, stack.clock.now()) {
        retention.value.update(Deletion {
            finished_at: Some(stack.clock.now()),
            ..next
        });
    }
    assert!(
        tables
            .retention
            .save(&campaign.slug, &retention)
            .await
            .expect("it answers")
    );
    stack.refused(RECOUNT, "not_quiet").await;
    stack.clock.advance(QUIET);
    assert_eq!(stack.json(RECOUNT).await["corrected"], true);
}

#[tokio::test]
async fn days_in_the_wrong_order_are_refused() {
    let stack = Stack::with_chai().await;
    let days = "--from 2026-03-02 --to 2026-03-01";
    stack
        .refused(format!("{SHOW} {days}"), "days_invalid")
        .await;
}

#[tokio::test]
async fn reading_whole_tables_is_asked_about_first() {
    let (stack, _) = counted().await;
    let asking = VERIFY.trim_end_matches(" --yes");
    stack.refused(asking, "confirmation_needed").await;
    let refused = stack.answering(asking, "n\n").await.failed();
    assert_contains!(refused, "all campaigns");
    assert_eq!(stack.answering(asking, "y\n").await.code, ops_core::EXIT_OK);
}
