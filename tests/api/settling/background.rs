//! A stack with background work: events, queues and the schedule.

use std::time::Duration;

use local::stack::Options;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::receipts::{TIME, id_of, receipts_alone};
use service_tests::service::Service;

use super::photo_of;

async fn campaign() -> TestCampaign {
    let service = Service::with_options(Options {
        speedup: 10_000,
        photo_reader: Some(env!("CARGO_BIN_EXE_photo-reader").into()),
        ..Options::default()
    });
    TestCampaign::changed(&service, receipts_alone).await
}

/// Submits a receipt, and polls until it is settled.
async fn settled(campaign: &TestCampaign, key: &str, receipt: &str) -> Reply {
    let submitted = campaign.with_receipt(key, &phone(1), "", receipt).await;
    assert_eq!(submitted.field("message_key"), "receipt_received");
    let polling = async {
        loop {
            let now = campaign.read(key, &id_of(&submitted)).await;
            if now.field("terminal") == true {
                return now;
            }
            tokio::task::yield_now().await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_secs(120), polling).await;
    settled.expect("it settles")
}

#[tokio::test]
async fn a_photo_is_uploaded_submitted_read_and_accepted() {
    let campaign = campaign().await;
    let (key, photo) = (
        &campaign.live_key,
        photo_of(&["https://verify.tra.go.tz/GOOD010001_101530"]),
    );
    let receipt = campaign.photo(key, &photo, None).await;
    let settled = settled(&campaign, key, &receipt).await;
    assert_eq!(settled.fields("message_key entries"), "entered 1");
    let read = campaign.live("GET", &format!("/api/v1/receipts/{receipt}"));
    assert_eq!(read.await.field("state"), "attached");
}

#[tokio::test]
async fn what_has_to_be_asked_again_is_found_by_the_sweep() {
    let campaign = campaign().await;
    let key = &campaign.live_key;
    let receipt = campaign.typed(key, "LATE010001", TIME).await;
    let settled = settled(&campaign, key, &receipt).await;
    assert_eq!(settled.field("message_key"), "entered");
}

#[tokio::test]
async fn a_slow_test_code_is_accepted_while_its_caller_polls() {
    let campaign = campaign().await;
    let key = &campaign.test_key;
    let receipt = campaign.typed(key, "TEST0SLOW", TIME).await;
    let settled = settled(&campaign, key, &receipt).await;
    assert_eq!(settled.field("state"), "accepted");
}
