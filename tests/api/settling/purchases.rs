//! A receipt is accepted once in a campaign, also in a race.

use futures_util::future::join_all;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::receipts::{Settler, TIME, receipts_alone};

use super::{ENTERED, UNDER_REVIEW, declined, enter, judged, set_up, status, submit_typed};

const USED: &str = "receipt_already_used";

#[tokio::test]
async fn a_receipt_submitted_again_is_used_however_it_is_typed() {
    let set_up = set_up(receipts_alone).await;
    assert_eq!(judged(&set_up, 1, "GOOD010001").await, ENTERED);
    for (number, typed) in [(1, "GOOD010001"), (2, "good-0100 01")] {
        assert_eq!(
            judged(&set_up, number, typed).await,
            declined(USED),
            "{typed}"
        );
    }
}

#[tokio::test]
async fn one_of_many_submissions_with_a_receipt_is_accepted() {
    let (campaign, _) = set_up(receipts_alone).await;
    let mut submitted = Vec::new();
    for number in 0..8 {
        submitted.push(enter(&campaign, number, "GOOD010001").await);
    }
    // Eight workers, each with all eight submissions.
    let settlers = [(); 8].map(|()| Settler::new(&campaign.service));
    join_all(settlers.iter().map(Settler::settle_due)).await;
    let mut ends = Vec::new();
    for submitted in &submitted {
        ends.push(status(&campaign, submitted).await);
    }
    ends.sort();
    assert_eq!(ends[0], ENTERED);
    assert_eq!(ends[1..], [(); 7].map(|()| declined(USED)));
}

#[tokio::test]
async fn a_receipt_that_was_declined_can_still_be_accepted_elsewhere() {
    let set_up = set_up(receipts_alone).await;
    let (campaign, settler) = &set_up;
    let wrong_time = submit_typed(campaign, &phone(1), "", "GOOD010001", "11:11").await;
    settler.settle_due().await;
    let expected = declined("receipt_time_mismatch");
    assert_eq!(status(campaign, &wrong_time).await, expected);
    assert_eq!(judged(&set_up, 2, "GOOD010001").await, ENTERED);
}

#[tokio::test]
async fn a_receipt_that_waits_for_a_person_is_not_taken_yet() {
    let mut set_up = set_up(receipts_alone).await;
    assert_eq!(judged(&set_up, 1, "GENR010001").await, UNDER_REVIEW);
    // Without products, any purchase counts.
    let rules = set_up.0.config.receipt.as_mut();
    rules.expect("rules").products.clear();
    set_up.0.apply().await;
    assert_eq!(judged(&set_up, 2, "GENR010001").await, ENTERED);
    assert_eq!(judged(&set_up, 3, "GENR010001").await, declined(USED));
}

#[tokio::test]
async fn campaign_without_receipts_any_more_leaves_them_to_a_person() {
    let (mut campaign, settler) = set_up(receipts_alone).await;
    let waiting = enter(&campaign, 1, "GOOD010001").await;
    campaign.config.receipt = None;
    campaign.apply().await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &waiting).await, UNDER_REVIEW);
}

#[tokio::test]
async fn another_campaign_takes_the_same_receipt() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let other = TestCampaign::changed(&campaign.service, receipts_alone).await;
    for campaign in [&campaign, &other] {
        let submitted = submit_typed(campaign, &phone(1), "", "GOOD010001", TIME).await;
        settler.settle_due().await;
        assert_eq!(status(campaign, &submitted).await, ENTERED);
    }
}
