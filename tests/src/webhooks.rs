//! Endpoints of webhooks, a receiver that records events, and the functions that publish and deliver,
//! run by hand.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use common::aws::event_queue::{self, QueuedEvent};
use common::clock::Clock;
use common::domain::cipher::SecretKey;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use common::domain::webhook::{
    Delivery, Endpoint, EndpointId, EndpointStatus, EventType, SignatureKind, WebhookSecret,
    WebhookUrl, signature_header,
};
use common::random;
use common::runtime::event_handler::EventHandler;
use common::runtime::sqs_batch::{SqsBatchResponse, SqsEvent, SqsMessage};
use common::store::webhook_deliveries::WebhookDeliveries;
use common::store::webhook_endpoints::WebhookEndpoints;
use deliver_events::DeliverEvents;
use futures_util::stream;
use local::streams::StreamReader;
use local::workers::published_changes;
use publish_events::{PublishEvents, PublishResponse};
use serde_json::Value;
use sweep_unsettled::{SweepUnsettled, Tick};

use crate::service::Service;
use crate::serving::serve;
use crate::text::parse_json;

/// SQS's limit.
const BATCH: usize = 10;

#[derive(Clone, Debug)]
pub struct Received {
    pub at: Timestamp,
    pub headers: HeaderMap,
    pub body: String,
}

impl Received {
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).expect(name);
        value.to_str().expect("ASCII")
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }

    pub fn json(&self) -> Value {
        parse_json(&self.body)
    }

    pub fn event_type(&self) -> String {
        let event = self.json();
        event["type"].as_str().expect("a type").to_owned()
    }

    /// True if its signatures are those of these secrets, in this order.
    pub fn is_signed_by(&self, kind: SignatureKind, secrets: &[WebhookSecret]) -> bool {
        let id = self.id().parse().expect("an id");
        let seconds = self.header("webhook-timestamp").parse().expect("seconds");
        let expected = signature_header(secrets, kind, &id, seconds, &self.body);
        self.header("webhook-signature") == expected
    }
}

/// How a receiver answers.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    Status(u16),
    /// A redirect to the receiver itself.
    Redirect,
    /// A status, and a body without an end.
    Endless(u16),
    Late(Duration),
}

/// A brand's endpoint.
#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    state: Arc<Mutex<Receiving>>,
}

struct Receiving {
    answer: Answer,
    received: Vec<Received>,
}

impl Receiver {
    pub async fn serve(answer: Answer) -> Self {
        let state = Arc::new(Mutex::new(Receiving {
            answer,
            received: Vec::new(),
        }));
        let router = Router::new()
            .fallback(receive)
            .with_state(Arc::clone(&state));
        let url = serve(router).await + "/hooks?token=hush";
        Self { url, state }
    }

    pub fn answer(&self, answer: Answer) {
        self.state().answer = answer;
    }

    pub fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    pub fn ids(&self) -> Vec<String> {
        let received = self.received();
        received.iter().map(|one| one.id().to_owned()).collect()
    }

    pub fn types(&self) -> Vec<String> {
        self.received().iter().map(Received::event_type).collect()
    }

    fn state(&self) -> MutexGuard<'_, Receiving> {
        self.state.lock().expect("not poisoned")
    }
}

async fn receive(
    State(state): State<Arc<Mutex<Receiving>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let body = String::from_utf8(body.to_vec()).expect("text");
    let answer = {
        let mut state = state.lock().expect("not poisoned");
        let at = Clock::system().now();
        state.received.push(Received { at, headers, body });
        state.answer
    };
    let reply = |status: u16, body: Body| {
        let mut reply = Response::new(body);
        *reply.status_mut() = StatusCode::from_u16(status).expect("a status");
        reply
    };
    match answer {
        Answer::Status(status) => reply(status, Body::empty()),
        Answer::Redirect => {
            let mut reply = reply(302, Body::empty());
            let elsewhere = "/elsewhere".parse().expect("a path");
            reply.headers_mut().insert("location", elsewhere);
            reply
        }
        Answer::Endless(status) => {
            let parts =
                stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from(vec![b'x'; 65_536])));
            reply(status, Body::from_stream(parts))
        }
        Answer::Late(after) => {
            tokio::time::sleep(after).await;
            reply(200, Body::empty())
        }
    }
}

/// The functions of webhooks, run by hand.
pub struct Webhooks {
    pub service: Service,
    pub publisher: PublishEvents,
    pub deliverer: DeliverEvents,
    pub sweeper: SweepUnsettled,
    pub endpoints: WebhookEndpoints,
    pub deliveries: WebhookDeliveries,
    reader: StreamReader,
}

impl Webhooks {
    pub fn new(service: &Service) -> Self {
        let (env, aws) = (&service.env, service.aws());
        Self {
            service: service.clone(),
            publisher: service.function("publish-events"),
            deliverer: service.function("deliver-events"),
            sweeper: service.function("sweep-unsettled"),
            endpoints: WebhookEndpoints::from_env(env, &aws).expect("all variables"),
            deliveries: WebhookDeliveries::from_env(env, &aws.dynamodb()).expect("the table"),
            reader: published_changes(env).expect("a stream"),
        }
    }

