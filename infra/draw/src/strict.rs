//! Strict reading of JSON, the same for every verifier.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Error, Map, Value};

use crate::difference::Difference;

/// Largest integer that a double holds exactly.
pub(crate) const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Reads JSON with exactly the keys of `T`, each once, and integers from 0 on. `what` begins the
/// difference.
pub(crate) fn read<T: DeserializeOwned + Serialize>(
    what: &str,
    bytes: &[u8],
) -> Result<T, Difference> {
    from_slice(bytes).map_err(|error| Difference(format!("{what}: {error}")))
}

fn from_slice<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T, Error> {
    let Strict(found) = serde_json::from_slice(bytes)?;
    let read = T::deserialize(&found)?;
    let written = serde_json::to_value(&read)?;
    if written == found {
        return Ok(read);
    }
    Err(Error::custom(format!(
        "{} is written in another form",
        first_difference(&found, &written)
    )))
}

/// The keys that lead to the difference.
fn first_difference(found: &Value, written: &Value) -> String {
    let key = match (found, written) {
        (Value::Object(found), Value::Object(written)) => written
            .iter()
            .find(|(key, value)| found.get(*key) != Some(value))
            .map(|(key, value)| {
                let inner = found.get(key).map(|found| first_difference(found, value));
                format!("{key} {}", inner.unwrap_or_default())
            }),
        (Value::Array(found), Value::Array(written)) => {
            let mut pairs = found.iter().zip(written);
            pairs
                .find(|(one, other)| one != other)
                .map(|(found, written)| first_difference(found, written))
        }
        _ => None,
    };
    key.map(|key| key.trim().to_owned()).unwrap_or_default()
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

fn not_an_integer<E: serde::de::Error>(number: impl fmt::Debug) -> E {
    E::custom(format!("{number:?} is not an integer from 0 to 2^53 - 1"))
}

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Strict, E> {
        if value > MAX_INTEGER {
            Err(not_an_integer(value))
        } else {
            Ok(Strict(value.into()))
        }
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Strict, E> {
        Err(not_an_integer(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Strict, E> {
        Err(not_an_integer(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Strict, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Strict(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Strict, A::Error> {
        let mut fields = Map::new();
        while let Some((key, Strict(value))) = object.next_entry::<String, _>()? {
            if fields.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key} occurs twice")));
            }
            fields.insert(key, value);
        }
        Ok(Strict(fields.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        a: u64,
        b: Option<String>,
    }

    #[test]
    fn json_has_one_reading() {
        let read =
            |text: &str| from_slice::<Pair>(text.as_bytes()).map_err(|error| error.to_string());
        assert_eq!(read(r#" {"b":null,"a":1} "#), Ok(Pair { a: 1, b: None }));
        for (text, expected) in [
            (r#"{"a":1}"#, "b is written in another form"),
            (r#"[1,null]"#, "is written in another form"),
            (r#"{"a":1,"b":"x","b":"x"}"#, "the key b occurs twice"),
            (r#"{"a":1,"b":null,"c":1}"#, "unknown field `c`"),
            (r#"{"a":1.0,"b":null}"#, "1.0 is not an integer"),
            (r#"{"a":-5,"b":null}"#, "-5 is not an integer"),
            (
                r#"{"a":9007199254740992,"b":null}"#,
                "9007199254740992 is not an integer",
            ),
            (r#"{"a":true,"b":null}"#, "invalid type: boolean `true`"),
            ("\u{feff}{}", "expected value"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
