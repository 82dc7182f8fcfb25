//! `POST /api/v1/codes/check`: invalid requests.

use insta::assert_snapshot;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone};

const PATH: &str = "/api/v1/codes/check";

#[tokio::test]
async fn the_first_field_at_fault_is_named() {
    let campaign = TestCampaign::plain().await;
    let refusal = async |body: Value| campaign.test("POST", PATH).json(&body).await.refusal();
    let fault = |field: &str| format!("422 validation_failed {field}");
    let (code, good) = (campaign.code(1), phone(1));
    for (body, field) in [
        (json!({}), "code"),
        (json!({ "Code": code }), "code"),
        (json!({ "code": null }), "code"),
        (json!({ "code": "" }), "code"),
        (json!({ "code": 7 }), "code"),
        (json!({ "code": true }), "code"),
        (json!({ "code": [code] }), "code"),
        (json!({ "code": { "code": code } }), "code"),
        (json!({ "code": "a\u{0}b" }), "code"),
        (json!({ "code": "\n-\u{2014}" }), "code"),
        (json!({ "code": "a\u{7f}b" }), "code"),
        (json!({ "code": "x".repeat(65) }), "code"),
        (json!({ "code": "é".repeat(65) }), "code"),
        (json!({ "code": "", "phone": 7 }), "code"),
        (json!({ "phone": good }), "code"),
        (json!({ "code": code, "phone": 712_345_678 }), "phone"),
        (json!({ "code": code, "phone": "" }), "phone"),
        (json!({ "code": code, "phone": "07123456" }), "phone"),
        (
            json!({ "code": code, "phone": "07123456789012345" }),
            "phone",
        ),
        (json!({ "code": code, "phone": "+254712345678" }), "phone"),
        (json!({ "code": code, "phone": "0812345678" }), "phone"),
        (json!({ "code": code, "phone": "0712345678\u{0}" }), "phone"),
    ] {
        let shown = body.to_string();
        assert_eq!(refusal(body).await, fault(field), "{shown}");
    }
}

#[tokio::test]
async fn the_error_says_what_the_field_has_to_be() {
    let campaign = TestCampaign::plain().await;
    assert_snapshot!(campaign.check("").await.snapshot(), @r#"
    422 {
      "error": {
        "code": "validation_failed",
        "docs_url": "[docs]",
        "errors": [
          {
            "field": "code",
            "message": "`code` must be a string of 1 to 64 characters.",
            "pointer": "/code"
          }
        ],
        "field": "code",
        "fix": "Correct the request; where fields are at fault, `errors` lists them all and `field` names the first.",
        "message": "The request is not in the expected shape. `code` must be a string of 1 to 64 characters.",
        "request_id": "[request id]"
      }
    }
    "#);
}

#[tokio::test]
async fn the_longest_code_counts_characters_not_bytes() {
    let campaign = TestCampaign::plain().await;
    for code in ["x".repeat(64), "é".repeat(64), "🫖".repeat(64)] {
        assert_eq!(campaign.check(&code).await.field("precheck"), "invalid");
    }
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let campaign = TestCampaign::plain().await;
    let body = json!({ "code": campaign.code(1), "phone": null, "consent": "x", "\u{0}": [1e300], "": {} });
    let reply = campaign.test("POST", PATH).json(&body).await;
    assert_eq!(reply.field("precheck"), "valid");
}

#[tokio::test]
async fn a_sentinel_with_a_live_key_is_refused() {
    let campaign = TestCampaign::plain().await;
    let check = |code: &str| campaign.live("POST", PATH).json(&json!({ "code": code }));
    for code in [
        "TEST-0-VALID",
        "test-0-valid",
        "  Test-0-Anything ",
        "TEST-0-",
    ] {
        let refusal = check(code).await.refusal();
        assert_eq!(refusal, "422 sentinel_with_live_key code", "{code}");
    }
    assert_snapshot!(check("TEST-0-VALID").await.snapshot(), @r#"
    422 {
      "error": {
        "code": "sentinel_with_live_key",
        "docs_url": "[docs]",
        "field": "code",
        "fix": "Use a test key (`svc_test_…`) for test codes and receipts.",
        "message": "A test code or test receipt was sent with a live key.",
        "request_id": "[request id]"
      }
    }
    "#);
    let other = check("TEST-1-VALID").await;
    assert_eq!(other.field("precheck"), "invalid", "not a sentinel");

    let body = json!({ "code": "TEST-0-VALID", "phone": "nonsense" });
    let reply = campaign.live("POST", PATH).json(&body).await;
    assert_eq!(reply.error_code(), "validation_failed", "fields come first");
}
