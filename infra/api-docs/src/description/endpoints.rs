//! Parameters, bodies and replies of endpoints, and of the service's own calls.

use std::collections::BTreeMap;

use common::error::{Error, ErrorCode, FieldProblem};
use common::http::reply::{self, status};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::reference;
use crate::EXAMPLE_BASE_URL;

const COMMON: [&str; 5] = [
    "Locale",
    "AcceptLanguage",
    "RequestId",
    "Campaign",
    "TestTime",
];
const ALWAYS: [&str; 2] = ["X-Request-Id", "Cache-Control"];
/// Echoed once the key is known to be a test's.
const TEST_TIME: &str = "SVC-Test-Time";
const LIMITS: [&str; 2] = ["RateLimit-Policy", "RateLimit"];

#[derive(Deserialize)]
pub(super) struct Endpoint {
    #[serde(flatten)]
    words: Map<String, Value>,
    #[serde(default)]
    parameters: Vec<String>,
    request: Option<Body>,
    reply: Reply,
    /// Besides those of every endpoint.
    #[serde(default)]
    refusals: Vec<Refusal>,
}

/// It has its responses in words.
#[derive(Deserialize)]
pub(super) struct Webhook {
    #[serde(flatten)]
    words: Map<String, Value>,
    parameters: Vec<String>,
    request: Body,
}

#[derive(Deserialize)]
struct Reply {
    description: String,
    #[serde(flatten)]
    body: Body,
    #[serde(default)]
    is_replayable: bool,
    links: Option<Value>,
}

#[derive(Deserialize)]
struct Body {
    schema: String,
    examples: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    name: String,
    summary: String,
    value: Value,
    /// For a request: the name of the example with its reply.
    reply: Option<String>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Refusal {
    code: ErrorCode,
    name: Option<String>,
    summary: String,
    field: Option<String>,
    detail: Option<String>,
    #[serde(default)]
    problems: Vec<(String, String)>,
}

impl Endpoint {
    pub(super) fn into_value(self, method: &str, shared: &[Refusal], request_id: &str) -> Value {
        let parameters = references(self.parameters.iter().map(String::as_str).chain(COMMON));
        let refusals = self.refusals.iter().chain(shared);
        let mut responses = error_replies(method, refusals, request_id);
        responses.insert("200".to_owned(), self.reply.into_value());
        let mut endpoint = self.words;
        endpoint.insert("parameters".to_owned(), parameters);
        endpoint.insert("responses".to_owned(), Value::Object(responses));
        endpoint.extend(self.request.map(Body::into_request));
        Value::Object(endpoint)
    }
}

impl Webhook {
    pub(super) fn into_value(self) -> Value {
        let parameters = references(self.parameters.iter().map(String::as_str));
        let mut call = self.words;
        call.insert("parameters".to_owned(), parameters);
        call.extend([self.request.into_request()]);
        Value::Object(call)
    }
}

fn references<'a>(parameters: impl Iterator<Item = &'a str>) -> Value {
    parameters
        .map(|name| reference("parameters", name))
        .collect()
}

impl Reply {
    fn into_value(self) -> Value {
        let replayed = self.is_replayable.then_some("Idempotent-Replayed");
        let names = ALWAYS.into_iter().chain([TEST_TIME]).chain(LIMITS);
        let names = names.chain(replayed);
        let headers: Map<_, _> = names.map(header).collect();
        let mut reply = Map::from_iter([
            ("description".to_owned(), json!(self.description)),
            ("headers".to_owned(), Value::Object(headers)),
            ("content".to_owned(), self.body.into_content()),
        ]);
        reply.extend(self.links.map(|links| ("links".to_owned(), links)));
        Value::Object(reply)
    }
}

impl Body {
    fn into_request(self) -> (String, Value) {
        let request = json!({ "required": true, "content": self.into_content() });
        ("requestBody".to_owned(), request)
    }

