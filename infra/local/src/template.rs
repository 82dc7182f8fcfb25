//! `!Ref X` becomes `{"Ref": "X"}`, any other `!Name value` `{"Fn::Name": value}`, as in
//! CloudFormation. `<<: *name` takes over missing fields, as in `sam build`.

use std::{fmt, iter};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, json};
use serde_saphyr::Tagged;

/// # Errors
/// If it is not YAML, or has a name twice in one block.
pub fn parse(text: &str) -> Result<Value, serde_saphyr::Error> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map(called)
}

fn called(Tagged(Node(value), tag): Tagged<Node>) -> Value {
    match tag.as_deref().map(|tag| tag.trim_start_matches('!')) {
        None => value,
        Some(tag @ ("Ref" | "Condition")) => json!({ tag: value }),
        Some(tag) => json!({ format!("Fn::{tag}"): value }),
    }
}

struct Node(Value);

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a template")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(json!(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(json!(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(json!(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let items = iter::from_fn(|| items.next_element().transpose());
        items.map(|item| item.map(called)).collect()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let fields = iter::from_fn(|| fields.next_entry::<String, _>().transpose());
        fields
            .map(|field| field.map(|(name, value)| (name, called(value))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_block_win_over_those_it_takes_over() {
        let text =
            "a: {<<: &shared {b: 1, c: !Ref X}, d: 2}\ne:\n  <<: *shared\n  b: 3\nf: *shared\n";
        let expected = json!({
            "a": { "b": 1, "c": { "Ref": "X" }, "d": 2 },
            "e": { "b": 3, "c": { "Ref": "X" } },
            "f": { "b": 1, "c": { "Ref": "X" } },
        });
        assert_eq!(parse(text).ok(), Some(expected));
    }
}
