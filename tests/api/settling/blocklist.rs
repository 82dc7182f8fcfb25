//! A phone blocked while its submission is pending.

use common::domain::scope::Environment;
use service_tests::receipts::receipts_alone;

use super::{ENTERED, enter, set_up, status};

#[tokio::test]
async fn a_pending_receipt_of_a_phone_just_blocked_is_refused() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let blocked = enter(&campaign, 1, "GOOD010001").await;
    let other = enter(&campaign, 2, "GOOD010002").await;
    campaign.set_blocked(Environment::Live, 1, true).await;
    settler.settle_due().await;
    assert_eq!(status(&campaign, &blocked).await, "rejected null blocked 0");
    assert_eq!(status(&campaign, &other).await, ENTERED);
}
