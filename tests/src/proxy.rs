//! A proxy in front of DynamoDB: counts calls and the capacity they consume, and plays the faults that
//! the embedded database never shows.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{Method, Response, StatusCode};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::forward::{self, Forwarder, failure, forwarder};
use crate::random::Random;
use crate::serving::Serving;
use crate::throttling::{Throttled, answer_with, cancelled_by, throttle};

/// A proxy that serves until the last of its clones is dropped.
#[derive(Clone)]
pub struct Proxy {
    /// Where it serves.
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

/// Faults by chance.
#[derive(Clone, Debug, Default)]
pub struct Disturbance {
    /// So many calls in a hundred are throttled, each at one of its tables.
    pub throttled_percent: u32,
    /// The only table that is throttled; all are when absent.
    pub throttled_table: Option<String>,
    /// So many calls in a hundred fail: half of them never arrive, of half the answer is lost.
    pub lost_percent: u32,
}

/// What becomes of a call by chance.
enum Chance {
    Throttled(Throttled),
    Refused,
    AnswerLost,
}

/// What the leasing of a key's requests is called among the operations.
pub const LEASE: &str = "UpdateItem of a key's ceiling";

/// What went through since it was last asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The operations, in order.
    pub calls: Vec<String>,
    /// Round trips: calls that were under way at the same time are one.
    pub round_trips: usize,
    /// Capacity units consumed by all of them.
    pub capacity: f64,
    /// How many of the calls had a fault by chance.
    pub disturbed: usize,
}

impl Seen {
    /// How many of the calls leased requests of a key.
    pub fn leases(&self) -> usize {
        self.calls.iter().filter(|call| *call == LEASE).count()
    }
}

/// What happens to a transaction instead of being written, or to a batch instead of being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Refused: another transaction touched this item, by position, at the same moment.
    Conflict(usize),
    /// Refused: this item's table, by position, takes no more at the moment.
    Throttled(usize),
    /// Written, but the answer is lost: the caller hears of a failure on the other side.
    AnswerLost,
    /// Refused by its conditions, and another transaction touched this item, by position, at the same moment.
    ConditionAndConflict(usize),
    /// A batch of which nothing is read.
    Unprocessed,
}

impl Fault {
    /// The operation that it happens to.
    fn operation(self) -> &'static str {
        match self {
            Self::Conflict(_) | Self::Throttled(_) | Self::AnswerLost | Self::ConditionAndConflict(_) => {
                "TransactWriteItems"
            }
            Self::Unprocessed => "BatchGetItem",
        }
    }
}

impl Inner {
    /// What becomes of a call by chance, without what is throttled of it.
    fn by_chance(&self, operation: &str, call: &mut Value) -> Option<Chance> {
        let mut disturbance = self.disturbance.lock().expect("not poisoned");
        let (random, plan) = disturbance.as_mut()?;
        let chance = match random.below(100) {
            number if number < plan.throttled_percent => {
                Chance::Throttled(throttle(operation, call, plan.throttled_table.as_deref(), random)?)
            }
            number if number >= plan.throttled_percent + plan.lost_percent => return None,
            _ if random.below(2) == 0 => Chance::Refused,
            _ => Chance::AnswerLost,
        };
        self.seen.lock().expect("not poisoned").disturbed += 1;
        Some(chance)
    }
}

