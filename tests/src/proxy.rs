//! A proxy in front of DynamoDB. It counts calls and consumed capacity, and injects faults that the embedded database
//! never has.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::forward::{self, Forwarder, failure, forwarder};
use crate::random::Random;
use crate::serving::Serving;
use crate::throttling::{Throttled, answer_with, cancelled_by, throttle};

/// Serves until the last clone is dropped.
#[derive(Clone)]
pub struct Proxy {
    pub url: String,
    inner: Arc<Inner>,
    _serving: Arc<Serving>,
}

struct Inner {
    upstream: String,
    forwarder: Forwarder,
    seen: Mutex<Seen>,
    faults: Mutex<VecDeque<Fault>>,
    disturbance: Mutex<Option<(Random, Disturbance)>>,
    calls: watch::Sender<usize>,
    latency: Mutex<Duration>,
    in_flight: AtomicUsize,
}

/// Random faults.
#[derive(Clone, Debug, Default)]
pub struct Disturbance {
    /// The share of calls that are throttled, each at one of its tables.
    pub throttled_percent: u32,
    /// The only table to throttle, or `None` for any.
    pub throttled_table: Option<String>,
    /// The share of calls that fail: half of them never arrive, half lose the answer.
    pub lost_percent: u32,
}

/// A random fault of one call.
enum Chance {
    Throttled(Throttled),
    Refused,
    AnswerLost,
}

/// The name in [`Seen::calls`] for a lease on a key's rate limit.
pub const LEASE: &str = "UpdateItem of a key's limit";

/// Traffic since the last [`Proxy::take_seen`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Names of the operations, in order.
    pub calls: Vec<String>,
    /// Overlapping calls count as one round trip.
    pub round_trips: usize,
    /// Capacity units consumed, those of cancelled transactions included.
    pub capacity: f64,
    /// The write units among them.
    pub write_units: f64,
    /// How many calls had a random fault.
    pub disturbed: usize,
}

impl Seen {
    /// How many calls leased part of a key's rate limit.
    pub fn leases(&self) -> usize {
        self.calls.iter().filter(|call| *call == LEASE).count()
    }
}

/// A fault of the next transaction or batch read. Numbers are positions of items in the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not written: another transaction touched this item at the same moment.
    Conflict(usize),
    /// Not written: this item's table is throttled.
    Throttled(usize),
    /// Written, but the caller gets a server error.
    AnswerLost,
    /// Not written: a condition failed, and another transaction touched this item at the same moment.
    ConditionAndConflict(usize),
    /// Not written: another submission, written just before, has the reference of the new one.
    ReferenceTaken,
    /// A batch read that returns all keys as unprocessed.
    Unprocessed,
}

impl Fault {
    /// The operation that it applies to.
    fn operation(self) -> &'static str {
        match self {
            Self::Conflict(_)
            | Self::Throttled(_)
            | Self::AnswerLost
            | Self::ConditionAndConflict(_)
            | Self::ReferenceTaken => "TransactWriteItems",
            Self::Unprocessed => "BatchGetItem",
        }
    }

    /// The answer to a call that is not forwarded.
    fn refusal(self, call: &Value) -> Option<Response<Body>> {
        let (position, code) = match self {
            Self::Conflict(position) => (position, "TransactionConflict"),
            Self::Throttled(position) => (position, "ThrottlingError"),
            Self::Unprocessed => {
                let keys = json!({ "UnprocessedKeys": call["RequestItems"] });
                return Some(answer_with(StatusCode::OK, &keys));
            }
            Self::AnswerLost | Self::ConditionAndConflict(_) | Self::ReferenceTaken => return None,
        };
        let items = call["TransactItems"].as_array().map_or(0, Vec::len);
        Some(cancelled_by(code, position, items))
    }
}

impl Inner {
    /// Takes the next fault, if it is for this operation.
    fn next_fault(&self, operation: &str) -> Option<Fault> {
        let mut faults = self.faults.lock().expect("not poisoned");
        let next = faults
            .front()
            .copied()
            .filter(|fault| fault.operation() == operation);
        next.and_then(|_| faults.pop_front())
    }

