//! Samples: commands to paste, and JSON with its fields in the order of the reference. Names, texts and
//! other values are told apart by the shortest elements there are: most of a page is samples.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{Source, at, texts};

/// A sample with a caption.
pub(super) fn sample(caption: &str, text: Markup) -> Markup {
    html! {
        figure.sample {
            @if !caption.is_empty() { figcaption { (super::text::line(caption)) } }
            pre tabindex="0" { code { (text) } }
        }
    }
}

/// A command.
pub(super) fn command(caption: &str, text: &str) -> Markup {
    sample(caption, html! { (text) })
}

/// A value of a schema.
pub(super) fn json(source: &Source<'_>, caption: &str, value: &Value, schema: &Value) -> Markup {
    sample(caption, written(source, value, schema, 0))
}

fn written(source: &Source<'_>, value: &Value, schema: &Value, depth: usize) -> Markup {
    let schema = described(source, schema);
    match value {
        Value::Object(fields) if fields.is_empty() => html! { "{}" },
        Value::Object(fields) => object(source, fields, schema, depth),
        Value::Array(items) if items.is_empty() => html! { "[]" },
        Value::Array(items) => {
            let of = schema.get("items").unwrap_or(&Value::Null);
            html! {
                "[\n"
                @for (index, item) in items.iter().enumerate() {
                    (indent(depth + 1)) (written(source, item, of, depth + 1))
                    @if index + 1 < items.len() { "," } "\n"
                }
                (indent(depth)) "]"
            }
        }
        Value::String(_) => html! { i { (value.to_string()) } },
        Value::Null | Value::Bool(_) | Value::Number(_) => html! { u { (value.to_string()) } },
    }
}

fn object(source: &Source<'_>, fields: &Map<String, Value>, schema: &Value, depth: usize) -> Markup {
    let mut names: Vec<&str> =
        texts(at(schema, &["x-order"])).filter(|name| fields.contains_key(*name)).collect();
    let rest: Vec<&str> = fields.keys().map(String::as_str).filter(|name| !names.contains(name)).collect();
    names.extend(rest);
    html! {
        "{\n"
        @for (index, name) in names.iter().enumerate() {
            (indent(depth + 1)) b { "\"" (name) "\"" } ": "
            (written(source, fields.get(*name).unwrap_or(&Value::Null), at(schema, &["properties", name]), depth + 1))
            @if index + 1 < names.len() { "," } "\n"
        }
        (indent(depth)) "}"
    }
}

/// The object that a schema is, behind links, choices with null, and kinds.
fn described<'a>(source: &'a Source<'_>, schema: &'a Value) -> &'a Value {
    let schema = source.resolve(schema);
    let choices = ["anyOf", "oneOf"].into_iter().find_map(|word| schema.get(word)?.as_array());
    choices.and_then(|choices| choices.first()).map_or(schema, |first| source.resolve(first))
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}
