//! `POST /api/v1/receipts`: replies and Idempotency-Keys.

use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::scope::Environment;
use common::store::idempotency_keys::{self, KEY};
use insta::assert_snapshot;
use serde_json::json;
use service_tests::campaign::{TestCampaign, fresh_key};
use service_tests::receipts::{announced, hardly_a_photo, id_of, receipts_alone, upload};
use service_tests::text::text_of;

#[tokio::test]
async fn a_photo_gets_a_target_that_says_all_that_must_be_sent() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let reply = campaign
        .receipt(&campaign.test_key, &announced(&[0; 1234], None))
        .await;
    let target = reply.field("upload");
    let mut steady = reply.clone();
    for (name, with) in [("url", "[url]"), ("expires_at", "[time]")] {
        steady.text = steady.text.replace(text_of(&target[name]), with);
    }
    assert_snapshot!(steady.snapshot(), @r#"
    200 {
      "created_at": "[time]",
      "id": "[uuid]",
      "state": "awaiting_upload",
      "type": "photo",
      "upload": {
        "accepted_types": [
          "image/jpeg",
          "image/png",
          "image/webp"
        ],
        "expires_at": "[time]",
        "headers": {
          "content-length": "1234",
          "content-type": "image/jpeg",
          "if-none-match": "*"
        },
        "max_bytes": 5242880,
        "method": "PUT",
        "url": "[url]"
      }
    }
    "#);
    let url = text_of(&target["url"]);
    assert_contains!(url, "X-Amz-Expires=900", id_of(&reply));
    for signed in ["content-length", "content-type", "if-none-match"] {
        assert!(url.contains(signed), "{signed} is not signed in {url}");
    }
}

#[tokio::test]
async fn a_typed_receipt_is_there_at_once() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let body = json!({ "type": "typed", "code": "AB12CD3456", "time": "9:05" });
    let reply = campaign.receipt(&campaign.live_key, &body).await;
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "created_at": "[time]",
      "id": "[uuid]",
      "state": "uploaded",
      "type": "typed",
      "upload": null
    }
    "#);
    assert_lacks!(reply.text, "AB12CD3456");
}

#[tokio::test]
async fn without_a_key_two_requests_are_two_receipts() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let sending = campaign.receipt(&campaign.test_key, &announced(&[0; 9], None));
    let first = id_of(&sending.clone().await);
    assert_ne!(id_of(&sending.await), first);
}

#[tokio::test]
async fn key_renews_the_upload_target_until_the_file_is_there() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let body = announced(&hardly_a_photo(), None);
    let sending = campaign
        .receipt(&campaign.test_key, &body)
        .header("idempotency-key", fresh_key());
    let first = sending.clone().await;
    let second = sending.clone().await;
    assert_eq!(id_of(&second), id_of(&first));
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(second.field("state"), "awaiting_upload");
    assert_eq!(upload(&second, hardly_a_photo()).await.status, 200);
    let third = sending.clone().await;
    assert_eq!(third.fields("state upload"), "uploaded null");
    assert_eq!(id_of(&third), id_of(&first));

    let other = sending.json(&announced(&[0; 10], None)).await;
    assert_eq!(other.refusal(), "422 idempotency_key_reused");
}

#[tokio::test]
async fn a_receipt_and_its_submission_may_share_a_key() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let key = fresh_key();
    let typed = json!({ "type": "typed", "code": "TEST0VERIFIED", "time": "10:15" });
    let receipt = campaign
        .receipt(&campaign.test_key, &typed)
        .header("idempotency-key", &key)
        .await;
    let submission = campaign
        .with_receipt(&campaign.test_key, "0712345678", "", &id_of(&receipt))
        .without("idempotency-key")
        .header("idempotency-key", &key);
    assert_eq!(submission.await.field("message_key"), "receipt_received");
}

#[tokio::test]
async fn the_stored_digest_of_a_body_is_keyed() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let table = campaign.service.variable(idempotency_keys::VARIABLE);
    let body = json!({ "type": "typed", "code": "AB12CD3456", "time": "9:05" });
    let mut digests = Vec::new();
    for (key, environment) in [
        (&campaign.test_key, Environment::Test),
        (&campaign.live_key, Environment::Live),
    ] {
        let attempt = fresh_key();
        let sending = campaign.receipt(key, &body);
        let sending = sending.header("idempotency-key", attempt.clone());
        assert_eq!(sending.await.status, 200);
        let record = campaign
            .scope(environment)
            .key(format!("receipts#{attempt}"));
        let get = campaign.service.dynamodb().get_item().table_name(&table);
        let read = get.key(KEY, AttributeValue::S(record)).send().await;
        let item = read.expect("the table answers").item.expect("a record");
        digests.push(item["body_hash"].as_s().expect("text").clone());
    }
    // The scope has its own key; digests without one would be equal.
    assert_ne!(digests[0], digests[1]);
}
