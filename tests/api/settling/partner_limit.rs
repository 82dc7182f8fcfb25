//! The limit on concurrent requests to a partner, over all environments.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use axum::body::Bytes;
use axum::routing::post;
use axum::{Json, Router};
use common::domain::timestamp::Timestamp;
use common::store::partner_leases::{PartnerLease, PartnerLeases};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::partners::judged_by;
use service_tests::receipts::Settler;
use service_tests::serving::serve;

use super::{set_up, status};

/// Accepts everything after a set delay, and counts.
#[derive(Clone, Default)]
struct Partner(Arc<Counts>);

#[derive(Default)]
struct Counts {
    takes_ms: AtomicU64,
    under_way: AtomicU32,
    most_under_way: AtomicU32,
    asked: AtomicU32,
}

/// A request in flight until dropped, also when its connection breaks.
struct UnderWay(Partner);

impl UnderWay {
    fn new(partner: Partner) -> Self {
        let now = partner.0.under_way.fetch_add(1, SeqCst) + 1;
        partner.0.most_under_way.fetch_max(now, SeqCst);
        partner.0.asked.fetch_add(1, SeqCst);
        Self(partner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.under_way.fetch_sub(1, SeqCst);
    }
}

impl Partner {
    fn taking(span: Duration) -> Self {
        let partner = Self::default();
        partner.take(span);
        partner
    }

    fn take(&self, span: Duration) {
        self.0
            .takes_ms
            .store(u64::try_from(span.as_millis()).expect("small"), SeqCst);
    }

    async fn serve(&self) -> String {
        let partner = self.clone();
        let answer = move |_question: Bytes| {
            let under_way = UnderWay::new(partner.clone());
            async move {
                tokio::time::sleep(Duration::from_millis(under_way.0.0.takes_ms.load(SeqCst)))
                    .await;
                Json(json!({ "status": 0, "text": "Accepted", "entries": 1, "prize": null }))
            }
        };
        serve(Router::new().route("/redeem", post(answer))).await + "/redeem"
    }
}

async fn judged(partner: &Partner, max_in_flight: u32) -> (TestCampaign, Settler) {
    let url = partner.serve().await;
    set_up(|campaign| {
        judged_by(url)(campaign);
        campaign.partner.as_mut().expect("it was set").max_in_flight = max_in_flight;
    })
    .await
}

async fn submit(campaign: &TestCampaign, entries: u32, at_once: usize) -> Vec<Reply> {
    let sent = (0..entries).map(|number| {
        campaign
            .entry(&phone(number), &format!("OKAY-{number}"))
            .send()
    });
    stream::iter(sent).buffer_unordered(at_once).collect().await
}

fn states(replies: &[Reply], state: &str) -> usize {
    replies
        .iter()
        .filter(|reply| reply.status == 200 && reply.field("state") == state)
        .count()
}

/// A request has eight seconds, preparation included, so an answer after eight is too late. The
/// entries wait until the partner is faster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_partner_is_asked_twenty_at_a_time_and_loses_no_entry() {
    const ENTRIES: u32 = 80;
    let partner = Partner::taking(Duration::from_secs(8));
    let (campaign, settler) = judged(&partner, 20).await;
    let replies = submit(&campaign, ENTRIES, 40).await;
    let most = partner.0.most_under_way.load(SeqCst);
    println!("{} asked, {most} at a time", partner.0.asked.load(SeqCst));
    assert!((10..=20).contains(&most), "{most}");
    let answered = states(&replies, "unknown") + states(&replies, "accepted");
    assert_eq!(answered, replies.len(), "none is refused");
    // Fast again: the queue asks about the rest.
    partner.take(Duration::ZERO);
    let mut rounds = 0;
    while settler.settle_after(Duration::from_secs(1)).await > 0 {
        rounds += 1;
        assert!(rounds < 100, "it never ends");
    }
    for reply in &replies {
        assert_eq!(status(&campaign, reply).await, "accepted null entered 1");
    }
}

