//! A receipt is accepted once in a campaign, also in a race.

use futures_util::future::join_all;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::receipts::{Settler, TIME, receipts_alone};

use super::{entered, set_up, status, submit_typed};

#[tokio::test]
async fn a_receipt_submitted_again_is_used_however_it_is_typed() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let first = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &first).await, entered());
    for (number, typed) in [(1, "GOOD010001"), (2, "good-0100 01")] {
        let again = submit_typed(&campaign, &phone(number), "", typed, TIME).await;
        settler.settle_due().await;
        let expected = json!(["rejected", "declined", "receipt_already_used", 0]);
        assert_eq!(status(&campaign, &again).await, expected, "{typed}");
    }
}

#[tokio::test]
async fn one_of_many_submissions_with_a_receipt_is_accepted() {
    let (campaign, _) = set_up(receipts_alone).await;
    let mut submitted = Vec::new();
    for number in 0..8 {
        submitted.push(submit_typed(&campaign, &phone(number), "", "GOOD010001", TIME).await);
    }
    // Eight workers, each with all eight submissions.
    let settlers: Vec<_> = (0..8).map(|_| Settler::new(&campaign.service)).collect();
    join_all(settlers.iter().map(Settler::settle_due)).await;
    let mut accepted = 0;
    for submitted in &submitted {
        let now = status(&campaign, submitted).await;
        if now == entered() {
            accepted += 1;
        } else {
            assert_eq!(
                now,
                json!(["rejected", "declined", "receipt_already_used", 0])
            );
        }
    }
    assert_eq!(accepted, 1);
}

#[tokio::test]
async fn a_receipt_that_was_declined_can_still_be_accepted_elsewhere() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let declined = submit_typed(&campaign, &phone(1), "", "GOOD010001", "11:11").await;
    settler.settle_due().await;
    let expected = json!(["rejected", "declined", "receipt_time_mismatch", 0]);
    assert_eq!(status(&campaign, &declined).await, expected);
    let accepted = submit_typed(&campaign, &phone(2), "", "GOOD010001", TIME).await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &accepted).await, entered());
}

#[tokio::test]
async fn a_receipt_that_waits_for_a_person_is_not_taken_yet() {
    let (mut campaign, settler) = set_up(receipts_alone).await;
    let waiting = submit_typed(&campaign, &phone(1), "", "GENR010001", TIME).await;
    settler.settle_due().await;
    let expected = json!(["pending", "under_review", "receipt_received", 0]);
    assert_eq!(status(&campaign, &waiting).await, expected);
    // Without products, any purchase counts.
    campaign
        .config
        .receipt
        .as_mut()
        .expect("rules")
        .products
        .clear();
    campaign.apply().await;
    let accepted = submit_typed(&campaign, &phone(2), "", "GENR010001", TIME).await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &accepted).await, entered());
    let third = submit_typed(&campaign, &phone(3), "", "GENR010001", TIME).await;
    settler.settle_due().await;
    assert_eq!(
        status(&campaign, &third).await,
        json!(["rejected", "declined", "receipt_already_used", 0])
    );
}

#[tokio::test]
async fn campaign_without_receipts_any_more_leaves_them_to_a_person() {
    let (mut campaign, settler) = set_up(receipts_alone).await;
    let waiting = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
    campaign.config.receipt = None;
    campaign.apply().await;
    settler.settle_due().await;
    let expected = json!(["pending", "under_review", "receipt_received", 0]);
    assert_eq!(status(&campaign, &waiting).await, expected);
}

#[tokio::test]
async fn another_campaign_takes_the_same_receipt() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let other = TestCampaign::changed(&campaign.service, receipts_alone).await;
    for campaign in [&campaign, &other] {
        let submitted = submit_typed(campaign, &phone(1), "", "GOOD010001", TIME).await;
        settler.settle_due().await;
        assert_eq!(status(campaign, &submitted).await, entered());
    }
}
