//! Whole requests, and bodies alone.

use std::collections::BTreeMap;
use std::panic::catch_unwind;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::error::{Error, ErrorCode};
use common::http::body::JsonBody;
use common::http::fields::Fields;
use common::http::reply::{X_REQUEST_ID, status};
use common::http::request::Request;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use lambda_http::Body;
use serde_json::{Value, json};
use service_tests::contract;
use service_tests::http::Reply;

use super::first_line;
use super::service::Service;

/// A request: method and target, headers, an empty line, the body.
pub(super) fn whole(input: &[u8]) {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    let (line, mut rest) = first_line(input);
    let body = loop {
        if rest.is_empty() {
            break &[][..];
        }
        let (header, after) = first_line(rest);
        rest = after;
        let Some((name, value)) = header.split_once(':') else {
            break rest;
        };
        let value = value.trim();
        // API Gateway joins repeated headers.
        let joined = headers
            .entry(name.to_ascii_lowercase())
            .and_modify(|first| *first = format!("{first},{value}"));
        joined.or_insert_with(|| value.to_owned());
    };
    let (method, target) = line.split_once(' ').unwrap_or((&line, "/"));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<_> = path.split('/').collect();
    let id = match parts.as_slice() {
        ["", "api", "v1", "submissions" | "receipts", id, ..] => Some((*id).to_owned()),
        _ => None,
    };
    let (body, is_base64_encoded) = match std::str::from_utf8(body) {
        Ok(body) => (body.to_owned(), false),
        Err(_) => (STANDARD.encode(body), true),
    };
    answered(&json!({
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "pathParameters": id.map(|id| json!({ "id": id })),
        "requestContext": { "http": { "method": method, "path": path, "sourceIp": "198.51.100.7" } },
        "body": body,
        "isBase64Encoded": is_base64_encoded,
    }));
}

/// An API Gateway event, as JSON.
pub(super) fn event(input: &[u8]) {
    if let Ok(event) = serde_json::from_slice(input) {
        answered(&event);
    }
}

/// Every reply fits the description and has none of the caller's secrets.
fn answered(event: &Value) {
    let text = |pointer: &str| {
        event
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (method, path) = (text("/requestContext/http/method"), text("/rawPath"));
    let reply = Service::shared().answer(method, path, event);
    assert!(!reply.is_base64_encoded);
    let body = reply.body.map(|body| body.to_vec()).unwrap_or_default();
    let reply = Reply {
        status: u16::try_from(reply.status_code)
            .expect("small")
            .try_into()
            .expect("a status"),
        headers: reply.headers,
        text: String::from_utf8(body).expect("text"),
    };
    let read = catch_unwind(|| lambda_http::request::from_str(&event.to_string()));
    let Ok(Ok(request)) = read else {
        // Not every event is a request.
        if reply.status == StatusCode::INTERNAL_SERVER_ERROR {
            assert_eq!(reply.error_code(), ErrorCode::InternalError.as_str());
        } else {
            contract::check(method, path, &reply);
        }
        return;
    };
    let asked = Request::new(request);
    contract::check(method, path, &reply);
    // Missing pages are HTML.
    let is_page = reply
        .header("content-type")
        .is_some_and(|content_type| content_type.starts_with("text/html"));
    if reply.status != StatusCode::OK && !is_page {
        check_error(&asked, &reply, &reply.field("error"));
    }
}

fn check_error(asked: &Request, reply: &Reply, error: &Value) {
    let part = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let code = ErrorCode::ALL
        .iter()
        .copied()
        .find(|code| code.as_str() == part("code"))
        .expect("a known code");
    assert_ne!(code, ErrorCode::InternalError, "{error}");
    assert_eq!(reply.status, status(code), "{error}");
    assert!(
        part("docs_url").ends_with(&format!("#{}", code.as_str())),
        "{error}"
    );
    assert_eq!(Some(part("request_id")), reply.header(X_REQUEST_ID));
    let has = |name| reply.header(name).is_some();
    assert_eq!(
        has("retry-after"),
        matches!(reply.status.as_u16(), 409 | 429),
        "{error}"
    );
    assert_eq!(
        has("allow"),
        reply.status == StatusCode::METHOD_NOT_ALLOWED,
        "{error}"
    );
    assert_eq!(
        has("www-authenticate"),
        reply.status == StatusCode::UNAUTHORIZED,
        "{error}"
    );
    if code == ErrorCode::ValidationFailed && JsonBody::parse(asked).is_ok() {
        assert!(!part("field").is_empty(), "{error} names no field");
    }
    let said = format!(
        "{} {} {} {}",
        part("message"),
        part("fix"),
        part("field"),
        error["errors"]
    );
    for secret in secrets(asked) {
        assert!(!said.contains(&secret), "{error} tells a secret");
    }
}

/// Key and personal data, which no error may repeat.
fn secrets(asked: &Request) -> Vec<String> {
    let document: Value = serde_json::from_slice(asked.body()).unwrap_or_default();
    let personal = ["phone", "code", "qr_payload"]
        .iter()
        .filter_map(|name| document.get(name)?.as_str());
    let key = asked
        .header("authorization")
        .and_then(|header| header.split(' ').next_back());
    let key = key.into_iter().chain(asked.header("idempotency-key"));
    personal
        .chain(key)
        .filter(|text| is_telling(text))
        .map(str::to_owned)
        .collect()
}

/// True if only the request can have the text: messages have words, but never so many digits.
fn is_telling(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_digit).count() >= 6
}

