//! `POST /api/v1/submissions`: valid and invalid Idempotency-Keys.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use serde_json::json;
use service_tests::attempt::Attempt;
use service_tests::campaign::{TestCampaign, phone};

#[tokio::test]
async fn a_request_without_a_key_is_told_to_send_one() {
    let campaign = TestCampaign::plain().await;
    let attempt = Attempt::new(&campaign, 1);
    let reply = attempt
        .assert_rejected_without_effect(attempt.good().without("idempotency-key"))
        .await;
    assert_snapshot!(reply.snapshot(), @r#"
    422 {
      "error": {
        "code": "idempotency_key_required",
        "docs_url": "[docs]",
        "fix": "Send a fresh UUID as the Idempotency-Key of each attempt, the same one on every retry of it.",
        "message": "The request has no Idempotency-Key.",
        "request_id": "[request id]"
      }
    }
    "#);
}

#[tokio::test]
async fn malformed_key_is_refused_and_leaves_nothing() {
    let campaign = TestCampaign::plain().await;
    let keys: [Vec<u8>; 11] = [
        b"".into(),
        b"x".into(),
        b"fifteen symbols".into(),
        b"\"fifteen symbols\"".into(),
        "x".repeat(129).into(),
        format!("\"{}\"", "x".repeat(129)).into(),
        "é".repeat(16).into(),
        b"sixteen symbols \xff".into(),
        b"sixteen\tsymbols\tand\ttabs".into(),
        b"sixteen,symbols!".into(),
        b"\"sixteen symbols\", \"and others\"".into(),
    ];
    let mut replies = BTreeSet::new();
    for (key, number) in keys.into_iter().zip(1..) {
        let attempt = Attempt::new(&campaign, number);
        let bad = attempt.good().without("idempotency-key");
        let bad = bad.header("idempotency-key", &key);
        let reply = attempt.assert_rejected_without_effect(bad).await;
        replies.insert(reply.snapshot());
    }
    let all_alike = replies.into_iter().collect::<Vec<_>>().join("\n");
    assert_snapshot!(all_alike, @r#"
    422 {
      "error": {
        "code": "idempotency_key_invalid",
        "docs_url": "[docs]",
        "fix": "Send a fresh UUID as the Idempotency-Key of each attempt, the same one on every retry of it.",
        "message": "The Idempotency-Key is not one value of 16 to 128 printable ASCII characters without a comma.",
        "request_id": "[request id]"
      }
    }
    "#);
}

#[tokio::test]
async fn any_printable_key_of_16_to_128_characters_is_one() {
    let campaign = TestCampaign::plain().await;
    let keys = [
        "sixteen symbols!",
        &"x".repeat(128),
        "a#b|c;d.e\\f{g}'h\"i",
        "0b0a6f6e-6a53-4a0e-8f0e-0d6f4f1f2a3b",
    ];
    for (key, number) in keys.into_iter().zip(1..) {
        let attempt = Attempt::new(&campaign, number);
        let sending = attempt
            .good()
            .without("idempotency-key")
            .header("idempotency-key", key);
        assert_eq!(
            sending.clone().await.header("idempotent-replayed"),
            None,
            "{key}"
        );
        let again = sending.await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{key}");
        assert_eq!(again.field("message_key"), "entered", "{key}");
    }
}

#[tokio::test]
async fn a_quoted_key_is_the_bare_one() {
    let campaign = TestCampaign::plain().await;
    let attempt = Attempt::new(&campaign, 1);
    let bare = attempt.good().await;
    let quoted = format!("\"{}\"", attempt.key);
    let quoted = attempt
        .good()
        .without("idempotency-key")
        .header("idempotency-key", quoted);
    let again = quoted.clone().await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json(), bare.json());
    let other = attempt.body_with("region", json!("Kigoma"));
    assert_eq!(
        quoted.json(&other).await.error_code(),
        "idempotency_key_reused"
    );
}

#[tokio::test]
async fn a_key_is_told_apart_by_case() {
    let campaign = TestCampaign::plain().await;
    let send = |key: &str, number: u32| {
        let sending = campaign.submission(&phone(number), &campaign.code(u64::from(number)));
        sending
            .without("idempotency-key")
            .header("idempotency-key", key)
            .send()
    };
    for (key, number) in [("Sixteen-Symbols-1", 1), ("sixteen-symbols-1", 2)] {
        let reply = send(key, number).await;
        assert_eq!(reply.field("message_key"), "entered");
        assert_eq!(reply.header("idempotent-replayed"), None);
    }
}

#[tokio::test]
async fn a_header_that_comes_twice_is_no_key() {
    let campaign = TestCampaign::plain().await;
    for (number, second) in [(1, None), (2, Some("another-key-of-16"))] {
        let attempt = Attempt::new(&campaign, number);
        let second = second.unwrap_or(&attempt.key);
        let refused = attempt
            .assert_rejected_without_effect(attempt.good().header("idempotency-key", second))
            .await;
        assert_eq!(refused.refusal(), "422 idempotency_key_invalid");
    }
}
