//! `ops phone`.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::domain::campaign::Campaign;
use common::domain::phone::Phone;
use common::domain::scope::Environment;
use common::domain::submission::SubmissionStatus;
use common::random;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, plain};
use service_tests::service::Service;

use crate::support::{Stack, chai, line, run};

const WHY: [&str; 2] = ["--why", "Shares prize pages"];

async fn is_blocked(stack: &Stack, phone: &str) -> [bool; 2] {
    let tables = stack.tables().await;
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
    let campaign = ["--campaign", "chai-bora-2026"];
    let ended = stack
        .run(
            &[
                &["phone", "block"],
                &campaign[..],
                &["0712", "345", "678"],
                &WHY,
            ]
            .concat(),
        )
        .await;
    assert_eq!(
        ended.out,
        "+2557•••••678 blocked in chai-bora-2026, test and live\n"
    );
    assert_eq!(is_blocked(&stack, "0712345678").await, [true, true]);
    let again = stack
        .fine(&[&["phone", "block"], &campaign[..], &["0712345678"], &WHY].concat())
        .await;
    assert_eq!(
        again,
        "+2557•••••678 was blocked already in chai-bora-2026, test and live\n"
    );
    let unblock = [
        &["phone", "unblock"],
        &campaign[..],
        &["+255712345678"],
        &WHY,
    ]
    .concat();
    assert_eq!(
        stack.fine(&unblock).await,
        "+2557•••••678 unblocked in chai-bora-2026, test and live\n"
    );
    assert_eq!(is_blocked(&stack, "0712345678").await, [false, false]);
    assert_eq!(
        stack.fine(&unblock).await,
        "+2557•••••678 was not blocked in chai-bora-2026, test and live\n"
    );
}

#[tokio::test]
async fn what_is_no_phone_is_refused_without_repeating_it() {
    let stack = Stack::with_chai().await;
    let block =
        |campaign, phone| [&["phone", "block", "--campaign", campaign, phone][..], &WHY].concat();
    let ended = stack.run(&block("chai-bora-2026", "+254712345678")).await;
    assert_eq!(ended.code, 1);
    assert!(!ended.err.contains("254712"), "{}", ended.err);
    let ended = stack.run(&block("nobody", "0712345678")).await;
    assert!(
        ended.code == 1 && !ended.err.contains("712345"),
        "{}",
        ended.err
    );
}

#[tokio::test]
async fn several_phones_are_blocked_at_once_or_none_of_them() {
    let stack = Stack::with_chai().await;
    let block = [
        "phone",
        "block",
        "--campaign",
        "chai-bora-2026",
        WHY[0],
        WHY[1],
    ];
    let blocked = stack
        .json(&[&block[..], &["0712000001", "0712", "000", "002"]].concat())
        .await;
    assert_eq!(blocked["phones"], json!(["+2557•••••001", "+2557•••••002"]));
    for phone in ["0712000001", "0712000002"] {
        assert_eq!(is_blocked(&stack, phone).await, [true, true]);
    }
    for (typed, wrong) in [
        (["0712000003", "0712"], "PHONE 2,"),
        (["12345", "0712000003"], "PHONE 1,"),
    ] {
        let error = stack.refused(&[&block[..], &typed].concat()).await;
        assert_eq!(error["code"], "phone_invalid");
        assert!(
            error["message"]
                .as_str()
                .expect("a message")
                .contains(wrong),
            "{error}"
        );
    }
    assert_eq!(is_blocked(&stack, "0712000003").await, [false, false]);
}

fn list(environment: &str) -> [&str; 6] {
    [
        "phone",
        "list",
        "--campaign",
        "chai-bora-2026",
        "--environment",
        environment,
    ]
}

