//! A reverse proxy that counts, delays, holds and denies calls, and makes them fail.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::text::list_of;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Method, Response, StatusCode};
use bytes::Bytes;
use common::config::Env;
use local::stack::EndpointProxy;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, watch};

use crate::database_faults::{self, Fault, Throttled, answer_with};
use crate::forward::{self, Call, Forwarder};
use crate::random::Random;
use crate::serving::Serving;

/// Variables with the AWS endpoints that functions call.
pub const AWS: [&str; 4] = [
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ENDPOINT_URL_SECRETS_MANAGER",
];

/// A lease on a rate limit, in [`Seen::calls`].
const LEASE: &str = "UpdateItem of a key's limit";

/// A look for the next campaign reads thirty-two partitions at once, which fail alike: one in eight
/// is cut.
const QUERIES_PER_CUT: usize = 8;

/// Selects calls by method and path, such as `PUT /bucket/key`, and body.
pub type Selection = fn(&str, &str) -> bool;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The process dies before the call arrives.
    DiesBefore,
    /// The call arrives; the process dies before the answer.
    DiesAfter,
    /// The call arrives; the answer is lost.
    AnswerLost,
    /// The call fails without arriving.
    Refused,
}

impl FaultKind {
    /// `Refused` looks like `AnswerLost` to callers.
    pub const ALL: [Self; 3] = [Self::DiesBefore, Self::DiesAfter, Self::AnswerLost];
}

#[derive(Clone, Debug, Default)]
pub struct Disturbance {
    /// Share of throttled database calls, each at one table.
    pub throttled_percent: u32,
    /// `None` throttles any table.
    pub throttled_table: Option<String>,
    /// Share of failing calls: half never arrive, half lose the answer.
    pub lost_percent: u32,
}

/// Traffic since the last [`Interceptor::take_seen`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub calls: Vec<String>,
    /// Overlapping calls count as one round trip.
    pub round_trips: usize,
    /// Capacity units, with cancelled transactions.
    pub capacity: f64,
    /// Write units among them.
    pub write_units: f64,
    /// Calls with a random fault.
    pub disturbed: usize,
}

impl Seen {
    /// Calls that leased part of a rate limit.
    pub fn leases(&self) -> usize {
        self.calls.iter().filter(|call| *call == LEASE).count()
    }
}

/// Runs until the last clone is dropped.
#[derive(Clone, Default)]
pub struct Interceptor {
    inner: Arc<Inner>,
    /// Keys are upstream URLs.
    servers: Arc<AsyncMutex<BTreeMap<String, (String, Serving)>>>,
}

#[derive(Default)]
struct Inner {
    forwarder: Forwarder,
    state: Mutex<State>,
    in_flight: AtomicUsize,
    calls: watch::Sender<usize>,
    died: watch::Sender<bool>,
    reached: watch::Sender<bool>,
    released: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    seen: Seen,
    latency: Duration,
    denies: bool,
    held: Option<Selection>,
    /// Counted from the next call.
    cut: Option<(usize, FaultKind)>,
    queries: usize,
    faults: VecDeque<Fault>,
    disturbance: Option<(Random, Disturbance)>,
}

enum Fate {
    Passes,
    Fails(FaultKind),
    Meets(Fault),
    Throttled(Throttled),
}

impl Interceptor {
    /// Injects a fault into one call, from 0.
    pub fn at(call: usize, how: FaultKind) -> Self {
        let interceptor = Self::default();
        interceptor.arm(call, how);
        interceptor
    }

    /// Starts or reuses a server before another; returns its URL.
    pub async fn in_front_of(&self, upstream: &str) -> String {
        let mut servers = self.servers.lock().await;
        if let Some((url, _)) = servers.get(upstream) {
            return url.clone();
        }
        let inner = Arc::clone(&self.inner);
        let router = forward::router(inner.forwarder.clone(), upstream, move |call| {
            intercept(Arc::clone(&inner), call)
        });
        let (url, serving) = forward::serve_on_a_thread(router).await;
        servers.insert(upstream.to_owned(), (url.clone(), serving));
        url
    }

