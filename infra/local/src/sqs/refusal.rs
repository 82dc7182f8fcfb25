//! SQS errors in the form that the SDKs understand: the type in the body, and the error code of the older query
//! protocol in a header.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode};
use serde_json::json;

use crate::sqs::queues::NoSuchQueue;

/// A refused request. The caller is always at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) kind: Kind,
    pub(super) message: String,
}

/// Error types by their SQS names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    BatchEntryIdsNotDistinct,
    BatchRequestTooLong,
    EmptyBatchRequest,
    InvalidAttributeName,
    InvalidBatchEntryId,
    InvalidMessageContents,
    InvalidParameterValue,
    MessageNotInflight,
    QueueDoesNotExist,
    ReceiptHandleIsInvalid,
    TooManyEntriesInBatchRequest,
    UnsupportedOperation,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::BatchEntryIdsNotDistinct => "BatchEntryIdsNotDistinct",
            Self::BatchRequestTooLong => "BatchRequestTooLong",
            Self::EmptyBatchRequest => "EmptyBatchRequest",
            Self::InvalidAttributeName => "InvalidAttributeName",
            Self::InvalidBatchEntryId => "InvalidBatchEntryId",
            Self::InvalidMessageContents => "InvalidMessageContents",
            Self::InvalidParameterValue => "InvalidParameterValue",
            Self::MessageNotInflight => "MessageNotInflight",
            Self::QueueDoesNotExist => "QueueDoesNotExist",
            Self::ReceiptHandleIsInvalid => "ReceiptHandleIsInvalid",
            Self::TooManyEntriesInBatchRequest => "TooManyEntriesInBatchRequest",
            Self::UnsupportedOperation => "UnsupportedOperation",
        }
    }

    /// The code of the older query protocol, which the SDKs still report.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::BatchEntryIdsNotDistinct => "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            Self::BatchRequestTooLong => "AWS.SimpleQueueService.BatchRequestTooLong",
            Self::EmptyBatchRequest => "AWS.SimpleQueueService.EmptyBatchRequest",
            Self::InvalidBatchEntryId => "AWS.SimpleQueueService.InvalidBatchEntryId",
            Self::MessageNotInflight => "AWS.SimpleQueueService.MessageNotInflight",
            Self::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue",
            Self::TooManyEntriesInBatchRequest => {
                "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"
            }
            Self::UnsupportedOperation => "AWS.SimpleQueueService.UnsupportedOperation",
            Self::InvalidAttributeName
            | Self::InvalidMessageContents
            | Self::InvalidParameterValue
            | Self::ReceiptHandleIsInvalid => self.name(),
        }
    }
}

impl Refusal {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(super) fn into_http(self) -> Response<Body> {
        let kind = format!("com.amazonaws.sqs#{}", self.kind.name());
        let body = json!({ "__type": kind, "message": self.message });
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = StatusCode::BAD_REQUEST;
        if let Ok(code) = HeaderValue::try_from(format!("{};Sender", self.kind.code())) {
            response.headers_mut().insert("x-amzn-query-error", code);
        }
        response
    }
}

impl From<NoSuchQueue> for Refusal {
    fn from(_: NoSuchQueue) -> Self {
        Self::new(
            Kind::QueueDoesNotExist,
            "The specified queue does not exist.",
        )
    }
}
