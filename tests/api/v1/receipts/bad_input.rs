//! `POST /api/v1/receipts` with invalid input.

use serde_json::{Value, json};
use service_tests::campaign::TestCampaign;
use service_tests::receipts::{receipts_alone, rules, without_typing};

fn photo(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({ "type": "photo", "content_type": "image/png", "size_bytes": 1000 });
    change(&mut body);
    body
}

fn typed(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({ "type": "typed", "code": "AB12CD3456", "time": "10:15:30" });
    change(&mut body);
    body
}

#[tokio::test]
async fn the_field_at_fault_is_named() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let cases = [
        (json!({}), "type"),
        (json!({ "type": "video" }), "type"),
        (json!({ "type": 7 }), "type"),
        (
            photo(|body| body["content_type"] = json!("image/gif")),
            "content_type",
        ),
        (
            photo(|body| body["content_type"] = json!("IMAGE/PNG")),
            "content_type",
        ),
        (
            photo(|body| body["content_type"] = json!(null)),
            "content_type",
        ),
        (photo(|body| body["size_bytes"] = json!(0)), "size_bytes"),
        (photo(|body| body["size_bytes"] = json!(-1)), "size_bytes"),
        (
            photo(|body| body["size_bytes"] = json!("1000")),
            "size_bytes",
        ),
        (photo(|body| body["size_bytes"] = json!(10.5)), "size_bytes"),
        (photo(|body| body["size_bytes"] = json!(null)), "size_bytes"),
        (
            photo(|body| body["qr_payload"] = json!("x".repeat(401))),
            "qr_payload",
        ),
        (photo(|body| body["qr_payload"] = json!(7)), "qr_payload"),
        (typed(|body| body["code"] = json!("AB12C")), "code"),
        (typed(|body| body["code"] = json!("A".repeat(41))), "code"),
        (typed(|body| body["code"] = json!(null)), "code"),
        (typed(|body| body["time"] = json!("10h15")), "time"),
        (typed(|body| body["time"] = json!("10:1")), "time"),
        (typed(|body| body["time"] = json!("25:00")), "time"),
        (typed(|body| body["time"] = json!("10:15:60")), "time"),
        (typed(|body| body["code"] = json!("  AB12C\n")), "code"),
        (
            typed(|body| body["code"] = json!("AB12\u{0}CD3456")),
            "code",
        ),
        (
            typed(|body| body["code"] = json!("AB\u{200b}\u{ad}12C")),
            "code",
        ),
        (typed(|body| body["time"] = json!("10:15:3")), "time"),
        (typed(|body| body["time"] = json!(null)), "time"),
    ];
    for (body, field) in cases {
        let reply = campaign.receipt(&campaign.test_key, &body).send().await;
        assert_eq!(
            reply.refusal(),
            format!("422 validation_failed {field}"),
            "{body}"
        );
    }
}

#[tokio::test]
async fn lengths_and_forms_at_the_edge_are_taken() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let cases = [
        photo(|body| body["size_bytes"] = json!(5_242_880)),
        photo(|body| body["qr_payload"] = json!("é".repeat(400))),
        photo(|body| body["more"] = json!({ "unknown": true })),
        typed(|body| body["code"] = json!("AB12CD")),
        typed(|body| body["code"] = json!("A".repeat(40))),
        typed(|body| body["time"] = json!("9:05")),
        typed(|body| body["time"] = json!(" 9:05\n")),
        typed(|body| body["code"] = json!(format!("\n{}\u{200b}\t", "A".repeat(40)))),
        photo(|body| body["content_type"] = json!("image/png\n")),
        photo(|body| body["size_bytes"] = json!(5_242_880.0)),
    ];
    for body in cases {
        let reply = campaign.receipt(&campaign.test_key, &body).send().await;
        assert_eq!(reply.status, 200, "{body}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_photo_over_5_mb_is_too_large_however_large() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let body = photo(|body| body["size_bytes"] = json!("SIZE")).to_string();
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
            .send()
            .await;
        assert_eq!(reply.refusal(), "413 file_too_large size_bytes", "{size}");
    }
}

#[tokio::test]
async fn a_time_that_no_clock_shows_is_told_what_a_time_is() {
    let campaign = TestCampaign::with(receipts_alone).await;
    for time in ["25:00", "10:60", "10:15:60"] {
        let body = typed(|body| body["time"] = json!(time));
        let reply = campaign.receipt(&campaign.test_key, &body).send().await;
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
        (typed(|body| body["code"] = json!("test0review.7")), "code"),
        (
            typed(|body| body["code"] = json!("ＴＥＳＴ０ＲＥＶＩＥＷ")),
            "code",
        ),
        (
            typed(|body| body["code"] = json!("TEST\u{200b}0REVIEW\n")),
            "code",
        ),
        (
            photo(|body| body["qr_payload"] = json!(" TEST0VERIFIED")),
            "qr_payload",
        ),
    ];
    for (body, field) in cases {
        let live = campaign.receipt(&campaign.live_key, &body).send().await;
        assert_eq!(
            live.refusal(),
            format!("422 sentinel_with_live_key {field}")
        );
        assert_eq!(
            campaign
                .receipt(&campaign.test_key, &body)
                .send()
                .await
                .status,
            200
        );
    }
}

#[tokio::test]
async fn a_campaign_takes_what_its_rules_say() {
    let photos_alone = TestCampaign::with(|campaign| {
        receipts_alone(campaign);
        campaign.receipt = Some(without_typing(rules()));
    })
    .await;
    let refused = photos_alone
        .receipt(&photos_alone.test_key, &typed(|_| {}))
        .send()
        .await;
    assert_eq!(refused.refusal(), "422 typed_receipt_unsupported type");
    assert_eq!(
        photos_alone
            .receipt(&photos_alone.test_key, &photo(|_| {}))
            .send()
            .await
            .status,
        200
    );

    let none = TestCampaign::plain().await;
    let refused = none.receipt(&none.test_key, &photo(|_| {})).send().await;
    assert_eq!(
        refused.redacted(),
        json!([422, { "error": {
            "code": "validation_failed",
            "message": "The request is not in the expected shape. This campaign takes no receipts.",
            "fix": "Start no receipt: `receipt` of GET /api/v1/campaign is null for a campaign that takes none. Enter the consumer with POST /api/v1/submissions alone, or use a key of a campaign with receipts.",
            "docs_url": "[docs]", "request_id": "[request id]",
        } }])
    );
    let refused = none.receipt(&none.test_key, &typed(|_| {})).send().await;
    assert_eq!(refused.refusal(), "422 typed_receipt_unsupported type");
}

#[tokio::test]
async fn a_key_that_is_none_is_refused_before_the_body_is_read() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let reply = campaign
        .receipt(&campaign.test_key, &json!({}))
        .header("idempotency-key", "short")
        .send()
        .await;
    assert_eq!(reply.refusal(), "422 idempotency_key_invalid");
}
