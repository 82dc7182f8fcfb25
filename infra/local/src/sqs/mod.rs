//! Standard queues in memory. Signatures are not checked.

mod actions;
#[cfg(test)]
mod long_poll_tests;
mod queues;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use common::lock::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use self::queues::Queues;
use crate::loopback::{Loopback, Server};

/// A full batch has 1 MiB, and escaping can turn one byte into six.
const MAX_REQUEST_BYTES: usize = 8 * 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct SqsOptions<'a> {
    /// Each queue `name` also gets `name-dead-letters`.
    pub queues: &'a [&'a str],
    /// Time until a received message comes again.
    pub visibility: Duration,
    /// Receives of a message before it moves to the dead letters.
    pub max_receives: u32,
}

pub struct Sqs {
    pub server: Server,
    /// Clock of delays and timeouts; tests move it.
    pub clock: QueueClock,
}

#[derive(Clone)]
pub struct QueueClock(Arc<Shared>);

struct Shared {
    state: Mutex<QueueState>,
    changed: watch::Sender<()>,
    stopping: watch::Receiver<bool>,
}

struct QueueState {
    queues: Queues,
    /// Lead over the runtime's clock.
    ahead: Duration,
}

impl Sqs {
    pub async fn serve(options: SqsOptions<'_>) -> io::Result<Self> {
        let loopback = Loopback::bind(0).await?;
        let shared = Arc::new(Shared {
            state: Mutex::new(QueueState {
                queues: Queues::new(options),
                ahead: Duration::ZERO,
            }),
            changed: watch::Sender::new(()),
            stopping: loopback.stopping.clone(),
        });
        let router = Router::new()
            // SDKs may post to a queue's URL; the body names the queue anyway.
            .route("/", post(actions::serve))
            .route("/{account}/{queue}", post(actions::serve))
            .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
            .with_state(Arc::clone(&shared));
        Ok(Self {
            server: loopback.serve(router),
            clock: QueueClock(shared),
        })
    }

    pub fn queue_url(&self, name: &str) -> String {
        format!("{}/000000000000/{name}", self.server.url)
    }
}

impl QueueClock {
    /// Past all delays, timeouts and long polls that end within the span.
    pub fn advance(&self, span: Duration) {
        {
            let mut state = self.0.state.lock();
            state.ahead = state.ahead.saturating_add(span);
        }
        self.0.changed.send_replace(());
    }
}

impl Shared {
    /// Moves messages received too often to the dead letters first.
    fn with<T>(&self, work: impl FnOnce(&mut Queues, Instant) -> T) -> T {
        let mut state = self.state.lock();
        let now = Instant::now() + state.ahead;
        state.queues.move_dead_letters(now);
        work(&mut state.queues, now)
    }

    /// [`Self::with`], if messages become visible at another time.
    fn with_news<T>(&self, work: impl FnOnce(&mut Queues, Instant) -> T) -> T {
        let result = self.with(work);
        self.changed.send_replace(());
        result
    }
}
