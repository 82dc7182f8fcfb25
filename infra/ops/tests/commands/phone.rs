//! `ops phone`.

use common::domain::phone::Phone;
use common::domain::scope::Environment;
use serde_json::json;

use crate::support::{Stack, chai};

async fn is_blocked(stack: &Stack, phone: &str) -> [bool; 2] {
    let tables = stack.tables().await;
    let phone: Phone = phone.parse().expect("a phone");
    let blocked = async |environment| {
        let id = tables.entrant_id(&chai(environment), &phone).await.expect("it answers");
        let entrant = tables.entrants.get(&chai(environment), &id, "2026-03-01").await;
        entrant.expect("it answers").blocked
    };
    [blocked(Environment::Test).await, blocked(Environment::Live).await]
}

#[tokio::test]
async fn a_phone_is_blocked_and_unblocked_in_both_environments_and_shown_masked() {
    let stack = Stack::with_chai().await;
    let campaign = ["--campaign", "chai-bora-2026"];
    let ended = stack.run(&[&["phone", "block"], &campaign[..], &["0712", "345", "678"]].concat()).await;
    assert_eq!(ended.out, "+2557•••••678 blocked in chai-bora-2026, test and live\n");
    assert_eq!(is_blocked(&stack, "0712345678").await, [true, true]);
    let again = stack.fine(&[&["phone", "block"], &campaign[..], &["0712345678"]].concat()).await;
    assert_eq!(again, "+2557•••••678 was blocked already in chai-bora-2026, test and live\n");
    let unblock = [&["phone", "unblock"], &campaign[..], &["+255712345678"]].concat();
    assert_eq!(stack.fine(&unblock).await, "+2557•••••678 unblocked in chai-bora-2026, test and live\n");
    assert_eq!(is_blocked(&stack, "0712345678").await, [false, false]);
    assert_eq!(
        stack.fine(&unblock).await,
        "+2557•••••678 was not blocked in chai-bora-2026, test and live\n"
    );
}

#[tokio::test]
async fn what_is_no_phone_is_refused_without_repeating_it() {
    let stack = Stack::with_chai().await;
    let ended = stack.run(&["phone", "block", "--campaign", "chai-bora-2026", "+254712345678"]).await;
    assert_eq!(ended.code, 1);
    assert!(!ended.err.contains("254712"), "{}", ended.err);
    let ended = stack.run(&["phone", "block", "--campaign", "nobody", "0712345678"]).await;
    assert!(ended.code == 1 && !ended.err.contains("712345"), "{}", ended.err);
}

#[tokio::test]
async fn several_phones_are_blocked_at_once_or_none_of_them() {
    let stack = Stack::with_chai().await;
    let block = ["phone", "block", "--campaign", "chai-bora-2026"];
    let blocked = stack.json(&[&block[..], &["0712000001", "0712", "000", "002"]].concat()).await;
    assert_eq!(blocked["phones"], json!(["+2557•••••001", "+2557•••••002"]));
    for phone in ["0712000001", "0712000002"] {
        assert_eq!(is_blocked(&stack, phone).await, [true, true]);
    }
    for (typed, wrong) in [(["0712000003", "0712"], "PHONE 2,"), (["12345", "0712000003"], "PHONE 1,")] {
        let error = stack.refused(&[&block[..], &typed].concat()).await;
        assert_eq!(error["code"], "phone_invalid");
        assert!(error["message"].as_str().expect("a message").contains(wrong), "{error}");
    }
    assert_eq!(is_blocked(&stack, "0712000003").await, [false, false]);
}
