//! Entries that a freeze leaves out, figures that it names, and records that stop it.

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;

use super::erasure::PHONE;
use super::races::PRIZE;
use super::*;
use crate::console::Served;

const WINNER: [&str; 4] = ["--draw", "week-03", "--winner", "1"];

async fn block(stack: &Stack) {
    stack
        .fine(&[
            "phone",
            "block",
            "--campaign",
            "chai-bora-2026",
            "--why",
            "sells codes",
            PHONE,
        ])
        .await;
}

#[tokio::test]
async fn phone_blocked_before_the_freeze_is_left_out() {
    let stack = with_entries().await;
    entered(&stack, PHONE, 5).await;
    entered(&stack, PHONE, 6).await;
    block(&stack).await;
    let draw = frozen(&stack, "week-03", &PRIZE).await;
    assert_eq!(
        (&draw["header"]["rows"], &draw["header"]["total"]),
        (&json!(3), &json!(10))
    );
    let left_out = json!({ "blocked": { "2026-02-28": 11 }, "without_phone": {} });
    assert_eq!(draw["header"]["left_out"], left_out);
    assert_eq!(
        (&draw["largest_rows"], &draw["given_by_hand"]),
        (&json!([7, 2, 1]), &json!(0))
    );
}

#[tokio::test]
async fn phone_blocked_after_the_freeze_is_marked() {
    let stack = Stack::with_chai().await;
    entered(&stack, PHONE, 1).await;
    frozen(&stack, "week-03", &PRIZE).await;
    block(&stack).await;
    let ran = stack.fine(&run("week-03", &[])).await;
    assert!(
        ran.contains("drawn, BLOCKED") && ran.contains("--reason excluded"),
        "{ran}"
    );
    let shown = stack
        .json(&[&["draw", "show", "--draw", "week-03"], &CAMPAIGN[..]].concat())
        .await;
    assert_eq!(
        (
            &shown["winners"][0]["state"]["is"],
            &shown["winners"][0]["blocked"]
        ),
        (&json!("drawn"), &json!(true))
    );
    let called = stack
        .run(&[&["draw", "call", "--show-phone"], &WINNER[..], &CAMPAIGN].concat())
        .await;
    assert!(
        called.out.contains("BLOCKED") && called.err.contains("draw skip --reason excluded"),
        "{}",
        called.err
    );
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let draws = "/campaigns/chai-bora-2026/live/draws/week-03";
    assert!(
        operator
            .page(draws)
            .await
            .contains("<span class=\"pill over\">blocked</span>")
    );
    let winner = operator
        .page(&format!("{draws}/winner?prize=Kettle&place=1"))
        .await;
    assert!(
        winner.contains("blocked after the freeze")
            && winner.contains("<option value=\"excluded\" selected>"),
        "{winner}"
    );
    let skip = [
        "draw",
        "skip",
        "--reason",
        "excluded",
        "--inspector",
        "A. I.",
        "--yes",
    ];
    let skipped = stack.json(&[&skip[..], &WINNER, &CAMPAIGN].concat()).await;
    assert_eq!(skipped["winner"]["blocked"], false, "it is over");
}

#[tokio::test]
async fn unreadable_records_are_all_named() {
    let stack = with_entries().await;
    let [newer, damaged] = [
        entered(&stack, PHONE, 1).await,
        entered(&stack, PHONE, 1).await,
    ];
    let dynamodb = Aws::for_function(&stack.env)
        .expect("credentials")
        .dynamodb();
    let mut keys = Vec::new();
    for (submission, change, value) in [
        (
            newer,
            "SET record_version = :value REMOVE standing",
            AttributeValue::N("9".to_owned()),
        ),
        (
            damaged,
            "SET revision = :value",
            AttributeValue::S("nine".to_owned()),
        ),
    ] {
        let scanned = dynamodb
            .scan()
            .table_name("submissions")
            .send()
            .await
            .expect("it answers");
        let id = AttributeValue::S(submission.submission_id.to_string());
        let items = scanned.items.unwrap_or_default();
        let item = items
            .iter()
            .find(|item| item.get("submission_id") == Some(&id))
            .expect("it is there");
        let update = dynamodb
            .update_item()
            .table_name("submissions")
            .key("id", item["id"].clone());
        let update = update
            .update_expression(change)
            .expression_attribute_values(":value", value);
        update.send().await.expect("it answers");
        keys.push(item["id"].as_s().expect("text").clone());
    }
    let export = stack.arg("all.csv");
    let export = [
        &[
            "export",
            "submissions",
            "--state",
            "accepted",
            "--output",
            &export,
        ],
        &CAMPAIGN[..],
    ]
    .concat();
    for command in [&args(&freeze(&stack, "week-03", &PRIZE)), &export] {
        let error = stack.refused(command).await;
        assert_eq!(error["code"], "records_unreadable");
        let message = error["message"].as_str().expect("text");
        assert!(
            keys.iter().all(|key| message.contains(key)) && message.contains("version 9"),
            "{message}"
        );
    }
    assert!(
        !stack.path("week-03").exists() && !stack.path("all.csv").exists(),
        "nothing was written"
    );
}