    /// The environment with servers before these endpoints.
    pub async fn in_front_of_all(&self, variables: &[&'static str], env: &Env) -> Env {
        let mut intercepted = Vec::new();
        for &variable in variables {
            let upstream = env.required(variable).expect("the stack sets it");
            intercepted.push((variable.to_owned(), self.in_front_of(&upstream).await));
        }
        env.clone().overridden_by(intercepted.into_iter().collect())
    }

    /// A stack option: a server before each service.
    pub fn front(&self) -> EndpointProxy {
        let inner = Arc::clone(&self.inner);
        forward::front(move |call| intercept(Arc::clone(&inner), call))
    }

    pub fn take_seen(&self) -> Seen {
        std::mem::take(&mut self.inner.state().seen)
    }

    pub fn calls(&self) -> usize {
        *self.inner.calls.borrow()
    }

    /// Waits for this many more calls.
    pub async fn calls_from_now(&self, count: usize) {
        let last = self.calls() + count;
        wait_for(&self.inner.calls, |calls| *calls >= last).await;
    }

    /// Adds latency to every call.
    pub fn slow_down(&self, latency: Duration) {
        self.inner.state().latency = latency;
    }

    /// Denies all calls or none, as AWS does without a right.
    pub fn deny(&self, denies: bool) {
        self.inner.state().denies = denies;
    }

    /// Holds selected calls.
    pub fn select(&self, selection: Selection) {
        self.inner.state().held = Some(selection);
    }

    /// Waits until a call is held.
    pub async fn reached(&self) {
        wait_for(&self.inner.reached, |reached| *reached).await;
    }

    /// Lets later calls through; held ones stay, as if their process were gone.
    pub fn stop(&self) {
        self.inner.state().held = None;
    }

    pub fn release(&self) {
        self.stop();
        self.inner.released.send_replace(true);
    }

    /// Injects a fault into a call from now on.
    pub fn arm(&self, call: usize, how: FaultKind) {
        self.inner.state().cut = Some((call, how));
        self.inner.died.send_replace(false);
    }

    pub fn disarm(&self) {
        self.inner.state().cut = None;
    }

    /// True if the call with the fault was made.
    pub fn was_made(&self) -> bool {
        self.inner.state().cut.is_none()
    }

    /// Waits until the process has to die.
    pub async fn death(&self) {
        wait_for(&self.inner.died, |died| *died).await;
    }

    /// Works until done, or until the process has to die.
    pub async fn cut<T>(&self, work: impl Future<Output = T>) {
        tokio::select! {
            _ = work => {}
            () = self.death() => {}
        }
    }

    /// Queues faults, each for the next call of its operation.
    pub fn play(&self, faults: impl IntoIterator<Item = Fault>) {
        self.inner.state().faults.extend(faults);
    }

    /// Drops queued faults.
    pub fn play_no_more(&self) {
        self.inner.state().faults.clear();
    }

    /// Queued faults.
    pub fn faults_left(&self) -> usize {
        self.inner.state().faults.len()
    }

    pub fn disturb(&self, random: Random, disturbance: Disturbance) {
        self.inner.state().disturbance = Some((random, disturbance));
    }

    pub fn disturb_no_more(&self) {
        self.inner.state().disturbance = None;
    }
}

async fn wait_for<T>(sender: &watch::Sender<T>, is_reached: impl FnMut(&T) -> bool) {
    let mut changes = sender.subscribe();
    changes
        .wait_for(is_reached)
        .await
        .expect("the sender is here");
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("not poisoned")
    }

    async fn die(&self) -> ! {
        self.died.send_replace(true);
        std::future::pending().await
    }

    async fn hold_if_selected(&self, call: &Call) {
        let held = self.state().held;
        if held.is_some_and(|selects| selects(&call.line(), &call.text())) {
            self.reached.send_replace(true);
            wait_for(&self.released, |released| *released).await;
        }
    }
}

impl State {
    /// Decides about a call. A throttled batch read loses its keys from `body`.
    fn decide(&mut self, call: &Call, body: Option<&mut Value>) -> Fate {
        let operation = call.operation();
        let is_spared = operation == "Query" && {
            self.queries += 1;
            !(self.queries - 1).is_multiple_of(QUERIES_PER_CUT)
        };
        match &mut self.cut {
            Some((0, how)) if !is_spared => {
                let how = *how;
                self.cut = None;
                return Fate::Fails(how);
            }
            Some((left, _)) if !is_spared => *left -= 1,
            Some(_) | None => {}
        }
        if let Some(fault) = self
            .faults
            .pop_front_if(|fault| fault.operation() == operation)
        {
            return Fate::Meets(fault);
        }
        self.by_chance(operation, body).unwrap_or(Fate::Passes)
    }

    fn by_chance(&mut self, operation: &str, body: Option<&mut Value>) -> Option<Fate> {
        let (random, plan) = self.disturbance.as_mut()?;
        let fate = match random.below(100) {
            number if number < plan.throttled_percent => {
                Fate::Throttled(database_faults::throttle(
                    operation,
                    body?,
                    plan.throttled_table.as_deref(),
                    random,
                )?)
            }
            number if number >= plan.throttled_percent + plan.lost_percent => return None,
            _ if random.below(2) == 0 => Fate::Fails(FaultKind::Refused),
            _ => Fate::Fails(FaultKind::AnswerLost),
        };
        self.seen.disturbed += 1;
        Some(fate)
    }
}

