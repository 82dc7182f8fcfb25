//! Lines of requests and jobs are JSON in CloudWatch's embedded metric format (EMF), so metrics
//! need no call. They have no personal data, code or key. A fault that does not fail the request is
//! logged where it happens: `tracing::warn!(error = telemetry::cause(&error), %subject, "the
//! message was not sent")`.

mod events;

use std::error::Error;
use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;

use crate::config::Env;
use crate::domain::{Scope, Timestamp};

#[cfg(test)]
pub(crate) use events::tests::written;

/// Metrics also have the service's name as a dimension, which separates stacks in one account.
const NAMESPACE: &str = "CampaignEntryService";

tokio::task_local! {
    static INVOCATION_ID: String;
    static TARGET: String;
}

/// Lines carry Lambda's invocation id.
pub async fn in_invocation<T>(id: String, handling: impl Future<Output = T>) -> T {
    INVOCATION_ID.scope(id, handling).await
}

/// Terminal lines name this method and path instead of the function.
pub async fn for_target<T>(target: String, handling: impl Future<Output = T>) -> T {
    TARGET.scope(target, handling).await
}

fn invocation_id() -> Option<String> {
    INVOCATION_ID.try_with(Clone::clone).ok()
}

/// Name of an environment without one, as in a local run.
const UNNAMED: &str = "local";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telemetry {
    /// JSON with metrics on standard output, under this service's name.
    CloudWatch(&'static str),
    Terminal,
    /// Used in tests, and for the local stack's background work.
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestIds {
    /// The caller's if fit for a log, otherwise new; returned with the reply.
    pub request: String,
    pub gateway: Option<String>,
}

#[derive(Clone, Debug)]
pub struct LogLine<'a> {
    pub at: Timestamp,
    pub duration_ms: u128,
    pub function: &'a str,
    /// `None` before a key is known, and for jobs of several scopes.
    pub scope: Option<&'a Scope>,
    pub subject: Option<&'a str>,
    /// Error code, message key, or one word.
    pub outcome: Option<&'a str>,
    /// Metrics besides count and duration.
    pub metrics: &'a [(&'static str, u64)],
    pub error_chain: &'a [String],
    pub request: Option<RequestFields<'a>>,
}

#[derive(Clone, Debug)]
pub struct RequestFields<'a> {
    pub ids: &'a RequestIds,
    pub is_admitted: bool,
    /// True if it counts for a campaign's alarm.
    pub is_entry: bool,
    pub key_id: Option<&'a str>,
    pub reference: Option<&'a str>,
    pub status: u16,
}

#[derive(Serialize)]
struct JsonLine<'a, F> {
    timestamp: String,
    level: &'a str,
    message: &'a str,
    service: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lambda_request_id: Option<String>,
    #[serde(rename = "causes", skip_serializing_if = "<[String]>::is_empty")]
    error_chain: &'a [String],
    #[serde(flatten)]
    fields: F,
}

impl Telemetry {
    /// Call it once in a process.
    pub fn cloud_watch(env: &Env) -> Self {
        let service = env
            .optional("SERVICE")
            .map_or(UNNAMED, |name| Box::leak(name.into_boxed_str()));
        let telemetry = Self::CloudWatch(service);
        events::install(telemetry, events::level(env));
        telemetry
    }

    pub fn terminal() -> Self {
        events::install(Self::Terminal, LevelFilter::WARN);
        Self::Terminal
    }

