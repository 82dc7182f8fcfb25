//! The embedded SQS: standard queues in memory, over AWS's JSON protocol. Signatures are not checked.
//! Messages are lost when it stops; nobody may rely on a queue alone.

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

/// Bytes of a request that are read: a full batch has 1 MiB, and escaping can make six bytes of one.
const MAX_REQUEST_BYTES: usize = 8 * 1024 * 1024;

/// How an SQS is started.
pub struct Options {
    /// The queues, dead-letter queues too; no others can be made.
    pub queues: Vec<QueueOptions>,
    /// The time that messages are stamped with. Delays and timeouts run by the runtime's clock.
    pub now: WallClock,
    /// The port; 0 picks a free one.
    pub port: u16,
}

/// An SQS that serves. It stops when told to, and when it is dropped.
pub struct Sqs {
    shared: Arc<Shared>,
    served: Served,
}

/// What all requests work on.
struct Shared {
    endpoint: String,
    state: Mutex<State>,
    /// Told whenever it changes when messages become visible, to those who wait for one.
    changed: watch::Sender<()>,
    stopping: watch::Receiver<bool>,
    now: WallClock,
}

struct State {
    queues: Queues,
    /// How far the queues' clock has been moved ahead of the runtime's.
    ahead: Duration,
}

impl Sqs {
    /// Starts an SQS and returns once it listens.
    ///
    /// # Errors
    /// When the port is taken, or a queue is set up as no queue can be.
    pub async fn serve(options: Options) -> io::Result<Self> {
        let queues = Queues::new(options.queues, process_number()?)?;
        let loopback = Loopback::bind(options.port).await?;
        let shared = Arc::new(Shared {
            endpoint: loopback.endpoint.clone(),
            state: Mutex::new(State { queues, ahead: Duration::ZERO }),
            changed: watch::Sender::new(()),
            stopping: loopback.stopping.clone(),
            now: options.now,
        });
        let router = Router::new()
            // A queue's URL is an endpoint as well; which queue is meant says the body.
            .route("/", post(actions::serve))
            .route("/{account}/{queue}", post(actions::serve))
            .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
            .with_state(Arc::clone(&shared));
        Ok(Self { shared, served: loopback.serve(router) })
    }

    /// Where it serves, without a slash at the end.
    pub fn endpoint(&self) -> &str {
        &self.shared.endpoint
    }

    /// The URL of a queue.
    pub fn queue_url(&self, name: &str) -> String {
        self.shared.queue_url(name)
    }

    /// Moves the queues' clock forward: delays, timeouts and waits that end within the span have ended.
    pub fn advance(&self, span: Duration) {
        {
            let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.ahead = state.ahead.saturating_add(span);
        }
        self.shared.changed.send_replace(());
    }

    /// Ends the long polls, lets the other requests under way finish, then stops.
    pub async fn stop(self) {
        self.served.stop().await;
    }
}

impl Shared {
    fn queue_url(&self, name: &str) -> String {
        format!("{}/000000000000/{name}", self.endpoint)
    }

    /// Works on the queues at a moment of their clock. Messages that were received too often are in
    /// their dead-letter queues by then.
    fn with<T>(&self, work: impl FnOnce(&mut Queues, Instant) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now() + state.ahead;
        state.queues.move_dead_letters(now);
        work(&mut state.queues, now)
    }

    /// As `with`, for work that changes when messages become visible.
    fn with_news<T>(&self, work: impl FnOnce(&mut Queues, Instant) -> T) -> T {
        let result = self.with(work);
        self.changed.send_replace(());
        result
    }
}

/// Keeps the message ids of one run apart from those of another.
fn process_number() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u64::from_ne_bytes(bytes))
}
