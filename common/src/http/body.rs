//! JSON bodies: an object of a request, and a digest of it. [`super::fields`] reads its fields.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::fields::{Fields, Problems};
use super::request::Request;
use crate::domain::hex::hex;
use crate::error::Error;

/// The largest body, in bytes. The largest valid one is under 20 KB.
const MAX_BYTES: usize = 64 * 1024;

/// A JSON object of a request. It holds personal data, so it does not print.
#[derive(Clone)]
pub struct JsonBody(Map<String, Value>);

impl JsonBody {
    /// The body of a request, which has to be a JSON object sent as `application/json`.
    ///
    /// # Errors
    /// `validation_failed` without a field.
    pub fn of(request: &Request) -> Result<Self, Error> {
        let content_type = request.header("content-type").unwrap_or_default();
        if !is_json(content_type) {
            return Err(Error::body("Send it with `Content-Type: application/json`."));
        }
        let bytes = request.body.as_deref().ok_or_else(|| Error::body("The body's encoding is broken."))?;
        if bytes.len() > MAX_BYTES {
            return Err(Error::body("The body is over 64 KiB."));
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(object)) => Ok(Self(object)),
            Ok(_) => Err(Error::body("The body is JSON, but not an object.")),
            Err(_) if bytes.is_empty() => Err(Error::body("The body is empty; send a JSON object.")),
            Err(error) => Err(Error::body(format!(
                "The body is not valid JSON (line {}, column {}).",
                error.line(),
                error.column()
            ))),
        }
    }

    /// A digest of what the body says, whatever the order of its fields and the space between them.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        digest_object(&self.0, &mut hasher);
        hex(&hasher.finalize())
    }

    /// Reads the fields. Every problem is noted, and the first decides the error; `read` gives `None` when
    /// a field that it needs was refused.
    ///
    /// # Errors
    /// The first problem, with all of them beside it when it is `validation_failed`.
    pub fn read<T>(&self, read: impl FnOnce(&Fields<'_>) -> Option<T>) -> Result<T, Error> {
        let problems = Problems::default();
        let value = read(&Fields::of(&self.0, &problems));
        problems.check()?;
        value.ok_or_else(|| Error::internal("a field was refused without a problem"))
    }
}

/// `application/json`, in any case, with any parameters.
fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

/// Digests a value so that no two different values give the same bytes: each part has its kind, and its
/// length where it has one, before it; an object's fields come in order of their names.
fn digest_value(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Object(object) => digest_object(object, hasher),
        Value::Array(list) => {
            hasher.update(format!("[{}:", list.len()));
            list.iter().for_each(|value| digest_value(value, hasher));
        }
        Value::String(text) => hasher.update(format!("\"{}:{text}", text.len())),
        Value::Null | Value::Bool(_) | Value::Number(_) => hasher.update(format!("{value};")),
    }
}

fn digest_object(object: &Map<String, Value>, hasher: &mut Sha256) {
    let mut fields: Vec<_> = object.iter().collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    hasher.update(format!("{{{}:", fields.len()));
    for (name, value) in fields {
        hasher.update(format!("\"{}:{name}", name.len()));
        digest_value(value, hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: &str) -> JsonBody {
        JsonBody(serde_json::from_str(json).expect("an object"))
    }

    #[test]
    fn a_digest_is_of_what_is_said_not_of_how() {
        assert_eq!(body(r#"{"a":1,"b":[true]}"#).digest(), body("{ \"b\" : [true], \"a\":1}").digest());
        for other in
            [r#"{"a":1,"b":[false]}"#, r#"{"a":1}"#, r#"{"a":"1","b":[true]}"#, r#"{"a":1,"b":{"0":true}}"#]
        {
            assert_ne!(body(r#"{"a":1,"b":[true]}"#).digest(), body(other).digest(), "{other}");
        }
    }

    #[test]
    fn a_content_type_may_have_parameters() {
        assert!(is_json("application/json") && is_json("Application/JSON ; charset=utf-8"));
        assert!(!is_json("") && !is_json("text/plain") && !is_json("application/json+x"));
    }
}
