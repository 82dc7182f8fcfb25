//! The page of objects: every schema with its fields.

use maud::{Markup, html};
use serde_json::Value;

use super::text::line;
use super::{Source, at, linked, members, text_of, texts};

pub(super) fn render(source: &Source<'_>) -> Markup {
    let schemas = || members(source.part("/components/schemas"));
    html! {
        h1 { "Objects" }
        p.lead { "What requests and replies are made of. A reply always has all of its fields, but for those marked optional; "
            "fields may come, so ignore those that you do not know." }
        ul.index { @for (name, _) in schemas() { li { a href={ "#" (name) } { (name) } } } }
        @for (name, schema) in schemas() {
            section id=(name) {
                h2 { a href={ "#" (name) } { (name) } }
                p { (line(text_of(schema, "description"))) }
                @if schema.get("properties").is_some() { (fields(schema)) }
                @if schema.get("enum").is_some() { p { @for value in texts(at(schema, &["enum"])) { code { (value) } " " } } }
                @if schema.get("oneOf").is_some() { p { "One of: " (kind(schema)) "." } }
            }
        }
    }
}

/// The fields of an object.
pub(super) fn fields(schema: &Value) -> Markup {
    let required: Vec<&str> = texts(at(schema, &["required"])).collect();
    html! {
        div.wide tabindex="0" role="group" aria-label="Fields" {
            table.fields {
                thead { tr { th scope="col" { "Field" } th scope="col" { "Type" } th scope="col" { "Meaning" } } }
                tbody {
                    @for name in texts(at(schema, &["x-order"])) {
                        @let field = at(schema, &["properties", name]);
                        tr {
                            td { code { (name) } @if !required.contains(&name) { " " span.soft { "optional" } } }
                            td { (kind(field)) }
                            td {
                                (line(text_of(field, "description")))
                                @if field.get("properties").is_some() { (fields(field)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What a value can be, in words.
pub(super) fn kind(schema: &Value) -> Markup {
    if let Some(name) = linked(schema) {
        return html! { a href={ "/docs/objects#" (name) } { (name) } };
    }
    if let Some(choices) = ["anyOf", "oneOf"].into_iter().find_map(|word| schema.get(word)?.as_array()) {
        return html! {
            @for (index, choice) in choices.iter().enumerate() { @if index > 0 { " or " } (kind(choice)) }
        };
    }
    if let Some(value) = schema.get("const") {
        return html! { code { (value.to_string()) } };
    }
    let kinds: Vec<&str> = texts(at(schema, &["type"]))
        .chain([text_of(schema, "type")])
        .filter(|kind| !kind.is_empty())
        .collect();
    html! {
        (kinds.join(" or "))
        @if let Some(items) = schema.get("items") { " of " (kind(items)) ", at most " (at(schema, &["maxItems"]).to_string()) }
        @if let (Some(least), Some(most)) = (schema.get("minimum"), schema.get("maximum")) {
            br; span.soft { (least.to_string()) " to " (most.to_string()) }
        }
        @match schema.get("format").and_then(Value::as_str) {
            Some("int64") | None => {
                @if let (Some(least), Some(most)) = (schema.get("minLength"), schema.get("maxLength")) {
                    br; span.soft { (lengths(least, most)) " characters" }
                }
            }
            Some(format) => { br; span.soft { (format) } }
        }
    }
}

fn lengths(least: &Value, most: &Value) -> String {
    match (least.as_u64(), most.as_u64()) {
        (Some(0), Some(most)) => format!("up to {most}"),
        (Some(least), Some(most)) if least == most => most.to_string(),
        _ => format!("{least} to {most}"),
    }
}
