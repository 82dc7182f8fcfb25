use std::error::Error;
use std::{fmt, panic};

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::{JsonLine, Telemetry, error_chain, indented, invocation_id};
use crate::clock::Clock;
use crate::config::Env;

/// Crates whose events are logged; the SDK prints bodies at DEBUG.
const OUR_CRATES: [&str; 17] = [
    "api_docs",
    "check_code",
    "common",
    "count_changes",
    "create_receipt",
    "create_submission",
    "deliver_events",
    "get_campaign",
    "get_receipt",
    "get_submission",
    "lookup_submissions",
    "mark_receipt_uploaded",
    "publish_events",
    "refresh_upload_url",
    "settle_partners",
    "settle_receipts",
    "sweep_unsettled",
];

const LEVEL_VARIABLE: &str = "AWS_LAMBDA_LOG_LEVEL";

/// INFO by default.
pub(super) fn level(env: &Env) -> LevelFilter {
    env.optional(LEVEL_VARIABLE)
        .and_then(|level| level.parse().ok())
        .unwrap_or(LevelFilter::INFO)
}

fn filter(level: LevelFilter) -> Targets {
    Targets::new()
        .with_targets(OUR_CRATES.map(|name| (name, level)))
        // Unreadable events never reach our code.
        .with_target("lambda_runtime", LevelFilter::ERROR)
        // An error's Debug form can contain DynamoDB's answer.
        .with_target("lambda_runtime::layers::panic", LevelFilter::OFF)
}

/// Panics are logged by location: messages can quote a request. The first call in a process counts.
pub(super) fn install(telemetry: Telemetry, level: LevelFilter) {
    let layer = EventLayer {
        telemetry,
        write: move |line: &str| telemetry.write(line),
    };
    if tracing_subscriber::registry()
        .with(filter(level))
        .with(layer)
        .try_init()
        .is_ok()
    {
        panic::set_hook(Box::new(|panic| {
            let location = panic
                .location()
                .map(ToString::to_string)
                .unwrap_or_default();
            tracing::error!(location, "a panic");
        }));
    }
}

struct EventLayer<W> {
    telemetry: Telemetry,
    write: W,
}

impl<S: Subscriber, W: Fn(&str) + 'static> Layer<S> for EventLayer<W> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        match self.telemetry {
            Telemetry::CloudWatch(service) => {
                (self.write)(&as_json(service, event, fields).unwrap_or_default())
            }
            Telemetry::Terminal => (self.write)(&for_terminal(event, &fields)),
            Telemetry::Off => {}
        }
    }
}

#[derive(Default)]
struct EventFields {
    message: String,
    error_chain: Vec<String>,
    others: Map<String, Value>,
}

impl EventFields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.others.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for EventFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_error(&mut self, _: &Field, error: &(dyn Error + 'static)) {
        self.error_chain = error_chain(error);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            self.insert(field, text);
        }
    }
}

fn as_json(service: &str, event: &Event<'_>, fields: EventFields) -> serde_json::Result<String> {
    let EventFields {
        message,
        error_chain,
        mut others,
    } = fields;
    others.insert("target".to_owned(), json!(event.metadata().target()));
    serde_json::to_string(&JsonLine {
        timestamp: Clock::system().now().to_string(),
        level: event.metadata().level().as_str(),
        message: &message,
        service,
        lambda_request_id: invocation_id(),
        error_chain: &error_chain,
        fields: others,
    })
}

fn for_terminal(event: &Event<'_>, fields: &EventFields) -> String {
    let level = event.metadata().level();
    let others: String = fields
        .others
        .iter()
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    let error_chain = indented(&fields.error_chain);
    format!("--- {level} {}{others}{error_chain}", fields.message)
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use super::super::cause;
    use super::*;
    use crate::error::StoreError;

    pub(crate) fn written(telemetry: Telemetry, code: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let write = move |line: &str| kept.lock().expect("not poisoned").push(line.to_owned());
        let layer = EventLayer { telemetry, write };
        let subscriber = tracing_subscriber::registry()
            .with(filter(LevelFilter::INFO))
            .with(layer);
        tracing::subscriber::with_default(subscriber, code);
        let lines = lines.lock().expect("not poisoned");
        lines.clone()
    }

    fn warn() {
        let error = StoreError::new("sending a message", "no answer");
        tracing::warn!(error = cause(&error), tries = 3, "the message was not sent");
    }

    #[test]
    fn an_event_is_one_line_of_json_with_the_causes_of_its_error() {
        let lines = written(Telemetry::CloudWatch("stack"), warn);
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        line.as_object_mut()
            .and_then(|line| line.remove("timestamp"))
            .expect("a timestamp");
        let expected = json!({
            "level": "WARN", "message": "the message was not sent", "service": "stack",
            "target": "common::telemetry::events::tests", "tries": 3,
            "causes": ["sending a message failed", "no answer"],
        });
        assert_eq!(line, expected);
    }

    #[test]
    fn on_a_terminal_an_event_is_short() {
        let expected = "--- WARN the message was not sent tries=3\n    sending a message failed\n    no answer";
        assert_eq!(written(Telemetry::Terminal, warn), [expected]);
        assert_eq!(written(Telemetry::Off, warn), [""; 0]);
    }

    #[test]
    fn events_of_libraries_are_left_out() {
        let lines = written(Telemetry::Terminal, || {
            tracing::error!(target: "aws_smithy_runtime::client", "a body");
            tracing::error!(target: "hyper_util::client", "a URL");
            tracing::error!(target: "rustls::conn", "a name");
            tracing::error!(target: "lambda_runtime::layers::panic", "an error");
            tracing::warn!(target: "lambda_runtime::runtime", "polling");
            tracing::error!(target: "lambda_runtime::layers::api_response", "no such event");
            tracing::debug!("not from here");
        });
        assert_eq!(lines, ["--- ERROR no such event"]);
    }

    #[test]
    fn every_function_is_one_of_our_crates() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../functions");
        let functions = std::fs::read_dir(folder).expect("the functions");
        let name = |entry: std::fs::DirEntry| {
            entry
                .file_name()
                .into_string()
                .expect("text")
                .replace('-', "_")
        };
        let mut crates: BTreeSet<_> = functions
            .map(|entry| name(entry.expect("a folder")))
            .collect();
        crates.insert("common".to_owned());
        assert_eq!(crates, OUR_CRATES.map(str::to_owned).into());
    }

    #[test]
    fn the_level_is_lambdas() {
        let of = |value: &str| {
            level(
                &[(LEVEL_VARIABLE.to_owned(), value.to_owned())]
                    .into_iter()
                    .collect(),
            )
        };
        assert_eq!(
            [of("WARN"), of("DEBUG")],
            [LevelFilter::WARN, LevelFilter::DEBUG]
        );
        assert_eq!(
            [of(""), of("FATAL")],
            [LevelFilter::INFO, LevelFilter::INFO]
        );
    }
}
