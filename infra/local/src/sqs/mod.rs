//! The embedded SQS: standard queues in memory, over AWS's JSON protocol. Signatures are not checked. Messages are lost
//! when it stops, so nothing may depend on the queue alone.

mod actions;
mod attributes;
mod batches;
mod queues;
mod refusal;
mod requests;
#[cfg(test)]
mod waits;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::loopback::{Loopback, Served, WallClock};
pub use crate::sqs::queues::QueueOptions;
use crate::sqs::queues::Queues;

/// Maximum request size: a full batch has 1 MiB, and escaping can turn one byte into six.
const MAX_REQUEST_BYTES: usize = 8 * 1024 * 1024;

pub struct SqsOptions {
    /// The queues, dead-letter queues included; no others can be created.
    pub queues: Vec<QueueOptions>,
    /// The time stamped on messages. Delays and timeouts use the runtime's clock.
    pub now: WallClock,
    /// The port; 0 picks a free one.
    pub port: u16,
}

/// A serving SQS. It stops when told to or when dropped.
pub struct Sqs {
    shared: Arc<Shared>,
    served: Served,
}

/// The clock of a serving SQS's delays and timeouts, for tests that move it.
#[derive(Clone)]
pub struct QueueClock(Arc<Shared>);

/// State shared by all requests.
struct Shared {
    endpoint: String,
    state: Mutex<QueueState>,
    /// Notifies waiting receivers whenever the time at which messages become visible may have changed.
    changed: watch::Sender<()>,
    stopping: watch::Receiver<bool>,
    now: WallClock,
}

struct QueueState {
    queues: Queues,
    /// How far the queues' clock is ahead of the runtime's.
    ahead: Duration,
}

impl Sqs {
    /// Starts an SQS and returns once it listens.
    ///
    /// # Errors
    /// If the port is taken, or a queue's settings are invalid.
    pub async fn serve(options: SqsOptions) -> io::Result<Self> {
        let queues = Queues::new(options.queues, process_number()?)?;
        let loopback = Loopback::bind(options.port).await?;
        let shared = Arc::new(Shared {
            endpoint: loopback.endpoint.clone(),
            state: Mutex::new(QueueState {
                queues,
                ahead: Duration::ZERO,
            }),
            changed: watch::Sender::new(()),
            stopping: loopback.stopping.clone(),
            now: options.now,
        });
        let router = Router::new()
            // SDKs may post to a queue's URL as well; the body always names the queue.
            .route("/", post(actions::serve))
            .route("/{account}/{queue}", post(actions::serve))
            .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
            .with_state(Arc::clone(&shared));
        Ok(Self {
            shared,
            served: loopback.serve(router),
        })
    }

    /// The base URL, without a trailing slash.
    pub fn endpoint(&self) -> &str {
        &self.shared.endpoint
    }

    pub fn queue_url(&self, name: &str) -> String {
        self.shared.queue_url(name)
    }

    /// The clock of the queues.
    pub fn clock(&self) -> QueueClock {
        QueueClock(Arc::clone(&self.shared))
    }

    /// Ends the long polls, waits for other requests in flight, then stops.
    pub async fn stop(self) {
        self.served.stop().await;
    }
}

impl QueueClock {
    /// Moves the clock forward, past all delays, timeouts and long polls that end within the span.
    pub fn advance(&self, span: Duration) {
        {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.ahead = state.ahead.saturating_add(span);
        }
        self.0.changed.send_replace(());
    }
}

impl Shared {
    fn queue_url(&self, name: &str) -> String {
        format!("{}/000000000000/{name}", self.endpoint)
    }

    /// Runs work on the queues at the current time of their clock, after moving messages that were received too often
    /// to their dead-letter queues.
    fn with<T>(&self, work: impl FnOnce(&mut Queues, Instant) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now() + state.ahead;
        state.queues.move_dead_letters(now);
        work(&mut state.queues, now)
    }

    /// Like `with`, for work that changes when messages become visible.
    fn with_news<T>(&self, work: impl FnOnce(&mut Queues, Instant) -> T) -> T {
        let result = self.with(work);
        self.changed.send_replace(());
        result
    }
}

/// A random number that keeps the message ids of different runs apart.
fn process_number() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u64::from_ne_bytes(bytes))
}
