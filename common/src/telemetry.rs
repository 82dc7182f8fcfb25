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
use serde_json::json;
use tracing::level_filters::LevelFilter;

use crate::config::Env;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;
use crate::http::routes::CREATE_SUBMISSION;

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

/// The log line of a request.
#[derive(Clone, Debug)]
pub struct RequestLine<'a> {
    /// When the request came.
    pub at: Timestamp,
    /// Milliseconds until its reply.
    pub duration_ms: u128,
    /// The request's ids.
    pub ids: &'a RequestIds,
    /// The function that served it.
    pub function: &'a str,
    /// The scope of its key, once known.
    pub scope: Option<&'a Scope>,
    /// Whether the key's limit admitted it.
    pub is_admitted: bool,
    /// The public id of that key.
    pub key_id: Option<&'a str>,
    /// The id of its submission or receipt.
    pub subject: Option<&'a str>,
    /// The reference of the submission, which its consumer knows.
    pub reference: Option<&'a str>,
    /// The HTTP status of the reply.
    pub status: u16,
    /// The error's code, or the message key of the consumer's outcome.
    pub outcome: Option<&'a str>,
    /// Names and values of metrics beside count and duration.
    pub metrics: &'a [(&'static str, u64)],
    /// The causes of an internal error, outermost first.
    pub error_chain: &'a [String],
}

/// The log line of a background job.
#[derive(Clone, Debug)]
pub struct JobLine<'a> {
    /// When the job began.
    pub at: Timestamp,
    /// Its duration in milliseconds.
    pub duration_ms: u128,
    /// The function that ran it.
    pub function: &'a str,
    /// Its scope, if it concerns a single one.
    pub scope: Option<&'a Scope>,
    /// The public id of its submission or receipt.
    pub subject: Option<&'a str>,
    /// The outcome in one word.
    pub outcome: &'a str,
    /// Names and values of metrics beside count and duration.
    pub metrics: &'a [(&'static str, u64)],
    /// The causes of a failure, outermost first.
    pub error_chain: &'a [String],
}

#[derive(Serialize)]
struct EmfLine<'a> {
    timestamp: String,
    level: &'static str,
    message: &'static str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway_request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lambda_request_id: Option<String>,
    service: &'a str,
    operation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    campaign: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    status: u16,
    outcome: &'a str,
    #[serde(rename = "causes", skip_serializing_if = "<[String]>::is_empty")]
    error_chain: &'a [String],
    #[serde(rename = "Requests")]
    requests: u8,
    #[serde(rename = "Duration")]
    duration_ms: u128,
    #[serde(flatten)]
    metrics: BTreeMap<&'static str, u64>,
    #[serde(rename = "_aws")]
    declarations: Declarations<'a>,
}

/// What CloudWatch counts in a line, in its embedded metric format.
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

    /// Writes the line of a request.
    pub fn request(self, line: &RequestLine<'_>) {
        match self {
            Self::CloudWatch(service) => match line.to_json(service) {
                Ok(text) => self.write(&text),
                Err(error) => {
                    tracing::error!(error = cause(&error), "a request's line is not valid JSON")
                }
            },
            Self::Terminal => self.write(&request_for_terminal(line)),
            Self::Off => {}
        }
    }

    /// Writes the line of a job.
    pub fn job(self, line: &JobLine<'_>) {
        match self {
            Self::CloudWatch(service) => self.write(&line.to_json(service)),
            Self::Terminal => {
                // Metrics that are all zero are noise to people.
                let is_idle =
                    !line.metrics.is_empty() && line.metrics.iter().all(|(_, value)| *value == 0);
                if !is_idle || !line.error_chain.is_empty() {
                    self.write(&job_for_terminal(line));
                }
            }
            Self::Off => {}
        }
    }
}

