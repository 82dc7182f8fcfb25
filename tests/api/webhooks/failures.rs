//! Endpoints that fail, and what is tried again.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::campaign::Campaign;
use common::domain::scope::Environment;
use common::domain::webhook::{
    DeliveryFailure, DeliveryStatus, Endpoint, EndpointId, EndpointStatus, SignatureKind,
};
use futures_util::future::join_all;
use service_tests::webhooks::{Answer, deliver, new_secret};

use super::{SetUp, set_up};

/// An endpoint that fails at one event.
async fn failed(answer: Answer) -> SetUp {
    let mut set_up = set_up(answer).await;
    set_up.accept(1).await;
    set_up.webhooks.run().await;
    set_up
}

async fn failure(set_up: &SetUp) -> DeliveryFailure {
    let records = set_up.webhooks.records(&set_up.endpoint).await;
    records[0].last_failure.clone().expect("a failure")
}

#[tokio::test]
async fn failed_event_is_tried_again_under_its_id() {
    let set_up = failed(Answer::Status(500)).await;
    let SetUp {
        webhooks,
        receiver,
        endpoint,
        ..
    } = &set_up;
    let records = webhooks.records(endpoint).await;
    let first = &records[0];
    assert_eq!((first.status, first.attempts), (DeliveryStatus::Due, 1));
    let wait = first
        .next_at
        .expect("a time")
        .since(webhooks.service.clock.now());
    assert!((4..=6).contains(&wait.as_secs()), "{wait:?}");
    let failing = webhooks.stored(endpoint).await;
    assert_eq!(failing.failing_since, Some(webhooks.service.clock.now()));
    assert_eq!(webhooks.deliver_all().await, 0, "the message is delayed");

    receiver.answer(Answer::Status(204));
    webhooks.advance(Duration::from_secs(7));
    assert_eq!(webhooks.deliver_all().await, 1);
    let received = receiver.received();
    assert_eq!(received[0].id(), received[1].id());
    assert_eq!(received[0].body, received[1].body);
    let time = |number: usize| received[number].header("webhook-timestamp").parse::<i64>();
    assert_eq!(time(1).expect("seconds") - time(0).expect("seconds"), 7);
    let records = webhooks.records(endpoint).await;
    assert_eq!(records[0].status, DeliveryStatus::Delivered);
    assert_eq!((records[0].attempts, records[0].next_at), (2, None));
    assert_eq!(webhooks.stored(endpoint).await.failing_since, None);
    let waiting = webhooks.deliveries.count_waiting(&endpoint.endpoint).await;
    assert_eq!(waiting.expect("the index"), 0);
}

#[tokio::test]
async fn sweep_sends_what_a_lost_message_left() {
    let set_up = failed(Answer::Status(503)).await;
    set_up.webhooks.advance(Duration::from_secs(7));
    set_up.webhooks.take_messages().await;
    set_up.receiver.answer(Answer::Status(200));
    set_up.webhooks.sweep().await;
    assert_eq!(set_up.webhooks.deliver_all().await, 1);
    assert_eq!(set_up.receiver.received().len(), 2);
    set_up.webhooks.sweep().await;
    assert_eq!(set_up.webhooks.deliver_all().await, 0, "it is delivered");
}

#[tokio::test]
async fn two_messages_for_one_delivery_try_once() {
    let set_up = failed(Answer::Status(500)).await;
    set_up.webhooks.advance(Duration::from_secs(7));
    let message = set_up.webhooks.take_messages().await;
    set_up.receiver.answer(Answer::Status(200));
    let both = [message.clone(), message].concat();
    let reply = deliver(&set_up.webhooks.deliverer, &both).await;
    assert_eq!(reply, Default::default());
    assert_eq!(
        set_up.receiver.received().len(),
        2,
        "the first try and one more"
    );
}

