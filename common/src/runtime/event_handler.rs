//! A function behind a queue, storage or the schedule: takes its events, and writes one line about each job.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::aws::Aws;
use crate::clock::Clock;
use crate::config::{ConfigError, Env};
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;
use crate::error::Error;
use crate::telemetry::{self, Telemetry, WorkLine};

/// What the functions of one process that take events share.
#[derive(Clone)]
pub struct EventContext {
    /// The variables.
    pub env: Env,
    /// The connection to AWS.
    pub aws: Aws,
    clock: Clock,
    telemetry: Telemetry,
}

/// A piece of work, for the line about it.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The function that did it.
    pub function: &'static str,
    /// When it began.
    pub started: Timestamp,
    /// What it belongs to, where it is of one campaign.
    pub scope: Option<&'a Scope>,
    /// The public id of what was worked on.
    pub subject: Option<&'a str>,
}

/// What became of a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// In one word, for the counters.
    pub outcome: &'static str,
    /// What there is to count besides: names and numbers.
    pub metrics: Vec<(&'static str, u64)>,
}

impl From<&'static str> for JobOutcome {
    fn from(outcome: &'static str) -> Self {
        Self { outcome, metrics: Vec::new() }
    }
}

/// A piece of work that failed.
#[derive(Debug)]
pub struct JobError {
    /// Why.
    pub error: Error,
    /// What there is to count all the same.
    pub metrics: Vec<(&'static str, u64)>,
}

impl<E: Into<Error>> From<E> for JobError {
    fn from(error: E) -> Self {
        Self { error: error.into(), metrics: Vec::new() }
    }
}

/// A function that takes events.
pub trait EventHandler: Send + Sync + Sized + 'static {
    /// The event.
    type Event: DeserializeOwned + Send;
    /// What the event's source is told.
    type Reply: Serialize + Send;

    /// Connects to what it uses.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    fn connect(context: &EventContext) -> Result<Self, ConfigError>;

    /// Takes an event.
    ///
    /// # Errors
    /// When the event has to be sent again.
    fn handle(&self, event: Self::Event) -> impl Future<Output = Result<Self::Reply, Error>> + Send;
}

impl EventContext {
    /// Connects to what the environment names.
    ///
    /// # Errors
    /// Names the variable that is missing.
    pub fn new(env: Env, clock: Clock, telemetry: Telemetry) -> Result<Self, ConfigError> {
        let aws = Aws::for_function(&env)?;
        Ok(Self { env, aws, clock, telemetry })
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Does a piece of work and writes the line about it; a panic in it becomes an error like any other.
    ///
    /// # Errors
    /// Those of the work.
    pub async fn run_logged(
        &self,
        work: Job<'_>,
        doing: impl Future<Output = Result<JobOutcome, JobError>>,
    ) -> Result<JobOutcome, Error> {
        let result = AssertUnwindSafe(doing).catch_unwind().await;
        let result = result.unwrap_or_else(|_| Err(Error::internal("the work panicked").into()));
        let error = result.as_ref().err().and_then(|failed| failed.error.cause());
        let error_chain = error.map(telemetry::error_chain).unwrap_or_default();
        let (outcome, mut metrics) = match &result {
            Ok(finding) => (finding.outcome, finding.metrics.clone()),
            Err(failed) => ("failed", failed.metrics.clone()),
        };
        if result.is_err() && !metrics.iter().any(|(name, _)| *name == "Failed") {
            metrics.push(("Failed", 1));
        }
        self.telemetry.work(&WorkLine {
            at: work.started,
            duration_ms: self.now().since(work.started).as_millis(),
            function: work.function,
            scope: work.scope,
            subject: work.subject,
            outcome,
            metrics: &metrics,
            error_chain: &error_chain,
        });
        result.map_err(|failed| failed.error)
    }
}
