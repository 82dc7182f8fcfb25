//! Submissions changed after the freeze, so that another person would be called.

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
    frozen(&stack).await;
    // Accepted in the period, but not in the draw.
    let friend = record(&stack, &entered(&stack, PHONE, 1).await).await;
    let own = record(&stack, &winner).await;
    let earlier = stored::number(ENTERED.as_millis() - 30 * 24 * 60 * 60 * 1000);
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
        let error = stack.refused(RUN, "row_differs").await;
        let reference = winner.reference().to_string();
        assert_contains!(error.message, reference, "row 0 ", why);
    }
    put(&stack, "submissions", own).await;
    let drawn = stack.json(RUN).await;
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
    let block = format!("phone block --campaign chai-bora-2026 --why sells-codes {PHONE}");
    stack.fine(block).await;
    frozen(&stack).await;
    for entry in &entries {
        let own = record(&stack, entry).await;
        put(&stack, "submissions", with(&own, &friend, &["entrant"])).await;
        let error = stack.refused(RUN, "row_differs").await;
        assert_contains!(error.message, "of another entrant");
        put(&stack, "submissions", own).await;
    }
    stack.fine(RUN).await;
}