impl Proxy {
    /// Starts a proxy in front of a DynamoDB.
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
        let router = Router::new().fallback(forward_counted).with_state(Arc::clone(&inner));
        let (url, serving) = forward::serve_on_a_thread(router).await;
        Self { url, inner, _serving: Arc::new(serving) }
    }

    /// What went through since it was last asked.
    pub fn take_seen(&self) -> Seen {
        std::mem::take(&mut *self.inner.seen.lock().expect("not poisoned"))
    }

    /// Plays these faults on the next calls that they happen to, one each.
    pub fn play(&self, faults: impl IntoIterator<Item = Fault>) {
        self.inner.faults.lock().expect("not poisoned").extend(faults);
    }

    /// Drops the faults that have not been played yet.
    pub fn play_no_more(&self) {
        self.inner.faults.lock().expect("not poisoned").clear();
    }

    /// Lets every call take so much longer.
    pub fn slow_down(&self, latency: Duration) {
        *self.inner.latency.lock().expect("not poisoned") = latency;
    }

    /// Lets faults happen by chance.
    pub fn disturb(&self, random: Random, disturbance: Disturbance) {
        self.inner.disturbance.lock().expect("not poisoned").replace((random, disturbance));
    }

    /// Lets nothing happen by chance any more.
    pub fn disturb_no_more(&self) {
        self.inner.disturbance.lock().expect("not poisoned").take();
    }

    /// Waits until so many more calls have come, whoever makes them.
    pub async fn calls_from_now(&self, count: usize) {
        let mut calls = self.inner.calls.subscribe();
        let last = *calls.borrow() + count;
        calls.wait_for(|calls| *calls >= last).await.expect("the sender is here");
    }

    /// How many faults have not been played yet.
    pub fn faults_left(&self) -> usize {
        self.inner.faults.lock().expect("not poisoned").len()
    }
}

async fn forward_counted(State(inner): State<Arc<Inner>>, request: Request) -> Response<Body> {
    if request.method() == Method::GET {
        // A function opens a connection.
        let (parts, body) = forward::read(request).await;
        return forward::send(&inner.forwarder, &inner.upstream, &parts, body).await.unwrap_or_else(failure);
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
    let target =
        parts.headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let mut json: Value = serde_json::from_slice(&body).expect("the SDK sends JSON");
    let limited = json["Key"]["limited"]["S"].as_str().unwrap_or_default();
    let call = if limited.starts_with("ceiling#") { LEASE.to_owned() } else { operation.clone() };
    inner.seen.lock().expect("not poisoned").calls.push(call);
    inner.calls.send_modify(|calls| *calls += 1);

    let fault = {
        let mut faults = inner.faults.lock().expect("not poisoned");
        let next = faults.front().copied().filter(|fault| fault.operation() == operation);
        next.and_then(|_| faults.pop_front())
    };
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
    if fault == Some(Fault::Unprocessed) {
        return answer_with(StatusCode::OK, &json!({ "UnprocessedKeys": json["RequestItems"] }));
    }
    let cancelled = match fault {
        Some(Fault::Conflict(position)) => Some((position, "TransactionConflict")),
        Some(Fault::Throttled(position)) => Some((position, "ThrottlingError")),
        _ => None,
    };
    if let Some((position, code)) = cancelled {
        let items = json["TransactItems"].as_array().map_or(0, Vec::len);
        return cancelled_by(code, position, items);
    }
    json["ReturnConsumedCapacity"] = json!("TOTAL");
    parts.headers.remove(CONTENT_LENGTH);
    let body = Bytes::from(json.to_string());
    let answer = forward::send(&inner.forwarder, &inner.upstream, &parts, body).await;
    let (head, body) = answer.expect("DynamoDB answers").into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("the whole answer");
    inner.seen.lock().expect("not poisoned").capacity += capacity(&body);
    if let Some(Fault::ConditionAndConflict(position)) = fault {
        let mut cancelled: Value = serde_json::from_slice(&body).expect("an answer in JSON");
        assert!(cancelled["CancellationReasons"][position].is_object(), "no condition failed: {cancelled}");
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
    // The checksum header that comes along is of the same bytes.
    Response::from_parts(head, Body::from(body))
}

/// An answer of a DynamoDB that fails.
fn failed() -> Response<Body> {
    answer_with(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "__type": "InternalServerError" }))
}

/// The capacity in an answer: one figure, or one for each table.
fn capacity(body: &[u8]) -> f64 {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let units = |consumed: &Value| consumed["CapacityUnits"].as_f64().unwrap_or(0.0);
    match &answer["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().map(units).sum(),
        consumed => units(consumed),
    }
}
