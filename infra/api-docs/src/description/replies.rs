//! Two descriptions of replies. Generated clients refuse what a description forbids, so callers get
//! neither patterns nor closed enums; tests get both.

use serde_json::{Map, Value, json};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Replies {
    /// Known values are named, not enforced.
    Open,
    Closed,
}

const MAX_VALUE_CHARS: usize = 64;

/// Schemas shared with requests stay closed there.
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

/// Values of enums become known ones.
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

pub(super) fn members(value: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Object(members) => members.values_mut().for_each(change),
        Value::Array(items) => items.iter_mut().for_each(change),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