#[tokio::test]
async fn unusable_answers_count_as_failures() {
    for (answer, status, reason) in [
        (Answer::Status(404), Some(404), "status"),
        (Answer::Redirect, Some(302), "redirected"),
        (Answer::Endless(500), Some(500), "status"),
    ] {
        let set_up = failed(answer).await;
        let failure = failure(&set_up).await;
        assert_eq!(
            (failure.status, &*failure.reason),
            (status, reason),
            "{answer:?}"
        );
        assert_eq!(set_up.receiver.received().len(), 1, "{answer:?}");
    }
}

#[tokio::test]
async fn body_of_a_good_answer_is_not_read() {
    let set_up = failed(Answer::Endless(200)).await;
    assert_eq!(set_up.receiver.received().len(), 1);
    assert_eq!(set_up.webhooks.records(&set_up.endpoint).await, []);
}

#[tokio::test]
async fn answer_after_eleven_seconds_is_none() {
    let set_up = failed(Answer::Late(Duration::from_secs(11))).await;
    let failure = failure(&set_up).await;
    assert_eq!((failure.status, &*failure.reason), (None, "timeout"));
}

#[tokio::test]
async fn address_that_is_not_public_is_refused() {
    let mut set_up = set_up(Answer::Status(200)).await;
    set_up.accept(1).await;
    set_up.webhooks.publish_all().await;
    let messages = set_up.webhooks.take_messages().await;
    let public = [("OUTBOUND_ADDRESSES", "public")];
    let service = set_up.webhooks.service.with_variables(&public);
    let reply = deliver(&service.function("deliver-events"), &messages).await;
    assert_eq!(reply, Default::default());
    assert_eq!(set_up.receiver.received().len(), 0);
    assert_eq!(failure(&set_up).await.reason, "forbidden_address");
}

#[tokio::test]
async fn endpoint_that_is_gone_is_stopped() {
    let mut set_up = failed(Answer::Status(410)).await;
    let stored = set_up.webhooks.stored(&set_up.endpoint).await;
    assert_eq!(stored.status, EndpointStatus::Stopped);
    let records = set_up.webhooks.records(&set_up.endpoint).await;
    assert_eq!(records[0].status, DeliveryStatus::GivenUp);
    set_up.webhooks.advance(Duration::from_secs(10));
    set_up.accept(2).await;
    set_up.webhooks.run().await;
    set_up.webhooks.sweep().await;
    set_up.webhooks.deliver_all().await;
    assert_eq!(set_up.receiver.received().len(), 1);
}

#[tokio::test]
async fn rotated_secret_signs_beside_the_earlier_one_for_a_day() {
    let mut set_up = failed(Answer::Status(500)).await;
    let next = new_secret();
    let now = set_up.webhooks.service.clock.now();
    let stored = set_up.webhooks.stored(&set_up.endpoint).await;
    let rotated = set_up.webhooks.endpoints.rotate(&stored, &next, now).await;
    assert!(rotated.expect("the table"));
    set_up.receiver.answer(Answer::Status(200));
    set_up.webhooks.advance(Duration::from_secs(7));
    set_up.webhooks.deliver_all().await;
    let both = [next.clone(), set_up.secret.clone()];
    let received = set_up.receiver.received();
    assert!(received[0].is_signed_by(SignatureKind::V1, &both[1..]));
    assert!(received[1].is_signed_by(SignatureKind::V1, &both));
    set_up.webhooks.advance(Duration::from_hours(24));
    set_up.accept(2).await;
    set_up.webhooks.run().await;
    let received = set_up.receiver.received();
    assert!(received[2].is_signed_by(SignatureKind::V1, &both[..1]));
}

