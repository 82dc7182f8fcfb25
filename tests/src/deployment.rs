//! The functions that create and settle, each a fleet of processes, with the queues and schedule
//! that invoke them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::aws::settle_queue::{PARTNER_VARIABLE, TAX_VARIABLE};
use common::http::routes::ROUTES;
use local::streams::StreamReader;
use local::workers::stream_readers;
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockWriteGuard};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::fleet::{Fleet, Routing};
use crate::http::Reply;
use crate::interceptor::Interceptor;
use crate::queue::Queue;
use crate::random::Random;
use crate::service::Service;
use crate::{contract, event};

const FUNCTIONS: [&str; 6] = [
    "count-changes",
    "create-receipt",
    "create-submission",
    "settle-partners",
    "settle-receipts",
    "sweep-unsettled",
];
/// Each queue's variable and consumer.
const QUEUES: [(&str, &str); 2] = [
    (TAX_VARIABLE, "settle-receipts"),
    (PARTNER_VARIABLE, "settle-partners"),
];
/// The template's default for receipts.
const MAX_CONCURRENCY: usize = 2;
/// Instead of a minute, so that a run has many sweeps.
const SWEEP_EVERY: Duration = Duration::from_millis(500);
const STREAM_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Longer queues get no sweep, which would add faster than consumers remove.
const MAX_WAITING: usize = 20;
/// Most database calls before a kill: about one settling step.
const MAX_CALLS: u32 = 8;

pub struct Deployment {
    fleets: BTreeMap<&'static str, Fleet>,
    queues: Vec<(Queue, &'static str)>,
    streams: Mutex<Vec<StreamReader>>,
    database: Interceptor,
    killed_percent: AtomicU32,
    killed: AtomicUsize,
    background: Mutex<Random>,
    under_way: RwLock<()>,
}

impl Deployment {
    /// Fleets without environments. `program` takes a function's name. `service` must run no
    /// background work, and its database must be behind `database`.
    pub fn new(
        program: &Path,
        service: &Service,
        database: Interceptor,
        random: Random,
    ) -> Arc<Self> {
        let fleet = |function| {
            let variables = service.variables_of(function);
            (
                function,
                Fleet::new(program.to_owned(), &[function], variables, Routing::Even),
            )
        };
        let queue = |(variable, function)| (Queue::from_env(&service.env, variable), function);
        Arc::new(Self {
            fleets: FUNCTIONS.map(fleet).into(),
            queues: QUEUES.map(queue).into(),
            streams: Mutex::new(stream_readers(&service.env)),
            database,
            killed_percent: AtomicU32::new(0),
            killed: AtomicUsize::new(0),
            background: Mutex::new(random),
            under_way: RwLock::new(()),
        })
    }

    /// Delivers and sweeps until dropped.
    pub fn start(self: &Arc<Self>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for index in (0..self.queues.len()).flat_map(|index| [index; MAX_CONCURRENCY]) {
            let deployment = Arc::clone(self);
            tasks.spawn(async move {
                let (queue, function) = &deployment.queues[index];
                loop {
                    let mut random = deployment.background.lock().expect("not poisoned").fork();
                    queue
                        .deliver(async |event| {
                            deployment.invoke(&mut random, function, event).await
                        })
                        .await;
                }
            });
        }
        for reader in std::mem::take(&mut *self.streams.lock().expect("not poisoned")) {
            tasks.spawn(Arc::clone(self).count(reader));
        }
        let deployment = Arc::clone(self);
        tasks.spawn(async move {
            let mut ticks = tokio::time::interval(SWEEP_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                deployment.sweep().await;
            }
        });
        tasks
    }

    /// Delivers a stream's changes. A failed batch comes again, at times half of it alone.
    async fn count(self: Arc<Self>, mut reader: StreamReader) {
        loop {
            let mut random = self.background.lock().expect("not poisoned").fork();
            let Some(mut batch) = reader.read().await else {
                reader.confirm();
                tokio::time::sleep(STREAM_POLL_INTERVAL).await;
                continue;
            };
            let records = batch["Records"].as_array_mut().expect("records");
            let is_half = records.len() > 1 && random.below(4) == 0;
            if is_half {
                records.truncate(records.len() / 2);
            }
            let reply = self.invoke(&mut random, "count-changes", &batch).await;
            let is_counted = reply.is_some_and(|reply| reply["batchItemFailures"] == json!([]));
            if is_counted && !is_half {
                reader.confirm();
            }
        }
    }

    async fn sweep(&self) {
        for (queue, _) in &self.queues {
            if queue
                .waiting()
                .await
                .is_none_or(|waiting| waiting > MAX_WAITING)
            {
                return;
            }
        }
        let mut random = self.background.lock().expect("not poisoned").fork();
        // The next sweep finds the same work.
        self.invoke(&mut random, "sweep-unsettled", &event::of_schedule())
            .await;
    }

    /// Posts; `None` if killed. Panics if a function fails or breaks the API description.
    pub async fn send(
        &self,
        random: &mut Random,
        path: &str,
        body: &Value,
        attempt: &str,
        key: &str,
    ) -> Option<Reply> {
        let route = ROUTES
            .iter()
            .find(|route| route.method == "POST" && route.path == path);
        let function = route.expect("a route").function;
        let event = event::posted(path, body, attempt, key);
        if self.kills(random) {
            self.kill_during(random, function, &event).await;
            return None;
        }
        let _under_way = self.under_way.read().await;
        let answer = self.fleets[function].invoke(&event).await;
        let reply = event::reply(&answer.expect("a function always answers"));
        contract::check("POST", path, &reply);
        Some(reply)
    }

    /// `None` if failed or killed.
    async fn invoke(&self, random: &mut Random, function: &str, event: &Value) -> Option<Value> {
        if self.kills(random) {
            self.kill_during(random, function, event).await;
            return None;
        }
        let _under_way = self.under_way.read().await;
        self.fleets[function].invoke(event).await
    }

    fn kills(&self, random: &mut Random) -> bool {
        random.below(100) < self.killed_percent.load(Ordering::Relaxed)
    }

    /// Kills an environment during an event, or right after.
    async fn kill_during(&self, random: &mut Random, function: &str, event: &Value) {
        let calls = usize::try_from(random.below(MAX_CALLS)).expect("a few");
        let _under_way = self.under_way.read().await;
        self.fleets[function]
            .kill_during(event, self.database.calls_from_now(calls))
            .await;
        self.killed.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the share of killed invocations, in percent.
    pub fn kill(&self, percent: u32) {
        self.killed_percent.store(percent, Ordering::Relaxed);
    }

    /// Killed, and started.
    pub fn environments(&self) -> (usize, usize) {
        let started = self.fleets.values().map(Fleet::started).sum();
        (self.killed.load(Ordering::Relaxed), started)
    }

    /// Waits until nothing is in flight, and blocks invocations until dropped.
    pub async fn pause(&self) -> RwLockWriteGuard<'_, ()> {
        self.under_way.write().await
    }
}
