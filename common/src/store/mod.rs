//! The tables: one file for each kind of record, with all its expressions. `submission_writes` combines them into the transactions of
//! a submission; `table` has the calls that all of them share.
//!
//! Every call fails with a [`StoreError`] if DynamoDB does not answer or a record cannot be read.

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
pub mod entrants;
pub mod idempotency_keys;
pub mod numbers;
pub mod partner_leases;
pub mod rate_limits;
pub mod receipts;
pub mod record_version;
pub mod retention;
pub mod review_locks;
pub mod segments;
pub mod submission_writes;
pub mod submissions;
mod table;
pub mod transaction;
pub mod turns;
mod write;

use std::collections::HashMap;
use std::error::Error as StdError;

use aws_sdk_dynamodb::error::ErrorMetadata;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodb::types::error::{
    ProvisionedThroughputExceededException, RequestLimitExceeded, ThrottlingException,
};

use serde::de::DeserializeOwned;
use serde_dynamo::aws_sdk_dynamodb_1::from_item;

use self::code_books::NoCodeBook;
use self::record_version::{FIRST, LaterVersion};
pub use self::write::{EXPIRY, Write};
use crate::aws::deployment_secret::NotFetched;
use crate::domain::entrant_id::PhoneNotEncrypted;
use crate::domain::timestamp::Timestamp;

/// Records that are read or changed at once.
pub const MAX_CONCURRENCY: usize = 16;
/// Segments of a table that are read at once. More are throttled sooner.
pub const SEGMENTS: i32 = 8;

/// A DynamoDB item.
pub type Item = HashMap<String, AttributeValue>;

/// A call to AWS failed, or its response cannot be read. For the log; callers see an opaque error.
#[derive(Debug, thiserror::Error)]
#[error("{action} failed")]
pub struct StoreError {
    action: &'static str,
    #[source]
    cause: Box<dyn StdError + Send + Sync>,
}

/// A record that this build cannot read: a newer build may have written it, or it is damaged. Its key holds no phone, code or
/// Idempotency-Key.
#[derive(Debug, thiserror::Error)]
#[error("the record {key} of the table of {table} cannot be read")]
pub struct UnreadableRecord {
    /// The kind of its table, such as `submissions`.
    pub table: &'static str,
    /// Its key.
    pub key: String,
    /// Why it cannot be read.
    #[source]
    pub reason: Box<dyn StdError + Send + Sync>,
}

/// A table throttled the call.
#[derive(Debug, thiserror::Error)]
#[error("the table takes no more at the moment")]
pub(crate) struct Throttled;

