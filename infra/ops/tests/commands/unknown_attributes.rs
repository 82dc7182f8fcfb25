//! Attributes of a newer build stay through every write of an operator.

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::domain::code_record::CodeKey;
use common::domain::ids::SubmissionId;
use common::domain::scope::Environment;
use common::random;
use common::store::submissions;

use crate::correction::{by, minted};
use crate::submission::{WHY, submission, waiting, write};
use crate::support::{NOW, Stack, chai, line};

/// Attributes of the record, of its map `standing`, and of its first past state.
const FOREIGN: [&str; 3] = ["future", "standing.future", "history[0].future"];

fn record(stack: &Stack, id: SubmissionId) -> (aws_sdk_dynamodb::Client, AttributeValue) {
    let client = Aws::for_function(&stack.env)
        .expect("all variables")
        .dynamodb();
    (
        client,
        AttributeValue::S(submissions::key(&chai(Environment::Live), id.reference())),
    )
}

async fn add(stack: &Stack, id: SubmissionId, path: &str) {
    let (client, key) = record(stack, id);
    let update = client
        .update_item()
        .table_name("submissions")
        .key("id", key);
    let update = update.update_expression(format!("SET {path} = :value"));
    update
        .expression_attribute_values(":value", AttributeValue::S(path.to_owned()))
        .send()
        .await
        .expect("written");
}

/// Those that a record still has.
async fn left(stack: &Stack, id: SubmissionId) -> Vec<String> {
    let (client, key) = record(stack, id);
    let get = client.get_item().table_name("submissions").key("id", key);
    let item = get
        .projection_expression(FOREIGN.join(", "))
        .send()
        .await
        .expect("it answers")
        .item;
    let text = format!("{item:?}");
    FOREIGN
        .into_iter()
        .filter(|path| text.contains(&format!("S(\"{path}\")")))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn foreign_attributes_stay_through_every_decision() {
    let stack = Stack::with_chai().await;
    minted(&stack, None).await;
    let key = CodeKey::Minted(0);
    let code_key = Some(key.in_scope(&chai(Environment::Live)));
    let open = submission(random::submission_id(), waiting(), code_key);
    write(&stack, &open, Some(&key)).await;
    let id = open.submission_id;
    let name = id.to_string();
    for path in &FOREIGN[..2] {
        add(&stack, id, path).await;
    }
    for (number, command) in [
        &[
            "submission",
            "settle",
            &name,
            "--accept",
            "--without-receipt-code",
        ][..],
        &["submission", "revoke", &name],
        &["submission", "reopen", &name],
        &[
            "submission",
            "settle",
            &name,
            "--reject",
            "receipt_wrong_store",
        ],
    ]
    .into_iter()
    .enumerate()
    {
        // Reopening takes another person than accepting.
        let person = if number == 0 { "juma" } else { "asha" };
        let ended = by(&stack, person, [command, &WHY].concat()).await;
        assert!(ended.code == 0, "{command:?}: {}", ended.err);
        if number == 0 {
            assert_eq!(left(&stack, id).await, FOREIGN[..2], "{command:?}");
            add(&stack, id, FOREIGN[2]).await;
        }
        assert_eq!(left(&stack, id).await, FOREIGN, "{command:?}");
    }
    let store = stack.tables().await.store;
    let before = store
        .submissions()
        .get(&open.scope, id)
        .await
        .expect("it answers")
        .expect("it is there");
    let after = before.looked_at_again("juma".to_owned(), None, NOW);
    assert!(store.annotate(&before, &after).await.expect("it answers"));
    assert_eq!(left(&stack, id).await, FOREIGN, "a second look");
    stack
        .fine(&line("person erase --phone 0712345678 --why asked --yes"))
        .await;
    let erased = store
        .submissions()
        .get(&open.scope, id)
        .await
        .expect("it answers")
        .expect("it is there");
    assert!(
        erased.phone.is_none()
            && erased.history.iter().all(|past| {
                past.decision
                    .as_ref()
                    .is_none_or(|decision| decision.why.is_none())
            })
    );
    assert_eq!(left(&stack, id).await, FOREIGN, "an erasure");
}
