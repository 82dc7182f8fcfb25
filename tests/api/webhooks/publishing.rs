//! Who gets which event, and its form.

use std::collections::BTreeSet;

use common::domain::scope::Environment;
use common::domain::webhook::{EventId, EventType, SignatureKind};
use common::store::submissions;
use publish_events::PublishResponse;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::id_of;
use service_tests::service::Service;
use service_tests::webhooks::{Answer, Receiver, Webhooks, deliver, publish};

use super::{SetUp, set_up};

#[tokio::test]
async fn late_decision_arrives_signed_and_leaves_no_record() {
    let mut set_up = set_up(Answer::Status(200)).await;
    let id = set_up.accept(1).await;
    set_up.webhooks.run().await;
    let SetUp {
        campaign,
        webhooks,
        receiver,
        endpoint,
        secret,
        ..
    } = &set_up;
    let received = receiver.received();
    let [event] = received.as_slice() else {
        panic!("{received:?}")
    };
    let record = campaign.record_in(Environment::Test, &id).await;
    let expected = json!({
        "type": "submission.accepted",
        "timestamp": record.updated_at.to_string(),
        "data": {
            "id": id, "ref": record.reference().to_string(), "campaign": campaign.config.slug,
            "livemode": false, "revision": record.revision, "state": "accepted",
            "review_status": "verified", "display_status": "entered", "message_key": "entered",
            "entries": record.status.entries(),
        },
    });
    assert_eq!(event.json(), expected);
    let scope = campaign.scope(Environment::Test);
    let event_id = EventId::new(
        &scope,
        record.submission_id,
        record.revision,
        EventType::SubmissionAccepted,
    );
    assert_eq!(event.id(), event_id.as_str());
    let now = webhooks.service.clock.now().as_seconds().to_string();
    assert_eq!(event.header("webhook-timestamp"), now);
    assert_eq!(event.header("content-type"), "application/json");
    assert!(event.is_signed_by(SignatureKind::V1, std::slice::from_ref(secret)));
    assert_eq!(webhooks.records(endpoint).await, []);
    assert_eq!(webhooks.stored(endpoint).await, *endpoint);
}

