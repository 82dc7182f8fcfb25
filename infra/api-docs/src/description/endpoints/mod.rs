//! The endpoints: their parameters, bodies and replies.

mod campaign;
mod codes;
mod receipts;
mod refusals;
mod submissions;

use std::collections::BTreeMap;

use common::error::ErrorCode;
use common::http::reply::status;
use common::http::routes::Route;
use serde_json::{Map, Value, json};

use self::refusals::Refusal;
use crate::description::examples::{self, Example};
use crate::description::headers::{header, when_counted};
use crate::description::{parameters, schema};

const ALWAYS: [&str; 2] = ["X-Request-Id", "Cache-Control"];
const LIMITS: [&str; 2] = ["RateLimit-Policy", "RateLimit"];

struct Endpoint {
    route: Route,
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    description: &'static str,
    /// Own ones; [`COMMON`](parameters::COMMON) has the others.
    parameters: Vec<&'static str>,
    request: Option<RequestBody>,
    reply: Reply,
    /// Own ones.
    refusals: Vec<Refusal>,
}

struct RequestBody {
    schema: &'static str,
    examples: Vec<Example>,
}

struct Reply {
    description: &'static str,
    schema: &'static str,
    examples: Vec<Example>,
    can_be_replayed: bool,
    links: Value,
}

/// Sorted by path and method; `docs` is the reference's URL.
pub(crate) fn paths(docs: &str) -> Map<String, Value> {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let groups = [
        campaign::endpoints(),
        codes::endpoints(),
        submissions::endpoints(),
        receipts::endpoints(),
    ];
    for endpoint in groups.into_iter().flatten() {
        let method = endpoint.route.method.to_ascii_lowercase();
        paths
            .entry(endpoint.route.path.to_owned())
            .or_default()
            .insert(method, endpoint.into_value(docs));
    }
    paths
        .into_iter()
        .map(|(path, methods)| (path, Value::Object(methods)))
        .collect()
}

impl Endpoint {
    fn into_value(self, docs: &str) -> Value {
        let all = self.parameters.iter().chain(&parameters::COMMON);
        let parameters: Vec<Value> = all.copied().map(parameters::reference).collect();
        let mut endpoint = json!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.summary,
            "description": self.description,
            "parameters": parameters,
        });
        if let Some(RequestBody { schema, examples }) = self.request {
            let content = examples::media(schema::reference(schema), examples);
            let body = json!({ "required": true, "content": { "application/json": content } });
            schema::set(&mut endpoint, "requestBody", body);
        }
        let mut responses = refused(self.route, self.refusals, docs);
        responses.insert("200".to_owned(), self.reply.into_value());
        schema::set(&mut endpoint, "responses", Value::Object(responses));
        endpoint
    }
}

impl Reply {
    fn into_value(self) -> Value {
        let mut headers: Map<String, Value> =
            ALWAYS.into_iter().chain(LIMITS).map(header).collect();
        if self.can_be_replayed {
            headers.extend([header("Idempotent-Replayed")]);
        }
        let content = examples::media(schema::reference(self.schema), self.examples);
        let mut reply = json!({
            "description": self.description,
            "headers": headers,
            "content": { "application/json": content },
        });
        if self.links.is_object() {
            schema::set(&mut reply, "links", self.links);
        }
        reply
    }
}

/// Errors by status; an endpoint's own come before the common ones.
fn refused(route: Route, own: Vec<Refusal>, docs: &str) -> Map<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<Refusal>> = BTreeMap::new();
    for refusal in own.into_iter().chain(refusals::shared()) {
        by_status
            .entry(status(refusal.code).as_u16())
            .or_default()
            .push(refusal);
    }
    let reply = |(status, refusals): (u16, Vec<Refusal>)| {
        (
            status.to_string(),
            error_reply(status, route, &refusals, docs),
        )
    };
    by_status.into_iter().map(reply).collect()
}

fn error_reply(status: u16, route: Route, refusals: &[Refusal], docs: &str) -> Value {
    let mut codes: Vec<ErrorCode> = Vec::new();
    for refusal in refusals {
        if !codes.contains(&refusal.code) {
            codes.push(refusal.code);
        }
    }
    let described: Vec<String> = codes
        .iter()
        .map(|code| format!("`{}`: {}", code.as_str(), code.message()))
        .collect();
    let mut headers: Map<String, Value> = ALWAYS.map(header).into_iter().collect();
    match status {
        401 => headers.extend([header("WWW-Authenticate")]),
        405 => headers.extend([header("Allow")]),
        409 | 429 | 503 => headers.extend([header("Retry-After")]),
        _ => {}
    }
    match status {
        // Nothing is counted before the key is known, nor for a wrong method.
        401 | 403 | 405 => {}
        // A mismatched campaign is found before counting; failures come before or after.
        422 | 500 | 503 => headers.extend(LIMITS.map(when_counted)),
        _ => headers.extend(LIMITS.map(header)),
    }
    let examples: Vec<Example> = refusals
        .iter()
        .map(|refusal| Example::new(refusal.name(), refusal.summary, refusal.body(docs)))
        .collect();
    let mut description = described.join("\n\n");
    if status == 405 {
        description = format!("{description} For any method other than {}.", route.method);
    }
    let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    json!({
        "description": description,
        "headers": headers,
        "content": { "application/json": examples::media(schema::reference("ErrorBody"), examples) },
        "x-error-codes": names,
    })
}
