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
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::partners::judged_by;
use service_tests::receipts::Settler;

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
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!(
            "http://{}/redeem",
            listener.local_addr().expect("an address")
        );
        let router = Router::new().route("/redeem", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
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
async fn slow_partner_is_asked_fifty_at_a_time_and_loses_no_entry() {
    const ENTRIES: u32 = 200;
    let partner = Partner::taking(Duration::from_secs(8));
    let (campaign, settler) = judged(&partner, 50).await;
    let replies = submit(&campaign, ENTRIES, 100).await;
    let most = partner.0.most_under_way.load(SeqCst);
    println!("{} asked, {most} at a time", partner.0.asked.load(SeqCst));
    assert!((25..=50).contains(&most), "{most}");
    let (unknown, accepted) = (states(&replies, "unknown"), states(&replies, "accepted"));
    assert_eq!(
        unknown + accepted,
        replies.len(),
        "every one is answered, and none is refused"
    );
    // Fast again: the queue asks about the rest.
    partner.take(Duration::ZERO);
    let mut rounds = 0;
    while settler.settle_after(Duration::from_secs(1)).await > 0 {
        rounds += 1;
        assert!(rounds < 100, "it never ends");
    }
    for reply in &replies {
        assert_eq!(
            status(&campaign, reply).await,
            json!(["accepted", null, "entered", 1])
        );
    }
}

#[tokio::test]
async fn one_over_the_limit_is_unknown_and_due_at_once_for_the_queue() {
    let partner = Partner::taking(Duration::from_secs(3));
    let (campaign, settler) = judged(&partner, 1).await;
    let first = tokio::spawn({
        let campaign = campaign.clone();
        async move { submit(&campaign, 1, 1).await }
    });
    while partner.0.under_way.load(SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let second = campaign.entry(&phone(7), "OKAY-7").send().await;
    let shown = |name: &str| second.field(name);
    assert_eq!(shown("state"), "unknown");
    assert_eq!(shown("message_key"), "checking");
    assert_eq!(partner.0.asked.load(SeqCst), 1);
    let due = settler.due().await;
    assert_eq!(due.len(), 1, "the clock has not moved");
    // The queue's requests do not count.
    partner.take(Duration::ZERO);
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(status(&campaign, &second).await[0], "accepted");
    let first = first.await.expect("it ends");
    assert_eq!(first[0].field("state"), Value::from("accepted"));
    // The answer released the lease.
    let third = campaign.entry(&phone(8), "OKAY-8").send().await;
    assert_eq!(third.field("state"), "accepted");
}

#[tokio::test]
async fn code_over_the_limit_counts_as_wrong_until_asked_about() {
    let partner = Partner::taking(Duration::ZERO);
    let url = partner.serve().await;
    let (campaign, settler) = set_up(|campaign| {
        judged_by(url)(campaign);
        campaign.partner.as_mut().expect("it was set").max_in_flight = 1;
        campaign.wrong_codes.count = 2;
    })
    .await;
    let (leases, scope) = (environments(&campaign, 1).remove(0), campaign.live_scope());
    let now = campaign.service.clock.now();
    let until = now.after(Duration::from_secs(600));
    let taken = leases
        .take(&scope, 1, until, now, common::random::unit_f64)
        .await
        .expect("it answers");
    let lease = taken.expect("none was taken");
    let send = async |code: &str| {
        campaign
            .entry(&phone(7), code)
            .send()
            .await
            .field("message_key")
    };
    assert_eq!(
        [send("OKAY-7").await, send("OKAY-8").await],
        ["checking", "checking"]
    );
    assert_eq!(
        send("OKAY-9").await,
        "rate_limited",
        "two codes of this phone are not judged yet"
    );
    assert_eq!(partner.0.asked.load(SeqCst), 0);
    leases.release(&lease).await.expect("it answers");
    settler.settle_due().await;
    assert_eq!(
        send("OKAY-9").await,
        "entered",
        "neither of the two was wrong"
    );
}

/// Lease holders with a connection each.
fn environments(campaign: &TestCampaign, count: usize) -> Vec<PartnerLeases> {
    let service = &campaign.service;
    (0..count)
        .map(|_| PartnerLeases::from_env(&service.env, &service.dynamodb()).expect("the table"))
        .collect()
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
    let environments = environments(&campaign, 40);
    let now = campaign.service.clock.now();
    let mut held = Vec::new();
    for _ in 0..5 {
        let taken = join_all(
            environments
                .iter()
                .map(|leases| take(leases, &campaign, 40, now)),
        )
        .await;
        held.extend(taken.into_iter().flatten());
    }
    assert_eq!(held.len(), 40);
    let given_back = held.pop().expect("some");
    environments[0]
        .release(&given_back)
        .await
        .expect("it answers");
    let mut again = Vec::new();
    for leases in &environments {
        again.extend(take(leases, &campaign, 40, now).await);
    }
    assert_eq!(again.len(), 1);
}

#[tokio::test]
async fn fast_clock_has_one_request_too_many_and_takes_no_lease() {
    let (campaign, _) = judged(&Partner::default(), 50).await;
    let environments = environments(&campaign, 3);
    let now = campaign.service.clock.now();
    let ahead = now.after(Duration::from_secs(30));
    let first = take(&environments[0], &campaign, 1, now)
        .await
        .expect("it is free");
    let one_too_many = take(&environments[1], &campaign, 1, ahead)
        .await
        .expect("over, by its clock");
    assert_eq!(take(&environments[2], &campaign, 1, now).await, None);
    environments[0].release(&first).await.expect("it answers");
    assert_eq!(
        take(&environments[2], &campaign, 1, now).await,
        None,
        "the other request is in flight"
    );
    environments[1]
        .release(&one_too_many)
        .await
        .expect("it answers");
    let next = take(&environments[2], &campaign, 1, now)
        .await
        .expect("it is free");
    environments[2].release(&next).await.expect("it answers");
    // A lost lease is free after ten seconds and the clocks' difference.
    take(&environments[1], &campaign, 1, ahead)
        .await
        .expect("it is free");
    assert_eq!(
        take(
            &environments[0],
            &campaign,
            1,
            now.after(Duration::from_secs(39))
        )
        .await,
        None
    );
    assert!(
        take(
            &environments[0],
            &campaign,
            1,
            now.after(Duration::from_secs(40))
        )
        .await
        .is_some()
    );
}

#[tokio::test]
async fn a_lease_whose_environment_died_is_anothers_once_it_is_over() {
    let (campaign, _) = judged(&Partner::default(), 50).await;
    let environments = environments(&campaign, 2);
    let now = campaign.service.clock.now();
    let lost = take(&environments[0], &campaign, 1, now)
        .await
        .expect("it is free");
    let just_before = now.after(Duration::from_millis(9_999));
    assert_eq!(
        take(&environments[1], &campaign, 1, just_before).await,
        None
    );
    let over = now.after(Duration::from_secs(10));
    let taken = take(&environments[1], &campaign, 1, over)
        .await
        .expect("it is over");
    // An expired holder cannot release the next one's lease.
    environments[0].release(&lost).await.expect("it answers");
    assert_eq!(take(&environments[0], &campaign, 1, over).await, None);
    environments[1].release(&taken).await.expect("it answers");
    assert!(take(&environments[0], &campaign, 1, over).await.is_some());
}
