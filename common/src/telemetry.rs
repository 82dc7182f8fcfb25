//! Logs and metrics: one line for each request, each job and each event of `tracing`.
//!
//! The line of a request or a job is JSON in CloudWatch's embedded metric format (EMF), so that metrics need no call.
//! It has the request, the campaign and the outcome, but no personal data, code or key.
//!
//! A fault that does not fail the request is logged where it happens, with its causes and, as `subject`, the id of the
//! submission or receipt that it happened to: `tracing::warn!(error = telemetry::cause(&error), %subject, "the message
//! was not sent")`. `events` writes it.

mod events;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

use serde::Serialize;
use tracing::level_filters::LevelFilter;

use crate::config::Env;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

#[cfg(test)]
pub(crate) use events::tests::written;

/// The namespace of the metrics. Each metric also has the service's name as a dimension, which separates two stacks in
/// one account.
const NAMESPACE: &str = "CampaignEntryService";

tokio::task_local! {
    static INVOCATION_ID: String;
    static TARGET: String;
}

/// Runs the handling of an event; its lines carry Lambda's id of the invocation.
pub async fn in_invocation<T>(id: String, handling: impl Future<Output = T>) -> T {
    INVOCATION_ID.scope(id, handling).await
}

/// Runs the handling of a request; its line in a terminal names this method and path instead of the function.
pub async fn for_target<T>(target: String, handling: impl Future<Output = T>) -> T {
    TARGET.scope(target, handling).await
}

fn invocation_id() -> Option<String> {
    INVOCATION_ID.try_with(Clone::clone).ok()
}

/// The service's name if the environment has none, as in a local run of one function.
const UNNAMED: &str = "local";

/// The destination of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telemetry {
    /// JSON with metrics on standard output, which Lambda sends to CloudWatch, under this service's name.
    CloudWatch(&'static str),
    /// Short lines for people, on standard error.
    Terminal,
    /// No output: in tests, and for the local stack's background work.
    Off,
}

/// The ids of a request in logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestIds {
    /// The caller's id if it is fit for a log, otherwise a new one; returned with the reply.
    pub request: String,
    /// API Gateway's id; `None` if the event has none.
    pub gateway: Option<String>,
}

/// The log line of a request or a background job.
#[derive(Clone, Debug)]
pub struct LogLine<'a> {
    /// The start.
    pub at: Timestamp,
    pub duration_ms: u128,
    pub function: &'a str,
    /// `None` before a request's key is known, and for a job of several scopes.
    pub scope: Option<&'a Scope>,
    /// The public id of the submission or receipt.
    pub subject: Option<&'a str>,
    /// The error's code, the message key of a consumer's outcome, or a job's outcome in one word.
    pub outcome: Option<&'a str>,
    /// Metrics beside count and duration.
    pub metrics: &'a [(&'static str, u64)],
    /// The causes of a failure, outermost first.
    pub error_chain: &'a [String],
    /// `None` for a job.
    pub request: Option<RequestFields<'a>>,
}

/// The fields that only a request's line has.
#[derive(Clone, Debug)]
pub struct RequestFields<'a> {
    pub ids: &'a RequestIds,
    /// True if the key's rate limit admitted it.
    pub is_admitted: bool,
    /// True for an attempt to enter, whose number a campaign's alarm watches.
    pub is_entry: bool,
    /// The public id of the key.
    pub key_id: Option<&'a str>,
    /// The submission's reference, which its consumer knows.
    pub reference: Option<&'a str>,
    pub status: u16,
}

#[derive(Serialize)]
struct EmfLine<'a> {
    timestamp: String,
    level: &'static str,
    message: &'static str,
    service: &'a str,
    operation: &'a str,
    #[serde(flatten)]
    texts: BTreeMap<&'static str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    outcome: &'a str,
    #[serde(rename = "causes", skip_serializing_if = "<[String]>::is_empty")]
    error_chain: &'a [String],
    #[serde(rename = "Duration")]
    duration_ms: u128,
    #[serde(flatten)]
    metrics: BTreeMap<&'static str, u64>,
    #[serde(rename = "_aws")]
    declarations: Declarations<'a>,
}

