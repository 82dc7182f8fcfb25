//! `POST /api/v1/submissions` with valid and invalid receipts.

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_s3::primitives::ByteStream;
use common::aws::Aws;
use common::aws::photos::object_key;
use common::domain::scope::Environment;
use common::store::{EXPIRY, receipts};
use futures_util::future::join_all;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, fresh_key, phone, plain};
use service_tests::receipts::{
    announced, code_and_receipt, hardly_a_photo, id_of, receipts_alone, rules, upload,
};
use service_tests::service::{NOON, Service};

#[tokio::test]
async fn missing_receipt_is_named_after_all_other_faults() {
    let campaign = TestCampaign::with(code_and_receipt).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    assert_eq!(
        sending.clone().await.refusal(),
        "422 receipt_required receipt_id"
    );
    let without_code = sending.json(&json!({ "phone": phone(1), "consent": true }));
    let refused = without_code.await;
    assert_eq!(refused.refusal(), "422 validation_failed code");
}

#[tokio::test]
async fn optional_receipt_may_be_absent() {
    let campaign = TestCampaign::with(|campaign| {
        campaign.receipt = Some(common::domain::receipt::rules::ReceiptRules {
            required: false,
            ..rules()
        });
    })
    .await;
    campaign.enter(1, 0).await;
    let receipt = campaign
        .typed(&campaign.test_key, "TEST0VERIFIED", "10:15")
        .await;
    let with_one = campaign
        .with_receipt(&campaign.test_key, &phone(1), &campaign.code(1), &receipt)
        .await;
    assert_eq!(with_one.field("message_key"), "receipt_received");
}

#[tokio::test]
async fn the_same_request_succeeds_once_the_photo_is_there() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let body = announced(&hardly_a_photo(), Some("TEST0REVIEW"));
    let made = campaign.receipt(&campaign.test_key, &body).await;
    let sending = campaign.with_receipt(&campaign.test_key, &phone(1), "", &id_of(&made));
    assert_eq!(
        sending.clone().await.refusal(),
        "422 receipt_not_uploaded receipt_id"
    );
    let lookup = campaign.lookup(&phone(1)).await;
    assert_eq!(
        lookup.field("submissions"),
        json!([]),
        "nothing is left behind"
    );
    assert_eq!(upload(&made, hardly_a_photo()).await.status, 200);
    let received = sending.clone().await;
    assert_eq!(
        (
            received.field("message_key"),
            received.header("idempotent-replayed")
        ),
        (json!("receipt_received"), None)
    );
    let again = sending.await;
    assert_eq!(
        (again.field("id"), again.header("idempotent-replayed")),
        (received.field("id"), Some("true"))
    );
}

#[tokio::test]
async fn a_receipt_belongs_to_one_submission() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let receipt = campaign
        .typed(&campaign.test_key, "TEST0REVIEW", "10:15")
        .await;
    let replies = join_all((1..=20).map(|number| {
        let sending = campaign.with_receipt(&campaign.test_key, &phone(number), "", &receipt);
        async move { sending.await }
    }))
    .await;
    let received: Vec<_> = replies.iter().filter(|reply| reply.status == 200).collect();
    assert_eq!(received.len(), 1);
    for refused in replies.iter().filter(|reply| reply.status != 200) {
        assert_eq!(refused.refusal(), "422 receipt_already_attached receipt_id");
    }
    let read = campaign
        .test("GET", &format!("/api/v1/receipts/{receipt}"))
        .await;
    assert_eq!(read.field("state"), "attached");
}

#[tokio::test]
async fn a_refused_consumer_attaches_no_receipt() {
    let campaign = TestCampaign::with(|campaign| {
        receipts_alone(campaign);
        campaign.paused = true;
    })
    .await;
    let receipt = campaign
        .typed(&campaign.test_key, "TEST0VERIFIED", "10:15")
        .await;
    let refused = campaign
        .with_receipt(&campaign.test_key, &phone(1), "", &receipt)
        .await;
    assert_eq!(refused.field("message_key"), "campaign_paused");
    assert_eq!(refused.field("receipt"), Value::Null);
    let read = campaign
        .test("GET", &format!("/api/v1/receipts/{receipt}"))
        .await;
    assert_eq!(read.field("state"), "uploaded");
}

#[tokio::test]
async fn a_receipt_of_a_rejected_submission_stays_its_own() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let receipt = campaign
        .typed(&campaign.test_key, "TEST0WRONGSTORE", "10:15")
        .await;
    let submitted = campaign
        .with_receipt(&campaign.test_key, &phone(1), "", &receipt)
        .await;
    while campaign
        .read(&campaign.test_key, &id_of(&submitted))
        .await
        .field("terminal")
        == false
    {
        tokio::task::yield_now().await;
    }
    let again = campaign
        .with_receipt(&campaign.test_key, &phone(1), "", &receipt)
        .await;
    assert_eq!(again.refusal(), "422 receipt_already_attached receipt_id");
}

