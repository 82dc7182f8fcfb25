//! Only `http::reply` turns errors into replies.

mod store_error;

use std::error::Error as StdError;
use std::time::Duration;

use crate::domain::RateLimitStatus;

pub use self::store_error::{During, StoreError, StoreResult, UnreadableRecord};
pub(crate) use self::store_error::{LaterVersion, Throttled};

/// DynamoDB adds capacity within seconds.
const UNAVAILABLE_RETRY_AFTER: Duration = Duration::from_secs(5);

/// Causes are only logged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}", .0.code.as_str())]
    Refused(Box<Refusal>),
    /// Callers see an opaque error.
    #[error("internal error")]
    Internal(#[source] Box<dyn StdError + Send + Sync>),
    /// AWS throttles or does not answer. Callers get a Retry-After.
    #[error("service unavailable")]
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    /// Path such as `claimed.items[0].qty`.
    pub field: Option<String>,
    /// Ordered as in the reference.
    pub problems: Vec<FieldProblem>,
    /// Never a value from the request.
    pub detail: Option<String>,
    /// `None` for the code's own advice.
    pub fix: Option<&'static str>,
    pub retry_after: Option<Duration>,
    pub allowed: Vec<&'static str>,
    pub limits: Vec<RateLimitStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    pub field: String,
    /// Never a value from the request.
    pub message: String,
}

impl FieldProblem {
    /// RFC 6901, such as `/claimed/items/0/qty`.
    pub fn pointer(&self) -> String {
        format!("/{}", self.field.replace(['.', '['], "/").replace(']', ""))
    }
}

impl Error {
    pub fn fields(problems: Vec<FieldProblem>) -> Self {
        let error = Self::from(ErrorCode::ValidationFailed);
        let error = match problems.first() {
            Some(FieldProblem { field, message }) => error.with_field(field).with_detail(message),
            None => error,
        };
        error.amended(|refusal| refusal.problems = problems)
    }

    pub fn body(detail: impl Into<String>) -> Self {
        Self::from(ErrorCode::ValidationFailed).with_detail(detail).with_fix(
            "Send one JSON object of at most 64 KiB, in UTF-8 and with `Content-Type: application/json`.",
        )
    }

    pub fn method_not_allowed(allowed: Vec<&'static str>) -> Self {
        Self::from(ErrorCode::MethodNotAllowed).amended(|refusal| refusal.allowed = allowed)
    }

    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }

    /// Earlier writes stay, and a retry finds them.
    pub fn late() -> Self {
        Self::Unavailable("the request took too long".into())
    }

    fn amended(mut self, change: impl FnOnce(&mut Refusal)) -> Self {
        if let Self::Refused(refusal) = &mut self {
            change(refusal);
        }
        self
    }

    #[must_use]
    pub fn with_field(self, field: impl Into<String>) -> Self {
        self.amended(|refusal| refusal.field = Some(field.into()))
    }

    /// Never a value from the request.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        self.amended(|refusal| refusal.detail = Some(detail.into()))
    }

    #[must_use]
    pub fn with_fix(self, fix: &'static str) -> Self {
        self.amended(|refusal| refusal.fix = Some(fix))
    }

    #[must_use]
    pub fn with_retry_after(self, wait: Duration) -> Self {
        self.amended(|refusal| refusal.retry_after = Some(wait))
    }

    #[must_use]
    pub fn with_limits(self, limits: impl IntoIterator<Item = RateLimitStatus>) -> Self {
        self.amended(|refusal| refusal.limits.extend(limits))
    }

    pub fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Refused(_) => None,
            Self::Internal(cause) | Self::Unavailable(cause) => Some(cause.as_ref()),
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            Self::Internal(_) => None,
            Self::Unavailable(_) => Some(UNAVAILABLE_RETRY_AFTER),
        }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Internal(_) => ErrorCode::InternalError,
            Self::Unavailable(_) => ErrorCode::ServiceUnavailable,
        }
    }
}

impl From<ErrorCode> for Error {
    fn from(code: ErrorCode) -> Self {
        Self::Refused(Box::new(code.into()))
    }
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Self {
            code,
            field: None,
            problems: Vec::new(),
            detail: None,
            fix: None,
            retry_after: None,
            allowed: Vec::new(),
            limits: Vec::new(),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        if error.is_temporary() {
            Self::Unavailable(error.into())
        } else {
            Self::internal(error)
        }
    }
}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $message:literal $fix:literal)*) => {
        text_enum! {
            /// Machine-readable error code. `session_expired` and `campaign_not_assigned` are reserved: no call returns
            /// them yet. New codes may be added: for an unknown error code, fall back to the HTTP status.
            #[derive(schemars::JsonSchema)]
            pub enum ErrorCode { $($(#[$doc])* $variant = $name,)* }
        }

        impl ErrorCode {
            pub fn message(self) -> &'static str {
                match self { $(Self::$variant => $message,)* }
            }

            pub fn fix(self) -> &'static str {
                match self { $(Self::$variant => $fix,)* }
            }
        }
    };
}