#[tokio::test]
async fn archived_campaign_sends_nothing() {
    let mut set_up = failed(Answer::Status(500)).await;
    set_up.accept(2).await;
    let campaigns = &set_up.campaign.service.tables.campaigns;
    let slug = &set_up.campaign.config.slug;
    let before = campaigns.get_stored(slug).await.expect("the table");
    let mut archived = before.clone().expect("it is there").campaign;
    archived.archived = true;
    let written = campaigns.replace(before.as_ref(), &archived).await;
    assert!(written.expect("the table"));
    set_up.webhooks.advance(Duration::from_secs(10));
    set_up.webhooks.run().await;
    set_up.webhooks.sweep().await;
    assert_eq!(set_up.webhooks.deliver_all().await, 0);
    assert_eq!(
        set_up.receiver.received().len(),
        1,
        "before it was archived"
    );
}

#[tokio::test]
async fn removed_endpoint_gets_nothing_more() {
    let mut set_up = failed(Answer::Status(500)).await;
    set_up.accept(2).await;
    set_up.webhooks.publish_all().await;
    let stored = set_up.webhooks.stored(&set_up.endpoint).await;
    let removed = set_up.webhooks.endpoints.remove(&stored).await;
    assert!(removed.expect("the tables"));
    set_up.webhooks.advance(Duration::from_secs(10));
    set_up.webhooks.deliver_all().await;
    assert_eq!(set_up.receiver.received().len(), 1);
    let id = &set_up.endpoint.endpoint;
    let deleted = set_up.webhooks.deliveries.delete_all(id).await;
    assert_eq!(deleted.expect("the table"), 1);
}

#[tokio::test]
async fn event_published_again_after_it_was_given_up_waits() {
    let mut set_up = set_up(Answer::Status(410)).await;
    set_up.accept(1).await;
    set_up.webhooks.publish_all().await;
    let messages = set_up.webhooks.take_messages().await;
    deliver(&set_up.webhooks.deliverer, &messages).await;
    let started = set_up
        .webhooks
        .set_status(&set_up.endpoint, EndpointStatus::Active);
    started.await;
    set_up.webhooks.advance(Duration::from_secs(10));
    set_up.receiver.answer(Answer::Status(500));
    deliver(&set_up.webhooks.deliverer, &messages).await;
    let records = set_up.webhooks.records(&set_up.endpoint).await;
    assert_eq!(records.len(), 1);
    assert_eq!(
        (records[0].status, records[0].attempts),
        (DeliveryStatus::Due, 1)
    );
}

#[tokio::test]
async fn event_on_its_way_to_a_stopped_endpoint_is_kept() {
    let mut set_up = set_up(Answer::Status(200)).await;
    set_up.accept(1).await;
    set_up.webhooks.publish_all().await;
    let stored = set_up.webhooks.stored(&set_up.endpoint).await;
    let now = set_up.webhooks.service.clock.now();
    let stopped = set_up.webhooks.endpoints.stop(&stored, now).await;
    assert!(stopped.expect("the table"));
    set_up.webhooks.deliver_all().await;
    let records = set_up.webhooks.records(&set_up.endpoint).await;
    assert_eq!(records[0].status, DeliveryStatus::Parked);
    assert_eq!(set_up.receiver.received().len(), 0);
}

#[tokio::test]
async fn campaign_publishes_until_its_last_endpoint_is_removed() {
    let set_up = set_up(Answer::Status(200)).await;
    let endpoints = &set_up.webhooks.endpoints;
    let live = set_up.campaign.scope(Environment::Live);
    let types = set_up.endpoint.types.clone();
    let (other, _) = set_up
        .webhooks
        .add(&live, &set_up.receiver.url, &types)
        .await;
    for (endpoint, remains) in [(&set_up.endpoint, true), (&other, false)] {
        let stored = set_up.webhooks.stored(endpoint).await;
        assert!(endpoints.remove(&stored).await.expect("the tables"));
        let campaigns = &set_up.campaign.service.tables.campaigns;
        let campaign = campaigns.get(&live.campaign).await.expect("the table");
        let has_webhooks = campaign.expect("it is there").has_webhooks();
        assert_eq!(has_webhooks, remains, "{}", endpoint.endpoint);
        let again = endpoints.remove(&stored).await.expect("the tables");
        assert!(!again, "it counts once");
    }
}

