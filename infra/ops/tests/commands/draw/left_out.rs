//! Entries that a freeze leaves out, its figures, and records that stop it.

use aws_sdk_dynamodb::types::AttributeValue;

use super::erasure::PHONE;
use super::*;
use crate::console::Served;

async fn block(stack: &Stack) {
    let block = format!("phone block --why sells-codes {PHONE}");
    stack.fine(&in_campaign(&block)).await;
}

#[tokio::test]
async fn phone_blocked_before_the_freeze_is_left_out() {
    let stack = with_entries().await;
    entered(&stack, PHONE, 5).await;
    entered(&stack, PHONE, 6).await;
    block(&stack).await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
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
    frozen(&stack, "week-03", PRIZE).await;
    block(&stack).await;
    let ran = stack.fine(&run("week-03", &[])).await;
    assert!(
        ran.contains("drawn, BLOCKED") && ran.contains("--reason excluded"),
        "{ran}"
    );
    let shown = shown(&stack, "week-03").await;
    assert_eq!(
        (
            &shown["winners"][0]["state"]["is"],
            &shown["winners"][0]["blocked"]
        ),
        (&json!("drawn"), &json!(true))
    );
    let call = in_campaign("draw call --show-phone --draw week-03 --winner 1");
    let called = stack.run(&call).await;
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
    let skip = in_campaign(
        "draw skip --reason excluded --inspector Neema --yes --draw week-03 --winner 1",
    );
    let skipped = stack.json(&skip).await;
    assert_eq!(skipped["winner"]["blocked"], false, "it is over");
}

#[tokio::test]
async fn unreadable_records_are_all_named() {
    let stack = with_entries().await;
    let [newer, damaged] = [
        entered(&stack, PHONE, 1).await,
        entered(&stack, PHONE, 1).await,
    ];
    let mut keys = Vec::new();
    for (submission, attribute, value) in [
        (newer, "record_version", AttributeValue::N("9".to_owned())),
        (damaged, "revision", AttributeValue::S("nine".to_owned())),
    ] {
        let mut record = stored::record(&stack, &submission).await;
        record.insert(attribute.to_owned(), value);
        // As in a later version.
        if attribute == "record_version" {
            record.remove("standing");
        }
        keys.push(record["id"].as_s().expect("text").clone());
        stored::put(&stack, "submissions", record).await;
    }
    let export = stack.arg("all.csv");
    let export = format!("export submissions --state accepted --output {export}");
    let export = in_campaign(&export);
    for command in [&args(&freeze(&stack, "week-03", PRIZE)), &export] {
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
