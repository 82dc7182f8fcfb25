//! One start of one function's program, as Lambda would make it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::runtime_api::RuntimeApi;
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
    let runtime_api = RuntimeApi::start(event).await;
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(variables)
        .env("AWS_LAMBDA_RUNTIME_API", &runtime_api.address)
        .env("AWS_LAMBDA_FUNCTION_NAME", "measured")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "measured")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "measured")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let started = stopwatch::now();
    let process = Running(command.spawn().expect("the program starts"));
    let finished = tokio::time::timeout(PATIENCE, runtime_api.finished()).await.ok().flatten();
    let finished = finished.unwrap_or_else(|| panic!("{} did not answer", program.display()));
    Start {
        to_first_poll: finished.polled - started,
        to_first_answer: finished.answered - started,
        peak_memory: process.peak_memory(),
        answer: finished.answer,
    }
}

/// A process that ends with this value.
struct Running(Child);

impl Running {
    fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kibibytes * 1024)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error means that it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