fn job_metrics(service: &str, line: &JobLine<'_>) -> serde_json::Value {
    let mut text = json!({
        "timestamp": line.at.to_string(),
        "level": if line.error_chain.is_empty() { "INFO" } else { "ERROR" },
        "message": "job",
        "lambda_request_id": invocation_id(),
        "service": service,
        "operation": line.function,
        "campaign": line.scope.map(|scope| scope.campaign.as_str()),
        "environment": line.scope.map(|scope| scope.environment.as_str()),
        "subject": line.subject,
        "outcome": line.outcome,
        "causes": line.error_chain,
        "Steps": 1,
        "Duration": u64::try_from(line.duration_ms).unwrap_or(u64::MAX),
        "_aws": work_declarations(line),
    });
    if let Some(fields) = text.as_object_mut() {
        fields.extend(
            line.metrics
                .iter()
                .map(|(name, value)| ((*name).to_owned(), json!(value))),
        );
        fields.retain(|_, value| !value.is_null());
    }
    text
}

impl<'a> Declarations<'a> {
    /// The metrics of every line, whatever its outcome: its count and duration for each function, its own metrics for
    /// the service.
    fn new(at: Timestamp, itself: &'static str, own: &'a [(&'static str, u64)]) -> Self {
        let duration = EmfMetric {
            name: "Duration",
            unit: Some("Milliseconds"),
        };
        let mut declarations = Self {
            timestamp: at.as_millis(),
            cloud_watch_metrics: Vec::new(),
        };
        declarations.declare(&[&["service", "operation"]], vec![count(itself), duration]);
        if !own.is_empty() {
            let own = own
                .iter()
                .map(|(name, _)| EmfMetric { name, unit: None })
                .collect();
            declarations.declare(&[&["service"]], own);
        }
        declarations
    }

    fn declare(
        &mut self,
        dimensions: &'static [&'static [&'static str]],
        metrics: Vec<EmfMetric<'a>>,
    ) {
        self.cloud_watch_metrics.push(Declaration {
            namespace: NAMESPACE,
            dimensions,
            metrics,
        });
    }
}

fn count(name: &str) -> EmfMetric<'_> {
    EmfMetric {
        name,
        unit: Some("Count"),
    }
}

fn work_declarations<'a>(line: &JobLine<'a>) -> Declarations<'a> {
    let mut declarations = Declarations::new(line.at, "Steps", line.metrics);
    declarations.declare(
        &[&["service", "operation", "outcome"]],
        vec![count("Steps")],
    );
    declarations
}

impl JobLine<'_> {
    /// The line for CloudWatch.
    pub fn to_json(&self, service: &str) -> String {
        job_metrics(service, self).to_string()
    }
}

impl RequestLine<'_> {
    /// The line for CloudWatch.
    pub fn to_json(&self, service: &str) -> serde_json::Result<String> {
        serde_json::to_string(&request_metrics(service, self))
    }

    /// What it is counted as for its operation, beside its outcome. Live requests are those that can be guesses: of a live
    /// key, and admitted by the key's limit.
    fn kinds(&self) -> impl Iterator<Item = &'static str> + use<> {
        let is_live =
            self.is_admitted && self.scope.is_some_and(|scope| scope.environment.is_live());
        let kinds = [
            ("LiveRequests", is_live),
            ("ServerErrors", self.status >= 500),
        ];
        kinds
            .into_iter()
            .filter_map(|(kind, is_one)| is_one.then_some(kind))
    }
}

/// Outcomes are counted where people look at them: for each campaign those of its live requests, and for the whole
/// service the refusals before a campaign was known. A campaign's alarm needs its entry attempts alone: pre-checks and
/// polls continue when its entries stop.
fn request_declarations<'a>(line: &RequestLine<'a>) -> Declarations<'a> {
    let mut declarations = Declarations::new(line.at, "Requests", line.metrics);
    let kinds: Vec<_> = line.kinds().map(count).collect();
    if !kinds.is_empty() {
        declarations.declare(&[&["service", "operation"]], kinds);
    }
    let by: &[&[&str]] = match (line.scope, line.outcome) {
        (Some(scope), Some(_)) if scope.environment.is_live() => {
            if line.function == CREATE_SUBMISSION.function {
                &[
                    &["service", "campaign"],
                    &["service", "campaign", "outcome"],
                ]
            } else {
                &[&["service", "campaign", "outcome"]]
            }
        }
        (Some(_), _) => &[],
        (None, _) => &[&["service", "outcome"]],
    };
    if !by.is_empty() {
        declarations.declare(by, vec![count("Requests")]);
    }
    declarations
}

