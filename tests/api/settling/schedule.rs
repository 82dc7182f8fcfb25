//! Retries: when, how often, and what follows. Waits are divided by sixty.

use std::time::Duration;

use serde_json::json;
use service_tests::campaign::phone;
use service_tests::receipts::{TIME, receipts_alone};

use super::{entered, set_up, status, submit_typed};

const STILL: fn() -> serde_json::Value = || json!(["pending", null, "receipt_received", 0]);

/// Settles after these waits; nothing is due a moment earlier.
async fn settle_at(settler: &service_tests::receipts::Settler, waits: &[u64]) {
    for wait in waits {
        let almost = Duration::from_secs(*wait) - Duration::from_millis(1);
        assert_eq!(settler.settle_after(almost).await, 0, "before {wait}");
        assert_eq!(
            settler.settle_after(Duration::from_millis(1)).await,
            1,
            "after {wait}"
        );
    }
}

#[tokio::test]
async fn a_late_receipt_is_found_when_it_is_asked_for_again() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = submit_typed(&campaign, &phone(1), "", "LATE010001", TIME).await;
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(status(&campaign, &submitted).await, STILL());
    let now = campaign.shown(&submitted).await;
    assert_eq!(
        now.field("poll_after_seconds"),
        15,
        "not before the next step"
    );
    settle_at(&settler, &[15, 60]).await;
    assert_eq!(status(&campaign, &submitted).await, entered());
}

#[tokio::test]
async fn a_receipt_that_never_comes_is_not_found_in_the_end() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = submit_typed(&campaign, &phone(1), "", "NONE010001", TIME).await;
    settler.settle_due().await;
    settle_at(&settler, &[15, 60, 180, 360, 720]).await;
    assert_eq!(status(&campaign, &submitted).await, STILL());
    settle_at(&settler, &[1440]).await;
    let expected = json!(["rejected", "declined", "receipt_not_found", 0]);
    assert_eq!(status(&campaign, &submitted).await, expected);
}

#[tokio::test]
async fn throttling_trouble_and_mix_ups_pass() {
    let (campaign, settler) = set_up(receipts_alone).await;
    for (number, code, waits) in [
        (1, "BUSY010001", &[2, 5][..]),
        (2, "DOWN010001", &[1, 5]),
        (3, "SWAP010001", &[1]),
    ] {
        let submitted = submit_typed(&campaign, &phone(number), "", code, TIME).await;
        settler.settle_due().await;
        assert_eq!(status(&campaign, &submitted).await, STILL(), "{code}");
        settle_at(&settler, waits).await;
        assert_eq!(status(&campaign, &submitted).await, entered(), "{code}");
    }
}

#[tokio::test]
async fn a_day_without_an_answer_is_left_to_a_person() {
    let (campaign, settler) = set_up(receipts_alone).await;
    for (number, code) in (1..).zip([
        "DEAD010001",
        "SWAX010001",
        "HTML010001",
        "EMPT010001",
        "LOOP010001",
        "AWAY010001",
    ]) {
        let submitted = submit_typed(&campaign, &phone(number), "", code, TIME).await;
        settler.settle_due().await;
        settle_at(&settler, &[1, 5, 15, 45]).await;
        for _ in 0..11 {
            assert_eq!(status(&campaign, &submitted).await, STILL(), "{code}");
            settle_at(&settler, &[120]).await;
        }
        assert_eq!(status(&campaign, &submitted).await, STILL(), "{code}");
        settle_at(&settler, &[120]).await;
        assert_eq!(
            status(&campaign, &submitted).await,
            json!(["unknown", null, "checking", 0]),
            "{code}"
        );
        assert_eq!(
            settler.settle_after(Duration::from_secs(1_000_000)).await,
            0,
            "nothing more is asked"
        );
    }
}

#[tokio::test]
async fn a_page_without_end_is_trouble() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = submit_typed(&campaign, &phone(1), "", "HUGE010001", TIME).await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &submitted).await, STILL());
    settle_at(&settler, &[1]).await;
    assert_eq!(status(&campaign, &submitted).await, STILL());
}
