use common::http::routes::{ROUTES, Route};
use serde_json::Value;

use super::markdown::{columns, details, field, fields, heading, sample, table};
use super::objects::{Side, field_lines, kind, of_page};
use super::samples::{call, examples, source_of_id};
use super::{Source, at, items, linked, members, text_of, texts};
use crate::ordered;

pub(super) fn all(source: &Source<'_>) -> String {
    let row = |(route, endpoint): (&Route, &Value)| {
        vec![
            format!("[{}]({})", text_of(endpoint, "summary"), place_of(endpoint)),
            format!("`{} {}`", route.method, route.path),
        ]
    };
    let headers: String = members(source.part("/components/headers"))
        .filter(|(name, _)| !name.ends_with("-When-Counted"))
        .map(|(name, _)| header_field(source, name))
        .collect();
    format!(
        "# Endpoints\n\nEvery call carries `Authorization: Bearer <API_KEY>` from your server, never from a browser.\n\n\
         {}Import them into your tools: [OpenAPI 3.1](/openapi.json).\n\n\
         ## Common headers and parameters {{#common}}\n\nEvery endpoint accepts these.\n\n{}\
         ## Reply headers {{#reply-headers}}\n\nWhich of them a reply has depends on the reply.\n\n{}",
        table(&["Endpoint", "Call"], endpoints(source).map(row)),
        common_parameters(source),
        fields("reply", &headers)
    )
}

pub(super) fn campaign(source: &Source<'_>) -> String {
    page(source, "Campaign", "/docs/endpoints/campaign")
}

pub(super) fn codes(source: &Source<'_>) -> String {
    page(source, "Codes", "/docs/endpoints/codes")
}

pub(super) fn submissions(source: &Source<'_>) -> String {
    page(source, "Submissions", "/docs/endpoints/submissions")
}

pub(super) fn receipts(source: &Source<'_>) -> String {
    page(source, "Receipts", "/docs/endpoints/receipts")
}

fn page(source: &Source<'_>, tag: &str, path: &str) -> String {
    let described = items(source.part("/tags")).find(|described| text_of(described, "name") == tag);
    let lead = text_of(described.unwrap_or(&Value::Null), "description");
    let of_tag =
        |(_, endpoint): &(&Route, &Value)| texts(at(endpoint, &["tags"])).any(|name| name == tag);
    let sections: String = endpoints(source)
        .filter(of_tag)
        .map(|(route, endpoint)| section(source, route, endpoint))
        .collect();
    format!("# {tag}\n\n{lead}\n\n{sections}{}", of_page(source, path))
}

fn endpoints<'a>(source: &'a Source<'_>) -> impl Iterator<Item = (&'static Route, &'a Value)> {
    ROUTES.iter().map(|route| {
        let method = route.method.to_ascii_lowercase();
        (route, at(source.part("/paths"), &[route.path, &method]))
    })
}

pub(super) fn place_of(endpoint: &Value) -> String {
    let tag = texts(at(endpoint, &["tags"])).next().unwrap_or_default();
    let id = text_of(endpoint, "operationId");
    format!("/docs/endpoints/{}#{id}", tag.to_ascii_lowercase())
}

fn section(source: &Source<'_>, route: &Route, endpoint: &Value) -> String {
    let id = text_of(endpoint, "operationId");
    let part = |name: &str, title: &str| heading(3, &format!("{id}-{name}"), title);
    let request = at(endpoint, &["requestBody", "content", "application/json"]);
    let mut left = format!(
        "**{}** `{}`\n\n{}\n\n",
        route.method,
        route.path,
        text_of(endpoint, "description")
    );
    let shared = shared_parameters(source);
    let own: String = items(at(endpoint, &["parameters"]))
        .filter(|parameter| !shared.contains(parameter))
        .map(|parameter| parameter_field(source.resolve(parameter)))
        .collect();
    if !own.is_empty() {
        left.push_str(&(part("parameters", "Path and headers") + &fields(id, &own)));
    }
    if let Some(name) = linked(at(request, &["schema"])) {
        left.push_str(&(part("body", "Body") + &body(source, name, id)));
    }
    let reply = at(endpoint, &["responses", "200"]);
    let schema = at(reply, &["content", "application/json", "schema"]);
    left.push_str(&format!(
        "{}Status 200 with a {}: {}\n\n{}:::table - Errors of {id}\n{}",
        part("reply", "Reply"),
        kind(schema),
        lower_first(text_of(reply, "description")),
        part("errors", "Errors"),
        errors(endpoint)
    ));
    let right = right(source, route, id, request, reply);
    heading(2, id, text_of(endpoint, "summary")) + &columns(&left, &right)
}