    fn count_capacity(&self, operation: &str, call: &Value, answer: &[u8]) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let units = capacity(&answer) + cancelled_units(call, &answer);
        let mut seen = self.seen.lock().expect("not poisoned");
        seen.capacity += units;
        if ["TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem"].contains(&operation) {
            seen.write_units += units;
        }
    }

    /// Draws a random fault. A throttled batch read loses the throttled keys from `call`.
    fn by_chance(&self, operation: &str, call: &mut Value) -> Option<Chance> {
        let mut disturbance = self.disturbance.lock().expect("not poisoned");
        let (random, plan) = disturbance.as_mut()?;
        let chance = match random.below(100) {
            number if number < plan.throttled_percent => Chance::Throttled(throttle(
                operation,
                call,
                plan.throttled_table.as_deref(),
                random,
            )?),
            number if number >= plan.throttled_percent + plan.lost_percent => return None,
            _ if random.below(2) == 0 => Chance::Refused,
            _ => Chance::AnswerLost,
        };
        self.seen.lock().expect("not poisoned").disturbed += 1;
        Some(chance)
    }
}

impl Proxy {
    pub async fn start(upstream: String) -> Self {
        let inner = Arc::new(Inner {
            upstream,
            forwarder: forwarder(),
            seen: Mutex::default(),
            faults: Mutex::default(),
            disturbance: Mutex::default(),
            calls: watch::Sender::new(0),
            latency: Mutex::default(),
            in_flight: AtomicUsize::new(0),
        });
        let router = Router::new()
            .fallback(forward_counted)
            .with_state(Arc::clone(&inner));
        let (url, serving) = forward::serve_on_a_thread(router).await;
        Self {
            url,
            inner,
            _serving: Arc::new(serving),
        }
    }

    /// Returns the traffic since the last call.
    pub fn take_seen(&self) -> Seen {
        std::mem::take(&mut *self.inner.seen.lock().expect("not poisoned"))
    }

    /// Queues faults; each applies to the next call of its operation.
    pub fn play(&self, faults: impl IntoIterator<Item = Fault>) {
        self.inner
            .faults
            .lock()
            .expect("not poisoned")
            .extend(faults);
    }

    /// Drops the faults that are still queued.
    pub fn play_no_more(&self) {
        self.inner.faults.lock().expect("not poisoned").clear();
    }

    /// Adds latency to every call.
    pub fn slow_down(&self, latency: Duration) {
        *self.inner.latency.lock().expect("not poisoned") = latency;
    }

    pub fn disturb(&self, random: Random, disturbance: Disturbance) {
        self.inner
            .disturbance
            .lock()
            .expect("not poisoned")
            .replace((random, disturbance));
    }

    pub fn disturb_no_more(&self) {
        self.inner.disturbance.lock().expect("not poisoned").take();
    }

    /// Waits for this many more calls.
    pub async fn calls_from_now(&self, count: usize) {
        let mut calls = self.inner.calls.subscribe();
        let last = *calls.borrow() + count;
        calls
            .wait_for(|calls| *calls >= last)
            .await
            .expect("the sender is here");
    }

    /// How many faults are still queued.
    pub fn faults_left(&self) -> usize {
        self.inner.faults.lock().expect("not poisoned").len()
    }
}

async fn forward_counted(State(inner): State<Arc<Inner>>, request: Request) -> Response<Body> {
    if request.method() == Method::GET {
        // A function opens a connection with a GET while it initializes.
        let (parts, body) = forward::read(request).await;
        return forward::send(&inner.forwarder, &inner.upstream, &parts, body)
            .await
            .unwrap_or_else(failure);
    }
    if inner.in_flight.fetch_add(1, Ordering::SeqCst) == 0 {
        inner.seen.lock().expect("not poisoned").round_trips += 1;
    }
    let latency = *inner.latency.lock().expect("not poisoned");
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let response = forward_disturbed(&inner, request).await;
    inner.in_flight.fetch_sub(1, Ordering::SeqCst);
    response
}

