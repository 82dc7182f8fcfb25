//! Functions as processes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use service_tests::environment::Environment;
use service_tests::fleet::{Fleet, Routing};
use service_tests::service::Service;
use service_tests::text::parse_json;

/// Runs an environment of the function named by its argument.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_environment"))
}

pub(crate) async fn start(function: &str, variables: &BTreeMap<String, String>) -> Environment {
    Environment::start(&program(), &[function], variables).await
}

pub(crate) fn fleet(function: &'static str, service: &Service, routing: Routing) -> Fleet {
    Fleet::new(program(), &[function], service.variables.clone(), routing)
}

/// Hands over an event; returns the next line of the log.
pub(crate) async fn line_after(environment: &mut Environment, event: &Value) -> Value {
    environment.invoke(event).await;
    parse_json(&environment.next_line().await)
}
