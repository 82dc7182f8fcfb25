//! A phone blocked while its submission is pending.

use serde_json::json;
use service_tests::campaign::phone;
use service_tests::receipts::{TIME, receipts_alone};

use super::{entered, set_up, status, submit_typed};

#[tokio::test]
async fn a_pending_receipt_of_a_phone_just_blocked_is_refused() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let blocked = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
    let other = submit_typed(&campaign, &phone(2), "", "GOOD010002", TIME).await;
    let scope = campaign.live_scope();
    let number = phone(1).parse().expect("a phone");
    campaign
        .service
        .set_blocked(&scope, &number, true)
        .await
        .expect("the table");
    settler.settle_due().await;
    assert_eq!(
        status(&campaign, &blocked).await,
        json!(["rejected", null, "blocked", 0])
    );
    assert_eq!(status(&campaign, &other).await, entered());
}