    /// Adds an active endpoint.
    pub async fn add(
        &self,
        scope: &Scope,
        url: &str,
        types: &[EventType],
    ) -> (Endpoint, WebhookSecret) {
        let now = self.service.clock.now();
        let endpoint = Endpoint {
            scope: scope.clone(),
            endpoint: EndpointId::from_random(random::bytes()),
            url: WebhookUrl::local(url).expect("a local URL"),
            types: types.to_vec(),
            signature: SignatureKind::V1,
            status: EndpointStatus::Active,
            failing_since: None,
            last_success_at: Some(now),
            created_at: now,
            by: "asha".to_owned(),
            revision: 0,
        };
        let secret = new_secret();
        let added = self.endpoints.add(&endpoint, &secret).await;
        assert!(added.expect("the tables"), "fewer than five");
        (endpoint, secret)
    }

    /// An endpoint's record.
    pub async fn stored(&self, endpoint: &Endpoint) -> Endpoint {
        let found = self
            .endpoints
            .get(&endpoint.scope, &endpoint.endpoint)
            .await;
        found.expect("the table").expect("it is there")
    }

    pub async fn set_status(&self, endpoint: &Endpoint, status: EndpointStatus) {
        let (stored, now) = (self.stored(endpoint).await, self.service.clock.now());
        let set = self.endpoints.set_status(&stored, status, now).await;
        assert!(set.expect("the table"));
    }

    /// The records of an endpoint's deliveries.
    pub async fn records(&self, endpoint: &Endpoint) -> Vec<Delivery> {
        let id = &endpoint.endpoint;
        let found = self.deliveries.list(id, false, usize::MAX).await;
        found.expect("the table")
    }

    pub async fn next_batch(&mut self) -> Option<Value> {
        let batch = self.reader.read().await;
        self.reader.confirm();
        batch
    }

    pub async fn publish(&self, batch: &Value) -> PublishResponse {
        publish(&self.publisher, batch).await
    }

    pub async fn publish_all(&mut self) {
        while let Some(batch) = self.next_batch().await {
            assert_eq!(self.publish(&batch).await, PublishResponse::default());
        }
    }

    /// Takes all visible messages from the queue.
    pub async fn take_messages(&self) -> Vec<QueuedEvent> {
        let (sqs, url) = (
            self.service.aws().sqs(),
            self.service.variable(event_queue::VARIABLE),
        );
        let mut messages = Vec::new();
        loop {
            let receive = sqs.receive_message().queue_url(&url);
            let received = receive.max_number_of_messages(10).send().await;
            let received = received.expect("the queue");
            if received.messages().is_empty() {
                return messages;
            }
            for message in received.messages() {
                let body = message.body().expect("a body");
                messages.push(serde_json::from_str(body).expect("a message"));
                let delete = sqs.delete_message().queue_url(&url);
                let handle = message.receipt_handle().expect("a handle");
                let deleted = delete.receipt_handle(handle).send().await;
                deleted.expect("the queue");
            }
        }
    }

    /// Delivers all visible messages; returns their number.
    pub async fn deliver_all(&self) -> usize {
        let messages = self.take_messages().await;
        for batch in messages.chunks(BATCH) {
            let reply = deliver(&self.deliverer, batch).await;
            assert_eq!(reply, SqsBatchResponse::default(), "no message fails");
        }
        messages.len()
    }

    /// Publishes and delivers once.
    pub async fn run(&mut self) {
        self.publish_all().await;
        self.deliver_all().await;
    }

    /// Moves the clocks of functions and queues.
    pub fn advance(&self, span: Duration) {
        self.service.clock.advance(span);
        self.service.queue_clock.advance(span);
    }

    pub async fn sweep(&self) {
        let swept = self.sweeper.handle(Tick::default()).await;
        swept.expect("it sweeps");
    }
}

pub fn new_secret() -> WebhookSecret {
    WebhookSecret::new(SecretKey::from_random(random::bytes()))
}

pub async fn publish(function: &PublishEvents, batch: &Value) -> PublishResponse {
    let batch = serde_json::from_value(batch.clone()).expect("a batch");
    Box::pin(function.handle(batch)).await.expect("a reply")
}

pub async fn deliver(function: &DeliverEvents, messages: &[QueuedEvent]) -> SqsBatchResponse {
    let mut event = SqsEvent::default();
    for (number, message) in messages.iter().enumerate() {
        let mut record = SqsMessage::default();
        record.message_id = Some(number.to_string());
        record.body = Some(serde_json::to_string(message).expect("JSON"));
        event.records.push(record);
    }
    Box::pin(function.handle(event)).await.expect("a reply")
}
