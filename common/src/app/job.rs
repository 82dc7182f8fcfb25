//! Background jobs: each logs one line.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::aws::Aws;
use crate::clock::Clock;
use crate::config::{ConfigError, Env};
use crate::domain::{Scope, Timestamp};
use crate::error::Error;
use crate::telemetry::{self, LogLine, Telemetry};

#[derive(Clone)]
pub struct EventContext {
    pub env: Env,
    pub aws: Aws,
    clock: Clock,
    telemetry: Telemetry,
}

#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub function: &'static str,
    pub started: Timestamp,
    pub scope: Option<&'a Scope>,
    pub subject: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// One word, for metrics.
    pub outcome: &'static str,
    pub metrics: Vec<(&'static str, u64)>,
}

impl From<&'static str> for JobOutcome {
    fn from(outcome: &'static str) -> Self {
        Self {
            outcome,
            metrics: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub struct JobError {
    pub error: Error,
    pub metrics: Vec<(&'static str, u64)>,
}

impl<E: Into<Error>> From<E> for JobError {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            metrics: Vec::new(),
        }
    }
}

impl EventContext {
    pub fn new(env: Env, clock: Clock, telemetry: Telemetry) -> Result<Self, ConfigError> {
        let aws = Aws::for_function(&env)?;
        Ok(Self {
            env,
            aws,
            clock,
            telemetry,
        })
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub async fn run_logged(
        &self,
        job: Job<'_>,
        doing: impl Future<Output = Result<JobOutcome, JobError>>,
    ) -> Result<JobOutcome, Error> {
        let result = AssertUnwindSafe(doing).catch_unwind().await;
        let result = result.unwrap_or_else(|_| Err(Error::internal("the job panicked").into()));
        let error = result
            .as_ref()
            .err()
            .and_then(|failed| failed.error.cause());
        let error_chain = error.map(telemetry::error_chain).unwrap_or_default();
        let (outcome, mut metrics) = match &result {
            Ok(finding) => (finding.outcome, finding.metrics.clone()),
            Err(failed) => ("failed", failed.metrics.clone()),
        };
        if result.is_err() && !metrics.iter().any(|(name, _)| *name == "Failed") {
            metrics.push(("Failed", 1));
        }
        self.telemetry.log(&LogLine {
            at: job.started,
            duration_ms: self.now().since(job.started).as_millis(),
            function: job.function,
            scope: job.scope,
            subject: job.subject,
            outcome: Some(outcome),
            metrics: &metrics,
            error_chain: &error_chain,
            request: None,
        });
        result.map_err(|failed| failed.error)
    }
}