#[tokio::test]
async fn endpoints_added_at_once_are_five_at_most() {
    let set_up = set_up(Answer::Status(200)).await;
    let (endpoints, first) = (&set_up.webhooks.endpoints, &set_up.endpoint);
    let adding = (1..=8).map(|number| async move {
        let endpoint = Endpoint {
            endpoint: EndpointId::from_random([number; 16]),
            ..first.clone()
        };
        let added = endpoints.add(&endpoint, &new_secret()).await;
        added.expect("the tables")
    });
    let added = join_all(adding).await;
    let count = added.into_iter().filter(|is_added| *is_added).count();
    assert_eq!(count, Endpoint::MAX_PER_SCOPE - 1);
    let listed = endpoints.list(&first.scope).await;
    assert_eq!(listed.expect("the table").len(), Endpoint::MAX_PER_SCOPE);
}

#[tokio::test]
async fn each_environment_counts_its_own_endpoints() {
    let set_up = set_up(Answer::Status(200)).await;
    let webhooks = &set_up.webhooks;
    let live = set_up.campaign.scope(Environment::Live);
    let (url, types) = (&set_up.receiver.url, &set_up.endpoint.types);
    for _ in 0..Endpoint::MAX_PER_SCOPE {
        webhooks.add(&live, url, types).await;
    }
    let endpoint = Endpoint {
        scope: live.clone(),
        endpoint: EndpointId::from_random([1; 16]),
        ..set_up.endpoint.clone()
    };
    let add = async || {
        let added = webhooks.endpoints.add(&endpoint, &new_secret()).await;
        added.expect("the tables")
    };
    assert!(!add().await);
    let test = webhooks.stored(&set_up.endpoint).await;
    let removed = webhooks.endpoints.remove(&test).await;
    assert!(removed.expect("the tables"));
    assert!(!add().await, "the removed one was of the other environment");
}

#[tokio::test]
async fn campaign_written_without_webhooks_keeps_their_count() {
    let set_up = set_up(Answer::Status(200)).await;
    let campaigns = &set_up.campaign.service.tables.campaigns;
    let slug = &set_up.campaign.config.slug;
    let before = campaigns.get_stored(slug).await.expect("the table");
    let without = Campaign {
        webhooks: 0,
        ..set_up.campaign.config.clone()
    };
    let written = campaigns.replace(before.as_ref(), &without).await;
    assert!(written.expect("the table"));
    let count = async || {
        let listed = campaigns.list().await.expect("each can be read");
        listed.iter().map(|campaign| campaign.webhooks).sum::<u32>()
    };
    assert_eq!(count().await, 1);
    let stored = set_up.webhooks.stored(&set_up.endpoint).await;
    let removed = set_up.webhooks.endpoints.remove(&stored).await;
    assert!(removed.expect("the tables"));
    assert_eq!(count().await, 0);
}

#[tokio::test]
async fn endpoint_that_cannot_be_read_stops_no_other() {
    let set_up = failed(Answer::Status(500)).await;
    let service = &set_up.webhooks.service;
    let item = [
        ("scope", set_up.endpoint.scope.to_string()),
        ("endpoint", "whe_2".to_owned()),
    ];
    let item = item.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)));
    let put = service.aws().dynamodb().put_item();
    let put = put.table_name(service.variable("WEBHOOK_ENDPOINTS_TABLE"));
    let put = put.set_item(Some(item.into()));
    put.send().await.expect("the table");
    set_up.webhooks.advance(Duration::from_secs(7));
    set_up.webhooks.take_messages().await;
    set_up.receiver.answer(Answer::Status(200));
    set_up.webhooks.sweep().await;
    assert_eq!(set_up.webhooks.deliver_all().await, 1);
}
