//! All environments share the pace of look-ups, even if their clocks differ.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use common::clock::Clock;
use common::domain::receipt::schedule::LOOKUP_INTERVAL;
use common::domain::settling::Dependency;
use common::store::turns::Turns;
use futures_util::future::join_all;
use local::stack::Options;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::receipts::{Settler, TIME, hardly_a_photo, id_of, receipts_alone};
use service_tests::service::{NOON, Service};
use service_tests::serving::serve;
use tokio::time::Instant;

use super::{enter, set_up};

const GAP: Duration = LOOKUP_INTERVAL;
/// Tolerance on a busy machine.
const JITTER: Duration = Duration::from_millis(750);

/// Has no receipts; keeps the times of look-ups.
#[derive(Clone, Default)]
struct Portal(Arc<Mutex<Vec<Instant>>>);

impl Portal {
    async fn serve(&self) -> String {
        let portal = self.clone();
        let answer = move |request: Request| {
            let is_look_up = request.uri().path() == "/Verify/Verified";
            if is_look_up {
                portal.0.lock().expect("not poisoned").push(Instant::now());
            }
            let status = if is_look_up {
                StatusCode::FOUND
            } else {
                StatusCode::OK
            };
            std::future::ready((status, [(LOCATION, "/Home/Missing")]))
        };
        serve(Router::new().fallback(answer)).await
    }

    /// Times since the first look-up.
    fn beginnings(&self) -> Vec<Duration> {
        let mut beginnings = self.0.lock().expect("not poisoned").clone();
        beginnings.sort();
        beginnings
            .iter()
            .map(|beginning| beginning.duration_since(beginnings[0]))
            .collect()
    }

    /// Checks the number of look-ups, and the gaps between them.
    fn assert_pace(&self, count: usize) {
        let beginnings = self.beginnings();
        println!("look-ups began after {beginnings:?}");
        assert_eq!(beginnings.len(), count);
        for (pair, number) in beginnings.windows(2).zip(1..) {
            assert!(pair[1] - pair[0] + JITTER >= GAP, "{beginnings:?}");
            assert!(pair[1] + JITTER >= GAP * number, "{beginnings:?}");
        }
    }
}

/// A campaign with pending receipts at `portal`.
async fn submitted(portal: &Portal, receipts: u32) -> (TestCampaign, Vec<Reply>) {
    let service = Service::with_options(Options {
        clock: Clock::manual(NOON),
        background: false,
        tax_authority_url: Some(portal.serve().await),
        ..Options::default()
    });
    let campaign = TestCampaign::changed(&service, receipts_alone).await;
    let mut replies = Vec::new();
    for number in 0..receipts {
        replies.push(enter(&campaign, number, &format!("GOOD01{number:04}")).await);
    }
    (campaign, replies)
}

/// Settles concurrently with these clocks until `count` look-ups have begun.
async fn settle_with(service: &Service, clocks: &[Clock], portal: &Portal, count: usize) {
    let settlers: Vec<_> = clocks
        .iter()
        .map(|clock| Settler::new(&service.seen_by(clock.clone())))
        .collect();
    while portal.beginnings().len() < count {
        join_all(settlers.iter().map(Settler::settle_due)).await;
    }
    portal.assert_pace(count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookups_of_many_environments_begin_a_gap_apart() {
    let portal = Portal::default();
    let (campaign, replies) = submitted(&portal, 6).await;
    let clocks = vec![campaign.service.clock.clone(); 6];
    settle_with(&campaign.service, &clocks, &portal, replies.len()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_differ_bring_no_lookups_together() {
    let portal = Portal::default();
    let (campaign, replies) = submitted(&portal, 5).await;
    // Everything is due by each clock; they differ by at most a minute.
    let clocks =
        [30, 60, 60, 90, 90].map(|seconds| Clock::manual(NOON.after(Duration::from_secs(seconds))));
    settle_with(&campaign.service, &clocks, &portal, replies.len()).await;
}

fn tax_turns(service: &Service) -> Turns {
    let client = service.dynamodb();
    Turns::from_env(&service.env, &client, Dependency::TaxAuthority).expect("the table")
}

#[tokio::test]
async fn the_last_slot_tells_whose_look_up_had_it() {
    let portal = Portal::default();
    let (campaign, _) = submitted(&portal, 1).await;
    let settler = Settler::new(&campaign.service);
    for number in 1..=3 {
        assert_eq!(settler.settle_due().await, 1);
        assert_eq!(portal.beginnings().len(), number);
        // Longer than the wait before the next look-up.
        campaign.service.clock.advance(Duration::from_hours(3));
    }
    let slots = tax_turns(&campaign.service);
    let last = slots
        .last()
        .await
        .expect("it answers")
        .expect("there were look-ups");
    assert_eq!(last.scope, Some(campaign.live_scope()));
}

#[tokio::test]
async fn an_environment_that_dies_with_a_slot_costs_one_gap() {
    let portal = Portal::default();
    let (campaign, replies) = submitted(&portal, 2).await;
    let faults = Interceptor::at(0, FaultKind::DiesBefore);
    let service = campaign
        .service
        .behind(&faults, &["TAX_AUTHORITY_URL"])
        .await;
    let message = campaign.message(&id_of(&replies[0]));
    faults.cut(Settler::new(&service).deliver(&message)).await;
    let died = Instant::now();
    assert_eq!(
        Settler::new(&campaign.service).settle_due().await,
        1,
        "the other one"
    );
    assert_eq!(portal.beginnings().len(), 1);
    assert!(died.elapsed() >= GAP - JITTER, "the slot was taken");
}

#[tokio::test]
async fn only_a_look_up_takes_a_slot() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let slots = tax_turns(&campaign.service);
    let (test, live) = (&campaign.test_key, &campaign.live_key);
    let typed = campaign.typed(test, "TEST0VERIFIED", TIME).await;
    let tested = campaign.with_receipt(test, &phone(1), "", &typed).await;
    let photo = campaign.photo(live, &hardly_a_photo(), None).await;
    let unreadable = campaign.with_receipt(live, &phone(2), "", &photo).await;
    assert_eq!(settler.settle_due().await, 2);
    for (key, submitted, state) in [(test, &tested, "accepted"), (live, &unreadable, "rejected")] {
        let now = campaign.read(key, &id_of(submitted)).await;
        assert_eq!(now.field("state"), state);
    }
    let slots_taken = async || {
        slots
            .last()
            .await
            .expect("it answers")
            .map(|last| last.number)
    };
    assert_eq!(slots_taken().await, Some(0), "the photo had a turn");
    enter(&campaign, 3, "GOOD010001").await;
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(slots_taken().await, Some(1));
}
