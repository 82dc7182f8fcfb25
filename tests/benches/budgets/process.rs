//! One start of a function's program, as on Lambda.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use service_tests::environment::Environment;

use crate::stopwatch;

/// After this a function will not answer any more.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Start {
    /// From process start to the first poll of the runtime API.
    pub(crate) to_first_poll: Duration,
    /// From process start to the answer to the first event.
    pub(crate) to_first_answer: Duration,
    /// In bytes; `None` without `/proc`.
    pub(crate) peak_memory: Option<u64>,
    /// The answer to the first event.
    pub(crate) answer: Value,
}

/// Starts a program, hands it an event, and stops it after the answer.
pub(crate) async fn start(
    program: &Path,
    variables: &BTreeMap<String, String>,
    event: &Value,
) -> Start {
    let started = stopwatch::now();
    let mut environment = Environment::start(program, &[], variables).await;
    // The event is queued before the function polls for it.
    let answer = tokio::time::timeout(PATIENCE, environment.invoke(event))
        .await
        .ok()
        .flatten();
    let to_first_answer = started.elapsed();
    let answer = answer.unwrap_or_else(|| panic!("{} did not answer", program.display()));
    let polled = environment.first_poll().await.expect("it was polled");
    let peak_memory = environment.peak_memory();
    Start {
        to_first_poll: polled - started,
        to_first_answer,
        peak_memory,
        answer,
    }
}
