//! Submissions changed after the freeze, so that another person would be called.

use aws_sdk_dynamodb::types::AttributeValue;

use super::erasure::PHONE;
use super::stored::{Record, put, record};
use super::*;

/// A record with another's attributes.
fn with(record: &Record, other: &Record, names: &[&str]) -> Record {
    let mut changed = record.clone();
    changed.extend(
        names
            .iter()
            .map(|name| ((*name).to_owned(), other[*name].clone())),
    );
    changed
}

#[tokio::test]
async fn winner_is_who_was_frozen_or_nobody() {
    let stack = Stack::with_chai().await;
    let winner = entered(&stack, "0711000001", 1).await;
    frozen(&stack, "week-03", PRIZE).await;
    // Accepted in the period, but not in the draw.
    let friend = record(&stack, &entered(&stack, PHONE, 1).await).await;
    let own = record(&stack, &winner).await;
    let earlier = AttributeValue::N((ENTERED.as_millis() - 30 * 24 * 60 * 60 * 1000).to_string());
    let not_in_period = [("updated_at".to_owned(), earlier)].into_iter().collect();
    for (changed, why) in [
        (with(&friend, &own, &["id"]), "cannot be read"),
        (
            with(&friend, &own, &["id", "submission_id"]),
            "the phone of another submission",
        ),
        (
            with(&own, &not_in_period, &["updated_at"]),
            "was not accepted in the period",
        ),
    ] {
        put(&stack, "submissions", changed).await;
        let error = stack.refused(&run("week-03", &[])).await;
        let message = error["message"].as_str().expect("text");
        assert_eq!(error["code"], "row_differs", "{message}");
        assert!(
            message.contains(&winner.reference().to_string()) && message.contains("row 0 "),
            "{message}"
        );
        assert!(message.contains(why), "{message}");
    }
    put(&stack, "submissions", own).await;
    let drawn = stack.json(&run("week-03", &[])).await;
    assert_eq!(drawn["winners"][0]["ref"], winner.reference().to_string());
}

#[tokio::test]
async fn row_is_of_one_entrant() {
    let stack = Stack::with_chai().await;
    let entries = [
        entered(&stack, "0711000001", 1).await,
        entered(&stack, "0711000001", 2).await,
    ];
    let friend = record(&stack, &entered(&stack, PHONE, 1).await).await;
    let block = format!("phone block --why sells-codes {PHONE}");
    stack.fine(&in_campaign(&block)).await;
    frozen(&stack, "week-03", PRIZE).await;
    for entry in &entries {
        let own = record(&stack, entry).await;
        put(&stack, "submissions", with(&own, &friend, &["entrant"])).await;
        let error = stack.refused(&run("week-03", &[])).await;
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|message| message.contains("of another entrant")),
            "{error}"
        );
        put(&stack, "submissions", own).await;
    }
    stack.fine(&run("week-03", &[])).await;
}