impl StoreError {
    /// An error of an action, such as "reading an API key".
    pub fn new(action: &'static str, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            action,
            cause: cause.into(),
        }
    }

    /// True if a record exists and cannot be read: another build may have written it.
    pub fn is_unreadable(&self) -> bool {
        self.unreadable().is_some()
            || self.cause.is::<serde_dynamo::Error>()
            || self.cause.is::<LaterVersion>()
    }

    /// The record that cannot be read.
    pub fn unreadable(&self) -> Option<&UnreadableRecord> {
        self.cause.downcast_ref()
    }

    /// The record that cannot be read, or else this error.
    ///
    /// # Errors
    /// When a table did not answer.
    pub fn into_unreadable(self) -> Result<UnreadableRecord, Self> {
        let Self { action, cause } = self;
        cause
            .downcast()
            .map(|record| *record)
            .map_err(|cause| Self { action, cause })
    }

    /// For `map_err` of what was found in a record: names the record.
    pub(crate) fn of_record(table: &'static str, key: String) -> impl FnOnce(Self) -> Self {
        move |Self { action, cause }| {
            let reason = match cause.downcast::<serde_dynamo::Error>() {
                Ok(error) => without_values(&error).into(),
                Err(cause) => cause,
            };
            Self::new(action, UnreadableRecord { table, key, reason })
        }
    }

    /// Whether DynamoDB throttled the call. The same call can succeed soon.
    pub fn is_throttled(&self) -> bool {
        let first: &(dyn StdError + 'static) = self.cause.as_ref();
        std::iter::successors(Some(first), |&error| error.source()).any(|error| {
            error.is::<Throttled>()
                || error.is::<ProvisionedThroughputExceededException>()
                || error.is::<RequestLimitExceeded>()
                || error.is::<ThrottlingException>()
        })
    }

    /// True if the same call can succeed later: a table or S3 throttles, Secrets Manager does not return the deployment's
    /// secret, a code book is missing, or a record waits for the build that can read it.
    pub fn is_temporary(&self) -> bool {
        let is_slow_down = |metadata: &ErrorMetadata| metadata.code() == Some("SlowDown");
        self.is_throttled()
            || self.is_unreadable()
            || self.cause.is::<NotFetched>()
            || self.cause.is::<NoCodeBook>()
            || self.metadata().is_some_and(is_slow_down)
    }

    /// What AWS says when the caller lacks a permission.
    pub fn denied(&self) -> Option<&str> {
        let metadata = self.metadata()?;
        let is_denied = matches!(
            metadata.code(),
            Some("AccessDeniedException" | "AccessDenied")
        );
        metadata.message().filter(|_| is_denied)
    }

    /// The code and message of an AWS error that has no type of its own.
    fn metadata(&self) -> Option<&ErrorMetadata> {
        let first: &(dyn StdError + 'static) = self.cause.as_ref();
        std::iter::successors(Some(first), |&error| error.source())
            .find_map(|error| error.downcast_ref::<ErrorMetadata>())
    }

    /// For `map_err`: wraps the cause in an error of this action.
    pub(crate) fn during<E: Into<Box<dyn StdError + Send + Sync>>>(
        action: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |cause| Self::new(action, cause)
    }
}

/// A record of a table, unless a later build has written it.
pub(crate) fn from_record<T: DeserializeOwned>(
    item: Item,
    action: &'static str,
) -> Result<T, StoreError> {
    FIRST.check(&item, action)?;
    from_item(item).map_err(StoreError::during(action))
}

/// The defect of a record. Most messages repeat a value, which may be a phone or a code.
fn without_values(error: &serde_dynamo::Error) -> String {
    let message = error.to_string();
    if message.starts_with("missing field") || message == PhoneNotEncrypted.to_string() {
        message
    } else {
        "an attribute has a form that this build does not know".to_owned()
    }
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn number(value: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// A number attribute; `None` if it is absent or unreadable.
pub(crate) fn read_number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// A string attribute; `None` if it is absent or unreadable.
pub(crate) fn read_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// A list of times; empty if it is absent or unreadable.
pub(crate) fn read_times(item: &Item, name: &str) -> Vec<Timestamp> {
    let times = item.get(name).and_then(|value| value.as_l().ok());
    times
        .into_iter()
        .flatten()
        .filter_map(|time| time.as_n().ok()?.parse().ok())
        .map(Timestamp::from_millis)
        .collect()
}

/// A required attribute.
pub(crate) fn required<T>(value: Option<T>, action: &'static str) -> Result<T, StoreError> {
    value.ok_or_else(|| StoreError::new(action, "an attribute is missing or has another type"))
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::error::SdkError;
    use aws_sdk_s3::operation::get_object::GetObjectError;

    use super::*;

    #[test]
    fn a_table_throttles_with_several_errors_and_others_are_no_throttling() {
        let failed = |cause: Box<dyn StdError + Send + Sync>| {
            StoreError::new("reading", cause).is_throttled()
        };
        assert!(failed(Throttled.into()));
        assert!(failed(
            ProvisionedThroughputExceededException::builder()
                .build()
                .into()
        ));
        assert!(failed(RequestLimitExceeded::builder().build().into()));
        assert!(failed(ThrottlingException::builder().build().into()));
        assert!(!failed("a connection was lost".into()));
    }

    #[test]
    fn storage_that_slows_us_down_is_asked_again() {
        let answered = |code: &str| {
            let error = GetObjectError::generic(ErrorMetadata::builder().code(code).build());
            StoreError::new("looking at a photo", SdkError::service_error(error, ()))
        };
        assert!(answered("SlowDown").is_temporary());
        assert!(!answered("AccessDenied").is_temporary());
    }
}
