//! Retries: when, how often, and what follows. Waits are divided by sixty.

use std::time::Duration;

use service_tests::receipts::{Settler, receipts_alone};

use super::{ENTERED, PENDING, UNKNOWN, declined, enter, set_up, status};

/// Settles after these waits; nothing is due a moment earlier.
async fn settle_at(settler: &Settler, waits: &[u64]) {
    const MOMENT: Duration = Duration::from_millis(1);
    for wait in waits {
        let early = settler.settle_after(Duration::from_secs(*wait) - MOMENT);
        assert_eq!(early.await, 0, "before {wait}");
        assert_eq!(settler.settle_after(MOMENT).await, 1, "after {wait}");
    }
}

#[tokio::test]
async fn a_late_receipt_is_found_when_it_is_asked_for_again() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = enter(&campaign, 1, "LATE010001").await;
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(status(&campaign, &submitted).await, PENDING);
    let poll_after = campaign.shown(&submitted).await.field("poll_after_seconds");
    assert_eq!(poll_after, 15, "not before the next step");
    settle_at(&settler, &[15, 60]).await;
    assert_eq!(status(&campaign, &submitted).await, ENTERED);
}

#[tokio::test]
async fn a_receipt_that_never_comes_is_not_found_in_the_end() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = enter(&campaign, 1, "NONE010001").await;
    settler.settle_due().await;
    settle_at(&settler, &[15, 60, 180, 360, 720]).await;
    assert_eq!(status(&campaign, &submitted).await, PENDING);
    settle_at(&settler, &[1440]).await;
    assert_eq!(
        status(&campaign, &submitted).await,
        declined("receipt_not_found")
    );
}

#[tokio::test]
async fn throttling_trouble_mix_ups_and_endless_pages_are_retried() {
    let (campaign, settler) = set_up(receipts_alone).await;
    for (number, code, waits, end) in [
        (1, "BUSY010001", &[2, 5][..], ENTERED),
        (2, "DOWN010001", &[1, 5], ENTERED),
        (3, "SWAP010001", &[1], ENTERED),
        (4, "HUGE010001", &[1], PENDING),
    ] {
        let submitted = enter(&campaign, number, code).await;
        settler.settle_due().await;
        assert_eq!(status(&campaign, &submitted).await, PENDING, "{code}");
        settle_at(&settler, waits).await;
        assert_eq!(status(&campaign, &submitted).await, end, "{code}");
    }
}

#[tokio::test]
async fn a_day_without_an_answer_is_left_to_a_person() {
    let set_up = set_up(receipts_alone).await;
    let (campaign, settler) = &set_up;
    for (number, code) in (1..).zip([
        "DEAD010001",
        "SWAX010001",
        "HTML010001",
        "EMPT010001",
        "LOOP010001",
        "AWAY010001",
    ]) {
        let submitted = enter(campaign, number, code).await;
        settler.settle_due().await;
        settle_at(settler, &[1, 5, 15, 45]).await;
        for _ in 0..12 {
            assert_eq!(status(campaign, &submitted).await, PENDING, "{code}");
            settle_at(settler, &[120]).await;
        }
        assert_eq!(status(campaign, &submitted).await, UNKNOWN, "{code}");
        let later = settler.settle_after(Duration::from_secs(1_000_000)).await;
        assert_eq!(later, 0, "nothing more is asked");
    }
}
