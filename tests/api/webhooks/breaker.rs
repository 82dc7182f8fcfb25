//! Endpoints that are down, and others beside them.

use std::collections::BTreeSet;
use std::time::Duration;

use common::aws::event_queue::QueuedEvent;
use common::clock::Clock;
use common::domain::ids::SubmissionId;
use common::domain::scope::Environment;
use common::domain::webhook::{
    Delivery, DeliveryStatus, EndpointStatus, Event, EventId, EventType,
};
use service_tests::event;
use service_tests::webhooks::{Answer, Receiver, deliver};

use super::set_up;
use crate::process::{line_after, start};

const EVENTS: u32 = 8;

#[tokio::test]
async fn dead_endpoint_is_spared_until_a_probe_arrives() {
    let mut set_up = set_up(Answer::Status(500)).await;
    for number in 1..=EVENTS {
        set_up.accept(number).await;
        set_up.webhooks.run().await;
    }
    let (webhooks, receiver, endpoint) = (&set_up.webhooks, &set_up.receiver, &set_up.endpoint);
    assert_eq!(receiver.received().len(), 5, "then the breaker opens");
    let parked = async || {
        let records = webhooks.records(endpoint).await.into_iter();
        records
            .filter(|record| record.status == DeliveryStatus::Parked)
            .count()
    };
    assert_eq!(parked().await, 3);

    webhooks.take_messages().await;
    webhooks.advance(Duration::from_secs(60));
    webhooks.take_messages().await;
    webhooks.sweep().await;
    assert_eq!(webhooks.deliver_all().await, 1, "one probe");
    assert_eq!(receiver.received().len(), 6);
    webhooks.sweep().await;
    assert_eq!(webhooks.deliver_all().await, 0, "the next one waits");

    receiver.answer(Answer::Status(200));
    webhooks.advance(Duration::from_secs(60));
    webhooks.take_messages().await;
    webhooks.sweep().await;
    assert_eq!(webhooks.deliver_all().await, 1, "the next probe");
    assert!(
        webhooks.deliver_all().await > 0,
        "it releases the others at once"
    );
    webhooks.advance(Duration::from_mins(6));
    webhooks.sweep().await;
    webhooks.deliver_all().await;
    let records = webhooks.records(endpoint).await;
    assert!(
        records
            .iter()
            .all(|record| record.status == DeliveryStatus::Delivered),
        "{records:#?}"
    );
    let ids: BTreeSet<_> = receiver.ids().into_iter().skip(6).collect();
    assert_eq!(
        ids.len(),
        usize::try_from(EVENTS).expect("few"),
        "each event"
    );
    assert_eq!(webhooks.stored(endpoint).await.failing_since, None);
}

#[tokio::test]
async fn suspended_endpoint_loses_no_event_and_heals() {
    let mut set_up = set_up(Answer::Status(500)).await;
    set_up.accept(1).await;
    set_up.webhooks.run().await;
    let (webhooks, receiver) = (&set_up.webhooks, &set_up.receiver);
    for _ in 0..6 * 24 {
        webhooks.advance(Duration::from_hours(1));
        webhooks.sweep().await;
        webhooks.deliver_all().await;
    }
    let endpoint = webhooks.stored(&set_up.endpoint).await;
    assert!(endpoint.is_suspended(webhooks.service.clock.now()));
    let records = webhooks.records(&endpoint).await;
    assert_eq!(records[0].status, DeliveryStatus::Parked, "{records:?}");
    receiver.answer(Answer::Status(200));
    webhooks.advance(Duration::from_hours(2));
    webhooks.sweep().await;
    webhooks.deliver_all().await;
    let records = webhooks.records(&endpoint).await;
    assert_eq!(records[0].status, DeliveryStatus::Delivered);
    assert_eq!(webhooks.stored(&endpoint).await.failing_since, None);
}

