//! Writes JSON as text with its members in reading order. In memory, JSON objects are sorted by name.

use common::http::routes::ROUTES;
use serde_json::{Map, Value};

/// Members that come first in an object of the description.
const FIRST: [&str; 19] = [
    "openapi",
    "info",
    "servers",
    "security",
    "tags",
    "paths",
    "components",
    "title",
    "operationId",
    "name",
    "in",
    "required",
    "summary",
    "description",
    "parameters",
    "requestBody",
    "type",
    "format",
    "schema",
];

/// A value of a schema, with its fields in the schema's order.
pub(crate) fn value(whole: &Value, value: &Value, schema: &Value) -> String {
    let mut text = String::new();
    write(&mut text, whole, value, Order::Schema(schema), 0);
    text
}

/// The whole description, successful replies first.
pub(crate) fn description_text(whole: &Value) -> String {
    let mut text = String::new();
    write(&mut text, whole, whole, Order::Description, 0);
    text.push('\n');
    text
}

#[derive(Clone, Copy)]
enum Order<'a> {
    /// Keywords of the description itself.
    Description,
    /// Names of the API, in this listed order.
    Listed(&'a Value),
    /// Examples of a schema, in this listed order.
    Examples(&'a Value, &'a Value),
    /// One example of a schema: summary and value.
    Example(&'a Value),
    Paths,
    /// A value of this schema.
    Schema(&'a Value),
}

fn write<'a>(
    text: &mut String,
    whole: &'a Value,
    value: &'a Value,
    order: Order<'a>,
    depth: usize,
) {
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            let inside = inner(whole, order);
            text.push('{');
            for (index, name) in names(members, inside).into_iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                line(text, depth + 1);
                text.push_str(&Value::from(name).to_string());
                text.push_str(": ");
                let member = members.get(name).unwrap_or(&Value::Null);
                write(
                    text,
                    whole,
                    member,
                    of_member(members, name, inside),
                    depth + 1,
                );
            }
            line(text, depth);
            text.push('}');
        }
        Value::Array(items) if !items.is_empty() => {
            let items_order = match inner(whole, order) {
                Order::Schema(schema) => Order::Schema(schema.get("items").unwrap_or(&Value::Null)),
                _ => Order::Description,
            };
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                line(text, depth + 1);
                write(text, whole, item, items_order, depth + 1);
            }
            line(text, depth);
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

fn inner<'a>(whole: &'a Value, order: Order<'a>) -> Order<'a> {
    match order {
        Order::Schema(schema) => Order::Schema(object_of(whole, schema)),
        other => other,
    }
}

/// The object schema behind references, choices with null, and variants.
fn object_of<'a>(whole: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = linked(whole, schema);
    let choices = ["anyOf", "oneOf"]
        .into_iter()
        .find_map(|word| schema.get(word)?.as_array());
    choices
        .and_then(|choices| choices.first())
        .map_or(schema, |first| linked(whole, first))
}

fn linked<'a>(whole: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|link| link.strip_prefix('#'));
    pointer
        .and_then(|pointer| whole.pointer(pointer))
        .unwrap_or(schema)
}

fn names<'a>(members: &'a Map<String, Value>, order: Order<'_>) -> Vec<&'a str> {
    let listed = |list: &Value, name: &str| {
        let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter()
            .position(|listed| listed == name)
            .unwrap_or(usize::MAX)
    };
    let rank = |name: &str| match order {
        Order::Description | Order::Example(_) => FIRST
            .iter()
            .position(|first| *first == name)
            .unwrap_or(usize::MAX),
        Order::Listed(list) | Order::Examples(list, _) => listed(list, name),
        Order::Paths => ROUTES
            .iter()
            .position(|route| route.path == name)
            .unwrap_or(usize::MAX),
        Order::Schema(schema) => listed(schema.get("x-order").unwrap_or(&Value::Null), name),
    };
    let mut names: Vec<&str> = members.keys().map(String::as_str).collect();
    // The sort is stable: members of the same rank stay sorted by name.
    names.sort_by_key(|name| rank(name));
    names
}

fn of_member<'a>(members: &'a Map<String, Value>, name: &str, order: Order<'a>) -> Order<'a> {
    match (order, name) {
        (Order::Schema(schema), _) => {
            let properties = schema.get("properties");
            Order::Schema(
                properties
                    .and_then(|all| all.get(name))
                    .unwrap_or(&Value::Null),
            )
        }
        (Order::Examples(_, schema), _) => Order::Example(schema),
        (Order::Example(schema), "value") => Order::Schema(schema),
        (Order::Description, "paths") => Order::Paths,
        (Order::Description, "properties") => {
            Order::Listed(members.get("x-order").unwrap_or(&Value::Null))
        }
        (Order::Description, "examples") => match (members.get("x-order"), members.get("schema")) {
            (Some(list), Some(schema)) => Order::Examples(list, schema),
            _ => Order::Description,
        },
        (Order::Description | Order::Listed(_) | Order::Paths | Order::Example(_), _) => {
            Order::Description
        }
    }
}
