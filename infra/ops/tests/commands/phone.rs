//! `ops phone`.

use std::time::Duration;

use common::domain::campaign::Campaign;
use common::domain::phone::Phone;
use common::domain::scope::Environment;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, plain};
use service_tests::service::Service;
use service_tests::text::{fields, len_of, list_of};

use crate::submission::accepted;
use crate::support::{Stack, chai, live, ops};

const WHY: &str = "--why 'Shares prize pages'";

async fn is_blocked(stack: &Stack, phone: &str) -> [bool; 2] {
    let tables = stack.tables();
    let phone: Phone = phone.parse().expect("a phone");
    let blocked = async |environment| {
        let id = tables
            .entrant_id(&chai(environment), &phone)
            .await
            .expect("it answers");
        let entrant = tables
            .entrants
            .get(&chai(environment), &id, "2026-03-01")
            .await;
        entrant.expect("it answers").blocked
    };
    [
        blocked(Environment::Test).await,
        blocked(Environment::Live).await,
    ]
}

#[tokio::test]
async fn phone_is_blocked_in_both_environments_and_shown_masked() {
    let stack = Stack::with_chai().await;
    let campaign = "--campaign chai-bora-2026";
    for (command, said, is_now_blocked) in [
        ("block 0712 345 678", "blocked", true),
        ("block 0712345678", "was blocked already", true),
        ("unblock +255712345678", "unblocked", false),
        ("unblock +255712345678", "was not blocked", false),
    ] {
        let text = stack
            .fine(format!("phone {command} {campaign} {WHY}"))
            .await;
        let expected = format!("+2557•••••678 {said} in chai-bora-2026, test and live\n");
        assert_eq!(text, expected);
        assert_eq!(is_blocked(&stack, "0712345678").await, [is_now_blocked; 2]);
    }
}

#[tokio::test]
async fn several_phones_are_blocked_at_once_or_none_of_them() {
    let stack = Stack::with_chai().await;
    let block = format!("phone block --campaign chai-bora-2026 {WHY}");
    let blocked = stack.json(format!("{block} 0712000001 0712 000 002")).await;
    assert_eq!(blocked["phones"], json!(["+2557•••••001", "+2557•••••002"]));
    for phone in ["0712000001", "0712000002"] {
        assert_eq!(is_blocked(&stack, phone).await, [true, true]);
    }
    for (typed, wrong) in [
        ("0712000003 0712", "PHONE 2,"),
        ("12345 0712000003", "PHONE 1,"),
    ] {
        let error = stack
            .refused(format!("{block} {typed}"), "phone_invalid")
            .await;
        assert_contains!(error.message, wrong);
    }
    assert_eq!(is_blocked(&stack, "0712000003").await, [false, false]);
}

fn list(environment: &str) -> String {
    format!("phone list --campaign chai-bora-2026 --environment {environment}")
}

