//! Two descriptions of replies: one for callers, one for tests.
//!
//! Generated clients refuse what a description forbids. So callers get one that forbids nothing which may change: no
//! patterns, since forms bind the service and not its readers, and enums without an end.

use serde_json::{Map, Value, json};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Replies {
    /// For callers: patterns are left out, and known values are named instead of enforced.
    Open,
    /// For tests: with every pattern and enum that the service keeps to.
    Closed,
}

/// Maximum length of a value that may be added to an enum.
const MAX_VALUE_CHARS: usize = 64;

/// Opens the schemas of replies. Those which requests use too stay closed there; replies get a copy of their own.
pub(crate) fn open_schemas(replies: &mut Map<String, Value>, requests: &Map<String, Value>) {
    let shared: Vec<_> = requests
        .keys()
        .filter_map(|name| replies.remove_entry(name))
        .collect();
    for schema in replies.values_mut() {
        for (name, shared) in &shared {
            copy(schema, &format!("#/components/schemas/{name}"), shared);
        }
        open(schema);
    }
}

fn copy(value: &mut Value, link: &str, schema: &Value) {
    if value.get("$ref").is_some_and(|target| target == link) {
        value.clone_from(schema);
        return;
    }
    members(value, &mut |member| copy(member, link, schema));
}

/// Removes patterns, and turns the values of enums and constants into known ones.
pub(crate) fn open(value: &mut Value) {
    if let Value::Object(words) = value {
        words.remove("pattern");
        let constant = words.remove("const").map(|value| json!([value]));
        if let Some(known) = words.remove("enum").or(constant) {
            words.insert("x-known-values".to_owned(), known);
            words.entry("maxLength").or_insert(json!(MAX_VALUE_CHARS));
        }
    }
    members(value, &mut open);
}

fn members(value: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Object(members) => members.values_mut().for_each(change),
        Value::Array(items) => items.iter_mut().for_each(change),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
