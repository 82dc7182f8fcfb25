//! Converts the description to OpenAPI 3.0, for generators that do not read 3.1 yet.

use serde_json::{Map, Value, json};

/// Members that 3.0 does not have.
const NEWER: [&str; 2] = ["jsonSchemaDialect", "propertyNames"];
/// Members whose own keys are names of the API, not keywords.
const NAMED: [&str; 4] = ["headers", "parameters", "properties", "schemas"];

/// The same description in OpenAPI 3.0.3.
pub fn openapi_3_0(description: &Value) -> Value {
    let mut older = convert(description, description);
    if let Some(root) = older.as_object_mut() {
        root.insert("openapi".to_owned(), json!("3.0.3"));
        if let Some(info) = root.get_mut("info").and_then(Value::as_object_mut) {
            info.remove("summary");
        }
    }
    older
}

fn convert(value: &Value, whole: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(convert_object(members, whole)),
        Value::Array(values) => values.iter().map(|value| convert(value, whole)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn convert_object(members: &Map<String, Value>, whole: &Value) -> Map<String, Value> {
    let mut older = Map::new();
    for (name, value) in members {
        match (name.as_str(), value) {
            (name, _) if NEWER.contains(&name) => {}
            (name, Value::Object(named)) if NAMED.contains(&name) => {
                let converted = named.iter().map(|(name, value)| (name.clone(), convert(value, whole)));
                older.insert(name.to_owned(), Value::Object(converted.collect()));
            }
            ("type", Value::Array(types)) => {
                let kind = types.iter().find(|kind| **kind != "null");
                older.insert("type".to_owned(), kind.cloned().unwrap_or_default());
                older.insert("nullable".to_owned(), json!(true));
            }
            ("const", value) => {
                older.insert("enum".to_owned(), json!([value]));
            }
            ("examples", Value::Array(examples)) => {
                older.insert("example".to_owned(), examples.first().cloned().unwrap_or_default());
            }
            ("anyOf", Value::Array(choices)) => either(&mut older, choices, whole),
            // Example values and a link's request body are data, not part of the description, and stay unchanged.
            ("examples" | "enum", value) => {
                older.insert(name.clone(), value.clone());
            }
            ("requestBody", value) if value.get("content").is_none() => {
                older.insert(name.clone(), value.clone());
            }
            (_, value) => {
                older.insert(name.clone(), convert(value, whole));
            }
        }
    }
    if older.len() > 1
        && let Some(link) = older.remove("$ref")
    {
        // 3.0 ignores everything beside a `$ref`.
        older.insert("allOf".to_owned(), json!([{ "$ref": link }]));
    }
    older
}

/// Converts an `anyOf` or `oneOf` that may include null.
fn either(older: &mut Map<String, Value>, choices: &[Value], whole: &Value) {
    let is_null = |choice: &&Value| choice.get("type").is_some_and(|kind| kind == "null");
    let rest: Vec<&Value> = choices.iter().filter(|choice| !is_null(choice)).collect();
    let with_null = rest.len() < choices.len();
    let choice = |choice: &&Value| if with_null { nullable(choice, whole) } else { convert(choice, whole) };
    let mut rest: Vec<Value> = rest.iter().map(choice).collect();
    if rest.len() == 1
        && let Some(Value::Object(only)) = rest.pop()
    {
        // The schema's own members take precedence over those of the copied schema.
        for (name, value) in only {
            older.entry(name).or_insert(value);
        }
        return;
    }
    older.insert("anyOf".to_owned(), Value::Array(rest));
}

/// A schema or null. 3.0 applies `nullable` only beside `type`, so a reference is replaced by a copy of its target.
fn nullable(schema: &Value, whole: &Value) -> Value {
    let link = schema.get("$ref").and_then(Value::as_str).and_then(|link| link.strip_prefix('#'));
    let mut schema = convert(link.and_then(|link| whole.pointer(link)).unwrap_or(schema), whole);
    if let Some(members) = schema.as_object_mut() {
        members.insert("nullable".to_owned(), json!(true));
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_3_0_does_not_know_is_said_in_its_own_way() {
        let newer = json!({
            "properties": {
                "a": { "type": ["string", "null"], "enum": ["x", null] },
                "b": { "anyOf": [{ "$ref": "#/kinds/b" }, { "type": "null" }], "description": "B" },
                "c": { "$ref": "#/c", "description": "C" },
                "d": { "type": "string", "const": "PUT", "examples": ["PUT"] },
                "e": { "anyOf": [{ "type": "integer" }, { "type": "string" }, { "type": "null" }] },
                "value": { "type": ["string", "null"] },
            },
            "propertyNames": { "pattern": "^a$" },
        });
        let kind = json!({ "type": "string", "enum": ["x", "y"], "description": "Of anything" });
        let older = json!({ "properties": {
            "a": { "type": "string", "nullable": true, "enum": ["x", null] },
            "b": { "type": "string", "nullable": true, "enum": ["x", "y", null], "description": "B" },
            "c": { "allOf": [{ "$ref": "#/c" }], "description": "C" },
            "d": { "type": "string", "enum": ["PUT"], "example": "PUT" },
            "e": { "anyOf": [{ "type": "integer", "nullable": true }, { "type": "string", "nullable": true }] },
            "value": { "type": "string", "nullable": true },
        } });
        assert_eq!(convert(&newer, &json!({ "kinds": { "b": kind } })), older);
    }

    #[test]
    fn values_of_requests_and_replies_stay_as_they_are() {
        let newer = json!({ "examples": { "one": { "value": { "type": ["a", "null"], "const": 1 } } } });
        assert_eq!(convert(&newer, &newer), newer);
    }
}
