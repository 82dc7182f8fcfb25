//! Test receipts and codes: one for each message key.

use std::time::Duration;

use common::domain::message::MessageKey;
use insta::assert_snapshot;
use serde_json::Value;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::receipts::{Settler, TIME, hardly_a_photo, id_of, receipts_alone};

use super::{ENTERED, UNDER_REVIEW, UNKNOWN, declined, set_up, status_with};

/// Settles a submission with this receipt.
async fn settled(
    (campaign, settler): &(TestCampaign, Settler),
    number: u32,
    receipt: &str,
) -> Reply {
    let key = &campaign.test_key;
    let submitted = campaign
        .with_receipt(key, &phone(number), "", receipt)
        .await;
    assert_eq!(submitted.field("message_key"), "receipt_received");
    settler.settle_due().await;
    submitted
}

/// Settles a submission with a typed receipt.
async fn settled_code(set_up: &(TestCampaign, Settler), number: u32, code: &str) -> Reply {
    let (campaign, _) = set_up;
    let receipt = campaign.typed(&campaign.test_key, code, TIME).await;
    settled(set_up, number, &receipt).await
}

async fn read(campaign: &TestCampaign, submitted: &Reply) -> Reply {
    campaign.read(&campaign.test_key, &id_of(submitted)).await
}

#[tokio::test]
async fn a_test_receipt_gives_every_message_key() {
    let set_up = set_up(receipts_alone).await;
    for (number, asked) in (1..).zip(MessageKey::ALL) {
        let code = format!("TEST0{}", asked.as_str().replace('_', "").to_uppercase());
        let submitted = settled_code(&set_up, number, &code).await;
        let expected = match asked {
            // The receipt was used, not the code.
            MessageKey::AlreadyUsed => "receipt_already_used",
            asked => asked.as_str(),
        };
        let now = read(&set_up.0, &submitted).await;
        assert_eq!(now.field("message_key"), expected, "{code}");
        let due = set_up.1.settle_due().await;
        assert_eq!(due, 0, "{code} is settled, or for a person");
    }
}

#[tokio::test]
async fn photo_is_a_sentinel_by_its_payload() {
    let set_up = set_up(receipts_alone).await;
    let (campaign, key) = (&set_up.0, &set_up.0.test_key);
    let wrong_store = declined("receipt_wrong_store");
    let cases = [
        ("TEST0WRONGSTORE", wrong_store.as_str()),
        ("test0verified.7", ENTERED),
        ("TEST0REVIEW", UNDER_REVIEW),
    ];
    for (number, (payload, expected)) in (1..).zip(cases) {
        let receipt = campaign.photo(key, &hardly_a_photo(), Some(payload)).await;
        let submitted = settled(&set_up, number, &receipt).await;
        assert_eq!(
            status_with(campaign, key, &submitted).await,
            expected,
            "{payload}"
        );
    }
}

#[tokio::test]
async fn a_verified_test_receipt_comes_with_a_made_up_record() {
    let set_up = set_up(receipts_alone).await;
    let mut records = Vec::new();
    for (number, code) in (1..).zip([
        "TEST0VERIFIED",
        "TEST0INSTANTWIN",
        "TEST0WRONGSTORE",
        "TEST0REVIEW",
    ]) {
        let submitted = settled_code(&set_up, number, code).await;
        records.push(read(&set_up.0, &submitted).await.field("receipt"));
    }
    assert_snapshot!(records[0], @r#"{"branch":"kko","date":"2026-01-31","items_summary":"1 x CHAI BORA 250","tra_verified":true}"#);
    assert_eq!(records[1], records[0]);
    assert_eq!(records[2..], [Value::Null, Value::Null]);
}

#[tokio::test]
async fn the_slow_ones_are_unknown_first_and_in_some_seconds_later() {
    const SECONDS: Duration = Duration::from_secs(4);
    let receipts = set_up(receipts_alone).await;
    let (campaign, key) = (&receipts.0, &receipts.0.test_key);
    let submitted = settled_code(&receipts, 1, "TEST0SLOW").await;
    assert_eq!(status_with(campaign, key, &submitted).await, UNKNOWN);
    assert_eq!(receipts.1.settle_after(SECONDS).await, 1);
    assert_eq!(status_with(campaign, key, &submitted).await, ENTERED);

    let (campaign, settler) = set_up(|_| {}).await;
    let slow = campaign.submit(&phone(1), "TEST-0-SLOW").await;
    assert_eq!(slow.fields("state message_key"), "unknown checking");
    let again = campaign.submit(&phone(1), "TEST-0-SLOW").await;
    assert_eq!(
        again.fields("id replayed"),
        format!("{} true", id_of(&slow))
    );
    assert_eq!(settler.settle_after(SECONDS).await, 1);
    let now = status_with(&campaign, &campaign.test_key, &slow).await;
    assert_eq!(now, "accepted null entered 1");
}

#[tokio::test]
async fn submission_settles_in_real_seconds_after_its_test_time() {
    for (time, settled) in [
        ("2051-12-31T20:59:59.000Z", "2051-12-31T21:00:03.000Z"),
        ("2049-01-01T00:00:00.000Z", "2049-01-01T00:00:04.000Z"),
    ] {
        let (campaign, settler) = set_up(|_| {}).await;
        let slow = campaign.submission(&phone(1), "TEST-0-SLOW");
        let slow = slow.header("svc-test-time", time).send().await;
        assert_eq!(
            slow.fields("state created_at poll_after_seconds"),
            format!("unknown {time} 2")
        );
        assert_eq!(settler.settle_after(Duration::from_secs(4)).await, 1);
        let now = campaign.read(&campaign.test_key, &id_of(&slow)).await;
        assert_eq!(
            now.fields("state created_at updated_at"),
            format!("accepted {time} {settled}")
        );
    }
}

#[tokio::test]
async fn a_test_code_can_stay_open() {
    let (campaign, settler) = set_up(|_| {}).await;
    for (number, code, expected) in [
        (1, "TEST-0-CHECKING", "pending checking"),
        (2, "TEST-0-RECEIPT-RECEIVED", "pending receipt_received"),
    ] {
        let submitted = campaign.submit(&phone(number), code).await;
        assert_eq!(submitted.fields("state message_key"), expected);
    }
    let later = settler.settle_after(Duration::from_secs(1_000_000)).await;
    assert_eq!(later, 0, "a person has to settle them");
}
