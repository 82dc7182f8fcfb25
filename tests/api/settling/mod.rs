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
use common::domain::campaign::Campaign;
use local::stack::Options;
use receipt_photo::{Look, jpeg, qr_photo};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::receipts::{Settler, TIME, id_of};
use service_tests::service::{NOON, Service};

/// The [`status`] after a good receipt.
const ENTERED: &str = "accepted verified entered 1";
const PENDING: &str = "pending null receipt_received 0";
const UNDER_REVIEW: &str = "pending under_review receipt_received 0";
const UNKNOWN: &str = "unknown null checking 0";

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

async fn set_up(change: impl FnOnce(&mut Campaign)) -> (TestCampaign, Settler) {
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
    let reply = campaign.with_receipt(key, phone, code, &receipt).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply
}

/// Submits a good receipt, or as its code says, from a phone.
async fn enter(campaign: &TestCampaign, number: u32, receipt: &str) -> Reply {
    submit_typed(campaign, &phone(number), "", receipt, TIME).await
}

/// The [`status`] of a receipt submitted and settled.
async fn judged(set_up: &(TestCampaign, Settler), number: u32, receipt: &str) -> String {
    let (campaign, settler) = set_up;
    let submitted = enter(campaign, number, receipt).await;
    settler.settle_due().await;
    status(campaign, &submitted).await
}

/// State, review status, message key and entries.
async fn status(campaign: &TestCampaign, submitted: &Reply) -> String {
    status_with(campaign, &campaign.live_key, submitted).await
}

/// [`status`] for any key.
async fn status_with(campaign: &TestCampaign, key: &str, submitted: &Reply) -> String {
    let now = campaign.read(key, &id_of(submitted)).await;
    now.fields("state review_status message_key entries")
}

fn declined(message_key: &str) -> String {
    format!("rejected declined {message_key} 0")
}

/// A photo with these QR codes, as a JPEG file.
pub(crate) fn photo_of(payloads: &[&str]) -> Vec<u8> {
    let photo = qr_photo(payloads, &Look::default(), 1).expect("a photo");
    jpeg(&photo, 85).expect("a file")
}

/// Submits a live receipt without a code.
async fn submit_receipt(campaign: &TestCampaign, number: u32, receipt: &str) -> Reply {
    let key = &campaign.live_key;
    let sending = campaign.with_receipt(key, &phone(number), "", receipt);
    sending.await
}