    /// One write, so that threads do not mix lines.
    fn write(self, line: &str) {
        // Failures cannot be reported.
        let _ = match self {
            Self::CloudWatch(_) => writeln!(std::io::stdout().lock(), "{line}"),
            Self::Terminal => writeln!(std::io::stderr().lock(), "{line}"),
            Self::Off => Ok(()),
        };
    }

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

impl LogLine<'_> {
    pub fn to_json(&self, service: &str) -> serde_json::Result<String> {
        let request = self.request.as_ref();
        let mut fields = json!({
            "operation": self.function,
            "outcome": self.outcome.unwrap_or("ok"),
            "Duration": self.duration_ms,
            "_aws": {
                "Timestamp": self.at.as_millis(),
                "CloudWatchMetrics": self.declarations(),
            },
        });
        let texts = [
            (
                "request_id",
                request.map(|request| request.ids.request.as_str()),
            ),
            (
                "gateway_request_id",
                request.and_then(|request| request.ids.gateway.as_deref()),
            ),
            ("campaign", self.scope.map(|scope| scope.campaign.as_str())),
            (
                "environment",
                self.scope.map(|scope| scope.environment.as_str()),
            ),
            ("key_id", request.and_then(|request| request.key_id)),
            ("subject", self.subject),
            ("reference", request.and_then(|request| request.reference)),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?.into())));
        let counts = self.kinds().chain([self.counter()]).map(|name| (name, 1));
        let numbers = self.metrics.iter().copied().chain(counts);
        let numbers = numbers.map(|(name, number)| (name, number.into()));
        let status = request.map(|request| ("status", request.status.into()));
        if let Some(fields) = fields.as_object_mut() {
            let more = texts.chain(numbers).chain(status);
            fields.extend(more.map(|(name, value)| (name.to_owned(), value)));
        }
        serde_json::to_string(&JsonLine {
            timestamp: self.at.to_string(),
            level: if self.error_chain.is_empty() {
                "INFO"
            } else {
                "ERROR"
            },
            message: if request.is_some() { "request" } else { "job" },
            service,
            lambda_request_id: invocation_id(),
            error_chain: self.error_chain,
            fields,
        })
    }

    fn counter(&self) -> &'static str {
        if self.request.is_some() {
            "Requests"
        } else {
            "Steps"
        }
    }

    /// Live requests can be guesses: of a live key, admitted by its rate limit.
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

    /// Lines count themselves and their duration for their function, and their own metrics for the
    /// service. Outcomes of jobs count for each function, of live requests for each campaign, of
    /// requests refused before a campaign was known for the service. A campaign's alarm needs its
    /// entry attempts alone: pre-checks and polls continue when entries stop.
    ///
    /// Each combination of dimension values is a paid metric.
    fn declarations(&self) -> Vec<Value> {
        const OPERATION: &[&[&str]] = &[&["service", "operation"]];
        let duration = json!({ "Name": "Duration", "Unit": "Milliseconds" });
        let own = self.metrics.iter().map(|(name, _)| json!({ "Name": name }));
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
        let itself = count(self.counter());
        [
            (OPERATION, vec![itself.clone(), duration]),
            (&[&["service"]], own.collect()),
            (OPERATION, self.kinds().map(count).collect()),
            (by, vec![itself]),
        ]
        .into_iter()
        .filter(|(dimensions, metrics)| !dimensions.is_empty() && !metrics.is_empty())
        .map(|(dimensions, metrics)| {
            json!({ "Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": metrics })
        })
        .collect()
    }

    /// True for a job that found nothing to do: noise to people.
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
        line += &indented(self.error_chain);
        line
    }
}

fn count(name: &str) -> Value {
    json!({ "Name": name, "Unit": "Count" })
}

fn indented(error_chain: &[String]) -> String {
    error_chain
        .iter()
        .map(|cause| format!("\n    {cause}"))
        .collect()
}

fn time_of_day(at: Timestamp) -> String {
    let timestamp = at.to_string();
    timestamp
        .split_once('T')
        .map_or(timestamp.clone(), |(_, time)| time.to_owned())
}

/// A `tracing` field, logged with its causes.
pub fn cause<E: Error + 'static>(error: &E) -> &(dyn Error + 'static) {
    error
}

/// Outermost first.
pub fn error_chain(error: &(dyn Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |&error| error.source())
        .map(ToString::to_string)
        .collect()
}

#[cfg(test)]
mod tests;