/// The metrics of a line, in CloudWatch's embedded metric format.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Declarations<'a> {
    timestamp: i64,
    cloud_watch_metrics: Vec<Declaration<'a>>,
}

/// Metrics and the dimensions to count them by. Each combination of values is a metric to pay for.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Declaration<'a> {
    namespace: &'static str,
    dimensions: &'static [&'static [&'static str]],
    metrics: Vec<EmfMetric<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct EmfMetric<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
}

impl Telemetry {
    /// Logs for CloudWatch, under the service's name in the environment, with the events of `tracing`. Call it once in
    /// a process.
    pub fn cloud_watch(env: &Env) -> Self {
        let service = env
            .optional("SERVICE")
            .map_or(UNNAMED, |name| Box::leak(name.into_boxed_str()));
        let telemetry = Self::CloudWatch(service);
        events::install(telemetry, events::level(env));
        telemetry
    }

    /// Logs for a terminal, with the warnings and errors of `tracing`. Call it once in a process.
    pub fn terminal() -> Self {
        events::install(Self::Terminal, LevelFilter::WARN);
        Self::Terminal
    }

    /// Writes a line at once, so that lines of several threads do not mix.
    fn write(self, line: &str) {
        // A failing log stops nothing, and there is nowhere else to report it.
        let _ = match self {
            Self::CloudWatch(_) => writeln!(std::io::stdout().lock(), "{line}"),
            Self::Terminal => writeln!(std::io::stderr().lock(), "{line}"),
            Self::Off => Ok(()),
        };
    }

    /// Writes the line of a request or a job.
    pub fn log(self, line: &LogLine<'_>) {
        match self {
            Self::CloudWatch(service) => match line.to_json(service) {
                Ok(text) => self.write(&text),
                Err(error) => tracing::error!(error = cause(&error), "a line is not valid JSON"),
            },
            Self::Terminal if line.is_idle() => {}
            Self::Terminal => self.write(&line.for_terminal()),
            Self::Off => {}
        }
    }
}

impl<'a> LogLine<'a> {
    pub fn to_json(&self, service: &str) -> serde_json::Result<String> {
        let invocation = invocation_id();
        let request = self.request.as_ref();
        let texts = [
            (
                "request_id",
                request.map(|request| request.ids.request.as_str()),
            ),
            (
                "gateway_request_id",
                request.and_then(|request| request.ids.gateway.as_deref()),
            ),
            ("lambda_request_id", invocation.as_deref()),
            ("campaign", self.scope.map(|scope| scope.campaign.as_str())),
            (
                "environment",
                self.scope.map(|scope| scope.environment.as_str()),
            ),
            ("key_id", request.and_then(|request| request.key_id)),
            ("subject", self.subject),
            ("reference", request.and_then(|request| request.reference)),
        ];
        let counts = self.kinds().chain([self.counter()]).map(|name| (name, 1));
        serde_json::to_string(&EmfLine {
            timestamp: self.at.to_string(),
            level: if self.error_chain.is_empty() {
                "INFO"
            } else {
                "ERROR"
            },
            message: if request.is_some() { "request" } else { "job" },
            service,
            operation: self.function,
            texts: texts
                .into_iter()
                .filter_map(|(name, text)| Some((name, text?)))
                .collect(),
            status: request.map(|request| request.status),
            outcome: self.outcome.unwrap_or("ok"),
            error_chain: self.error_chain,
            duration_ms: self.duration_ms,
            metrics: self.metrics.iter().copied().chain(counts).collect(),
            declarations: self.declarations(),
        })
    }