#[tokio::test]
async fn each_endpoint_gets_the_types_it_wants() {
    let mut set_up = set_up(Answer::Status(200)).await;
    let other = Receiver::serve(Answer::Status(200)).await;
    let scope = set_up.campaign.scope(Environment::Test);
    let types = [EventType::SubmissionCreated, EventType::PrizeWon];
    set_up.webhooks.add(&scope, &other.url, &types).await;
    let live = Receiver::serve(Answer::Status(200)).await;
    let live_scope = set_up.campaign.live_scope();
    set_up
        .webhooks
        .add(&live_scope, &live.url, &EventType::ALL)
        .await;
    for (number, receipt) in [
        (1, "TEST0VERIFIED"),
        (2, "TEST0REVIEW"),
        (3, "TEST0WRONGSTORE"),
    ] {
        set_up.enter(number, receipt).await;
    }
    set_up.enter(4, "TEST0INSTANTWIN").await;
    set_up.settler.settle_due().await;
    set_up.webhooks.run().await;
    let found: BTreeSet<_> = set_up.receiver.types().into_iter().collect();
    let expected = [
        "prize.won",
        "submission.accepted",
        "submission.rejected",
        "submission.under_review",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
    let mut found = other.types();
    found.sort();
    let created = "submission.created";
    assert_eq!(found, ["prize.won", created, created, created, created]);
    assert_eq!(live.received().len(), 0, "it is of another environment");
}

#[tokio::test]
async fn what_the_reply_tells_is_no_event() {
    let service = Service::still();
    let partner = simulated(|_| {}).await;
    for (campaign, codes) in [
        (plain(), None),
        (
            {
                let mut campaign = plain();
                judged_by(partner.url())(&mut campaign);
                campaign
            },
            Some(["OKAY-1", "BADC-1"]),
        ),
    ] {
        let campaign = TestCampaign::on(&service, campaign).await;
        let mut webhooks = Webhooks::new(&service);
        let receiver = Receiver::serve(Answer::Status(200)).await;
        let scope = campaign.live_scope();
        let types = EventType::DEFAULT;
        webhooks.add(&scope, &receiver.url, &types).await;
        let codes = codes.map_or([campaign.code(1), campaign.code(2)], |codes| {
            codes.map(str::to_owned)
        });
        for (number, code) in (1..).zip(codes) {
            id_of(&campaign.entry(&phone(number), &code).await);
        }
        webhooks.run().await;
        assert_eq!(receiver.types(), [""; 0]);
    }
}

#[tokio::test]
async fn campaign_without_webhooks_is_written_as_before() {
    let service = Service::still();
    let campaign = TestCampaign::on(&service, plain()).await;
    let reply = campaign.entry(&phone(1), &campaign.code(1)).await;
    let record = campaign.record(&id_of(&reply)).await;
    let key = submissions::key(&record.scope, record.reference());
    let item = async |table: &str, name: &str, key: String| {
        let get = service.dynamodb().get_item().table_name(table);
        let get = get.key(name, aws_sdk_dynamodb::types::AttributeValue::S(key));
        let item = get.send().await.expect("the table").item;
        item.expect("the record")
    };
    let submission = item("submissions", "id", key).await;
    assert!(!submission.contains_key("notify"), "{submission:?}");
    let stored = item("campaigns", "slug", campaign.config.slug.to_string()).await;
    assert!(!stored.contains_key("webhooks"), "{stored:?}");
    let mut webhooks = Webhooks::new(&service);
    assert_eq!(webhooks.next_batch().await, None);
}

/// Records of a batch, from the first on.
fn half_of(batch: &Value) -> Value {
    let mut half = batch.clone();
    let records = half["Records"].as_array_mut().expect("records");
    records.truncate(records.len() / 2);
    half
}

#[tokio::test]
async fn repeated_batch_makes_the_same_events() {
    let mut set_up = set_up(Answer::Status(200)).await;
    for number in 1..=6 {
        set_up.accept(number).await;
    }
    let batch = set_up.webhooks.next_batch().await.expect("a batch");
    let webhooks = &set_up.webhooks;
    let mut messages = Vec::new();
    for batch in [&batch, &half_of(&batch), &batch] {
        assert_eq!(webhooks.publish(batch).await, PublishResponse::default());
        let published = webhooks.take_messages().await;
        messages.push(published.into_iter().collect::<Vec<_>>());
    }
    let [first, half, second] = messages.try_into().expect("three");
    assert_eq!(first.len(), 6);
    let all = |messages: &[_]| -> BTreeSet<String> {
        messages
            .iter()
            .map(|message| serde_json::to_string(message).expect("JSON"))
            .collect()
    };
    assert_eq!(all(&first), all(&second));
    assert!(all(&half).is_subset(&all(&first)));
}

#[tokio::test]
async fn queue_that_is_down_repeats_the_batch_from_its_record() {
    let mut set_up = set_up(Answer::Status(200)).await;
    for number in 1..=3 {
        set_up.accept(number).await;
    }
    let batch = set_up.webhooks.next_batch().await.expect("a batch");
    let faults = Interceptor::default();
    let service = &set_up.webhooks.service;
    let down = service.behind(&faults, &["AWS_ENDPOINT_URL_SQS"]).await;
    faults.deny(true);
    let reply = publish(&down.function("publish-events"), &batch).await;
    let records = batch["Records"].as_array().expect("records");
    let reports = |record: &&Value| {
        record["dynamodb"]["NewImage"]["standing"]["M"]["state"]["S"] == "accepted"
    };
    let first = records.iter().find(reports).expect("an acceptance");
    let sequence = first["dynamodb"]["SequenceNumber"].as_str();
    let failed = reply.batch_item_failures[0].item_identifier.as_deref();
    assert_eq!(failed, sequence);
    assert_eq!(
        set_up.webhooks.publish(&batch).await,
        PublishResponse::default()
    );
    assert_eq!(set_up.webhooks.deliver_all().await, 3);
    assert_eq!(set_up.receiver.received().len(), 3);
}

#[tokio::test]
async fn database_that_fails_repeats_the_message() {
    let mut set_up = set_up(Answer::Status(200)).await;
    set_up.accept(1).await;
    set_up.webhooks.publish_all().await;
    let messages = set_up.webhooks.take_messages().await;
    let faults = Interceptor::at(0, FaultKind::Refused);
    let service = &set_up.webhooks.service;
    let database = service
        .behind(&faults, &["AWS_ENDPOINT_URL_DYNAMODB"])
        .await;
    faults.deny(true);
    let victim = database.function("deliver-events");
    let reply = deliver(&victim, &messages).await;
    assert_eq!(reply.batch_item_failures[0].item_identifier, "0");
    assert_eq!(set_up.receiver.received().len(), 0);
    faults.deny(false);
    assert_eq!(deliver(&victim, &messages).await, Default::default());
    assert_eq!(set_up.receiver.received().len(), 1);
}

#[tokio::test]
async fn ed25519_signatures_need_no_shared_secret() {
    let mut set_up = set_up(Answer::Status(200)).await;
    let other = Receiver::serve(Answer::Status(200)).await;
    let scope = set_up.campaign.scope(Environment::Test);
    let (endpoint, secret) = {
        let secret = service_tests::webhooks::new_secret();
        let endpoint = common::domain::webhook::Endpoint {
            endpoint: common::domain::webhook::EndpointId::from_random([9; 16]),
            url: common::domain::webhook::WebhookUrl::local(&other.url).expect("a URL"),
            signature: SignatureKind::V1a,
            ..set_up.endpoint.clone()
        };
        (endpoint, secret)
    };
    assert_eq!(endpoint.scope, scope);
    let added = set_up.webhooks.endpoints.add(&endpoint, &secret).await;
    assert!(added.expect("the tables"));
    set_up.accept(1).await;
    set_up.webhooks.run().await;
    let received = other.received();
    assert!(received[0].is_signed_by(SignatureKind::V1a, &[secret]));
    assert!(received[0].header("webhook-signature").starts_with("v1a,"));
}
