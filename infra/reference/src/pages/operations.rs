//! The page of operations: what each takes, and what it answers.

use common::http::routes::{ROUTES, Route};
use maud::{Markup, html};
use serde_json::Value;

use super::errors::codes;
use super::objects::{fields, kind};
use super::sample::{command, json};
use super::text::{line, paragraphs};
use super::{Source, at, linked, members, text_of};

pub(super) fn render(source: &Source<'_>) -> Markup {
    let all: Vec<(&Route, &Value)> = ROUTES
        .iter()
        .map(|route| (route, at(source.part("/paths"), &[route.path, &route.method.to_ascii_lowercase()])))
        .collect();
    let everywhere =
        |parameter: &&Value| all.iter().all(|(_, operation)| taken(operation).contains(parameter));
    let shared: Vec<&Value> =
        all.iter().take(1).flat_map(|(_, first)| taken(first)).filter(everywhere).collect();
    html! {
        h1 { "Operations" }
        p.lead { "Eight of them. Every call carries " code { "Authorization: Bearer <API_KEY>" }
            " from your server, never from a browser. The commands take the key from " code { "$KEY" } "." }
        ul.index { @for (_, operation) in &all { li { a href={ "#" (text_of(operation, "operationId")) } { (text_of(operation, "summary")) } } } }
        (parameters(source, "What every operation takes beside its own", &shared))
        @for (route, operation) in &all { (one(source, route, operation, &shared)) }
    }
}

fn taken(operation: &Value) -> &[Value] {
    at(operation, &["parameters"]).as_array().map(Vec::as_slice).unwrap_or_default()
}

fn one(source: &Source<'_>, route: &Route, operation: &Value, shared: &[&Value]) -> Markup {
    let own: Vec<&Value> = taken(operation).iter().filter(|parameter| !shared.contains(parameter)).collect();
    let id = text_of(operation, "operationId");
    let request = at(operation, &["requestBody", "content", "application/json"]);
    let reply = at(operation, &["responses", "200"]);
    let content = at(reply, &["content", "application/json"]);
    html! {
        section id=(id) {
            h2 { a href={ "#" (id) } { (text_of(operation, "summary")) } }
            p.route { span class={ "method " (route.method.to_ascii_lowercase()) } { (route.method) } code { (route.path) } }
            (paragraphs(text_of(operation, "description")))
            (command(whose_id(route), &curl(source, route, request)))
            @if !own.is_empty() { (parameters(source, "Path and headers", &own)) }
            @if let Some(name) = linked(at(request, &["schema"])) {
                (body(source, name))
                // The command has the first.
                @for (_, example) in members(at(request, &["examples"])).skip(1) {
                    details { summary { (text_of(example, "summary")) } (json(source, "", at(example, &["value"]), at(request, &["schema"]))) }
                }
            }
            h3 { "Reply" }
            p { span.status { "200" } " " (kind(at(content, &["schema"]))) ". " (line(text_of(reply, "description"))) }
            (examples(source, id, content))
            h3 { "Errors" }
            div.wide tabindex="0" role="group" aria-label={ "Errors of " (id) } {
                table {
                    thead { tr { th scope="col" { "Status" } th scope="col" { "Codes" } } }
                    tbody {
                        @for (status, reply) in members(at(operation, &["responses"])).filter(|(status, _)| *status != "200") {
                            tr { td { (status) } td { (codes(reply)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The examples of a reply. Every outcome of a submission is shown once, with the operation that makes it.
fn examples(source: &Source<'_>, id: &str, content: &Value) -> Markup {
    let most = if id == "getSubmission" { 1 } else { usize::MAX };
    html! {
        @for (index, (_, example)) in members(at(content, &["examples"])).take(most).enumerate() {
            details open[index == 0 && id != "getCampaign"] {
                summary { (text_of(example, "summary")) }
                (json(source, "", &cut(at(example, &["value"])), at(content, &["schema"])))
            }
        }
        @if id == "getCampaign" {
            p { code { "messages" } " is cut here. It has all of the " a href="/docs/sentinels#message-keys" { "message keys" } "." }
        }
        @if id == "getSubmission" {
            p { "All outcomes are shown under " a href="#createSubmission" { "Enter a consumer" } "." }
        }
    }
}

/// An example with few of a campaign's many messages.
fn cut(example: &Value) -> Value {
    let mut example = example.clone();
    if let Some(Value::Object(messages)) = example.get_mut("messages") {
        messages.retain(|key, _| key == "entered" || key == "invalid");
    }
    example
}

fn body(source: &Source<'_>, name: &str) -> Markup {
    let schema = source.schema(name);
    let kinds = at(schema, &["oneOf"]).as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        h3 { "Body: " a href={ "/docs/objects#" (name) } { (name) } }
        @if schema.get("properties").is_some() { (fields(schema)) }
        @for kind in kinds {
            p { (line(text_of(source.resolve(kind), "description"))) }
            (fields(source.resolve(kind)))
        }
    }
}

fn parameters(source: &Source<'_>, title: &str, all: &[&Value]) -> Markup {
    html! {
        details {
            summary { (title) }
            div.wide tabindex="0" role="group" aria-label="Parameters" {
                table.fields {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "In" } th scope="col" { "Meaning" } } }
                    tbody {
                        @for parameter in all.iter().map(|parameter| source.resolve(parameter)) {
                            tr {
                                td { code { (text_of(parameter, "name")) } @if parameter.get("required").is_none() { " " span.soft { "optional" } } }
                                td { (text_of(parameter, "in")) }
                                td { (line(text_of(parameter, "description"))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where the id in a path comes from.
fn whose_id(route: &Route) -> &'static str {
    match route.path {
        path if !path.contains("{id}") => "",
        path if path.starts_with("/api/v1/receipts/") => {
            "`$ID` is the `id` that starting the receipt answered"
        }
        _ => "`$ID` is the `id` that entering the consumer answered",
    }
}

/// A command that makes the call with the first example.
fn curl(source: &Source<'_>, route: &Route, request: &Value) -> String {
    let url = format!("{}{}", source.base_url, route.path.replace("{id}", "$ID"));
    let mut command = format!("curl \"{url}\" \\\n  -H \"Authorization: Bearer $KEY\"");
    if route.method == "POST" && request.is_null() {
        command = command.replacen("curl ", "curl -X POST ", 1);
    }
    if route.path == "/api/v1/submissions" {
        command.push_str(" \\\n  -H \"Idempotency-Key: $(uuidgen)\"");
    }
    if let Some((_, example)) = members(at(request, &["examples"])).next() {
        command.push_str(&format!(
            " \\\n  -H 'Content-Type: application/json' \\\n  -d '{}'",
            at(example, &["value"])
        ));
    }
    command
}
