//! The only place where errors become statuses.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderValue, Response, StatusCode};
use lambda_http::Body;
use schemars::JsonSchema;
use serde::Serialize;

use super::rate_limit_headers;
use super::schema::{FieldName, RequestId};
use crate::domain::{RateLimitStatus, Reference};
use crate::error::{Error, ErrorCode, FieldProblem, Refusal};
use crate::telemetry;

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: BTreeMap<&'static str, String>,
    pub body: String,
    pub outcome: Option<&'static str>,
    /// Submission or receipt, for the log.
    pub subject: Option<String>,
    pub reference: Option<String>,
    pub log_fields: LogFields,
    pub limits: Vec<RateLimitStatus>,
}

#[derive(Clone, Debug, Default)]
pub struct LogFields {
    pub metrics: Vec<(&'static str, u64)>,
    /// Causes of a failure that does not affect the reply, outermost first.
    pub error_chain: Vec<String>,
}

const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";
/// A full list of claimed items with every field wrong has fewer.
const MAX_PROBLEMS: usize = 100;
pub const X_REQUEST_ID: &str = "x-request-id";

impl Reply {
    pub fn ok(body: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_string(body).map_err(Error::internal)?;
        Ok(Self::json(StatusCode::OK, body))
    }

    pub fn text(content_type: &str, body: String) -> Self {
        Self::json(StatusCode::OK, body).with_header("content-type", content_type.to_owned())
    }

    #[must_use]
    pub fn with_subject(mut self, id: impl ToString) -> Self {
        self.subject = Some(id.to_string());
        self
    }

    #[must_use]
    pub fn with_reference(mut self, reference: &Reference) -> Self {
        self.reference = Some(reference.to_string());
        self
    }

    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.insert(name, value);
        self
    }

    fn json(status: StatusCode, body: String) -> Self {
        let headers = BTreeMap::from([("content-type", "application/json".to_owned())]);
        Self {
            status,
            headers,
            body,
            outcome: None,
            subject: None,
            reference: None,
            log_fields: LogFields::default(),
            limits: Vec::new(),
        }
    }

    #[must_use]
    pub fn idempotent_replayed(self) -> Self {
        self.with_header(IDEMPOTENT_REPLAYED, "true".to_owned())
    }

    #[must_use]
    pub fn with_outcome(mut self, outcome: &'static str) -> Self {
        self.outcome = Some(outcome);
        self
    }

    #[must_use]
    pub fn with_log_fields(mut self, log_fields: LogFields) -> Self {
        self.log_fields = log_fields;
        self
    }

    #[must_use]
    pub fn with_limits(mut self, limits: impl IntoIterator<Item = RateLimitStatus>) -> Self {
        self.limits.extend(limits);
        self
    }

    pub fn error(error: &Error, docs_base: &str, request_id: &str) -> Self {
        let code = error.code();
        let unspecific = Refusal::from(code);
        let refusal = match error {
            Error::Refused(refusal) => refusal,
            Error::Internal(_) | Error::Unavailable(_) => &unspecific,
        };
        let detail = refusal.detail.as_ref();
        let detail = detail.map_or_else(String::new, |detail| format!(" {detail}"));
        let body = ErrorBody {
            error: ErrorObject {
                code,
                message: format!("{}{detail}", code.message()),
                field: refusal.field.as_deref(),
                errors: refusal.problems.iter().map(ProblemObject::new).collect(),
                fix: refusal.fix.unwrap_or(code.fix()),
                docs_url: format!("{docs_base}/errors#{code}"),
                request_id,
            },
        };
        let body = serde_json::to_string(&body).unwrap_or_default();
        let mut reply = Self::json(status(code), body).with_outcome(code.as_str());
        let cause = error.cause().map(telemetry::error_chain);
        reply.log_fields.error_chain = cause.unwrap_or_default();
        reply.limits.clone_from(&refusal.limits);
        if let Some(wait) = error.retry_after() {
            reply = reply.with_header("retry-after", whole_seconds(wait).to_string());
        }
        if !refusal.allowed.is_empty() {
            reply = reply.with_header("allow", refusal.allowed.join(", "));
        }
        if reply.status == StatusCode::UNAUTHORIZED {
            reply = reply.with_header("www-authenticate", "Bearer".to_owned());
        }
        reply
    }

