//! A stack with background work: events, queues and the schedule.

use std::time::Duration;

use local::stack::Options;
use receipt_photo::{Look, jpeg, qr_photo};
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::http::Reply;
use service_tests::receipts::{TIME, id_of, receipts_alone};
use service_tests::service::Service;

async fn campaign() -> TestCampaign {
    let service = Service::with_options(Options {
        speedup: 10_000,
        photo_reader: Some(env!("CARGO_BIN_EXE_photo-reader").into()),
        ..Options::default()
    });
    let mut config = plain();
    receipts_alone(&mut config);
    TestCampaign::on(&service, config).await
}

async fn settled(campaign: &TestCampaign, key: &str, submitted: &Reply) -> Reply {
    let polling = async {
        loop {
            let now = campaign.read(key, &id_of(submitted)).await;
            if now.field("terminal") == true {
                return now;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), polling)
        .await
        .expect("it settles")
}

#[tokio::test]
async fn a_photo_is_uploaded_submitted_read_and_accepted() {
    let campaign = campaign().await;
    let photo = qr_photo(
        &["https://verify.tra.go.tz/GOOD010001_101530"],
        &Look::default(),
        7,
    )
    .expect("a photo");
    let receipt = campaign
        .photo(&campaign.live_key, &jpeg(&photo, 85).expect("a file"), None)
        .await;
    let submitted = campaign
        .with_receipt(&campaign.live_key, &phone(1), "", &receipt)
        .send()
        .await;
    assert_eq!(submitted.field("message_key"), "receipt_received");
    let settled = settled(&campaign, &campaign.live_key, &submitted).await;
    assert_eq!(
        settled.fields(["message_key", "entries"]),
        json!(["entered", 1])
    );
    let read = campaign
        .live("GET", &format!("/api/v1/receipts/{receipt}"))
        .send()
        .await;
    assert_eq!(read.field("state"), "attached");
}

#[tokio::test]
async fn what_has_to_be_asked_again_is_found_by_the_sweep() {
    let campaign = campaign().await;
    let receipt = campaign.typed(&campaign.live_key, "LATE010001", TIME).await;
    let submitted = campaign
        .with_receipt(&campaign.live_key, &phone(1), "", &receipt)
        .send()
        .await;
    let settled = settled(&campaign, &campaign.live_key, &submitted).await;
    assert_eq!(settled.field("message_key"), "entered");
}

#[tokio::test]
async fn a_slow_test_code_is_accepted_while_its_caller_polls() {
    let campaign = campaign().await;
    let receipt = campaign.typed(&campaign.test_key, "TEST0SLOW", TIME).await;
    let submitted = campaign
        .with_receipt(&campaign.test_key, &phone(1), "", &receipt)
        .send()
        .await;
    let settled = settled(&campaign, &campaign.test_key, &submitted).await;
    assert_eq!(settled.field("state"), "accepted");
}
