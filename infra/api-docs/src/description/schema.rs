//! Building blocks of schemas without a type: headers and parameters.

use serde_json::{Value, json};

pub(crate) fn text(min: usize, max: usize, pattern: &str) -> Value {
    json!({ "type": "string", "minLength": min, "maxLength": max, "pattern": pattern })
}

pub(crate) fn integer(min: u64, max: u64) -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": min, "maximum": max })
}

pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

pub(crate) fn with_example(example: impl Into<Value>, mut schema: Value) -> Value {
    set(&mut schema, "examples", Value::Array(vec![example.into()]));
    schema
}

pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}
