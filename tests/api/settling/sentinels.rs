//! Test receipts and codes: one for each message key.

use std::time::Duration;

use common::domain::message::MessageKey;
use serde_json::json;
use service_tests::campaign::phone;
use service_tests::receipts::{TIME, hardly_a_photo, id_of, receipts_alone};

use super::{entered, set_up, standing_with};

#[tokio::test]
async fn a_test_receipt_gives_every_message_key() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let key = &campaign.test_key;
    for (number, asked) in (1..).zip(MessageKey::ALL) {
        let code = format!("TEST0{}", asked.as_str().replace('_', "").to_uppercase());
        let receipt = campaign.typed(key, &code, TIME).await;
        let submitted = campaign
            .with_receipt(key, &phone(number), "", &receipt)
            .send()
            .await;
        assert_eq!(submitted.field("message_key"), "receipt_received", "{code}");
        settler.settle_due().await;
        let expected = match asked {
            // The receipt was used, not the code.
            MessageKey::AlreadyUsed => "receipt_already_used",
            asked => asked.as_str(),
        };
        let now = standing_with(&campaign, key, &submitted).await;
        assert_eq!(now[2], expected, "{code}");
        assert_eq!(
            settler.settle_due().await,
            0,
            "{code} is settled, or for a person"
        );
    }
}

#[tokio::test]
async fn photo_is_a_sentinel_by_its_payload() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let key = &campaign.test_key;
    let cases = [
        (
            "TEST0WRONGSTORE",
            json!(["rejected", "declined", "receipt_wrong_store", 0]),
        ),
        ("test0verified.7", entered()),
        (
            "TEST0REVIEW",
            json!(["pending", "under_review", "receipt_received", 0]),
        ),
    ];
    for (number, (payload, expected)) in (1..).zip(cases) {
        let receipt = campaign.photo(key, &hardly_a_photo(), Some(payload)).await;
        let submitted = campaign
            .with_receipt(key, &phone(number), "", &receipt)
            .send()
            .await;
        settler.settle_due().await;
        assert_eq!(
            standing_with(&campaign, key, &submitted).await,
            expected,
            "{payload}"
        );
    }
}

#[tokio::test]
async fn a_verified_test_receipt_comes_with_a_made_up_record() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let key = &campaign.test_key;
    for (number, code) in (1..).zip([
        "TEST0VERIFIED",
        "TEST0INSTANTWIN",
        "TEST0WRONGSTORE",
        "TEST0REVIEW",
    ]) {
        let receipt = campaign.typed(key, code, TIME).await;
        let submitted = campaign
            .with_receipt(key, &phone(number), "", &receipt)
            .send()
            .await;
        settler.settle_due().await;
        let now = campaign.read(key, &id_of(&submitted)).await;
        let made_up = json!({
            "date": "2026-01-31", "branch": "kko", "items_summary": "1 x CHAI BORA 250", "tra_verified": true,
        });
        let is_verified = now.field("review_status") == "verified";
        assert_eq!(
            now.field("receipt"),
            if is_verified { made_up } else { json!(null) },
            "{code}"
        );
        assert_eq!(is_verified, number <= 2, "{code}");
    }
}

#[tokio::test]
async fn the_slow_ones_are_unknown_first_and_in_some_seconds_later() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let key = &campaign.test_key;
    let receipt = campaign.typed(key, "TEST0SLOW", TIME).await;
    let submitted = campaign
        .with_receipt(key, &phone(1), "", &receipt)
        .send()
        .await;
    settler.settle_due().await;
    assert_eq!(
        standing_with(&campaign, key, &submitted).await,
        json!(["unknown", null, "checking", 0])
    );
    assert_eq!(settler.settle_after(Duration::from_secs(4)).await, 1);
    assert_eq!(standing_with(&campaign, key, &submitted).await, entered());

    let (campaign, settler) = set_up(|_| {}).await;
    let key = &campaign.test_key;
    let slow = campaign.submit(&phone(1), "TEST-0-SLOW").await;
    assert_eq!(
        slow.fields(["state", "message_key"]),
        json!(["unknown", "checking"])
    );
    let again = campaign.submit(&phone(1), "TEST-0-SLOW").await;
    assert_eq!(
        again.fields(["id", "replayed"]),
        json!([slow.field("id"), true])
    );
    assert_eq!(settler.settle_after(Duration::from_secs(4)).await, 1);
    assert_eq!(
        standing_with(&campaign, key, &slow).await,
        json!(["accepted", null, "entered", 1])
    );
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
            slow.fields(["state", "created_at", "poll_after_seconds"]),
            json!(["unknown", time, 2])
        );
        assert_eq!(settler.settle_after(Duration::from_secs(4)).await, 1);
        let now = campaign.read(&campaign.test_key, &id_of(&slow)).await;
        assert_eq!(
            now.fields(["state", "created_at", "updated_at"]),
            json!(["accepted", time, settled])
        );
    }
}

#[tokio::test]
async fn a_test_code_can_stay_open() {
    let (campaign, settler) = set_up(|_| {}).await;
    for (number, code, key) in [
        (1, "TEST-0-CHECKING", "checking"),
        (2, "TEST-0-RECEIPT-RECEIVED", "receipt_received"),
    ] {
        let submitted = campaign.submit(&phone(number), code).await;
        assert_eq!(
            submitted.fields(["state", "message_key"]),
            json!(["pending", key])
        );
    }
    assert_eq!(
        settler.settle_after(Duration::from_secs(1_000_000)).await,
        0,
        "a person has to settle them"
    );
}