#[tokio::test]
async fn file_of_wrong_type_or_size_has_its_own_status() {
    let campaign = TestCampaign::with(receipts_alone).await;
    for (number, file) in (1..).zip([b"GIF89a but called a JPEG".to_vec(), b"x".to_vec()]) {
        let made = campaign
            .receipt(&campaign.test_key, &announced(&file, None))
            .await;
        assert_eq!(upload(&made, file).await.status, 200);
        let refused = campaign
            .with_receipt(&campaign.test_key, &phone(number), "", &id_of(&made))
            .await;
        assert_eq!(refused.refusal(), "415 file_wrong_type receipt_id");
    }
    // Stored directly: presigned targets refuse these sizes.
    for (size, expected) in [
        (5 * 1024 * 1024 + 1, "413 file_too_large receipt_id"),
        (0, "415 file_wrong_type receipt_id"),
    ] {
        let made = campaign
            .receipt(&campaign.test_key, &announced(&[0; 9], None))
            .await;
        let id = id_of(&made);
        let mut file = hardly_a_photo();
        file.resize(size, 0);
        let env = &campaign.service.env;
        let key = object_key(
            &campaign.scope(Environment::Test),
            id.parse().expect("an id"),
        );
        let bucket = env.required("PHOTOS_BUCKET").expect("the stack sets it");
        let s3 = Aws::for_function(env)
            .expect("the stack sets every variable")
            .s3();
        s3.put_object()
            .bucket(bucket)
            .key(key)
            .body(ByteStream::from(file))
            .send()
            .await
            .expect("stored");
        let refused = campaign
            .with_receipt(&campaign.test_key, &phone(9), "", &id)
            .await;
        assert_eq!(refused.refusal(), expected, "{size}");
    }
}

#[tokio::test]
async fn unknown_receipt_is_not_found_but_a_replay_ignores_it() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    let refused = campaign
        .with_receipt(&campaign.test_key, &phone(1), "", unknown)
        .await;
    assert_eq!(refused.refusal(), "404 not_found receipt_id");

    let receipt = campaign
        .typed(&campaign.test_key, "TEST0REVIEW", "10:15")
        .await;
    let key = fresh_key();
    let sending = campaign
        .with_receipt(&campaign.test_key, &phone(1), "", &receipt)
        .without("idempotency-key")
        .header("idempotency-key", &key);
    let first = sending.clone().await;
    let other = sending
        .json(&json!({ "phone": phone(1), "consent": true, "receipt_id": unknown }))
        .await;
    assert_eq!(other.refusal(), "422 idempotency_key_reused");
    assert_eq!(first.status, 200);
}

#[tokio::test]
async fn open_submissions_count_and_rejected_ones_do_not() {
    let campaign = TestCampaign::with(|campaign| {
        receipts_alone(campaign);
        campaign.limits.phone_total = Some(1);
    })
    .await;
    let submit = async |code: &str| {
        let receipt = campaign.typed(&campaign.test_key, code, "10:15").await;
        campaign
            .with_receipt(&campaign.test_key, &phone(1), "", &receipt)
            .await
    };
    let open = submit("TEST0WRONGSTORE").await;
    assert_eq!(open.field("message_key"), "receipt_received");
    while campaign
        .read(&campaign.test_key, &id_of(&open))
        .await
        .field("terminal")
        == false
    {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        submit("TEST0REVIEW").await.field("message_key"),
        "receipt_received"
    );
    assert_eq!(
        submit("TEST0VERIFIED").await.field("message_key"),
        "entry_limit"
    );
}

#[tokio::test]
async fn code_and_phone_are_the_same_submission_while_it_is_open() {
    let campaign = TestCampaign::with(code_and_receipt).await;
    let code = campaign.code(1);
    let submit = async || {
        let receipt = campaign
            .typed(&campaign.test_key, "TEST0REVIEW", "10:15")
            .await;
        campaign
            .with_receipt(&campaign.test_key, &phone(1), &code, &receipt)
            .await
    };
    let first = submit().await;
    let second = submit().await;
    assert_eq!(
        (second.field("id"), second.field("replayed")),
        (first.field("id"), json!(true))
    );
}

#[tokio::test]
async fn a_receipt_that_no_submission_has_expires_after_thirty_days() {
    let mut config = plain();
    receipts_alone(&mut config);
    let campaign = TestCampaign::on(&Service::at_noon(), config).await;
    let receipt = campaign
        .typed(&campaign.test_key, "AB12CD3456", "10:15")
        .await;
    let key = AttributeValue::S(campaign.scope(Environment::Test).key(&receipt));
    let expiry = async || {
        let read = campaign
            .service
            .dynamodb()
            .get_item()
            .table_name("receipts");
        let read = read
            .key(receipts::KEY, key.clone())
            .send()
            .await
            .expect("the table answers");
        read.item.expect("the receipt").get(EXPIRY).cloned()
    };
    let end = NOON.as_seconds() + 30 * 24 * 60 * 60;
    assert_eq!(expiry().await, Some(AttributeValue::N(end.to_string())));
    let sent = campaign
        .with_receipt(&campaign.test_key, &phone(1), "", &receipt)
        .await;
    assert_eq!(sent.status, 200, "{}", sent.text);
    assert_eq!(expiry().await, None);
}
