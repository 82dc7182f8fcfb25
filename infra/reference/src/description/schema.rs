//! Building blocks of schemas. Every text, list and number that they make is bounded.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// What a caller may send as text: anything but control characters. White space at both ends is stripped, line ends
/// included.
pub(super) const PRINTABLE: &str =
    "^[\\u0009-\\u000D\\u0020\\u0085]*[^\\u0000-\\u001F\\u007F-\\u009F]*[\\u0009-\\u000D\\u0020\\u0085]*$";
/// Text that is more than white space.
pub(super) const NOT_BLANK: &str = "^[^\\u0000-\\u001F\\u007F-\\u009F]*\
     [^\\u0000-\\u0020\\u007F-\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000]\
     [^\\u0000-\\u001F\\u007F-\\u009F]*$";
/// Text of six characters that are left when white space at both ends is stripped.
pub(super) const SIX_AT_LEAST: &str = "^[^\\u0000-\\u0020\\u007F-\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000]\
     [^\\u0000-\\u001F\\u007F-\\u009F]{4,}\
     [^\\u0000-\\u0020\\u007F-\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000]$";
/// What a caller may send as a code, in which white space means nothing wherever it stands. More than spaces and dashes.
pub(super) const CODE: &str = "^[^\\u0000-\\u0008\\u000E-\\u001F\\u007F-\\u0084\\u0086-\\u009F]*[A-Za-z0-9][^\\u0000-\\u0008\\u000E-\\u001F\\u007F-\\u0084\\u0086-\\u009F]*$";
/// What a reply says in words. Campaigns may break lines in their copy.
pub(super) const WORDS: &str = "^[^\\u0000-\\u0009\\u000B-\\u001F\\u007F-\\u009F]*$";
/// The keys of products and branches.
pub(super) const KEY: &str = "^[A-Za-z0-9_-]+$";
/// A time as replies have it: UTC, to the millisecond.
const TIME: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$";

/// A field of an object.
pub(super) struct Field {
    name: &'static str,
    schema: Value,
    required: bool,
}

/// A field that is always there.
pub(super) fn field(name: &'static str, description: &str, schema: Value) -> Field {
    Field { name, schema: described(description, schema), required: true }
}

/// A field that may be left out.
pub(super) fn optional(name: &'static str, description: &str, schema: Value) -> Field {
    Field { name, schema: described(description, schema), required: false }
}

/// An object. `x-order` keeps the order of its fields, which JSON objects do not have: in requests, it is
/// the order in which they are checked.
pub(super) fn object(description: &str, fields: Vec<Field>) -> Value {
    let order: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "description": description, "x-order": order });
    if !required.is_empty() {
        set(&mut schema, "required", json!(required));
    }
    let properties: Map<String, Value> =
        fields.into_iter().map(|field| (field.name.to_owned(), field.schema)).collect();
    set(&mut schema, "properties", Value::Object(properties));
    schema
}

/// Text of these lengths, in characters, of this form.
pub(super) fn text(least: usize, most: usize, pattern: &str) -> Value {
    json!({ "type": "string", "minLength": least, "maxLength": most, "pattern": pattern })
}

/// Words for people.
pub(super) fn words(most: usize) -> Value {
    text(0, most, WORDS)
}

/// A whole number.
pub(super) fn integer(least: u64, most: u64) -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": least, "maximum": most })
}

/// Yes or no.
pub(super) fn switch() -> Value {
    json!({ "type": "boolean" })
}

/// A list.
pub(super) fn list(most: usize, items: Value) -> Value {
    json!({ "type": "array", "maxItems": most, "items": items })
}

/// A map from names of this form to texts of at most these characters.
pub(super) fn map(most: usize, names: &str, chars: usize) -> Value {
    json!({
        "type": "object",
        "maxProperties": most,
        "propertyNames": { "pattern": names, "maxLength": 64 },
        "additionalProperties": words(chars),
    })
}

/// One of some values, as the Rust type writes them, each with its meaning.
pub(super) fn one_of<T: Serialize + Copy>(
    description: &str,
    values: &[T],
    meaning: impl Fn(T) -> &'static str,
) -> Value {
    // Values of enums without fields always become JSON strings.
    let text = |value: &T| serde_json::to_value(value).unwrap_or_default();
    let names: Vec<Value> = values.iter().map(text).collect();
    let meanings: Map<String, Value> = values
        .iter()
        .map(|value| (text(value).as_str().unwrap_or_default().to_owned(), json!(meaning(*value))))
        .collect();
    json!({ "type": "string", "description": description, "enum": names, "x-enumDescriptions": meanings })
}

/// One of some values whose meaning is their own name.
pub(super) fn one_of_plain(description: &str, values: &[&str]) -> Value {
    json!({ "type": "string", "description": description, "enum": values })
}

/// A random UUID.
pub(super) fn uuid() -> Value {
    json!({ "type": "string", "format": "uuid", "minLength": 36, "maxLength": 36 })
}

/// A point in time.
pub(super) fn time() -> Value {
    json!({ "type": "string", "format": "date-time", "maxLength": 24, "pattern": TIME })
}

/// A day.
pub(super) fn day() -> Value {
    json!({ "type": "string", "format": "date", "maxLength": 10, "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" })
}

/// Another schema, by name.
pub(super) fn link(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Or null.
pub(super) fn or_null(mut schema: Value) -> Value {
    if schema.get("$ref").is_some() {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    let kind = schema.get("type").cloned().unwrap_or_default();
    set(&mut schema, "type", json!([kind, "null"]));
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    schema
}

/// A schema with a description.
pub(super) fn described(description: &str, mut schema: Value) -> Value {
    set(&mut schema, "description", json!(description));
    schema
}

/// A schema with an example.
pub(super) fn such_as(example: impl Into<Value>, mut schema: Value) -> Value {
    set(&mut schema, "examples", Value::Array(vec![example.into()]));
    schema
}

/// Sets a member of an object.
pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}