#[tokio::test]
async fn blocked_phones_are_listed_with_time_reason_and_operator() {
    let stack = Stack::with_chai().await;
    assert_eq!(
        stack.fine(list("live")).await,
        "No phone is blocked in chai-bora-2026, live.\n"
    );
    let block = |phone, why, by| {
        format!("phone block --campaign chai-bora-2026 {phone} --why '{why}' --by {by}")
    };
    stack.fine(block("0712000001", "Sells codes", "juma")).await;
    stack.clock.advance(Duration::from_secs(60));
    stack
        .fine(block("0712000002", "Guesses codes", "asha"))
        .await;
    stack
        .fine(block("0712000002", "Something else", "juma"))
        .await;
    stack.clock.advance(Duration::from_secs(60));
    stack.fine(block("0712000003", "By mistake", "asha")).await;
    let unblock = "phone unblock --campaign chai-bora-2026 0712000003 --why 'Was a mistake'";
    stack.fine(&unblock).await;

    let [test, live] = [
        stack.json(list("test")).await,
        stack.json(list("live")).await,
    ];
    assert_eq!(test["phones"], live["phones"]);
    insta::assert_snapshot!(format!("{:#}", live["phones"]), @r#"
    [
      {
        "at": "2026-03-01T00:00:00.000Z",
        "by": "juma (local)",
        "phone": "+2557•••••001",
        "why": "Sells codes"
      },
      {
        "at": "2026-03-01T00:01:00.000Z",
        "by": "asha (local)",
        "phone": "+2557•••••002",
        "why": "Guesses codes"
      }
    ]
    "#);
    insta::assert_snapshot!(stack.fine(list("live")).await, @"
    PHONE          BLOCKED (Africa/Dar_es_Salaam)  BY            WHY
    +2557•••••001  2026-03-01 03:00:00             juma (local)  Sells codes
    +2557•••••002  2026-03-01 03:01:00             asha (local)  Guesses codes
    ");
    let unknown = "phone list --campaign nobody --environment live";
    stack.refused(&unknown, "campaign_unknown").await;

    let found = stack.json("person find --phone 0712000003").await;
    let live = &found["scopes"][1];
    assert_eq!(
        fields(live, "blocked unblocked.at unblocked.by unblocked.why"),
        "null 2026-03-01T00:02:00.000Z asha (local) Was a mistake"
    );
}

#[tokio::test]
async fn phone_is_found_with_limits_submissions_and_block() {
    let stack = Stack::with_chai().await;
    let submission = accepted(&stack, 2).await;
    let id = submission.submission_id.to_string();
    let expected = json!({
        "campaign": "chai-bora-2026", "environment": "live", "entries": 2, "submissions_today": 1, "left_today": 2,
        "submissions_total": 1, "left_total": 19, "open_receipts": 0, "blocked": null, "unblocked": null,
        "throttled_until": null,
        "submissions": [{
            "id": id, "reference": submission.reference().to_string(), "state": "accepted", "message_key": "entered",
            "day": "2026-03-01",
        }],
    });
    let found = stack.json("person find --phone 0712345678").await;
    assert_eq!(
        (&found["phone"], &found["scopes"]),
        (&json!("+2557•••••678"), &json!([expected]))
    );
    stack
        .fine(format!(
            "phone block --campaign chai-bora-2026 0712345678 {WHY}"
        ))
        .await;
    let find = "person find --phone -";
    let typed = stack.answering(find, "0712 345 678\n").await;
    assert_contains!(
        typed.out,
        "left today        2",
        "blocked since     2026-03-01 03:00:00 Africa/Dar_es_Salaam",
        "blocked by        asha (local)",
        "blocked because   Shares prize pages",
        id
    );
    let printed = format!("{}{}", typed.out, typed.err).replace(' ', "");
    assert_lacks!(printed, "345678");
    stack.refused(&find, "no_terminal").await;
    assert_eq!(
        stack.fine("person find --phone 0712000009").await,
        "Nothing is held on +2557•••••009.\n"
    );
    let wrong = stack.run("person find --phone 079911").await.failed();
    assert_lacks!(wrong, "079911");
}

#[tokio::test]
async fn a_phone_is_found_whose_submissions_were_all_refused() {
    let campaign = TestCampaign::on(
        &Service::shared(),
        Campaign {
            paused: true,
            ..plain()
        },
    )
    .await;
    assert_eq!(
        campaign.outcome("0712000007", &campaign.code(0)).await,
        "campaign_paused"
    );
    let slug = campaign.config.slug.as_str();
    let find = "person find --json --phone 0712000007";
    let found = ops(&campaign.service, find).await.json();
    let mut scopes = list_of(&found["scopes"]).iter();
    let scope = scopes
        .find(|scope| scope["campaign"] == slug)
        .expect("it is there");
    assert_eq!(scope["environment"], "test");
    assert_eq!(scope["submissions_total"], 0);
    assert_eq!(scope["submissions"][0]["message_key"], "campaign_paused");
}

#[tokio::test]
async fn a_phone_that_guesses_is_found_throttled() {
    let stack = Stack::with_chai().await;
    let (scope, phone) = (live(), "0712345678".parse().expect("a phone"));
    let id = stack
        .tables()
        .entrant_id(&scope, &phone)
        .await
        .expect("it answers");
    let key = scope.key(id.as_str());
    let row = format!("{{'entrant': '{key}', 'throttled_until': 1772326800000}}");
    stack
        .sql(format!("INSERT INTO \"entrants\" VALUE {row}"))
        .await;
    let find = "person find --phone 0712345678";
    let found = stack.json(&find).await;
    assert_eq!(
        found["scopes"][0]["throttled_until"],
        "2026-03-01T01:00:00.000Z"
    );
    stack.clock.advance(Duration::from_secs(3600));
    let found = stack.json(&find).await;
    assert_eq!(found["scopes"][0]["throttled_until"], Value::Null);
}

#[tokio::test]
async fn the_phones_of_a_file_are_blocked_once_the_operator_agrees() {
    let stack = Stack::with_chai().await;
    let lines: String = (0..1_500)
        .map(|number| format!("x,0712{number:06}\r\n"))
        .collect();
    let file = stack.file(
        "phones.csv",
        format!("\u{feff}name,Mobile number\r\n{lines}"),
    );
    let change = |what| format!("phone {what} --campaign chai-bora-2026 --file {file} {WHY}");
    stack.refused(change("block"), "confirmation_needed").await;
    let ended = stack.answering(change("block"), "n\n").await;
    assert!(
        ended.err.starts_with(
            "Block the 1,500 phones of the file in chai-bora-2026, test and live? [y/N]"
        )
    );
    assert_eq!(is_blocked(&stack, "0712000007").await, [false, false]);
    let ended = stack.answering(change("block"), "y\n").await;
    assert_eq!(
        ended.out,
        "1,500 phones blocked in chai-bora-2026, test and live; 0 unchanged\n"
    );
    assert_eq!(is_blocked(&stack, "0712001499").await, [true, true]);
    assert_eq!(len_of(&stack.json(list("live")).await["phones"]), 1_500);
    let again = stack.json(change("block") + " --yes").await;
    assert_eq!(again["changed"], 0);
    assert_eq!(again["unchanged"], 1_500);
    let done = stack.json(change("unblock") + " --yes").await;
    assert_eq!(done["changed"], 1_500);
    assert_eq!(stack.json(list("live")).await["phones"], json!([]));
}

#[tokio::test]
async fn one_bad_line_and_no_phone_of_the_file_is_blocked() {
    let stack = Stack::with_chai().await;
    let file = stack.file(
        "phones.csv",
        "phone\n0712000001\n712000002\n2.55712E+11\n+254712000003\n\n0712000004",
    );
    let block = format!("phone block --campaign chai-bora-2026 --yes --file {file} {WHY}");
    let said = stack.run(&block).await.failed();
    assert_contains!(said, "phones.csv:3: ", "phones.csv:4: ", "phones.csv:5: ");
    assert_lacks!(said, "712000", "E+11");
    assert_eq!(is_blocked(&stack, "0712000001").await, [false, false]);
    let both = format!("phone block --campaign chai-bora-2026 --file {file} 0712000001 {WHY}");
    stack.run(&both).await.misused();
    let empty = stack.file("empty.csv", "");
    let block = format!("phone block --campaign chai-bora-2026 --yes --file {empty} {WHY}");
    stack.refused(&block, "phone_file_invalid").await;
}
