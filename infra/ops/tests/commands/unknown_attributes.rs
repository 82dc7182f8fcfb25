//! Attributes of a newer build stay through every write of an operator.

use common::domain::submission::Submission;
use common::store::submissions;

use crate::draw::stored::{record, text};
use crate::reviewing::stored;
use crate::submission::{WHY, holding, submission, waiting};
use crate::support::{NOW, Stack, live};

/// Attributes of the record, of its map `standing`, and of its first past state.
const FOREIGN: [&str; 3] = ["future", "standing.future", "history[0].future"];

async fn add(stack: &Stack, submission: &Submission, path: &str) {
    let key = submissions::key(&live(), submission.reference());
    let update = stack.aws().dynamodb().update_item();
    let update = update
        .table_name("submissions")
        .key("id", text(&key))
        .update_expression(format!("SET {path} = :value"))
        .expression_attribute_values(":value", text(path));
    update.send().await.expect("written");
}

/// Those that a record still has.
async fn left(stack: &Stack, submission: &Submission) -> Vec<&'static str> {
    let record = format!("{:?}", record(stack, submission).await);
    let is_there = |path: &&str| record.contains(&format!("S(\"{path}\")"));
    FOREIGN.into_iter().filter(is_there).collect()
}

#[tokio::test]
async fn foreign_attributes_stay_through_every_decision() {
    let stack = Stack::with_chai().await;
    stack.mint(9).await;
    let open = holding(&stack, 0, submission(waiting(), None)).await;
    let id = open.submission_id;
    for path in &FOREIGN[..2] {
        add(&stack, &open, path).await;
    }
    for (number, command) in [
        "settle {} --accept --without-receipt-code",
        "revoke {}",
        "reopen {}",
        "settle {} --reject receipt_wrong_store",
    ]
    .into_iter()
    .enumerate()
    {
        // Reopening takes another person than accepting.
        let person = if number == 0 { "juma" } else { "asha" };
        let command = command.replace("{}", &id.to_string());
        stack
            .json_by(person, format!("submission {command} {WHY}"))
            .await;
        if number == 0 {
            assert_eq!(left(&stack, &open).await, FOREIGN[..2], "{command:?}");
            add(&stack, &open, FOREIGN[2]).await;
        }
        assert_eq!(left(&stack, &open).await, FOREIGN, "{command:?}");
    }
    let tables = stack.tables();
    let before = stored(&tables, id).await;
    let after = before.with_spot_check("juma".to_owned(), None, NOW);
    let written = tables.store.annotate(&before, &after).await;
    assert!(written.expect("it answers"));
    assert_eq!(left(&stack, &open).await, FOREIGN, "a second look");
    stack
        .fine("person erase --phone 0712345678 --why asked --yes")
        .await;
    let erased = stored(&tables, id).await;
    assert!(
        erased.phone.is_none()
            && erased.history.iter().all(|past| {
                past.decision
                    .as_ref()
                    .is_none_or(|decision| decision.why.is_none())
            })
    );
    assert_eq!(left(&stack, &open).await, FOREIGN, "an erasure");
}
