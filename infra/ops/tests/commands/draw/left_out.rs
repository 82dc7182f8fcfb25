//! Entries that a freeze leaves out, its figures, and records that stop it.

use super::erasure::PHONE;
use super::*;
use crate::console::SignedIn;

async fn block(stack: &Stack) {
    let block = format!("phone block --campaign chai-bora-2026 --why sells-codes {PHONE}");
    stack.fine(block).await;
}

#[tokio::test]
async fn phone_blocked_before_the_freeze_is_left_out() {
    let stack = with_entries().await;
    entered(&stack, PHONE, 5).await;
    entered(&stack, PHONE, 6).await;
    block(&stack).await;
    let draw = frozen(&stack).await;
    assert_eq!(size(&draw), [3, 10]);
    let left_out = json!({ "blocked": { "2026-02-28": 11 }, "without_phone": {} });
    assert_eq!(draw["header"]["left_out"], left_out);
    assert_eq!(draw["largest_rows"], json!([7, 2, 1]));
    assert_eq!(draw["given_by_hand"], 0);
}

#[tokio::test]
async fn phone_blocked_after_the_freeze_is_marked() {
    let stack = Stack::with_chai().await;
    entered(&stack, PHONE, 1).await;
    frozen(&stack).await;
    block(&stack).await;
    let ran = stack.fine(RUN).await;
    assert_contains!(ran, "drawn, BLOCKED", "--reason excluded");
    let shown = shown(&stack).await;
    assert_eq!(shown["winners"][0]["state"]["is"], "drawn");
    assert_eq!(shown["winners"][0]["blocked"], true);
    let call = format!("draw call {DRAW} --show-phone --winner 1");
    let called = stack.run(call).await;
    assert_contains!(called.out, "BLOCKED");
    assert_contains!(called.err, "draw skip --reason excluded");
    let operator = SignedIn::to(&stack).await;
    let draws = "/campaigns/chai-bora-2026/live/draws/week-03";
    assert_contains!(
        operator.page(draws).await,
        "<span class=\"pill over\">blocked</span>"
    );
    let winner = operator
        .page(&format!("{draws}/winner?prize=Kettle&place=1"))
        .await;
    assert_contains!(
        winner,
        "blocked after the freeze",
        "<option value=\"excluded\" selected>"
    );
    let skip = format!("draw skip {DRAW} --reason excluded --inspector Neema --yes --winner 1");
    let skipped = stack.json(skip).await;
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
        (newer, "record_version", stored::number(9)),
        (damaged, "revision", stored::text("nine")),
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
    let export =
        format!("export submissions --campaign chai-bora-2026 --state accepted --output {export}");
    for command in [freeze(&stack, "week-03", PRIZE), export] {
        let error = stack.refused(command, "records_unreadable").await;
        assert_contains!(error.message, keys[0], keys[1], "version 9");
    }
    assert!(
        !stack.path("week-03").exists() && !stack.path("all.csv").exists(),
        "nothing was written"
    );
}
