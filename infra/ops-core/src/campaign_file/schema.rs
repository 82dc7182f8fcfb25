//! The JSON Schema of campaign files, for editors. `ops campaign apply` checks more than a schema can say.

use common::domain::message::MessageKey;
use common::domain::partner::PartnerRules;
use serde_json::{Map, Value, json};

use super::spec::{FILE, Kind, Spec};

/// In draft 7, which editors know.
pub fn schema() -> Value {
    let mut schema = of_kind(&FILE);
    if let Value::Object(fields) = &mut schema {
        fields.insert(
            "$schema".to_owned(),
            json!("http://json-schema.org/draft-07/schema#"),
        );
        fields.insert("title".to_owned(), json!("Campaign file"));
    }
    schema
}

fn of_kind(kind: &'static Kind) -> Value {
    let chars = |least: &usize, most: &usize| json!({ "type": "string", "minLength": least, "maxLength": most });
    match kind {
        Kind::Text(range) => chars(range.start(), range.end()),
        Kind::Form(range, pattern) => {
            let mut text = chars(range.start(), range.end());
            insert(&mut text, "pattern", json!(pattern));
            text
        }
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Count(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        Kind::Choice(words) => {
            json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
        }
        Kind::Block(_) | Kind::Messages => of_fields(kind.fields()),
        Kind::List(most, item) => {
            json!({ "type": "array", "maxItems": most, "items": of_kind(item) })
        }
        Kind::Map(most, item) => {
            json!({ "type": "object", "maxProperties": most, "additionalProperties": of_kind(item) })
        }
        Kind::Outcome => {
            let keys = MessageKey::ALL
                .iter()
                .filter(|key| PartnerRules::can_mean(**key));
            json!({ "enum": keys.map(|key| key.as_str()).collect::<Vec<_>>() })
        }
        Kind::Json => json!({}),
    }
}

fn of_fields(specs: &'static [Spec]) -> Value {
    let mut properties = Map::new();
    for Spec {
        name,
        kind,
        default,
        text,
        ..
    } in specs
    {
        let mut schema = of_kind(kind);
        match default {
            // `null` means the same as leaving it out.
            Some(default) => {
                schema = json!({ "anyOf": [schema, { "type": "null" }] });
                insert(
                    &mut schema,
                    "description",
                    json!(format!("{text} Left out: {default}.").trim_start()),
                );
            }
            None => insert(&mut schema, "description", json!(text)),
        }
        properties.insert((*name).to_owned(), schema);
    }
    let required: Vec<_> = specs
        .iter()
        .filter(|spec| spec.default.is_none())
        .map(|spec| spec.name)
        .collect();
    json!({ "type": "object", "additionalProperties": false, "required": required, "properties": properties })
}

fn insert(schema: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = schema {
        fields.insert(name.to_owned(), value);
    }
}
