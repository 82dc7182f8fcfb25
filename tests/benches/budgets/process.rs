//! One start of one function's program, as Lambda would make it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use service_tests::environment::Environment;

use crate::stopwatch;

/// A function that has not answered by then never will.
const PATIENCE: Duration = Duration::from_secs(20);

/// What one start showed.
pub(crate) struct Start {
    /// From the start of the process to its first poll of the runtime API.
    pub(crate) to_first_poll: Duration,
    /// From the start to its answer to the first event.
    pub(crate) to_first_answer: Duration,
    /// The most memory it had in use, in bytes; unknown where there is no `/proc`.
    pub(crate) peak_memory: Option<u64>,
    /// Its answer to the first event.
    pub(crate) answer: Value,
}

/// Starts a program, hands it an event, and stops it once it has answered.
pub(crate) async fn start(program: &Path, variables: &BTreeMap<String, String>, event: &Value) -> Start {
    let started = stopwatch::now();
    let mut environment = Environment::start(program, &[], variables).await;
    // The event is there before the function asks for it.
    let answer = tokio::time::timeout(PATIENCE, environment.invoke(event)).await.ok().flatten();
    let to_first_answer = started.elapsed();
    let answer = answer.unwrap_or_else(|| panic!("{} did not answer", program.display()));
    let polled = environment.first_poll().await.expect("it was polled");
    let peak_memory = environment.peak_memory();
    Start { to_first_poll: polled - started, to_first_answer, peak_memory, answer }
}