    /// `x-order` is the order of examples, which JSON objects do not keep.
    fn into_content(self) -> Value {
        let schema = reference("schemas", &self.schema);
        let names = self.examples.iter().map(|example| example.name.clone());
        let order: Vec<_> = names.collect();
        let examples: Map<_, _> = self.examples.into_iter().map(Example::into_entry).collect();
        let body = json!({ "schema": schema, "x-order": order, "examples": examples });
        json!({ "application/json": body })
    }
}

impl Example {
    fn into_entry(self) -> (String, Value) {
        let mut example = Map::from_iter([
            ("summary".to_owned(), json!(self.summary)),
            ("value".to_owned(), self.value),
        ]);
        example.extend(self.reply.map(|reply| ("x-reply".to_owned(), json!(reply))));
        (self.name, Value::Object(example))
    }
}

impl Refusal {
    fn example(&self, request_id: &str) -> Example {
        let problem = |(field, message): &(String, String)| FieldProblem {
            field: field.clone(),
            message: message.clone(),
        };
        let mut error = match self.problems.as_slice() {
            [] => Error::from(self.code),
            problems => Error::fields(problems.iter().map(problem).collect()),
        };
        if let Some(field) = &self.field {
            error = error.with_field(field);
        }
        if let Some(detail) = &self.detail {
            error = error.with_detail(detail);
        }
        let docs = format!("{EXAMPLE_BASE_URL}/docs");
        let reply = reply::Reply::error(&error, &docs, request_id);
        Example {
            name: self.name.clone().unwrap_or_else(|| self.code.to_string()),
            summary: self.summary.clone(),
            value: serde_json::from_str(&reply.body).unwrap_or_default(),
            reply: None,
        }
    }
}

fn error_replies<'a>(
    method: &str,
    refusals: impl Iterator<Item = &'a Refusal>,
    request_id: &str,
) -> Map<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<&Refusal>> = BTreeMap::new();
    for refusal in refusals {
        let status = status(refusal.code).as_u16();
        by_status.entry(status).or_default().push(refusal);
    }
    let reply = |(status, refusals): (u16, Vec<_>)| {
        let reply = error_reply(status, method, &refusals, request_id);
        (status.to_string(), reply)
    };
    by_status.into_iter().map(reply).collect()
}

fn error_reply(status: u16, method: &str, refusals: &[&Refusal], request_id: &str) -> Value {
    let mut codes: Vec<ErrorCode> = Vec::new();
    for refusal in refusals {
        if !codes.contains(&refusal.code) {
            codes.push(refusal.code);
        }
    }
    let described = codes
        .iter()
        .map(|code| format!("`{code}`: {}", code.message()));
    let mut description = described.collect::<Vec<_>>().join("\n\n");
    if status == 405 {
        description += &format!(" For any method other than {}.", method.to_uppercase());
    }
    let own = match status {
        401 => Some("WWW-Authenticate"),
        405 => Some("Allow"),
        409 | 429 | 503 => Some("Retry-After"),
        _ => None,
    };
    let mut headers: Map<_, _> = ALWAYS.into_iter().chain(own).map(header).collect();
    if ![401, 403, 405].contains(&status) {
        headers.extend([header(TEST_TIME)]);
    }
    match status {
        401 | 403 | 405 => {}
        // Some of these are refused before they are counted.
        422 | 500 | 503 => headers.extend(LIMITS.map(when_counted)),
        _ => headers.extend(LIMITS.map(header)),
    }
    let examples = refusals.iter().map(|refusal| refusal.example(request_id));
    let body = Body {
        schema: "ErrorBody".to_owned(),
        examples: examples.collect(),
    };
    json!({
        "description": description,
        "headers": headers,
        "content": body.into_content(),
        "x-error-codes": codes,
    })
}

fn header(name: &str) -> (String, Value) {
    (name.to_owned(), reference("headers", name))
}

fn when_counted(name: &str) -> (String, Value) {
    let component = format!("{name}-When-Counted");
    (name.to_owned(), reference("headers", &component))
}