/// Request samples with replies, then other replies.
fn right(source: &Source<'_>, route: &Route, id: &str, request: &Value, reply: &Value) -> String {
    let replies = at(reply, &["content", "application/json"]);
    let (of_request, of_reply) = (at(request, &["schema"]), at(replies, &["schema"]));
    let answer = |name: &str, summary: &str| {
        let example = shortened(at(replies, &["examples", name, "value"]));
        let caption = format!("Reply: {}", lower_first(summary));
        json_of(source, &caption, &example, of_reply)
    };
    let mut requests = examples(request);
    let mut text = source_of_id(route).unwrap_or_default().to_owned();
    let mut shown = Vec::new();
    let first = requests.next();
    let value = first.map(|(_, _, example)| at(example, &["value"]));
    text.push_str(&call(source, route, id, value, of_request));
    let named = first.map(|(_, _, example)| text_of(example, "x-reply"));
    let reply_to_first =
        examples(replies).find(|(name, ..)| named.is_none_or(|named| named == *name));
    if let Some((name, summary, _)) = reply_to_first {
        text.push_str(&answer(name, summary));
        shown.push(name);
    }
    for (_, summary, example) in requests {
        let sent = json_of(source, "Request", at(example, &["value"]), of_request);
        let name = text_of(example, "x-reply");
        let answered = answer(name, text_of(at(replies, &["examples", name]), "summary"));
        let summary = format!("Request: {}", lower_first(summary));
        text.push_str(&details(&summary, &(sent + &answered)));
        shown.push(name);
    }
    for (name, summary, _) in examples(replies).filter(|(name, ..)| !shown.contains(name)) {
        let title = format!("Reply: {}", lower_first(summary));
        text.push_str(&details(&title, &answer(name, summary)));
    }
    text
}

pub(super) fn json_of(source: &Source<'_>, caption: &str, value: &Value, schema: &Value) -> String {
    sample("json", caption, &ordered::value(source.0, value, schema))
}

fn shortened(example: &Value) -> Value {
    let mut example = example.clone();
    if let Some(Value::Object(messages)) = example.get_mut("messages") {
        messages.retain(|key, _| key == "entered" || key == "invalid");
    }
    example
}

fn body(source: &Source<'_>, name: &str, id: &str) -> String {
    let schema = source.schema(name);
    if schema.get("properties").is_some() {
        return fields(id, &field_lines(schema, Side::Sent));
    }
    let one = |kind: &Value| {
        let (name, schema) = (linked(kind).unwrap_or_default(), source.resolve(kind));
        let title = text_of(schema, "description").trim_end_matches('.');
        let prefix = format!("{id}.{name}");
        format!(
            "**{title}**\n\n{}",
            fields(&prefix, &field_lines(schema, Side::Sent))
        )
    };
    items(at(schema, &["oneOf"])).map(one).collect()
}

fn errors(endpoint: &Value) -> String {
    let code = |code: &str| format!("[`{code}`](/docs/errors#{code})");
    let row = |(status, reply): (&str, &Value)| {
        let codes: Vec<String> = texts(at(reply, &["x-error-codes"])).map(code).collect();
        vec![status.to_owned(), codes.join(", ")]
    };
    let replies = members(at(endpoint, &["responses"])).filter(|(status, _)| *status != "200");
    table(&["Status", "Codes"], replies.map(row))
}

fn shared_parameters<'a>(source: &'a Source<'_>) -> Vec<&'a Value> {
    let has =
        |endpoint: &Value, parameter| items(at(endpoint, &["parameters"])).any(|p| p == parameter);
    endpoints(source)
        .take(1)
        .flat_map(|(_, first)| items(at(first, &["parameters"])))
        .filter(|parameter| endpoints(source).all(|(_, endpoint)| has(endpoint, *parameter)))
        .collect()
}

pub(super) fn common_parameters(source: &Source<'_>) -> String {
    let authorization = field(
        "Authorization",
        "header",
        "required",
        "`Bearer <API_KEY>`. The key selects the campaign and the environment, test or live.",
        "",
    );
    let others: String = shared_parameters(source)
        .into_iter()
        .map(|parameter| parameter_field(source.resolve(parameter)))
        .collect();
    fields("common", &(authorization + &others))
}

fn parameter_field(parameter: &Value) -> String {
    let is_required = parameter.get("required").is_some();
    let note = if is_required { "required" } else { "optional" };
    let kind = text_of(parameter, "in").replace("query", "query parameter");
    let description = text_of(parameter, "description");
    field(text_of(parameter, "name"), &kind, note, description, "")
}

pub(super) fn header_field(source: &Source<'_>, name: &str) -> String {
    let header = source.part(&format!("/components/headers/{name}"));
    field(name, "header", "", text_of(header, "description"), "")
}

/// Leaves names such as `JSON`.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string());
    if chars.clone().next().is_some_and(char::is_uppercase) {
        text.to_owned()
    } else {
        first.unwrap_or_default() + chars.as_str()
    }
}
