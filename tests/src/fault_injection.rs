//! Proxies in front of everything that a process calls, which count its calls and cut one of them, or a
//! share of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use tokio::sync::{Mutex as AsyncMutex, watch};

use crate::forward::{self, Forwarder, failure, forwarder};
use crate::random::Random;
use crate::serving::Serving;

/// The variables that name the parts of AWS that functions call.
pub const AWS: [&str; 4] = [
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ENDPOINT_URL_SECRETS_MANAGER",
];

/// How a call is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It never arrives: the process dies before it.
    DiesBefore,
    /// It arrives, and the process dies before it hears the answer.
    DiesAfter,
    /// It arrives, and the answer is lost; the process goes on.
    AnswerLost,
    /// It never arrives, and the process hears so and goes on.
    Refused,
}

impl FaultKind {
    /// The ways that tell anything apart: one that is heard of is like an answer that is lost.
    pub const ALL: [Self; 3] = [Self::DiesBefore, Self::DiesAfter, Self::AnswerLost];
}

/// Counts the calls of one process, and cuts one. The proxies serve until the last clone is dropped.
#[derive(Clone)]
pub struct FaultInjector {
    inner: Arc<Inner>,
    /// The proxies that there are, by what they stand in front of.
    proxies: Arc<AsyncMutex<BTreeMap<String, (String, Serving)>>>,
}

struct Inner {
    forwarder: Forwarder,
    plan: Mutex<Plan>,
    died: watch::Sender<bool>,
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
    /// Cuts the call of this number, counted from 0 over all proxies.
    pub fn at(call: usize, how: FaultKind) -> Self {
        let plan = Mutex::new(Plan { cut: Some((call, how)), ..Plan::default() });
        let inner = Arc::new(Inner { forwarder: forwarder(), plan, died: watch::Sender::new(false) });
        Self { inner, proxies: Arc::default() }
    }

    /// Cuts the call of this number from now on, counted anew.
    pub fn arm(&self, call: usize, how: FaultKind) {
        *self.inner.plan.lock().expect("not poisoned") = Plan { cut: Some((call, how)), ..Plan::default() };
        self.inner.died.send_replace(false);
    }

    /// Cuts this many calls in a hundred from now on, by chance: half of them never arrive, of half the
    /// answer is lost.
    pub fn noise(&self, random: Random, percent: u32) {
        self.inner.plan.lock().expect("not poisoned").noise = Some((random, percent));
    }

    /// Cuts nothing from now on.
    pub fn disarm(&self) {
        let mut plan = self.inner.plan.lock().expect("not poisoned");
        (plan.cut, plan.noise) = (None, None);
    }

    /// How many calls came, and how many of them were cut by chance.
    pub fn counts(&self) -> (usize, usize) {
        let plan = self.inner.plan.lock().expect("not poisoned");
        (plan.seen, plan.lost)
    }

    /// A proxy in front of a server, the same one each time; the URL to use instead of its own.
    pub async fn in_front_of(&self, upstream: &str) -> String {
        let mut proxies = self.proxies.lock().await;
        if let Some((url, _)) = proxies.get(upstream) {
            return url.clone();
        }
        let proxied = Proxied { inner: Arc::clone(&self.inner), upstream: upstream.into() };
        let router = Router::new().fallback(cut).with_state(proxied);
        let (url, serving) = forward::serve_on_a_thread(router).await;
        proxies.insert(upstream.to_owned(), (url.clone(), serving));
        url
    }

    /// Whether the call to be cut has come.
    pub fn was_made(&self) -> bool {
        self.inner.plan.lock().expect("not poisoned").cut.is_none()
    }

    /// Waits until the process has to die.
    pub async fn death(&self) {
        let mut died = self.inner.died.subscribe();
        died.wait_for(|died| *died).await.expect("the sender is here");
    }
}

impl Inner {
    /// How this call is to be cut.
    fn next(&self) -> Option<FaultKind> {
        let mut plan = self.plan.lock().expect("not poisoned");
        let number = plan.seen;
        plan.seen += 1;
        if let Some((_, how)) = plan.cut.take_if(|(at, _)| *at == number) {
            return Some(how);
        }
        let (random, percent) = plan.noise.as_mut()?;
        if random.below(100) >= *percent {
            return None;
        }
        let how = if random.below(2) == 0 { FaultKind::Refused } else { FaultKind::AnswerLost };
        plan.lost += 1;
        Some(how)
    }

    async fn die(&self) -> ! {
        self.died.send_replace(true);
        std::future::pending().await
    }
}

async fn cut(State(Proxied { inner, upstream }): State<Proxied>, request: Request) -> Response<Body> {
    let how = inner.next();
    match how {
        Some(FaultKind::DiesBefore) => inner.die().await,
        Some(FaultKind::Refused) => return failure(),
        Some(FaultKind::DiesAfter | FaultKind::AnswerLost) | None => {}
    }
    let (parts, body) = forward::read(request).await;
    // A server that breaks off is a failure like any other.
    let Some(answer) = forward::send(&inner.forwarder, &upstream, &parts, body).await else {
        return failure();
    };
    match how {
        None => answer,
        Some(FaultKind::DiesBefore | FaultKind::DiesAfter) => inner.die().await,
        Some(FaultKind::AnswerLost | FaultKind::Refused) => failure(),
    }
}
