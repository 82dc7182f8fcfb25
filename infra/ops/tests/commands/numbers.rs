//! `ops numbers`.

mod recount;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use common::domain::message::MessageKey;
use common::domain::statistics::{ALL_DAYS, Amount, Metric};
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use common::store::retention::{CampaignRetention, Deletion, Revised};
use common::store::submission_writes::{RecordKeys, SubmissionWrite, WriteResult};
use ops_core::statistics::QUIET;
use serde_json::{Value, json};
use service_tests::counting::Counter;
use service_tests::text::{fields, len_of, list_of, parse_json, text_of};

use crate::submission::{holding, submission, waiting, write};
use crate::support::{CHAI, Stack, live};

const SHOW: &str = "numbers --campaign chai-bora-2026";
const VERIFY: &str = "numbers verify --campaign chai-bora-2026 --yes";
const RECOUNT: &str = "numbers recount --campaign chai-bora-2026 --yes";
const WHY: &str = "--why 'Receipt seen'";

/// Counted: two accepted submissions, one a winner with a minted code, and one that an operator
/// rejected.
pub(crate) async fn counted() -> (Stack, Counter) {
    let stack = Stack::with_chai().await;
    stack.mint("5 --prize 'A kettle' --batch kettles").await;
    let won = Submission {
        batch: Some("kettles".to_owned()),
        ..submission(won(), None)
    };
    holding(&stack, 0, won).await;
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
        "Phones with an entry or waiting  1\n",
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
    assert_eq!(
        fields(&shown, "phones new_phones entries_per_phone"),
        "null 0 null"
    );
    let first = stack.json(format!("{SHOW} --to 2026-03-01")).await;
    assert_eq!(first["new_phones"], 1);
}

#[tokio::test]
async fn prizes_left_are_those_of_active_batches_whatever_the_days() {
    let (stack, _) = counted().await;
    let left = async |days: &str| {
        let shown = stack.json(format!("{SHOW} {days}")).await;
        let left = list_of(&shown["prizes_left"]).iter();
        let names = "batch prize status codes left";
        left.map(|left| fields(left, names)).collect::<Vec<_>>()
    };
    let kettles = "kettles A kettle active 5 4";
    // One was won the day before.
    for days in ["", "--from 2026-03-02"] {
        assert_eq!(left(days).await, [kettles], "{days}");
    }
    let live = "--campaign chai-bora-2026 --environment live";
    let mint = "code mint --count 7 --batch";
    for (batch, prize) in [("mugs", "--prize 'A mug'"), ("plain", "")] {
        let output = stack.arg(&format!("{batch}.csv"));
        let minting = format!("{mint} {batch} {live} --output {output} {prize}");
        stack.fine(minting).await;
    }
    stack
        .fine(format!("code void --yes --batch mugs {live}"))
        .await;
    assert_eq!(left("").await, [kettles, "mugs A mug void 7 null"]);
    let text = stack.fine(SHOW).await;
    let part = text.split("Prizes left\n").nth(1).expect("a part");
    assert_contains!(
        part,
        "kettles  A kettle  active  4     5   ████",
        "mugs     A mug     void    -     7",
        "No winner has these"
    );
    assert_lacks!(part, "plain");
}

#[tokio::test]
async fn numbers_follow_a_revocation_and_a_reopening() {
    let stack = Stack::with_chai().await;
    stack.mint("5 --batch plain").await;
    let entered = Submission {
        batch: Some("plain".to_owned()),
        ..submission(SubmissionStatus::accepted(2, None), None)
    };
    let entered = holding(&stack, 0, entered).await;
    let mut counter = Counter::new(&stack.env, &stack.clock);
    let id = entered.submission_id;
    // State, submissions, entries, redeemed codes and phones.
    for (command, expected) in [
        ("timeline {}", "accepted 1 2 1 1"),
        ("revoke {} WHY", "rejected 1 0 0 0"),
        ("reopen {} WHY", "unknown 1 0 0 1"),
        ("settle {} --accept WHY", "accepted 1 2 1 1"),
        ("revoke {} --free-code WHY", "rejected 1 0 0 0"),
    ] {
        let act = command.replace("{}", &id.to_string()).replace("WHY", WHY);
        stack.fine(format!("submission {act}")).await;
        counter.count_all().await;
        let shown = stack.json(SHOW).await;
        assert_eq!(len_of(&shown["outcomes"]), 1, "{command}: {shown}");
        let names = "outcomes.0.state submissions entries codes.0.redeemed phones";
        assert_eq!(fields(&shown, names), expected, "{command}");
        let verified = stack.json(VERIFY).await;
        assert_eq!(verified["differences"], json!([]), "{command}");
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
    for wrong in [&format!("{SHOW} --from yesterday"), "numbers"] {
        stack.run(wrong).await.misused();
    }
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