error_codes! {
    /// No Authorization header.
    KeyMissing "key_missing"
        "The request has no Authorization header."
        "Send `Authorization: Bearer <API_KEY>` with the key of your campaign, from your server only."
    /// The Authorization header holds no key.
    KeyMalformed "key_malformed"
        "The Authorization header does not hold an API key."
        "Send `Authorization: Bearer <API_KEY>`; a key begins with `svc_test_` or `svc_live_`. Check that it was pasted whole."
    /// No record of this key.
    KeyUnknown "key_unknown"
        "This API key is not known."
        "Check that the key belongs to this deployment, and ask your service operator for a new one if it was lost."
    /// A live key where only test keys work.
    KeyWrongEnvironment "key_wrong_environment"
        "A live key does not work on this deployment."
        "Use a test key here; live keys work on production only."
    /// Reserved for agent sessions.
    SessionExpired "session_expired"
        "The agent session has expired."
        "Sign in again and repeat the request."
    /// Reserved for agent sessions.
    CampaignNotAssigned "campaign_not_assigned"
        "This campaign is not assigned to the agent."
        "List the campaigns assigned to the agent and name one of them."
    /// The key was revoked.
    KeyRevoked "key_revoked"
        "This API key was revoked."
        "Switch to the campaign's other key, or ask your service operator for a new one."
    /// No such path, or no such record in the key's scope.
    NotFound "not_found"
        "There is nothing here."
        "Check the path and the id, and that the record was made with a key of the same campaign and environment."
    /// The path exists, but not with this method.
    MethodNotAllowed "method_not_allowed"
        "This path does not take this method."
        "Use one of the methods named in the Allow header."
    /// The same Idempotency-Key is being worked on.
    IdempotencyInProgress "idempotency_in_progress"
        "A request with this Idempotency-Key is still being worked on."
        "Wait as long as Retry-After says, then send the request again, unchanged and under the same key."
    /// The photo is too large.
    FileTooLarge "file_too_large"
        "The receipt photo is over 5 MB."
        "Downsize the photo, for example to 2,000 pixels on its longest side as JPEG, and start a new receipt."
    /// The file is not a photo of an accepted type.
    FileWrongType "file_wrong_type"
        "The uploaded file is not a JPEG, PNG or WebP image."
        "Upload a JPEG, PNG or WebP image to a new receipt."
    /// SVC-Campaign names another campaign.
    CampaignMismatch "campaign_mismatch"
        "The SVC-Campaign header names another campaign than the API key."
        "Leave SVC-Campaign out, or use a key of the campaign that it names."
    /// No consent.
    ConsentRequired "consent_required"
        "The consumer's consent is missing."
        "Send `\"consent\": true`, as a boolean, once the consumer has agreed."
    /// The Idempotency-Key is malformed.
    IdempotencyKeyInvalid "idempotency_key_invalid"
        "The Idempotency-Key is not one value of 16 to 128 printable ASCII characters without a comma."
        "Send a fresh UUID as the Idempotency-Key of each attempt, the same one on every retry of it."
    /// No Idempotency-Key where one is needed.
    IdempotencyKeyRequired "idempotency_key_required"
        "The request has no Idempotency-Key."
        "Send a fresh UUID as the Idempotency-Key of each attempt, the same one on every retry of it."
    /// The Idempotency-Key was already used with another body.
    IdempotencyKeyReused "idempotency_key_reused"
        "This Idempotency-Key was used before with a different body."
        "Use a new Idempotency-Key for a new attempt; send the unchanged body when retrying."
    /// Not a Tanzanian mobile number.
    PhoneInvalid "phone_invalid"
        "The phone is not a Tanzanian mobile number."
        "Ask for a mobile number such as 0712 345 678 or +255 712 345 678. Nothing was recorded."
    /// The receipt belongs to a submission.
    ReceiptAlreadyAttached "receipt_already_attached"
        "This receipt already belongs to a submission."
        "Start a new receipt for a new submission."
    /// The photo is not there.
    ReceiptNotUploaded "receipt_not_uploaded"
        "The receipt's photo has not been uploaded."
        "PUT the photo to the receipt's upload URL, then send the request again, unchanged and under the same Idempotency-Key."
    /// The campaign needs a receipt.
    ReceiptRequired "receipt_required"
        "This campaign needs a receipt with every submission."
        "Create a receipt first and send its id as `receipt_id`."
    /// A sentinel with a live key.
    SentinelWithLiveKey "sentinel_with_live_key"
        "A test code or test receipt was sent with a live key."
        "Use a test key (`svc_test_…`) for test codes and receipts."
    /// The campaign takes no typed receipts.
    TypedReceiptUnsupported "typed_receipt_unsupported"
        "This campaign does not take typed receipts."
        "Send a photo; `capabilities.typed_receipt` of the campaign says whether typing is possible."
    /// The request has the wrong shape.
    ValidationFailed "validation_failed"
        "The request is not in the expected shape."
        "Correct the request; where fields are at fault, `errors` lists them all and `field` names the first."
    /// Too many requests.
    RateLimited "rate_limited"
        "Too many requests."
        "Wait as long as Retry-After says, then send the request again."
    /// AWS throttles us or does not answer.
    ServiceUnavailable "service_unavailable"
        "The service is overloaded at the moment."
        "Wait as long as Retry-After says, then send the same request again, with the same Idempotency-Key if it had one."
    /// Our fault.
    InternalError "internal_error"
        "Something failed on our side."
        "Send the same request again, with the same Idempotency-Key if it had one. If it keeps failing, quote the request_id to your service operator."
}
