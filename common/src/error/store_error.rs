use std::error::Error as StdError;

use aws_sdk_dynamodb::error::ErrorMetadata;
use aws_sdk_dynamodb::types::error::{
    ProvisionedThroughputExceededException, RequestLimitExceeded, ThrottlingException,
};

use crate::domain::phone_protection::PhoneNotEncrypted;

/// Callers see an opaque error.
#[derive(Debug, thiserror::Error)]
#[error("{action} failed")]
pub struct StoreError {
    action: &'static str,
    #[source]
    cause: Box<dyn StdError + Send + Sync>,
    may_pass: bool,
}

pub type StoreResult<T> = Result<T, StoreError>;

/// A damaged record, or a newer build's. Its key holds no phone, code or Idempotency-Key.
#[derive(Debug, thiserror::Error)]
#[error("the record {key} of the table of {table} cannot be read")]
pub struct UnreadableRecord {
    pub table: &'static str,
    pub key: String,
    #[source]
    pub reason: Box<dyn StdError + Send + Sync>,
}

#[derive(Debug, thiserror::Error)]
#[error("the table takes no more at the moment")]
pub(crate) struct Throttled;

impl StoreError {
    /// `action` is such as "reading an API key".
    pub fn new(action: &'static str, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            action,
            cause: cause.into(),
            may_pass: false,
        }
    }

    /// The cause may be gone at the next call.
    pub(crate) fn temporary(
        action: &'static str,
        cause: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self {
            may_pass: true,
            ..Self::new(action, cause)
        }
    }

    pub fn is_unreadable(&self) -> bool {
        self.unreadable().is_some()
            || self.cause.is::<serde_dynamo::Error>()
            || self.cause.is::<LaterVersion>()
    }

    pub fn unreadable(&self) -> Option<&UnreadableRecord> {
        self.cause.downcast_ref()
    }

    pub fn into_unreadable(self) -> Result<UnreadableRecord, Self> {
        let Self { cause, .. } = self;
        cause
            .downcast()
            .map(|record| *record)
            .map_err(|cause| Self { cause, ..self })
    }

    pub(crate) fn of_record(table: &'static str, key: String) -> impl FnOnce(Self) -> Self {
        move |Self { action, cause, .. }| {
            let reason = match cause.downcast::<serde_dynamo::Error>() {
                Ok(error) => without_values(&error).into(),
                Err(cause) => cause,
            };
            Self::new(action, UnreadableRecord { table, key, reason })
        }
    }

    pub fn is_throttled(&self) -> bool {
        self.causes().any(|error| {
            error.is::<Throttled>()
                || error.is::<ProvisionedThroughputExceededException>()
                || error.is::<RequestLimitExceeded>()
                || error.is::<ThrottlingException>()
        })
    }

    /// Throttling, no secret, no code book, or a newer build's record.
    /// build's record.
    pub fn is_temporary(&self) -> bool {
        let is_slow_down = |metadata: &ErrorMetadata| metadata.code() == Some("SlowDown");
        self.is_throttled()
            || self.is_unreadable()
            || self.may_pass
            || self.metadata().is_some_and(is_slow_down)
    }

    pub fn denied(&self) -> Option<&str> {
        let metadata = self.metadata()?;
        let is_denied = matches!(
            metadata.code(),
            Some("AccessDeniedException" | "AccessDenied")
        );
        metadata.message().filter(|_| is_denied)
    }

    fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        let first: &(dyn StdError + 'static) = self.cause.as_ref();
        std::iter::successors(Some(first), |&error| error.source())
    }

    fn metadata(&self) -> Option<&ErrorMetadata> {
        self.causes().find_map(|error| error.downcast_ref())
    }
}

pub trait During<T> {
    fn during(self, action: &'static str) -> Result<T, StoreError>;
}

impl<T, E: Into<Box<dyn StdError + Send + Sync>>> During<T> for Result<T, E> {
    fn during(self, action: &'static str) -> Result<T, StoreError> {
        self.map_err(|cause| StoreError::new(action, cause))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the record is of version {found}, and this build reads up to {known}")]
pub(crate) struct LaterVersion {
    pub(crate) found: u32,
    pub(crate) known: u32,
}

/// Most messages repeat a value, which may be a phone or a code.
fn without_values(error: &serde_dynamo::Error) -> String {
    let message = error.to_string();
    if message.starts_with("missing field") || message == PhoneNotEncrypted.to_string() {
        message
    } else {
        "an attribute has a form that this build does not know".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::error::SdkError;
    use aws_sdk_s3::operation::get_object::GetObjectError;

    use super::*;

    #[test]
    fn throttling_is_told_from_other_errors() {
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