#[tokio::test]
async fn blocked_phones_are_listed_with_time_reason_and_operator() {
    let stack = Stack::with_chai().await;
    assert_eq!(
        stack.fine(&list("live")).await,
        "No phone is blocked in chai-bora-2026, live.\n"
    );
    let block = |phone, why, by| {
        [
            "phone",
            "block",
            "--campaign",
            "chai-bora-2026",
            phone,
            "--why",
            why,
            "--by",
            by,
        ]
    };
    stack
        .fine(&block("0712000001", "Sells codes", "juma"))
        .await;
    stack.clock.advance(Duration::from_secs(60));
    stack
        .fine(&block("0712000002", "Guesses codes", "asha"))
        .await;
    stack
        .fine(&block("0712000002", "Something else", "juma"))
        .await;
    stack.clock.advance(Duration::from_secs(60));
    stack.fine(&block("0712000003", "By mistake", "asha")).await;
    let unblock = [
        "phone",
        "unblock",
        "--campaign",
        "chai-bora-2026",
        "0712000003",
        "--why",
        "Was a mistake",
    ];
    stack.fine(&unblock).await;

    for environment in ["test", "live"] {
        let expected = json!([
            { "phone": "+2557•••••001", "at": "2026-03-01T00:00:00.000Z", "by": "juma (local)", "why": "Sells codes" },
            { "phone": "+2557•••••002", "at": "2026-03-01T00:01:00.000Z", "by": "asha (local)", "why": "Guesses codes" },
        ]);
        assert_eq!(stack.json(&list(environment)).await["phones"], expected);
    }
    let text = stack.fine(&list("live")).await;
    assert!(
        text.contains("+2557•••••001  2026-03-01 03:00:00             juma (local)  Sells codes"),
        "{text}"
    );
    let unknown = line("phone list --campaign nobody --environment live");
    assert_eq!(stack.refused(&unknown).await["code"], "campaign_unknown");

    let found = stack
        .json(&["person", "find", "--phone", "0712000003"])
        .await;
    let live = &found["scopes"][1];
    let unblocked =
        json!({ "at": "2026-03-01T00:02:00.000Z", "by": "asha (local)", "why": "Was a mistake" });
    assert_eq!(
        (&live["blocked"], &live["unblocked"]),
        (&json!(null), &unblocked)
    );
}

#[tokio::test]
async fn phone_is_found_with_limits_submissions_and_block() {
    let stack = Stack::with_chai().await;
    let submission = crate::submission::submission(
        random::submission_id(),
        SubmissionStatus::accepted(2, None),
        None,
    );
    crate::submission::write(&stack, &submission, None).await;
    let id = submission.submission_id.to_string();
    let expected = json!({
        "campaign": "chai-bora-2026", "environment": "live", "entries": 2, "submissions_today": 1, "left_today": 2,
        "submissions_total": 1, "left_total": 19, "open_receipts": 0, "blocked": null, "unblocked": null,
        "throttled_until": null,
        "submissions": [{
            "id": id, "reference": submission.reference(), "state": "accepted", "message_key": "entered",
            "day": "2026-03-01",
        }],
    });
    let found = stack.json(&line("person find --phone 0712345678")).await;
    assert_eq!(
        (&found["phone"], &found["scopes"]),
        (&json!("+2557•••••678"), &json!([expected]))
    );
    let block = line("phone block --campaign chai-bora-2026 0712345678");
    stack.fine(&[&block[..], &WHY].concat()).await;
    let find = line("person find --phone -");
    let typed = stack.answering(&find, "0712 345 678\n").await;
    for shown in [
        "left today        2",
        "blocked since     2026-03-01 03:00:00 Africa/Dar_es_Salaam",
        "blocked by        asha (local)",
        "blocked because   Shares prize pages",
        &id,
    ] {
        assert!(
            typed.out.contains(shown),
            "{shown}: {}{}",
            typed.out,
            typed.err
        );
    }
    let printed = format!("{}{}", typed.out, typed.err).replace(' ', "");
    assert!(!printed.contains("345678"), "it is masked");
    assert_eq!(stack.refused(&find).await["code"], "no_terminal");
    assert_eq!(
        stack.fine(&line("person find --phone 0712000009")).await,
        "Nothing is held on +2557•••••009.\n"
    );
    let wrong = stack.run(&line("person find --phone 079911")).await;
    assert!(
        wrong.code == 1 && !wrong.err.contains("079911"),
        "{}",
        wrong.err
    );
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
    let find = ["person", "find", "--json", "--phone", "0712000007"];
    let found = run(&find, campaign.service.env.clone(), &campaign.service.clock).await;
    let found: Value = serde_json::from_str(&found.out).expect("JSON");
    let mut scopes = found["scopes"].as_array().expect("a list").iter();
    let scope = scopes
        .find(|scope| scope["campaign"] == slug)
        .expect("it is there");
    assert_eq!(
        json!([scope["environment"], scope["submissions_total"]]),
        json!(["test", 0])
    );
    assert_eq!(scope["submissions"][0]["message_key"], "campaign_paused");
}

