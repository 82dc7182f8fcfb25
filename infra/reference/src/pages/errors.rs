//! The page of errors: a paragraph for each code, which every `docs_url` leads to.

use common::error::ErrorCode;
use common::http::reply::status;
use maud::{Markup, html};
use serde_json::Value;

use super::sample::json;
use super::text::line;
use super::{Source, at, members, texts};
use crate::description::docs_of;
use crate::description::operations::refusals::{Refusal, reserved};

pub(super) fn render(source: &Source<'_>) -> Markup {
    html! {
        h1 { "Errors" }
        p.lead { "An error means that the request is at fault, not the consumer; nothing is recorded then. Branch on "
            code { "code" } "; " code { "message" } " and " code { "fix" } " are for developers and may change." }
        ul.index {
            @for code in ErrorCode::ALL {
                li { a href={ "#" (code.as_str()) } { code { (code.as_str()) } } span.status { (status(*code).as_u16()) } }
            }
        }
        @for code in ErrorCode::ALL { (paragraph(source, *code)) }
    }
}

fn paragraph(source: &Source<'_>, code: ErrorCode) -> Markup {
    let name = code.as_str();
    let mut operations = Vec::new();
    let mut example = None;
    for (_, methods) in members(source.part("/paths")) {
        for (_, operation) in members(methods) {
            let reply = at(operation, &["responses", status(code).as_str()]);
            if texts(at(reply, &["x-error-codes"])).any(|listed| listed == name) {
                operations.push(super::text_of(operation, "operationId"));
                example = example.or_else(|| {
                    reply.pointer("/content/application~1json/examples")?.get(name)?.get("value")
                });
            }
        }
    }
    let reserved = reserved().into_iter().find(|refusal| refusal.code == code);
    let reserved = reserved.map(|refusal: Refusal| refusal.body(&docs_of(source.base_url)));
    html! {
        section id=(name) {
            h2 { a href={ "#" (name) } { code { (name) } } span.status { (status(code).as_u16()) } }
            p { strong { "What happened. " } (line(code.message())) }
            p { strong { "How to fix it. " } (line(code.fix())) }
            p.soft {
                @if operations.is_empty() { "Reserved: no operation answers with it yet." }
                @else if operations.len() == 8 { "Every operation can answer with it." }
                @else {
                    "Operations: "
                    @for (index, id) in operations.iter().enumerate() {
                        @if index > 0 { ", " } a href={ "/docs/operations#" (id) } { (id) }
                    }
                }
            }
            @if let Some(value) = example.or(reserved.as_ref()) {
                details { summary { "Example of " code { (name) } } (json(source, "", value, source.schema("ErrorBody"))) }
            }
        }
    }
}

/// The example of an error of an operation.
pub(super) fn codes(reply: &Value) -> Markup {
    html! {
        @for (index, code) in texts(at(reply, &["x-error-codes"])).enumerate() {
            @if index > 0 { ", " } a href={ "/docs/errors#" (code) } { code { (code) } }
        }
    }
}