fn job_for_terminal(line: &JobLine<'_>) -> String {
    let JobLine {
        function,
        outcome,
        duration_ms,
        ..
    } = line;
    let scope = line
        .scope
        .map(|scope| format!(" {} {}", scope.campaign, scope.environment))
        .unwrap_or_default();
    let time = time_of_day(line.at);
    let subject = named("id", line.subject);
    let metrics = metrics_for_terminal(line.metrics);
    let error_chain: String = line
        .error_chain
        .iter()
        .map(|cause| format!("\n    {cause}"))
        .collect();
    format!(
        "{time} --- {function}{scope} {outcome}{metrics} {duration_ms} ms{subject}{error_chain}"
    )
}

fn request_metrics<'a>(service: &'a str, line: &RequestLine<'a>) -> EmfLine<'a> {
    EmfLine {
        timestamp: line.at.to_string(),
        level: if line.error_chain.is_empty() {
            "INFO"
        } else {
            "ERROR"
        },
        message: "request",
        request_id: &line.ids.request,
        gateway_request_id: line.ids.gateway.as_deref(),
        lambda_request_id: invocation_id(),
        service,
        operation: line.function,
        campaign: line.scope.map(|scope| scope.campaign.as_str()),
        environment: line.scope.map(|scope| scope.environment.as_str()),
        key_id: line.key_id,
        subject: line.subject,
        reference: line.reference,
        status: line.status,
        outcome: line.outcome.unwrap_or("ok"),
        error_chain: line.error_chain,
        requests: 1,
        duration_ms: line.duration_ms,
        metrics: line
            .metrics
            .iter()
            .copied()
            .chain(line.kinds().map(|kind| (kind, 1)))
            .collect(),
        declarations: request_declarations(line),
    }
}

fn request_for_terminal(line: &RequestLine<'_>) -> String {
    let RequestLine {
        ids,
        status,
        duration_ms,
        ..
    } = line;
    let target = TARGET
        .try_with(Clone::clone)
        .unwrap_or_else(|_| line.function.to_owned());
    let (time, request_id) = (time_of_day(line.at), &ids.request);
    let (subject, reference) = (named("id", line.subject), named("ref", line.reference));
    let scope = line
        .scope
        .map(|scope| format!(" {} {}", scope.campaign, scope.environment))
        .unwrap_or_default();
    let outcome = line
        .outcome
        .map(|outcome| format!(" {outcome}"))
        .unwrap_or_default();
    let error_chain: String = line
        .error_chain
        .iter()
        .map(|cause| format!("\n    {cause}"))
        .collect();
    let metrics = metrics_for_terminal(line.metrics);
    format!(
        "{time} {status} {target}{scope}{outcome}{metrics} {duration_ms} ms{subject}{reference} request={request_id}{error_chain}"
    )
}

/// The time of day, such as `21:00:00.007Z`.
fn time_of_day(at: Timestamp) -> String {
    let timestamp = at.to_string();
    timestamp
        .split_once('T')
        .map_or(timestamp.clone(), |(_, time)| time.to_owned())
}

fn named(name: &str, value: Option<&str>) -> String {
    value
        .map(|value| format!(" {name}={value}"))
        .unwrap_or_default()
}

fn metrics_for_terminal(metrics: &[(&str, u64)]) -> String {
    metrics
        .iter()
        .map(|(name, value)| format!(" {name}={value}"))
        .collect()
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