async fn forward_disturbed(inner: &Inner, request: Request) -> Response<Body> {
    let (mut parts, body) = forward::read(request).await;
    let target = parts
        .headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok())
        .unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let mut json: Value = serde_json::from_slice(&body).expect("the SDK sends JSON");
    let limited = json["Key"]["limited"]["S"].as_str().unwrap_or_default();
    let call = if limited.starts_with("ceiling#") {
        LEASE.to_owned()
    } else {
        operation.clone()
    };
    inner.seen.lock().expect("not poisoned").calls.push(call);
    inner.calls.send_modify(|calls| *calls += 1);

    let fault = inner.next_fault(&operation);
    let mut unprocessed = None;
    let mut answer_lost = fault == Some(Fault::AnswerLost);
    if fault.is_none() {
        match inner.by_chance(&operation, &mut json) {
            Some(Chance::Throttled(Throttled::Refused(refused))) => return refused,
            Some(Chance::Throttled(Throttled::Unprocessed(keys))) => unprocessed = Some(keys),
            Some(Chance::Refused) => return failed(),
            Some(Chance::AnswerLost) => answer_lost = true,
            None => {}
        }
    }
    if let Some(refused) = fault.and_then(|fault| fault.refusal(&json)) {
        return refused;
    }
    parts.headers.remove(CONTENT_LENGTH);
    if fault == Some(Fault::ReferenceTaken) {
        take_reference(inner, parts.clone(), &json).await;
    }
    json["ReturnConsumedCapacity"] = json!("TOTAL");
    let body = Bytes::from(json.to_string());
    let answer = forward::send(&inner.forwarder, &inner.upstream, &parts, body).await;
    let (head, body) = answer.expect("DynamoDB answers").into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("the whole answer");
    inner.count_capacity(&operation, &json, &body);
    if let Some(Fault::ConditionAndConflict(position)) = fault {
        let mut cancelled: Value = serde_json::from_slice(&body).expect("an answer in JSON");
        assert!(
            cancelled["CancellationReasons"][position].is_object(),
            "no condition failed: {cancelled}"
        );
        cancelled["CancellationReasons"][position] = json!({ "Code": "TransactionConflict" });
        return answer_with(StatusCode::BAD_REQUEST, &cancelled);
    }
    if answer_lost {
        return failed();
    }
    if let Some(unprocessed) = unprocessed {
        let mut answer: Value = serde_json::from_slice(&body).expect("an answer in JSON");
        answer["UnprocessedKeys"] = json!(unprocessed);
        return answer_with(head.status, &answer);
    }
    // The checksum header is still right: the body is unchanged.
    Response::from_parts(head, Body::from(body))
}

/// Writes the new submission of a transaction, its last item, as if it were another's.
async fn take_reference(inner: &Inner, mut parts: Parts, call: &Value) {
    let put = call["TransactItems"]
        .as_array()
        .and_then(|items| items.last())
        .expect("items")["Put"]
        .clone();
    let put = json!({ "TableName": put["TableName"], "Item": put["Item"] });
    parts.headers.insert(
        "x-amz-target",
        HeaderValue::from_static("DynamoDB_20120810.PutItem"),
    );
    let answer = forward::send(
        &inner.forwarder,
        &inner.upstream,
        &parts,
        put.to_string().into(),
    )
    .await;
    assert!(answer.expect("DynamoDB answers").status().is_success());
}

fn failed() -> Response<Body> {
    answer_with(
        StatusCode::INTERNAL_SERVER_ERROR,
        &json!({ "__type": "InternalServerError" }),
    )
}

/// The consumed capacity in an answer: one number, or one for each table.
fn capacity(answer: &Value) -> f64 {
    let units = |consumed: &Value| consumed["CapacityUnits"].as_f64().unwrap_or(0.0);
    match &answer["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().map(units).sum(),
        consumed => units(consumed),
    }
}

/// The write units of a transaction that a condition cancelled, which DynamoDB does not report: two for each item, because
/// a failed condition consumes what the write would have, and every item here is below 1 KB. Indexes are not written.
fn cancelled_units(call: &Value, answer: &Value) -> f64 {
    let items = call["TransactItems"].as_array().map_or(0, Vec::len);
    let is_cancelled = answer["CancellationReasons"].is_array();
    if is_cancelled {
        2.0 * f64::from(u32::try_from(items).expect("at most a hundred"))
    } else {
        0.0
    }
}
