//! A Bruno collection of requests, made from the first example of each endpoint.

use common::http::routes::{CREATE_RECEIPT, CREATE_SUBMISSION, ROUTES, Route};
use reference::{at, ordered, text_of};
use serde_json::{Value, json};

use crate::schema::set;

/// A request in the collection.
struct Request {
    route: Route,
    /// The name of the example; `None` takes the first one.
    example: Option<&'static str>,
}

/// The files of the collection: path relative to this crate's folder, and text.
pub(crate) fn files(description: &Value) -> Vec<(String, String)> {
    let mut requests: Vec<Request> =
        ROUTES.iter().map(|route| Request { route: *route, example: None }).collect();
    requests.push(Request { route: CREATE_RECEIPT, example: Some("typed") });
    requests.push(Request { route: CREATE_SUBMISSION, example: Some("photo") });
    let mut files = vec![
        (
            "bruno/bruno.json".to_owned(),
            format!(
                "{:#}\n",
                json!({ "name": "Campaign Entry Service", "type": "collection", "version": "1" })
            ),
        ),
        (
            "bruno/collection.bru".to_owned(),
            "auth {\n  mode: bearer\n}\n\nauth:bearer {\n  token: {{key}}\n}\n".to_owned(),
        ),
        (
            "bruno/environments/local.bru".to_owned(),
            "vars {\n  base: http://127.0.0.1:8080\n}\nvars:secret [\n  key\n]\n".to_owned(),
        ),
    ];
    files.extend(requests.iter().enumerate().map(|(index, request)| file(description, request, index + 1)));
    files
}

fn file(description: &Value, request: &Request, number: usize) -> (String, String) {
    let Request { route, example } = request;
    let suffix = example.map(|name| format!("-{name}")).unwrap_or_default();
    let file_name = format!("bruno/{number:02}-{}{suffix}.bru", route.function);
    let method = route.method.to_ascii_lowercase();
    let endpoint = at(description, &["paths", route.path, &method]);
    let media = at(endpoint, &["requestBody", "content", "application/json"]);
    let first = || at(media, &["x-order"]).as_array()?.first()?.as_str();
    let example = example.or_else(first).map(|name| at(media, &["examples", name]));
    let summary = text_of(endpoint, "summary");
    let name = match example.map(|example| text_of(example, "summary")) {
        Some(example) => format!("{summary} ({})", example.to_lowercase()),
        None => summary.to_owned(),
    };
    let kind = if route.path.starts_with("/api/v1/receipts") { "receipt_id" } else { "submission_id" };
    let mut text = format!(
        "meta {{\n  name: {name}\n  type: http\n  seq: {number}\n}}\n\n{method} {{\n  url: {{{{base}}}}{}\n  body: {}\n  auth: inherit\n}}\n",
        route.path.replace("{id}", &format!("{{{{{kind}}}}}")),
        if example.is_some() { "json" } else { "none" },
    );
    if *route == CREATE_SUBMISSION {
        text.push_str("\nheaders {\n  Idempotency-Key: {{$guid}}\n}\n");
    }
    if let Some(example) = example {
        let mut body = at(example, &["value"]).clone();
        if body.get("receipt_id").is_some() {
            set(&mut body, "receipt_id", json!("{{receipt_id}}"));
        }
        let body = ordered::value(description, &body, at(media, &["schema"])).replace('\n', "\n  ");
        text.push_str(&format!("\nbody:json {{\n  {body}\n}}\n"));
    }
    text.push_str("\nassert {\n  res.status: eq 200\n}\n");
    if [CREATE_RECEIPT, CREATE_SUBMISSION].contains(route) {
        text.push_str(&format!("\nscript:post-response {{\n  bru.setVar(\"{kind}\", res.body.id);\n}}\n"));
    }
    (file_name, text)
}
