//! The errors of operations, each with an example.

use common::error::ErrorCode;
use serde_json::{Value, json};

use super::super::{examples, schema};

/// One way for a request to be refused.
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) summary: &'static str,
    name: Option<&'static str>,
    detail: Option<&'static str>,
    field: Option<&'static str>,
    problems: Vec<(&'static str, &'static str, &'static str)>,
}

impl Refusal {
    /// A request refused with this code.
    pub(crate) fn new(code: ErrorCode, summary: &'static str) -> Self {
        Self { code, summary, name: None, detail: None, field: None, problems: Vec::new() }
    }

    /// Another example of a code that has one already.
    pub(crate) fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// What exactly is wrong.
    pub(crate) fn detail(mut self, detail: &'static str) -> Self {
        self.detail = Some(detail);
        self
    }

    /// The field at fault.
    pub(crate) fn field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// The fields at fault: name, pointer and message of each.
    pub(crate) fn problems(mut self, problems: &[(&'static str, &'static str, &'static str)]) -> Self {
        self.problems = problems.to_vec();
        self.field = problems.first().map(|(field, ..)| *field);
        self.detail = problems.first().map(|(.., message)| *message);
        self
    }

    /// The name of the example.
    pub(crate) fn name(&self) -> &'static str {
        self.name.unwrap_or(self.code.as_str())
    }

    /// The reply's body; `docs` is where its `docs_url` leads.
    pub(crate) fn body(&self, docs: &str) -> Value {
        let code = self.code.as_str();
        let message = match self.detail {
            Some(detail) => format!("{} {detail}", self.code.message()),
            None => self.code.message().to_owned(),
        };
        let mut error = json!({
            "code": code,
            "message": message,
            "fix": self.code.fix(),
            "docs_url": format!("{docs}/errors#{code}"),
            "request_id": examples::REQUEST_ID,
        });
        if let Some(field) = self.field {
            schema::set(&mut error, "field", json!(field));
        }
        if !self.problems.is_empty() {
            let problem = |(field, pointer, message): &(&str, &str, &str)| json!({ "field": field, "pointer": pointer, "message": message });
            schema::set(&mut error, "errors", self.problems.iter().map(problem).collect());
        }
        json!({ "error": error })
    }
}

/// What every operation can answer with.
pub(crate) fn shared() -> Vec<Refusal> {
    vec![
        Refusal::new(ErrorCode::KeyMissing, "No Authorization header"),
        Refusal::new(ErrorCode::KeyMalformed, "Malformed header"),
        Refusal::new(ErrorCode::KeyUnknown, "Unknown key"),
        Refusal::new(ErrorCode::KeyWrongEnvironment, "Live key outside production"),
        Refusal::new(ErrorCode::KeyRevoked, "Revoked key"),
        Refusal::new(ErrorCode::NotFound, "Unknown id or path"),
        Refusal::new(ErrorCode::MethodNotAllowed, "Wrong method"),
        Refusal::new(ErrorCode::CampaignMismatch, "SVC-Campaign names another campaign"),
        Refusal::new(ErrorCode::RateLimited, "Ceiling of the key reached")
            .detail("The key has used up its 600 requests of this minute."),
        Refusal::new(ErrorCode::InternalError, "Failure on the service side"),
        Refusal::new(ErrorCode::ServiceUnavailable, "Overloaded for some seconds"),
    ]
}

/// The reserved codes, which no operation answers with yet.
pub(crate) fn reserved() -> Vec<Refusal> {
    vec![
        Refusal::new(ErrorCode::SessionExpired, "Reserved for agent sessions"),
        Refusal::new(ErrorCode::CampaignNotAssigned, "Reserved for agent sessions"),
    ]
}