    pub fn into_response(mut self, request_id: &str) -> Response<Body> {
        self.headers
            .extend(rate_limit_headers::headers(&self.limits));
        // Pages of the reference set their own value.
        self.headers
            .entry("cache-control")
            .or_insert_with(|| "no-store".to_owned());
        self.headers.insert(X_REQUEST_ID, request_id.to_owned());
        let mut response = Response::new(Body::Text(self.body));
        *response.status_mut() = self.status;
        for (name, value) in self.headers {
            match HeaderValue::try_from(value) {
                Ok(value) => drop(response.headers_mut().insert(name, value)),
                Err(error) => {
                    tracing::error!(
                        error = telemetry::cause(&error),
                        name,
                        "a header was left out"
                    )
                }
            }
        }
        response
    }
}

/// Body of every error reply.
#[derive(Serialize, JsonSchema)]
pub struct ErrorBody<'a> {
    /// The error.
    error: ErrorObject<'a>,
}

/// What is wrong with a request and how to fix it.
#[derive(Serialize, JsonSchema)]
#[schemars(
    rename = "Error",
    // Optional fields are not among the required ones, which give other objects their order.
    extend("x-order" = ["code", "message", "field", "errors", "fix", "docs_url", "request_id"]),
)]
struct ErrorObject<'a> {
    /// Error code. Branch on this.
    code: ErrorCode,
    /// What happened, for developers. The wording may change.
    #[schemars(length(max = 1000))]
    message: String,
    /// First field at fault, such as `claimed.items[0].qty`. Present when one field is at fault.
    #[schemars(with = "FieldName")]
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// All fields at fault, in the order of the reference. Only with `validation_failed`, when fields are at fault.
    #[schemars(with = "Vec<ProblemObject<'a>>", length(max = MAX_PROBLEMS))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ProblemObject<'a>>,
    /// How to fix it, for developers. The wording may change.
    #[schemars(length(max = 1000))]
    fix: &'static str,
    /// URL of this code's section in the reference.
    #[schemars(url, length(min = 1, max = 500))]
    docs_url: String,
    /// Id of the request, as in `X-Request-Id`. Quote it to your service operator.
    #[schemars(with = "RequestId")]
    request_id: &'a str,
}

/// One field at fault.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FieldProblem")]
struct ProblemObject<'a> {
    /// Field name, such as `claimed.items[0].qty`.
    #[schemars(with = "FieldName")]
    field: &'a str,
    /// The same place as a JSON Pointer (RFC 6901), such as `/claimed/items/0/qty`.
    #[schemars(length(min = 1, max = 100), regex(pattern = "^(/[a-z0-9_]+)+$"))]
    pointer: String,
    /// What is wrong with the field, for developers.
    #[schemars(length(max = 500))]
    message: &'a str,
}

impl<'a> ProblemObject<'a> {
    fn new(problem: &'a FieldProblem) -> Self {
        Self {
            field: &problem.field,
            pointer: problem.pointer(),
            message: &problem.message,
        }
    }
}

/// Rounded up, and never 0.
pub(super) fn whole_seconds(wait: Duration) -> u64 {
    let up = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(up).max(1)
}

pub fn status(code: ErrorCode) -> StatusCode {
    use ErrorCode::*;

    match code {
        KeyMissing | KeyMalformed | KeyUnknown | KeyWrongEnvironment | SessionExpired => {
            StatusCode::UNAUTHORIZED
        }
        CampaignNotAssigned | KeyRevoked => StatusCode::FORBIDDEN,
        NotFound => StatusCode::NOT_FOUND,
        MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        IdempotencyInProgress => StatusCode::CONFLICT,
        FileTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        FileWrongType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        CampaignMismatch
        | ConsentRequired
        | IdempotencyKeyInvalid
        | IdempotencyKeyRequired
        | IdempotencyKeyReused
        | PhoneInvalid
        | ReceiptAlreadyAttached
        | ReceiptNotUploaded
        | ReceiptRequired
        | SentinelWithLiveKey
        | TypedReceiptUnsupported
        | ValidationFailed => StatusCode::UNPROCESSABLE_ENTITY,
        RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        InternalError => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_rounded_up_and_never_zero() {
        assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
        assert_eq!(whole_seconds(Duration::ZERO), 1);
        assert_eq!(whole_seconds(Duration::from_millis(1001)), 2);
        assert_eq!(whole_seconds(Duration::from_secs(60)), 60);
    }

    #[test]
    fn the_cause_of_an_internal_error_stays_inside() {
        let reply = Reply::error(
            &Error::internal("a secret cause"),
            "https://docs.example",
            "r-1",
        );
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!reply.body.contains("secret"), "{}", reply.body);
    }
}
