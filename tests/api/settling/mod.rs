//! Settling of submissions that are not decided at once.

mod background;
mod bad_photos;
mod blocklist;
mod clocks;
mod crashes;
mod creation;
mod fairness;
mod operator_review;
mod outcomes;
mod pace;
mod partner;
mod partner_limit;
mod purchases;
mod replays;
mod schedule;
mod sentinels;
mod throttle;
mod uploads;

use common::clock::Clock;
use local::stack::Options;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::receipts::{Settler, id_of};
use service_tests::service::{NOON, Service};

/// Divides waits: minutes become seconds.
const SPEEDUP: u32 = 60;

/// No background work; the clock moves when told.
fn service() -> Service {
    Service::with_options(Options {
        clock: Clock::manual(NOON),
        background: false,
        streams: false,
        speedup: SPEEDUP,
        photo_reader: Some(env!("CARGO_BIN_EXE_photo-reader").into()),
        ..Options::default()
    })
}

async fn set_up(
    change: impl FnOnce(&mut common::domain::campaign::Campaign),
) -> (TestCampaign, Settler) {
    let service = service();
    let settler = Settler::new(&service);
    (TestCampaign::changed(&service, change).await, settler)
}

async fn submit_typed(
    campaign: &TestCampaign,
    phone: &str,
    code: &str,
    receipt: &str,
    time: &str,
) -> Reply {
    let key = &campaign.live_key;
    let receipt = campaign.typed(key, receipt, time).await;
    let reply = campaign
        .with_receipt(key, phone, code, &receipt)
        .send()
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply
}

/// Submits a live receipt without a code.
async fn submit_receipt(campaign: &TestCampaign, number: u32, receipt: &str) -> Reply {
    let key = &campaign.live_key;
    let sending = campaign.with_receipt(key, &phone(number), "", receipt);
    sending.send().await
}

/// The [`status`] after a good receipt.
fn entered() -> Value {
    json!(["accepted", "verified", "entered", 1])
}

/// State, review status, message key and entries.
async fn status(campaign: &TestCampaign, submitted: &Reply) -> Value {
    standing_with(campaign, &campaign.live_key, submitted).await
}

/// [`status`] for any key.
async fn standing_with(campaign: &TestCampaign, key: &str, submitted: &Reply) -> Value {
    let now = campaign.read(key, &id_of(submitted)).await;
    json!([
        now.field("state"),
        now.field("review_status"),
        now.field("message_key"),
        now.field("entries")
    ])
}
