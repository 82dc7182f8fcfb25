//! The tables: a file for each kind of record, with its expressions. Calls fail with a
//! [`StoreError`] if DynamoDB does not answer or a record cannot be read.

#[macro_use]
mod table;

pub mod api_keys;
pub mod audit;
pub mod batch;
pub mod breakers;
pub mod campaign_versions;
pub mod campaigns;
pub mod code_books;
pub mod codes;
pub mod coordination;
pub mod draws;
mod encrypted_keys;
pub mod entrants;
pub mod idempotency_keys;
pub mod instant;
pub mod instant_plans;
pub mod partner_leases;
pub mod rate_limits;
pub mod receipts;
pub mod record_version;
pub mod retention;
pub mod review_locks;
pub mod statistics;
pub mod submission_writes;
pub mod submissions;
pub mod table_pages;
pub mod transaction;
pub mod turns;
pub mod webhook_deliveries;
pub mod webhook_endpoints;
mod write;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use serde::de::DeserializeOwned;
use serde_dynamo::aws_sdk_dynamodb_1::from_item;

use self::record_version::FIRST;
pub use self::write::{EXPIRY, Write};
use crate::domain::Timestamp;
use crate::error::{During, StoreError, StoreResult, Throttled, UnreadableRecord};
use crate::telemetry;

/// More are throttled sooner.
pub const SEGMENTS: i32 = 8;

pub type Item = HashMap<String, AttributeValue>;

/// Refuses a record of a later build.
pub(crate) fn from_record<T: DeserializeOwned>(item: Item, action: &'static str) -> StoreResult<T> {
    FIRST.check(&item, action)?;
    from_item(item).during(action)
}

/// `None` if this build cannot read it, which is logged: it must not stop the others.
pub(crate) fn readable<T: DeserializeOwned>(item: Item, action: &'static str) -> Option<T> {
    let record = from_record(item, action);
    let log = |error: &StoreError| {
        tracing::error!(error = telemetry::cause(error), "a record cannot be read");
    };
    record.inspect_err(log).ok()
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn number(value: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub(crate) fn read_number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

pub(crate) fn read_time(item: &Item, name: &str) -> Option<Timestamp> {
    read_number(item, name).map(Timestamp::from_millis)
}

pub(crate) fn read_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

pub(crate) fn read_times(item: &Item, name: &str) -> Vec<Timestamp> {
    let times = item.get(name).and_then(|value| value.as_l().ok());
    times
        .into_iter()
        .flatten()
        .filter_map(|time| time.as_n().ok()?.parse().ok())
        .map(Timestamp::from_millis)
        .collect()
}

pub(crate) fn required<T>(value: Option<T>, action: &'static str) -> StoreResult<T> {
    value.ok_or_else(|| StoreError::new(action, "an attribute is missing or has another type"))
}