#[tokio::test]
async fn a_phone_that_guesses_is_found_throttled() {
    let stack = Stack::with_chai().await;
    let (scope, phone) = (
        chai(Environment::Live),
        "0712345678".parse().expect("a phone"),
    );
    let id = stack
        .tables()
        .await
        .entrant_id(&scope, &phone)
        .await
        .expect("it answers");
    let client = Aws::for_function(&stack.env)
        .expect("credentials")
        .dynamodb();
    let update = client
        .update_item()
        .table_name(
            stack
                .env
                .required("ENTRANTS_TABLE")
                .expect("the stack sets it"),
        )
        .key("entrant", AttributeValue::S(scope.key(id.as_str())))
        .update_expression("SET throttled_until = :until")
        .expression_attribute_values(":until", AttributeValue::N("1772326800000".to_owned()));
    update.send().await.expect("written");
    let find = ["person", "find", "--phone", "0712345678"];
    let found = stack.json(&find).await;
    assert_eq!(
        found["scopes"][0]["throttled_until"],
        "2026-03-01T01:00:00.000Z"
    );
    stack.clock.advance(Duration::from_secs(3600));
    assert_eq!(
        stack.json(&find).await["scopes"][0]["throttled_until"],
        json!(null)
    );
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
    let change = |what| {
        [
            "phone",
            what,
            "--campaign",
            "chai-bora-2026",
            "--file",
            &file,
            WHY[0],
            WHY[1],
        ]
    };
    assert_eq!(
        stack.refused(&change("block")).await["code"],
        "confirmation_needed"
    );
    let ended = stack.answering(&change("block"), "n\n").await;
    assert!(
        ended.err.starts_with(
            "Block the 1,500 phones of the file in chai-bora-2026, test and live? [y/N]"
        )
    );
    assert_eq!(is_blocked(&stack, "0712000007").await, [false, false]);
    let ended = stack.answering(&change("block"), "y\n").await;
    assert_eq!(
        ended.out,
        "1,500 phones blocked in chai-bora-2026, test and live; 0 unchanged\n"
    );
    assert_eq!(is_blocked(&stack, "0712001499").await, [true, true]);
    assert_eq!(
        stack.json(&list("live")).await["phones"]
            .as_array()
            .map(Vec::len),
        Some(1_500)
    );
    let again = stack
        .json(&[&change("block")[..], &["--yes"]].concat())
        .await;
    assert_eq!(
        json!([again["changed"], again["unchanged"]]),
        json!([0, 1_500])
    );
    let done = stack
        .json(&[&change("unblock")[..], &["--yes"]].concat())
        .await;
    assert_eq!(done["changed"], 1_500);
    assert_eq!(stack.json(&list("live")).await["phones"], json!([]));
}

#[tokio::test]
async fn one_bad_line_and_no_phone_of_the_file_is_blocked() {
    let stack = Stack::with_chai().await;
    let file = stack.file(
        "phones.csv",
        "phone\n0712000001\n712000002\n2.55712E+11\n+254712000003\n\n0712000004",
    );
    let block = [
        "phone",
        "block",
        "--campaign",
        "chai-bora-2026",
        "--yes",
        "--file",
        &file,
        WHY[0],
        WHY[1],
    ];
    let ended = stack.run(&block).await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE);
    for line in ["phones.csv:3: ", "phones.csv:4: ", "phones.csv:5: "] {
        assert!(ended.err.contains(line), "{}", ended.err);
    }
    assert!(
        !ended.err.contains("712000") && !ended.err.contains("E+11"),
        "{}",
        ended.err
    );
    assert_eq!(is_blocked(&stack, "0712000001").await, [false, false]);
    let both = [
        "phone",
        "block",
        "--campaign",
        "chai-bora-2026",
        "--file",
        &file,
        "0712000001",
        WHY[0],
        WHY[1],
    ];
    assert_eq!(stack.run(&both).await.code, ops_core::EXIT_USAGE);
    let empty = stack.file("empty.csv", "");
    let block = [
        "phone",
        "block",
        "--campaign",
        "chai-bora-2026",
        "--yes",
        "--file",
        &empty,
        WHY[0],
        WHY[1],
    ];
    assert_eq!(stack.refused(&block).await["code"], "phone_file_invalid");
}
