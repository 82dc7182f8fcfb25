//! `POST /api/v1/receipts` with invalid input.

use insta::assert_snapshot;
use serde_json::{Value, json};
use service_tests::campaign::TestCampaign;
use service_tests::http::Reply;
use service_tests::receipts::{receipts_alone, rules, without_typing};
use service_tests::text::list_of;

/// A valid body, but for one field.
type Body = fn(&str, Value) -> Value;

fn photo(field: &str, value: Value) -> Value {
    let mut body = json!({ "type": "photo", "content_type": "image/png", "size_bytes": 1000 });
    body[field] = value;
    body
}

fn typed(field: &str, value: Value) -> Value {
    let mut body = json!({ "type": "typed", "code": "AB12CD3456", "time": "10:15:30" });
    body[field] = value;
    body
}

async fn send(campaign: &TestCampaign, body: &Value) -> Reply {
    campaign.receipt(&campaign.test_key, body).await
}

#[tokio::test]
async fn the_field_at_fault_is_named() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let (long_payload, long_code) = ("x".repeat(401), "A".repeat(41));
    let wrong: [(&str, Body, Value); 6] = [
        ("type", photo, json!([null, "video", 7])),
        (
            "content_type",
            photo,
            json!(["image/gif", "IMAGE/PNG", null]),
        ),
        ("size_bytes", photo, json!([0, -1, "1000", 10.5, null])),
        ("qr_payload", photo, json!([long_payload, 7])),
        (
            "code",
            typed,
            json!([
                "AB12C",
                long_code,
                null,
                "  AB12C\n",
                "AB12\u{0}CD3456",
                "AB\u{200b}\u{ad}12C",
            ]),
        ),
        (
            "time",
            typed,
            json!(["10h15", "10:1", "25:00", "10:15:60", "10:15:3", null]),
        ),
    ];
    for (field, body, values) in wrong {
        for value in list_of(&values) {
            let reply = send(&campaign, &body(field, value.clone())).await;
            let expected = format!("422 validation_failed {field}");
            assert_eq!(reply.refusal(), expected, "{value}");
        }
    }
    let missing = send(&campaign, &json!({})).await;
    assert_eq!(missing.refusal(), "422 validation_failed type");
}

#[tokio::test]
async fn lengths_and_forms_at_the_edge_are_taken() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let longest = "A".repeat(40);
    let cases = [
        photo("size_bytes", json!(5_242_880)),
        photo("qr_payload", json!("é".repeat(400))),
        photo("more", json!({ "unknown": true })),
        typed("code", json!("AB12CD")),
        typed("code", json!(longest)),
        typed("time", json!("9:05")),
        typed("time", json!(" 9:05\n")),
        typed("code", json!(format!("\n{longest}\u{200b}\t"))),
        photo("content_type", json!("image/png\n")),
        photo("size_bytes", json!(5_242_880.0)),
    ];
    for body in cases {
        let reply = send(&campaign, &body).await;
        assert_eq!(reply.status, 200, "{body}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_photo_over_5_mb_is_too_large_however_large() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let body = photo("size_bytes", json!("SIZE")).to_string();
    for size in [
        "5242881",
        "5242881.0",
        "4294967296",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "1e30",
        "1e308",
    ] {
        let text = body.replace("\"SIZE\"", size);
        let reply = campaign
            .receipt(&campaign.test_key, &json!({}))
            .raw(text)
            .await;
        assert_eq!(reply.refusal(), "413 file_too_large size_bytes", "{size}");
    }
}

#[tokio::test]
async fn a_time_that_no_clock_shows_is_told_what_a_time_is() {
    let campaign = TestCampaign::with(receipts_alone).await;
    for time in ["25:00", "10:60", "10:15:60"] {
        let reply = send(&campaign, &typed("time", json!(time))).await;
        let problem = &reply.field("error")["errors"][0]["message"];
        let expected =
            "`time` must be a time of day from 0:00 to 23:59:59, written `hh:mm` or `hh:mm:ss`.";
        assert_eq!(problem, expected, "{time}");
    }
}

#[tokio::test]
async fn a_sentinel_is_for_test_keys_alone() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let cases = [
        (typed("code", json!("test0review.7")), "code"),
        (typed("code", json!("ＴＥＳＴ０ＲＥＶＩＥＷ")), "code"),
        (typed("code", json!("TEST\u{200b}0REVIEW\n")), "code"),
        (photo("qr_payload", json!(" TEST0VERIFIED")), "qr_payload"),
    ];
    for (body, field) in cases {
        let live = campaign.receipt(&campaign.live_key, &body).await;
        let expected = format!("422 sentinel_with_live_key {field}");
        assert_eq!(live.refusal(), expected);
        assert_eq!(send(&campaign, &body).await.status, 200);
    }
}

#[tokio::test]
async fn a_campaign_takes_what_its_rules_say() {
    let photos_alone = TestCampaign::with(|campaign| {
        receipts_alone(campaign);
        campaign.receipt = Some(without_typing(rules()));
    })
    .await;
    let (photo, typed) = (photo("more", json!(1)), typed("more", json!(1)));
    let unsupported = "422 typed_receipt_unsupported type";
    assert_eq!(send(&photos_alone, &typed).await.refusal(), unsupported);
    assert_eq!(send(&photos_alone, &photo).await.status, 200);
    let none = TestCampaign::plain().await;
    assert_snapshot!(send(&none, &photo).await.snapshot(), @r#"
    422 {
      "error": {
        "code": "validation_failed",
        "docs_url": "[docs]",
        "fix": "Start no receipt: `receipt` of GET /api/v1/campaign is null for a campaign that takes none. Enter the consumer with POST /api/v1/submissions alone, or use a key of a campaign with receipts.",
        "message": "The request is not in the expected shape. This campaign takes no receipts.",
        "request_id": "[request id]"
      }
    }
    "#);
    assert_eq!(send(&none, &typed).await.refusal(), unsupported);
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_before_the_body_is_read() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let reply = campaign
        .receipt(&campaign.test_key, &json!({}))
        .header("idempotency-key", "short")
        .await;
    assert_eq!(reply.refusal(), "422 idempotency_key_invalid");
}
