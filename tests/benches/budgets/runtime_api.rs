//! Lambda's runtime API for one start of one function: hands out one event and takes the answer.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::stopwatch;

/// A runtime API that serves.
pub(crate) struct RuntimeApi {
    /// What goes into AWS_LAMBDA_RUNTIME_API.
    pub(crate) address: String,
    finished: oneshot::Receiver<Finished>,
    serving: JoinHandle<()>,
}

/// What became of the one event.
pub(crate) struct Finished {
    /// When the function asked for it.
    pub(crate) polled: Instant,
    /// When its answer was here.
    pub(crate) answered: Instant,
    /// The answer.
    pub(crate) answer: Value,
}

struct Inner {
    event: Bytes,
    progress: Mutex<Progress>,
}

struct Progress {
    polled: Option<Instant>,
    finish: Option<oneshot::Sender<Finished>>,
}

impl RuntimeApi {
    pub(crate) async fn start(event: &Value) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let (finish, finished) = oneshot::channel();
        let inner = Arc::new(Inner {
            event: Bytes::from(event.to_string()),
            progress: Mutex::new(Progress { polled: None, finish: Some(finish) }),
        });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .fallback(failure)
            .with_state(inner);
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves until it is aborted");
        });
        Self { address, finished, serving }
    }

    /// Waits for the answer to the event; `None` when the function failed.
    pub(crate) async fn finished(self) -> Option<Finished> {
        let finished = self.finished.await.ok();
        self.serving.abort();
        finished
    }
}

async fn next(State(inner): State<Arc<Inner>>) -> Response {
    let now = stopwatch::now();
    let first = inner.progress.lock().expect("not poisoned").polled.replace(now).is_none();
    if !first {
        // There is one event and no other; the function waits until it is stopped.
        return std::future::pending().await;
    }
    let headers = [
        ("content-type", "application/json"),
        ("lambda-runtime-aws-request-id", "00000000-0000-4000-8000-000000000001"),
        ("lambda-runtime-deadline-ms", "4102444800000"),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:af-south-1:000000000000:function:measured"),
    ];
    (headers, inner.event.clone()).into_response()
}

async fn response(State(inner): State<Arc<Inner>>, body: Bytes) -> StatusCode {
    let answered = stopwatch::now();
    let answer = serde_json::from_slice(&body).unwrap_or_default();
    let mut progress = inner.progress.lock().expect("not poisoned");
    if let (Some(polled), Some(finish)) = (progress.polled, progress.finish.take()) {
        // Nobody waits any more when the benchmark gave up on the function.
        let _ = finish.send(Finished { polled, answered, answer });
    }
    StatusCode::ACCEPTED
}

/// Anything else a function sends is a failure of it.
async fn failure(State(inner): State<Arc<Inner>>, request: Request) -> StatusCode {
    eprintln!("a function reported a failure to {}", request.uri());
    inner.progress.lock().expect("not poisoned").finish = None;
    StatusCode::ACCEPTED
}
