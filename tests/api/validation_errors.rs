//! `errors` of `validation_failed`: all invalid fields in one reply.

use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::receipts::{code_and_receipt, receipts_alone};

/// Code, `field`, and pointers of `errors`.
fn places(reply: &Reply) -> (String, Value, Vec<Value>) {
    let error = reply.field("error");
    let problems = error["errors"].as_array().cloned().unwrap_or_default();
    (
        reply.error_code(),
        error["field"].clone(),
        problems
            .iter()
            .map(|problem| problem["pointer"].clone())
            .collect(),
    )
}

async fn submit(campaign: &TestCampaign, body: Value) -> Reply {
    campaign.with_body(&campaign.test_key, &body).await
}

#[tokio::test]
async fn all_faults_are_named_in_the_order_of_the_reference() {
    let campaign = TestCampaign::plain().await;
    let reply = submit(
        &campaign,
        json!({
            "claimed": { "branch": 7, "items": [{ "key": "a", "qty": 1 }, { "qty": 100 }] },
            "receipt_id": "none", "region": "x".repeat(81), "channel": "fax", "consent": "true", "code": "", "phone": 7,
        }),
    )
    .await;
    let expected = [
        "/phone",
        "/code",
        "/consent",
        "/region",
        "/channel",
        "/receipt_id",
        "/claimed/items/1/key",
        "/claimed/items/1/qty",
        "/claimed/branch",
    ];
    let (code, field, found) = places(&reply);
    assert_eq!(
        (code.as_str(), field, found),
        (
            "validation_failed",
            json!("phone"),
            expected.map(Value::from).to_vec()
        )
    );
    assert_eq!(
        reply.field("error")["errors"][7],
        json!({
            "field": "claimed.items[1].qty",
            "pointer": "/claimed/items/1/qty",
            "message": "`claimed.items[1].qty` must be a whole number from 1 to 99.",
        })
    );
}

#[tokio::test]
async fn what_the_campaign_needs_is_named_at_once_as_well() {
    let campaign = TestCampaign::with(code_and_receipt).await;
    let reply = submit(&campaign, json!({ "phone": phone(1), "consent": true })).await;
    let expected = vec![json!("/code"), json!("/receipt_id")];
    assert_eq!(
        places(&reply),
        ("validation_failed".to_owned(), json!("code"), expected)
    );
}

#[tokio::test]
async fn a_receipt_and_a_pre_check_name_all_their_faults() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let key = &campaign.test_key;
    let photo =
        json!({ "type": "photo", "content_type": "image/gif", "size_bytes": 0, "qr_payload": 7 });
    let reply = campaign.receipt(key, &photo).await;
    assert_eq!(
        places(&reply).2,
        ["/content_type", "/size_bytes", "/qr_payload"].map(Value::from)
    );
    let typed = json!({ "type": "typed", "code": "short", "time": "24:00" });
    let reply = campaign.receipt(key, &typed).await;
    assert_eq!(places(&reply).2, ["/code", "/time"].map(Value::from));
    let check = campaign
        .test("POST", "/api/v1/codes/check")
        .json(&json!({ "phone": "0812345678" }));
    assert_eq!(places(&check.await).2, ["/code", "/phone"].map(Value::from));
}

#[tokio::test]
async fn a_body_that_is_wrong_as_a_whole_names_no_field() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.check("x").raw("[]").await;
    assert_eq!(
        places(&reply),
        ("validation_failed".to_owned(), Value::Null, vec![])
    );
}
