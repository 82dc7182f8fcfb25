//! All environments share the pace of look-ups, even if their clocks differ.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use common::aws::settle_queue::SettleMessage;
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
use tokio::time::Instant;

use super::{set_up, standing_with, submit_typed};

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
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        url
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
        let code = format!("GOOD01{number:04}");
        replies.push(submit_typed(&campaign, &phone(number), "", &code, TIME).await);
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
    let (campaign, replies) = submitted(&portal, 12).await;
    let clocks = vec![campaign.service.clock.clone(); 12];
    settle_with(&campaign.service, &clocks, &portal, replies.len()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_differ_bring_no_lookups_together() {
    let portal = Portal::default();
    let (campaign, replies) = submitted(&portal, 8).await;
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
    let fault_injection = Interceptor::at(0, FaultKind::DiesBefore);
    let authority = campaign
        .service
        .env
        .required("TAX_AUTHORITY_URL")
        .expect("the stack sets it");
    let cut = (
        "TAX_AUTHORITY_URL".to_owned(),
        fault_injection.in_front_of(&authority).await,
    );
    let env = campaign
        .service
        .env
        .clone()
        .overridden_by([cut].into_iter().collect());
    let victim = Settler::new(&campaign.service.with_env(env));
    let message = SettleMessage {
        scope: campaign.live_scope(),
        submission_id: id_of(&replies[0]).parse().expect("an id"),
    };
    tokio::select! {
        _ = victim.deliver(&message) => {}
        () = fault_injection.death() => {}
    }
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
    let tested = campaign
        .with_receipt(test, &phone(1), "", &typed)
        .send()
        .await;
    let photo = campaign.photo(live, &hardly_a_photo(), None).await;
    let unreadable = campaign
        .with_receipt(live, &phone(2), "", &photo)
        .send()
        .await;
    assert_eq!(settler.settle_due().await, 2);
    assert_eq!(standing_with(&campaign, test, &tested).await[0], "accepted");
    assert_eq!(
        standing_with(&campaign, live, &unreadable).await[0],
        "rejected"
    );
    let slots_taken = async || {
        slots
            .last()
            .await
            .expect("it answers")
            .map(|last| last.number)
    };
    assert_eq!(slots_taken().await, Some(0), "the photo had a turn");
    submit_typed(&campaign, &phone(3), "", "GOOD010001", TIME).await;
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(slots_taken().await, Some(1));
}
