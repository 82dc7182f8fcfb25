//! Writes JSON in reading order; in memory, objects are sorted by name.

use common::http::routes::ROUTES;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Members that come first in an object of the description.
const FIRST: &str = "openapi info servers security tags paths webhooks components title operationId name in \
                     required summary description parameters requestBody type format schema";

/// Fields in the schema's order.
pub(crate) fn value(whole: &Value, value: &Value, schema: &Value) -> String {
    text(&arranged(whole, value, Order::Schema(schema)))
}

/// Successful replies first.
pub(crate) fn description_text(whole: &Value) -> String {
    text(&arranged(whole, whole, Order::Description)) + "\n"
}

fn text(ordered: &Ordered<'_>) -> String {
    serde_json::to_string_pretty(ordered).unwrap_or_default()
}

enum Ordered<'a> {
    Object(Vec<(&'a String, Ordered<'a>)>),
    Array(Vec<Ordered<'a>>),
    Plain(&'a Value),
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
            Self::Array(items) => serializer.collect_seq(items),
            Self::Plain(value) => value.serialize(serializer),
        }
    }
}

#[derive(Clone, Copy)]
enum Order<'a> {
    Description,
    Listed(&'a Value),
    Examples(&'a Value, &'a Value),
    Example(&'a Value),
    Paths,
    Schema(&'a Value),
}

fn arranged<'a>(whole: &'a Value, value: &'a Value, order: Order<'a>) -> Ordered<'a> {
    let order = match order {
        Order::Schema(schema) => Order::Schema(object_of(whole, schema)),
        other => other,
    };
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            // A stable sort keeps equal ranks sorted by name.
            sorted.sort_by_key(|(name, _)| rank(name, order));
            let inside = |(name, value): (&'a String, _)| {
                (
                    name,
                    arranged(whole, value, of_member(members, name, order)),
                )
            };
            Ordered::Object(sorted.into_iter().map(inside).collect())
        }
        Value::Array(items) => {
            let order = match order {
                Order::Schema(schema) => Order::Schema(schema.get("items").unwrap_or(&Value::Null)),
                _ => Order::Description,
            };
            let items = items.iter().map(|item| arranged(whole, item, order));
            Ordered::Array(items.collect())
        }
        plain => Ordered::Plain(plain),
    }
}

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

fn rank(name: &str, order: Order<'_>) -> usize {
    let listed = |list: &Value| {
        let list = list.as_array()?;
        list.iter().position(|listed| listed == name)
    };
    let rank = match order {
        Order::Description | Order::Example(_) => FIRST.split(' ').position(|first| first == name),
        Order::Listed(list) | Order::Examples(list, _) => listed(list),
        Order::Paths => ROUTES.iter().position(|route| route.path == name),
        Order::Schema(schema) => schema.get("x-order").and_then(listed),
    };
    rank.unwrap_or(usize::MAX)
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
