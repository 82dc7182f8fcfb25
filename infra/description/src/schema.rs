//! Building blocks of schemas that no type has: those of headers and parameters.

use serde_json::{Value, json};

/// Text of these lengths, in characters, of this form.
pub(crate) fn text(min: usize, max: usize, pattern: &str) -> Value {
    json!({ "type": "string", "minLength": min, "maxLength": max, "pattern": pattern })
}

/// A whole number.
pub(crate) fn integer(min: u64, max: u64) -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": min, "maximum": max })
}

/// Another schema, by name.
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A schema with an example.
pub(crate) fn with_example(example: impl Into<Value>, mut schema: Value) -> Value {
    set(&mut schema, "examples", Value::Array(vec![example.into()]));
    schema
}

/// Sets a member of an object.
pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}