#[tokio::test]
async fn one_event_that_always_fails_is_given_up() {
    let mut set_up = set_up(Answer::Status(500)).await;
    set_up.accept(1).await;
    set_up.webhooks.run().await;
    set_up.receiver.answer(Answer::Status(200));
    set_up.webhooks.advance(Duration::from_secs(1));
    set_up.accept(2).await;
    set_up.webhooks.run().await;
    let stored = set_up.webhooks.stored(&set_up.endpoint).await;
    assert_eq!(stored.failing_since, None, "another event arrived");
    set_up.receiver.answer(Answer::Status(500));
    let webhooks = &set_up.webhooks;
    for _ in 0..100 {
        webhooks.advance(Duration::from_hours(1));
        webhooks.sweep().await;
        webhooks.deliver_all().await;
    }
    let records = webhooks.records(&set_up.endpoint).await;
    assert_eq!(records[0].status, DeliveryStatus::GivenUp, "{records:?}");
    assert_eq!(records[0].attempts, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn healthy_endpoint_is_unmoved_by_a_dead_one() {
    let mut set_up = set_up(Answer::Status(200)).await;
    let dead = Receiver::serve(Answer::Status(500)).await;
    let scope = set_up.campaign.scope(Environment::Test);
    let types = EventType::DEFAULT;
    let (dead_endpoint, _) = set_up.webhooks.add(&scope, &dead.url, &types).await;
    for number in 1..=20 {
        set_up.accept(number).await;
    }
    set_up.webhooks.run().await;
    assert_eq!(set_up.receiver.received().len(), 20);
    let records = set_up.webhooks.records(&dead_endpoint).await;
    assert_eq!(records.len(), 20, "none is lost");
    assert_eq!(set_up.webhooks.records(&set_up.endpoint).await, []);
}

#[tokio::test]
async fn success_of_a_test_sends_what_waits() {
    let mut set_up = set_up(Answer::Status(500)).await;
    for number in 1..=EVENTS {
        set_up.accept(number).await;
        set_up.webhooks.run().await;
    }
    let webhooks = &set_up.webhooks;
    webhooks.take_messages().await;
    set_up.receiver.answer(Answer::Status(200));
    let tested = &set_up.endpoint;
    webhooks.set_status(tested, EndpointStatus::Active).await;
    webhooks.sweep().await;
    webhooks.deliver_all().await;
    let records = webhooks.records(tested).await.into_iter();
    let delivered = records.filter(|record| record.status == DeliveryStatus::Delivered);
    assert_eq!(delivered.count(), 3, "those that waited for the breaker");
}

#[tokio::test]
async fn slow_endpoint_gets_a_few_events_at_a_time() {
    let mut set_up = set_up(Answer::Late(Duration::from_millis(1_500))).await;
    // One begins the count, and five make a row.
    set_up.accept(0).await;
    set_up.webhooks.run().await;
    for number in 1..=4 {
        set_up.accept(number).await;
    }
    set_up.webhooks.run().await;
    assert_eq!(set_up.webhooks.records(&set_up.endpoint).await, []);
    set_up.accept(5).await;
    set_up.webhooks.run().await;
    let (webhooks, receiver) = (&set_up.webhooks, &set_up.receiver);
    assert_eq!(receiver.received().len(), 5, "the sixth waits");
    let waiting = webhooks.records(&set_up.endpoint).await;
    let unasked = QueuedEvent::again(&waiting[0]);
    deliver(&webhooks.deliverer, &[unasked]).await;
    assert_eq!(receiver.received().len(), 5, "until a sweep sends it");
    webhooks.sweep().await;
    assert_eq!(webhooks.deliver_all().await, 1);
    let records = webhooks.records(&set_up.endpoint).await;
    assert_eq!(records[0].status, DeliveryStatus::Delivered);
    // It answers at once again, and some time has passed.
    receiver.answer(Answer::Status(200));
    webhooks.advance(Duration::from_mins(3));
    set_up.accept(6).await;
    set_up.webhooks.run().await;
    assert_eq!(set_up.receiver.received().len(), 7);
}

#[tokio::test]
async fn a_success_after_a_failure_leaves_an_endpoint_slow() {
    let mut set_up = set_up(Answer::Late(Duration::from_millis(1_500))).await;
    set_up.accept(0).await;
    set_up.webhooks.run().await;
    for number in 1..=4 {
        set_up.accept(number).await;
    }
    set_up.webhooks.run().await;
    // One fails, one succeeds: both were sent by the sweep.
    for (number, answer) in [(5, 500), (6, 200)] {
        set_up.accept(number).await;
        set_up.webhooks.run().await;
        set_up.receiver.answer(Answer::Status(answer));
        set_up.webhooks.sweep().await;
        set_up.webhooks.deliver_all().await;
    }
    let received = set_up.receiver.received().len();
    assert_eq!(received, 7);
    set_up.accept(7).await;
    set_up.webhooks.run().await;
    assert_eq!(set_up.receiver.received().len(), received, "it waits");
}

#[tokio::test]
async fn delivery_that_waits_to_its_end_is_given_up_and_counted() {
    let mut set_up = set_up(Answer::Status(200)).await;
    set_up.accept(1).await;
    set_up.webhooks.publish_all().await;
    let webhooks = &set_up.webhooks;
    let set = async |status| webhooks.set_status(&set_up.endpoint, status).await;
    set(EndpointStatus::Stopped).await;
    webhooks.deliver_all().await;
    webhooks.advance(Delivery::RETENTION);
    set(EndpointStatus::Active).await;
    webhooks.sweep().await;
    assert_eq!(webhooks.deliver_all().await, 1);
    assert_eq!(set_up.receiver.received().len(), 0, "it is too old");
    let records = webhooks.records(&set_up.endpoint).await;
    assert_eq!(records[0].status, DeliveryStatus::GivenUp);
    webhooks.sweep().await;
    assert_eq!(webhooks.deliver_all().await, 0, "once");
}

#[tokio::test]
async fn a_slow_answer_now_and_then_delays_no_other_event() {
    let mut set_up = set_up(Answer::Late(Duration::from_millis(1_100))).await;
    for number in 1..=6 {
        set_up.accept(number).await;
        set_up.webhooks.run().await;
        set_up.webhooks.advance(Duration::from_secs(4));
    }
    assert_eq!(set_up.receiver.received().len(), 6);
    assert_eq!(set_up.webhooks.records(&set_up.endpoint).await, []);
}

#[tokio::test]
async fn what_waits_is_spread_over_the_time_to_the_next_sweep() {
    let mut set_up = set_up(Answer::Status(200)).await;
    for number in 1..=25 {
        set_up.accept(number).await;
    }
    set_up.webhooks.publish_all().await;
    let webhooks = &set_up.webhooks;
    let set = async |status| webhooks.set_status(&set_up.endpoint, status).await;
    set(EndpointStatus::Stopped).await;
    webhooks.deliver_all().await;
    set(EndpointStatus::Active).await;
    webhooks.sweep().await;
    assert_eq!(webhooks.deliver_all().await, 10);
    webhooks.advance(Duration::from_secs(30));
    assert_eq!(webhooks.deliver_all().await, 10);
    webhooks.advance(Duration::from_secs(30));
    assert_eq!(webhooks.deliver_all().await, 5);
    assert_eq!(set_up.receiver.received().len(), 25);
}

#[tokio::test]
async fn sweep_tells_how_long_the_oldest_event_is_due() {
    let set_up = set_up(Answer::Status(200)).await;
    let service = &set_up.webhooks.service;
    let mut environment = start("sweep-unsettled", &service.variables).await;
    let now = Clock::system().now();
    for (hours, event) in [(2, [1; 16]), (1, [2; 16])] {
        let due = now.before(Duration::from_hours(hours));
        let event = Event::ping(&set_up.endpoint.scope, EventId::from_random(event), due);
        let delivery = Delivery {
            scope: set_up.endpoint.scope.clone(),
            endpoint: set_up.endpoint.endpoint.clone(),
            event: event.id,
            r#type: event.r#type,
            timestamp: due,
            submission_id: SubmissionId::from_random([0; 24]),
            revision: 1,
            body: event.body,
            attempts: 0,
            last_failure: None,
            next_at: Some(due),
            status: DeliveryStatus::Parked,
            created_at: due,
        };
        let kept = set_up.webhooks.deliveries.keep(&delivery).await;
        kept.expect("the table");
    }
    let line = line_after(&mut environment, &event::of_schedule()).await;
    let oldest = line["WebhookOldestDueSeconds"].as_u64();
    assert!(
        oldest.is_some_and(|oldest| (7_200..7_300).contains(&oldest)),
        "{line}"
    );
}
