//! Proxies in front of everything that a process calls. They count its calls, and inject a fault into one call or into
//! a share of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response};
use common::config::Env;
use tokio::sync::{Mutex as AsyncMutex, watch};

use crate::forward::{self, Forwarder, failure, forwarder};
use crate::random::Random;
use crate::serving::Serving;

/// The variables with the endpoints of the AWS services that functions call.
pub const AWS: [&str; 4] = [
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ENDPOINT_URL_SECRETS_MANAGER",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The process dies before the call arrives.
    DiesBefore,
    /// The call arrives, and the process dies before it gets the answer.
    DiesAfter,
    /// The call arrives, the answer is lost, and the process goes on.
    AnswerLost,
    /// The call fails without arriving, and the process goes on.
    Refused,
}

impl FaultKind {
    /// The kinds that tests try at every call. To the caller, `Refused` looks like `AnswerLost`.
    pub const ALL: [Self; 3] = [Self::DiesBefore, Self::DiesAfter, Self::AnswerLost];
}

/// Counts the calls of one process and injects faults. The proxies serve until the last clone is dropped.
#[derive(Clone)]
pub struct FaultInjector {
    inner: Arc<Inner>,
    /// URL and server of each proxy, by the URL behind it.
    proxies: Arc<AsyncMutex<BTreeMap<String, (String, Serving)>>>,
}

struct Inner {
    forwarder: Forwarder,
    plan: Mutex<Plan>,
    died: watch::Sender<bool>,
    queries: AtomicUsize,
}

#[derive(Default)]
struct Plan {
    seen: usize,
    cut: Option<(usize, FaultKind)>,
    noise: Option<(Random, u32)>,
    lost: usize,
}

#[derive(Clone)]
struct Proxied {
    inner: Arc<Inner>,
    upstream: Arc<str>,
}

impl FaultInjector {
    /// Injects a fault into one call, numbered from 0 over all proxies.
    pub fn at(call: usize, how: FaultKind) -> Self {
        let plan = Mutex::new(Plan {
            cut: Some((call, how)),
            ..Plan::default()
        });
        let inner = Arc::new(Inner {
            forwarder: forwarder(),
            plan,
            died: watch::Sender::new(false),
            queries: AtomicUsize::new(0),
        });
        Self {
            inner,
            proxies: Arc::default(),
        }
    }

    /// Resets the counter, and injects a fault into one of the calls from now on.
    pub fn arm(&self, call: usize, how: FaultKind) {
        *self.inner.plan.lock().expect("not poisoned") = Plan {
            cut: Some((call, how)),
            ..Plan::default()
        };
        self.inner.died.send_replace(false);
    }

    /// Injects random faults into `percent` of the calls: half of them never arrive, half lose the answer.
    pub fn noise(&self, random: Random, percent: u32) {
        self.inner.plan.lock().expect("not poisoned").noise = Some((random, percent));
    }

    pub fn disarm(&self) {
        let mut plan = self.inner.plan.lock().expect("not poisoned");
        (plan.cut, plan.noise) = (None, None);
    }

    /// Calls seen, and how many of them had a random fault.
    pub fn counts(&self) -> (usize, usize) {
        let plan = self.inner.plan.lock().expect("not poisoned");
        (plan.seen, plan.lost)
    }

    /// Starts a proxy for a server, or reuses the one it has, and returns the proxy's URL.
    pub async fn in_front_of(&self, upstream: &str) -> String {
        let mut proxies = self.proxies.lock().await;
        if let Some((url, _)) = proxies.get(upstream) {
            return url.clone();
        }
        let proxied = Proxied {
            inner: Arc::clone(&self.inner),
            upstream: upstream.into(),
        };
        let router = Router::new().fallback(cut).with_state(proxied);
        let (url, serving) = forward::serve_on_a_thread(router).await;
        proxies.insert(upstream.to_owned(), (url.clone(), serving));
        url
    }

    /// The environment with proxies in front of the endpoints in these variables.
    pub async fn in_front_of_all(&self, variables: &[&'static str], env: &Env) -> Env {
        let mut proxied = Vec::new();
        for &variable in variables {
            let upstream = env.required(variable).expect("the stack sets it");
            proxied.push((variable.to_owned(), self.in_front_of(&upstream).await));
        }
        env.clone().overridden_by(proxied.into_iter().collect())
    }

    /// True if the call with the fault was made.
    pub fn was_made(&self) -> bool {
        self.inner.plan.lock().expect("not poisoned").cut.is_none()
    }

    /// Waits until the process has to die.
    pub async fn death(&self) {
        let mut died = self.inner.died.subscribe();
        died.wait_for(|died| *died)
            .await
            .expect("the sender is here");
    }
}

impl Inner {
    /// A spared call is only hit by noise.
    fn next(&self, is_spared: bool) -> Option<FaultKind> {
        let mut plan = self.plan.lock().expect("not poisoned");
        if is_spared && plan.noise.is_none() {
            return None;
        }
        let number = plan.seen;
        plan.seen += 1;
        if let Some((_, how)) = plan.cut.take_if(|(at, _)| *at == number) {
            return Some(how);
        }
        let (random, percent) = plan.noise.as_mut()?;
        if random.below(100) >= *percent {
            return None;
        }
        let how = if random.below(2) == 0 {
            FaultKind::Refused
        } else {
            FaultKind::AnswerLost
        };
        plan.lost += 1;
        Some(how)
    }

    async fn die(&self) -> ! {
        self.died.send_replace(true);
        std::future::pending().await
    }
}

/// A look for the next campaign reads thirty-two partitions at once, and each read fails alike: one in eight is a place
/// to cut.
const QUERIES_PER_CUT: usize = 8;

async fn cut(
    State(Proxied { inner, upstream }): State<Proxied>,
    request: Request,
) -> Response<Body> {
    let target = request
        .headers()
        .get("x-amz-target")
        .map(HeaderValue::as_bytes);
    let is_query = target.is_some_and(|target| target.ends_with(b".Query"));
    let is_spared = is_query
        && !inner
            .queries
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(QUERIES_PER_CUT);
    let how = inner.next(is_spared);
    match how {
        Some(FaultKind::DiesBefore) => inner.die().await,
        Some(FaultKind::Refused) => return failure(),
        Some(FaultKind::DiesAfter | FaultKind::AnswerLost) | None => {}
    }
    let (parts, body) = forward::read(request).await;
    // To the caller, a connection that breaks is a failed call.
    let Some(answer) = forward::send(&inner.forwarder, &upstream, &parts, body).await else {
        return failure();
    };
    match how {
        None => answer,
        Some(FaultKind::DiesBefore | FaultKind::DiesAfter) => inner.die().await,
        Some(FaultKind::AnswerLost | FaultKind::Refused) => failure(),
    }
}