    fn counter(&self) -> &'static str {
        if self.request.is_some() {
            "Requests"
        } else {
            "Steps"
        }
    }

    /// More counters of a request. Live requests are those that can be guesses: of a live key, and admitted by its
    /// rate limit.
    fn kinds(&self) -> impl Iterator<Item = &'static str> + use<> {
        let is_live = self.scope.is_some_and(|scope| scope.environment.is_live());
        let request = self.request.as_ref();
        [
            (
                "LiveRequests",
                request.is_some_and(|request| is_live && request.is_admitted),
            ),
            (
                "ServerErrors",
                request.is_some_and(|request| request.status >= 500),
            ),
        ]
        .into_iter()
        .filter_map(|(kind, is_one)| is_one.then_some(kind))
    }

    /// Every line counts itself and its duration for its function, and its own metrics for the service. Outcomes are
    /// counted where people look at them: of jobs for each function, of live requests for each campaign, and of those
    /// refused before a campaign was known for the service. A campaign's alarm needs its entry attempts alone:
    /// pre-checks and polls continue when its entries stop.
    fn declarations(&self) -> Declarations<'a> {
        let mut cloud_watch_metrics = Vec::new();
        let mut declare = |dimensions, metrics: Vec<EmfMetric<'a>>| {
            if !metrics.is_empty() {
                cloud_watch_metrics.push(Declaration {
                    namespace: NAMESPACE,
                    dimensions,
                    metrics,
                });
            }
        };
        let itself = || count(self.counter());
        let duration = EmfMetric {
            name: "Duration",
            unit: Some("Milliseconds"),
        };
        declare(&[&["service", "operation"]], vec![itself(), duration]);
        let own = self
            .metrics
            .iter()
            .map(|(name, _)| EmfMetric { name, unit: None });
        declare(&[&["service"]], own.collect());
        declare(
            &[&["service", "operation"]],
            self.kinds().map(count).collect(),
        );
        let by: &[&[&str]] = match (&self.request, self.scope, self.outcome) {
            (None, _, _) => &[&["service", "operation", "outcome"]],
            (Some(request), Some(scope), Some(_)) if scope.environment.is_live() => {
                if request.is_entry {
                    &[
                        &["service", "campaign"],
                        &["service", "campaign", "outcome"],
                    ]
                } else {
                    &[&["service", "campaign", "outcome"]]
                }
            }
            (Some(_), Some(_), _) => &[],
            (Some(_), None, _) => &[&["service", "outcome"]],
        };
        if !by.is_empty() {
            declare(by, vec![itself()]);
        }
        Declarations {
            timestamp: self.at.as_millis(),
            cloud_watch_metrics,
        }
    }

    /// True for a job that found nothing to do, which is noise to people.
    fn is_idle(&self) -> bool {
        let did_nothing =
            !self.metrics.is_empty() && self.metrics.iter().all(|(_, value)| *value == 0);
        self.request.is_none() && did_nothing && self.error_chain.is_empty()
    }

    fn for_terminal(&self) -> String {
        let mut line = time_of_day(self.at);
        line += &match &self.request {
            Some(request) => {
                let target = TARGET.try_with(Clone::clone);
                let target = target.unwrap_or_else(|_| self.function.to_owned());
                format!(" {} {target}", request.status)
            }
            None => format!(" --- {}", self.function),
        };
        if let Some(scope) = self.scope {
            line += &format!(" {} {}", scope.campaign, scope.environment);
        }
        line.extend(self.outcome.map(|outcome| format!(" {outcome}")));
        line.extend(
            self.metrics
                .iter()
                .map(|(name, value)| format!(" {name}={value}")),
        );
        line += &format!(" {} ms", self.duration_ms);
        line.extend(self.subject.map(|id| format!(" id={id}")));
        if let Some(request) = &self.request {
            line.extend(
                request
                    .reference
                    .map(|reference| format!(" ref={reference}")),
            );
            line += &format!(" request={}", request.ids.request);
        }
        line.extend(
            self.error_chain
                .iter()
                .map(|cause| format!("\n    {cause}")),
        );
        line
    }
}

fn count(name: &str) -> EmfMetric<'_> {
    EmfMetric {
        name,
        unit: Some("Count"),
    }
}

/// The time of day, such as `21:00:00.007Z`.
fn time_of_day(at: Timestamp) -> String {
    let timestamp = at.to_string();
    timestamp
        .split_once('T')
        .map_or(timestamp.clone(), |(_, time)| time.to_owned())
}

/// An error as a field of a `tracing` event, logged with its causes.
pub fn cause<E: Error + 'static>(error: &E) -> &(dyn Error + 'static) {
    error
}

/// An error and its causes, outermost first.
pub fn error_chain(error: &(dyn Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |&error| error.source())
        .map(ToString::to_string)
        .collect()
}

#[cfg(test)]
mod tests;