async fn intercept(inner: Arc<Inner>, call: Call) -> Response<Body> {
    if call.parts.method == Method::GET && call.parts.uri.path() == "/" {
        // Functions connect with a GET while they initialize.
        return call.send().await;
    }
    inner.hold_if_selected(&call).await;
    if inner.in_flight.fetch_add(1, Ordering::SeqCst) == 0 {
        inner.state().seen.round_trips += 1;
    }
    let latency = inner.state().latency;
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let answer = answer(&inner, call).await;
    inner.in_flight.fetch_sub(1, Ordering::SeqCst);
    answer
}

async fn answer(inner: &Inner, mut call: Call) -> Response<Body> {
    let mut body = call.database_call();
    let is_lease = body.as_ref().is_some_and(|body| {
        let limited = body["Key"]["limited"]["S"].as_str();
        limited.is_some_and(|limited| limited.starts_with("ceiling#"))
    });
    let name = if is_lease { LEASE } else { call.operation() }.to_owned();
    inner.calls.send_modify(|calls| *calls += 1);
    let (fate, denies) = {
        let mut state = inner.state();
        state.seen.calls.push(name);
        (state.decide(&call, body.as_mut()), state.denies)
    };
    if denies {
        let denied = json!({ "__type": "AccessDeniedException", "Message": "no" });
        return answer_with(StatusCode::BAD_REQUEST, &denied);
    }
    match &fate {
        Fate::Fails(FaultKind::DiesBefore) => inner.die().await,
        Fate::Fails(FaultKind::Refused) => return forward::failure(),
        Fate::Throttled(Throttled::Refused(refusal)) => {
            return answer_with(StatusCode::BAD_REQUEST, refusal);
        }
        Fate::Meets(fault) => {
            let body = body.as_ref().expect("a call to the database");
            if let Some((status, refusal)) = fault.refusal(body) {
                return answer_with(status, &refusal);
            }
            if *fault == Fault::ReferenceTaken {
                take_reference(&call, body).await;
            }
        }
        Fate::Passes | Fate::Fails(_) | Fate::Throttled(_) => {}
    }
    let answer = match &mut body {
        Some(body) => {
            body["ReturnConsumedCapacity"] = json!("TOTAL");
            call.replace_body(body.to_string());
            count_capacity(inner, &call, body).await
        }
        None => call.send().await,
    };
    match fate {
        Fate::Fails(FaultKind::DiesAfter) => inner.die().await,
        Fate::Fails(_) | Fate::Meets(Fault::AnswerLost) => forward::failure(),
        Fate::Meets(Fault::ConditionAndConflict(position)) => {
            changed(answer, |answer| {
                let reason = &mut answer["CancellationReasons"][position];
                assert!(reason.is_object(), "no condition failed");
                *reason = json!({ "Code": "TransactionConflict" });
            })
            .await
        }
        Fate::Throttled(Throttled::Unprocessed(keys)) => {
            changed(answer, |answer| answer["UnprocessedKeys"] = json!(keys)).await
        }
        Fate::Passes | Fate::Meets(_) | Fate::Throttled(_) => answer,
    }
}

/// Sends a database call, and counts its capacity.
async fn count_capacity(inner: &Inner, call: &Call, body: &Value) -> Response<Body> {
    let (head, answered) = whole(call.send().await).await;
    let answer: Value = serde_json::from_slice(&answered).unwrap_or_default();
    let units = database_faults::capacity(body, &answer);
    let mut state = inner.state();
    state.seen.capacity += units;
    if ["TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem"].contains(&call.operation()) {
        state.seen.write_units += units;
    }
    // The body is unchanged, so is the checksum.
    Response::from_parts(head, Body::from(answered))
}

/// An answer with another body, without its checksum.
async fn changed(answer: Response<Body>, change: impl FnOnce(&mut Value)) -> Response<Body> {
    let (head, body) = whole(answer).await;
    let mut body = serde_json::from_slice(&body).expect("an answer in JSON");
    change(&mut body);
    answer_with(head.status, &body)
}

async fn whole(answer: Response<Body>) -> (http::response::Parts, Bytes) {
    let (head, body) = answer.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("the whole answer");
    (head, body)
}

/// Writes the transaction's new submission, its last item, as another's.
async fn take_reference(call: &Call, body: &Value) {
    let items = list_of(&body["TransactItems"]);
    let put = &items.last().expect("items")["Put"];
    let put = json!({ "TableName": put["TableName"], "Item": put["Item"] });
    let mut other = call.clone();
    let target = HeaderValue::from_static("DynamoDB_20120810.PutItem");
    other.parts.headers.insert("x-amz-target", target);
    other.replace_body(put.to_string());
    assert!(other.send().await.status().is_success());
}
