//! Errors of endpoints, each with an example.

use common::error::{Error, ErrorCode, FieldProblem};
use common::http::reply::Reply;
use serde_json::Value;

use crate::description::examples;

pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) summary: &'static str,
    name: Option<&'static str>,
    error: Error,
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, summary: &'static str) -> Self {
        Self {
            code,
            summary,
            name: None,
            error: code.into(),
        }
    }

    /// Needed for a second example with the same error code.
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self {
            name: Some(name),
            ..self
        }
    }

    pub(crate) fn detail(self, detail: &str) -> Self {
        Self {
            error: self.error.with_detail(detail),
            ..self
        }
    }

    pub(crate) fn field(self, field: &str) -> Self {
        Self {
            error: self.error.with_field(field),
            ..self
        }
    }

    pub(crate) fn problems(self, problems: &[(&str, &str)]) -> Self {
        let problem = |(field, message): &(&str, &str)| FieldProblem {
            field: (*field).to_owned(),
            message: (*message).to_owned(),
        };
        Self {
            error: Error::fields(problems.iter().map(problem).collect()),
            ..self
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name.unwrap_or(self.code.as_str())
    }

    /// `docs` is the reference's URL.
    pub(crate) fn body(&self, docs: &str) -> Value {
        serde_json::from_str(&Reply::error(&self.error, docs, examples::REQUEST_ID).body)
            .unwrap_or_default()
    }
}

pub(crate) fn shared() -> Vec<Refusal> {
    vec![
        Refusal::new(ErrorCode::KeyMissing, "No Authorization header"),
        Refusal::new(ErrorCode::KeyMalformed, "Malformed header"),
        Refusal::new(ErrorCode::KeyUnknown, "Unknown key"),
        Refusal::new(
            ErrorCode::KeyWrongEnvironment,
            "Live key outside production",
        ),
        Refusal::new(ErrorCode::KeyRevoked, "Revoked key"),
        Refusal::new(ErrorCode::NotFound, "Unknown id or path"),
        Refusal::new(ErrorCode::MethodNotAllowed, "Wrong method"),
        Refusal::new(
            ErrorCode::CampaignMismatch,
            "SVC-Campaign names another campaign",
        ),
        Refusal::new(ErrorCode::RateLimited, "The key's limit is reached")
            .detail("The key has used up its 600 requests of this minute."),
        Refusal::new(ErrorCode::InternalError, "Failure on the service side"),
        Refusal::new(ErrorCode::ServiceUnavailable, "Overloaded for some seconds"),
    ]
}