/// Equivalent bodies have the same digest, and refusals name the field.
pub(super) fn json_body(input: &[u8]) {
    let Ok(body) = read(input) else {
        assert!(
            serde_json::from_slice::<serde_json::Map<String, Value>>(input).is_err(),
            "an object was refused"
        );
        return;
    };
    let document: Value = serde_json::from_slice(input).expect("JSON");
    let written = serde_json::to_string_pretty(&document).expect("JSON");
    if serde_json::from_str::<Value>(&written).is_ok_and(|again| again == document)
        && let Ok(again) = read(written.as_bytes())
    {
        assert_eq!(again.digest(), body.digest());
    }
    let document = document.as_object().expect("an object");
    for (name, value) in document {
        let told = value.as_str();
        refusal(&body, name, told, |fields| {
            fields.text(name, 1..=16).map(drop)
        });
        refusal(&body, name, told, |fields| {
            fields.text(name, 0..=80).map(drop)
        });
        refusal(&body, name, told, |fields| {
            fields.integer(name, 1..=99).map(drop)
        });
        refusal(&body, name, told, |fields| fields.positive(name).map(drop));
        refusal(&body, name, told, |fields| fields.object(name).map(drop));
        refusal(&body, name, told, |fields| fields.phone(name).map(drop));
        refusal(&body, name, told, |fields| {
            fields
                .required(name, |fields, name| fields.phone(name))
                .map(drop)
        });
        refusal(&body, name, told, |fields| {
            fields
                .each(name, 40, |item| {
                    item.required("qty", |item, qty| item.integer(qty, 1..=99))
                })
                .map(drop)
        });
    }
}

/// Parses a body in a valid request.
fn read(body: &[u8]) -> Result<JsonBody, Error> {
    let mut request = lambda_http::Request::new(Body::Binary(body.to_vec()));
    request
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    JsonBody::parse(&Request::new(request))
}

/// Reads a field. An error names it, or a part, without its value.
fn refusal(
    body: &JsonBody,
    name: &str,
    told: Option<&str>,
    read: impl Fn(&Fields<'_>) -> Option<()>,
) {
    // An absent or null field is valid.
    let found = body.read(|fields| {
        let _ = read(fields);
        Some(())
    });
    let refusal = match found {
        Ok(()) => return,
        Err(Error::Internal(cause) | Error::Unavailable(cause)) => {
            panic!("{name} is our own fault: {cause}")
        }
        Err(Error::Refused(refusal)) => refusal,
    };
    assert!(
        refusal.field.is_some_and(|field| field.starts_with(name)),
        "{name}"
    );
    for problem in &refusal.problems {
        assert!(
            problem.field.starts_with(name),
            "{} is not {name}",
            problem.field
        );
        let message = problem.message.replace(name, "");
        let secret = told.filter(|told| is_telling(told) && !name.contains(told));
        assert!(
            secret.is_none_or(|secret| !message.contains(secret)),
            "{message}"
        );
    }
    let has_message = refusal.code != ErrorCode::ValidationFailed || !refusal.problems.is_empty();
    assert!(has_message, "{name} is refused without a problem");
}