#[tokio::test]
async fn one_over_the_limit_is_unknown_and_due_at_once_for_the_queue() {
    let partner = Partner::taking(Duration::from_secs(3));
    let (campaign, settler) = judged(&partner, 1).await;
    let first = tokio::spawn(campaign.entry(&phone(1), "OKAY-1").send());
    while partner.0.under_way.load(SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let second = campaign.entry(&phone(7), "OKAY-7").await;
    assert_eq!(second.fields("state message_key"), "unknown checking");
    assert_eq!(partner.0.asked.load(SeqCst), 1);
    let due = settler.due().await;
    assert_eq!(due.len(), 1, "the clock has not moved");
    // The queue's requests do not count.
    partner.take(Duration::ZERO);
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(campaign.shown(&second).await.field("state"), "accepted");
    assert_eq!(first.await.expect("it ends").field("state"), "accepted");
    // The answer released the lease.
    let third = campaign.entry(&phone(8), "OKAY-8").await;
    assert_eq!(third.field("state"), "accepted");
}

#[tokio::test]
async fn code_over_the_limit_counts_as_wrong_until_asked_about() {
    let partner = Partner::taking(Duration::ZERO);
    let (mut campaign, settler) = judged(&partner, 1).await;
    campaign.config.wrong_codes.count = 2;
    campaign.apply().await;
    let [leases] = &environments(&campaign);
    let lease = take(leases, &campaign, 1, campaign.service.clock.now()).await;
    let send = async |code: &str| campaign.entry(&phone(7), code).await.field("message_key");
    assert_eq!(send("OKAY-7").await, "checking");
    assert_eq!(send("OKAY-8").await, "checking");
    assert_eq!(
        send("OKAY-9").await,
        "rate_limited",
        "two codes are not judged yet"
    );
    assert_eq!(partner.0.asked.load(SeqCst), 0);
    release(leases, &lease.expect("none was taken")).await;
    settler.settle_due().await;
    assert_eq!(
        send("OKAY-9").await,
        "entered",
        "neither of the two was wrong"
    );
}

/// Lease holders with a connection each.
fn environments<const N: usize>(campaign: &TestCampaign) -> [PartnerLeases; N] {
    let service = &campaign.service;
    [(); N].map(|()| PartnerLeases::from_env(&service.env, &service.dynamodb()).expect("the table"))
}

async fn release(leases: &PartnerLeases, lease: &PartnerLease) {
    leases.release(lease).await.expect("it answers");
}

async fn take(
    leases: &PartnerLeases,
    campaign: &TestCampaign,
    max: u32,
    now: Timestamp,
) -> Option<PartnerLease> {
    let until = now.after(Duration::from_secs(10));
    let scope = campaign.live_scope();
    leases
        .take(&scope, max, until, now, common::random::unit_f64)
        .await
        .expect("it answers")
}

#[tokio::test]
async fn no_more_leases_are_taken_than_there_are() {
    let (campaign, _) = judged(&Partner::default(), 50).await;
    let environments: [_; 40] = environments(&campaign);
    let now = campaign.service.clock.now();
    let take_each = || {
        join_all(
            environments
                .iter()
                .map(|leases| take(leases, &campaign, 40, now)),
        )
    };
    let mut held = Vec::new();
    for _ in 0..5 {
        held.extend(take_each().await.into_iter().flatten());
    }
    assert_eq!(held.len(), 40);
    release(&environments[0], &held[0]).await;
    let mut again = Vec::new();
    for leases in &environments {
        again.extend(take(leases, &campaign, 40, now).await);
    }
    assert_eq!(again.len(), 1);
}

#[tokio::test]
async fn fast_clock_has_one_request_too_many_and_takes_no_lease() {
    let (campaign, _) = judged(&Partner::default(), 50).await;
    let [first, fast, third] = environments(&campaign);
    let now = campaign.service.clock.now();
    let take = async |leases, at| take(leases, &campaign, 1, at).await;
    let ahead = now.after(Duration::from_secs(30));
    let lease = take(&first, now).await.expect("it is free");
    let one_too_many = take(&fast, ahead).await.expect("over, by its clock");
    assert_eq!(take(&third, now).await, None);
    release(&first, &lease).await;
    assert_eq!(
        take(&third, now).await,
        None,
        "the other request is in flight"
    );
    release(&fast, &one_too_many).await;
    let next = take(&third, now).await.expect("it is free");
    release(&third, &next).await;
    // A lost lease is free after ten seconds and the clocks' difference.
    take(&fast, ahead).await.expect("it is free");
    let over = now.after(Duration::from_secs(40));
    let just_before = now.after(Duration::from_secs(39));
    assert_eq!(take(&first, just_before).await, None);
    assert!(take(&first, over).await.is_some());
}

#[tokio::test]
async fn a_lease_whose_environment_died_is_anothers_once_it_is_over() {
    let (campaign, _) = judged(&Partner::default(), 50).await;
    let [dead, other] = environments(&campaign);
    let take = async |leases, at| take(leases, &campaign, 1, at).await;
    let now = campaign.service.clock.now();
    let lost = take(&dead, now).await.expect("it is free");
    let just_before = now.after(Duration::from_millis(9_999));
    assert_eq!(take(&other, just_before).await, None);
    let over = now.after(Duration::from_secs(10));
    let taken = take(&other, over).await.expect("it is over");
    // An expired holder cannot release the next one's lease.
    release(&dead, &lost).await;
    assert_eq!(take(&dead, over).await, None);
    release(&other, &taken).await;
    assert!(take(&dead, over).await.is_some());
}
