//! One execution environment: a function's process that gets one event at a time over Lambda's
//! runtime interface.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Killed on drop.
pub struct Environment {
    process: Child,
    log: Arc<Mutex<Vec<String>>>,
    events: mpsc::UnboundedSender<Bytes>,
    interface: Arc<RuntimeInterface>,
    first_poll: Option<oneshot::Receiver<Instant>>,
    serving: JoinHandle<()>,
}

struct RuntimeInterface {
    events: tokio::sync::Mutex<mpsc::UnboundedReceiver<Bytes>>,
    first_poll: Mutex<Option<oneshot::Sender<Instant>>>,
    answer: Mutex<Option<oneshot::Sender<Value>>>,
}

impl Environment {
    pub async fn start(
        program: &Path,
        arguments: &[&str],
        variables: &BTreeMap<String, String>,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let (events, received) = mpsc::unbounded_channel();
        let (polled, first_poll) = oneshot::channel();
        let interface = Arc::new(RuntimeInterface {
            events: tokio::sync::Mutex::new(received),
            first_poll: Mutex::new(Some(polled)),
            answer: Mutex::default(),
        });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route(
                "/2018-06-01/runtime/invocation/{id}/response",
                post(response),
            )
            .fallback(failure)
            .with_state(Arc::clone(&interface));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router)
                .await
                .expect("it serves until it is aborted");
        });
        let mut process = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(variables)
            .env("AWS_LAMBDA_RUNTIME_API", address)
            .env("AWS_LAMBDA_FUNCTION_NAME", "function")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_LOG_GROUP_NAME", "function")
            .env("AWS_LAMBDA_LOG_STREAM_NAME", "function")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let log = Arc::new(Mutex::new(Vec::new()));
        let (written, stdout) = (
            Arc::clone(&log),
            process.stdout.take().expect("it is piped"),
        );
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                written.lock().expect("not poisoned").push(line);
            }
        });
        Self {
            process,
            log,
            events,
            interface,
            first_poll: Some(first_poll),
            serving,
        }
    }

    /// The time of the first poll.
    pub async fn first_poll(&mut self) -> Option<Instant> {
        self.first_poll.take()?.await.ok()
    }

    /// Hands over an event; `None` if the function failed or was killed.
    pub async fn invoke(&mut self, event: &Value) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        self.interface
            .answer
            .lock()
            .expect("not poisoned")
            .replace(answer);
        self.events.send(Bytes::from(event.to_string())).ok()?;
        answered.await.ok()
    }

    /// Hands over an event, and kills the process once `working` completes, or after the answer.
    pub async fn kill_during(mut self, event: &Value, working: impl Future<Output = ()>) {
        tokio::select! {
            _ = self.invoke(event) => {}
            () = working => {}
        }
    }

    /// The next line of the log.
    pub async fn next_line(&self) -> String {
        loop {
            let line = {
                let mut log = self.log.lock().expect("not poisoned");
                (!log.is_empty()).then(|| log.remove(0))
            };
            match line {
                Some(line) => return line,
                None => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    }

    /// Bytes; `None` without `/proc`.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kibibytes * 1024)
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // The process may have exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.serving.abort();
    }
}

async fn next(State(interface): State<Arc<RuntimeInterface>>) -> Response {
    if let Some(polled) = interface.first_poll.lock().expect("not poisoned").take() {
        let _ = polled.send(now());
    }
    let event = interface.events.lock().await.recv().await;
    let Some(event) = event else {
        return StatusCode::GONE.into_response();
    };
    let headers = [
        ("content-type", "application/json"),
        (
            "lambda-runtime-aws-request-id",
            "00000000-0000-4000-8000-000000000001",
        ),
        ("lambda-runtime-deadline-ms", "4102444800000"),
        (
            "lambda-runtime-invoked-function-arn",
            "arn:aws:lambda:af-south-1:000000000000:function:function",
        ),
    ];
    (headers, event).into_response()
}

async fn response(State(interface): State<Arc<RuntimeInterface>>, body: Bytes) -> StatusCode {
    if let Some(answer) = interface.answer.lock().expect("not poisoned").take() {
        // The caller may have given up.
        let _ = answer.send(serde_json::from_slice(&body).unwrap_or_default());
    }
    StatusCode::ACCEPTED
}

/// Takes errors of initialization and invocation.
async fn failure(State(interface): State<Arc<RuntimeInterface>>, request: Request) -> StatusCode {
    eprintln!("a function reported a failure to {}", request.uri());
    interface.answer.lock().expect("not poisoned").take();
    StatusCode::ACCEPTED
}

#[expect(clippy::disallowed_methods, reason = "start-up is measured")]
fn now() -> Instant {
    Instant::now()
}
