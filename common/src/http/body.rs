use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use super::fields::{Fields, Problems};
use super::request::Request;
use crate::error::Error;

/// The largest valid body is under 20 KB.
const MAX_BYTES: usize = 64 * 1024;

/// Holds personal data, so it does not print.
#[derive(Clone)]
pub struct JsonBody(Map<String, Value>);

impl JsonBody {
    pub fn parse(request: &Request) -> Result<Self, Error> {
        let content_type = request.header("content-type").unwrap_or_default();
        if !is_json(content_type) {
            return Err(Error::body(
                "Send it with `Content-Type: application/json`.",
            ));
        }
        let bytes = request.body();
        if bytes.len() > MAX_BYTES {
            return Err(Error::body("The body is over 64 KiB."));
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(object)) => Ok(Self(object)),
            Ok(_) => Err(Error::body("The body is JSON, but not an object.")),
            Err(_) if bytes.is_empty() => {
                Err(Error::body("The body is empty; send a JSON object."))
            }
            Err(error) => Err(Error::body(format!(
                "The body is not valid JSON (line {}, column {}).",
                error.line(),
                error.column()
            ))),
        }
    }

    /// Ignores the order of fields, white space, and the spelling of numbers.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        digest_object(&self.0, &mut hasher);
        hex::encode(hasher.finalize())
    }

    /// `None` if a field that it needs was refused.
    pub fn read<T>(&self, read: impl FnOnce(&Fields<'_>) -> Option<T>) -> Result<T, Error> {
        let problems = Problems::default();
        let value = read(&Fields::new(&self.0, &problems));
        problems.check()?;
        value.ok_or_else(|| Error::internal("a field was refused without a problem"))
    }
}

/// Ignores case and parameters.
fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

/// Whole numbers have no fraction, exponent or negative zero.
fn by_value(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 => {
            format!("{:.0}", if float == 0.0 { 0.0 } else { float })
        }
        Some(_) | None => number.to_string(),
    }
}

/// Different values never give the same bytes: each part begins with kind and length; fields are
/// sorted.
fn digest_value(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Object(object) => digest_object(object, hasher),
        Value::Array(list) => {
            hasher.update(format!("[{}:", list.len()));
            list.iter().for_each(|value| digest_value(value, hasher));
        }
        Value::String(text) => hasher.update(format!("\"{}:{text}", text.len())),
        Value::Number(number) => hasher.update(format!("{};", by_value(number))),
        Value::Null | Value::Bool(_) => hasher.update(format!("{value};")),
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
    use proptest::prelude::*;

    use super::*;

    fn body(json: &str) -> JsonBody {
        JsonBody(serde_json::from_str(json).expect("an object"))
    }

    #[test]
    fn a_digest_is_of_what_is_said_not_of_how() {
        assert_eq!(
            body(r#"{"a":1,"b":[true]}"#).digest(),
            body("{ \"b\" : [true], \"a\":1}").digest()
        );
        for other in [
            r#"{"a":1,"b":[false]}"#,
            r#"{"a":1}"#,
            r#"{"a":"1","b":[true]}"#,
            r#"{"a":1,"b":{"0":true}}"#,
        ] {
            assert_ne!(
                body(r#"{"a":1,"b":[true]}"#).digest(),
                body(other).digest(),
                "{other}"
            );
        }
    }

    #[test]
    fn numbers_are_told_apart_by_their_value_alone() {
        let digest = |number: &str| body(&format!("{{\"n\":{number}}}")).digest();
        for same in [
            &["0", "-0", "0.0", "-0.0", "0e9"][..],
            &["100", "1e2", "1.0E+2", "1000e-1"],
            &["-7", "-7.0"],
            &["1e30", "1000000000000000000000000000000"],
            &["18446744073709551616", "1.8446744073709551616e19"],
            &["0.5", "5e-1", "0.50"],
        ] {
            assert!(
                same.iter().all(|number| digest(number) == digest(same[0])),
                "{same:?}"
            );
        }
        let different = [
            "0",
            "1",
            "-1",
            "0.5",
            "1e30",
            "18446744073709551615",
            "1e19",
            "10",
        ];
        let digests: std::collections::HashSet<_> =
            different.iter().map(|number| digest(number)).collect();
        assert_eq!(digests.len(), different.len());
    }

    proptest! {
        #[test]
        fn a_whole_number_is_the_same_however_it_is_written(number in -(1i64 << 53)..=1 << 53, zeros in 1usize..4) {
            let digest = |text: String| body(&format!("{{\"n\":[{text}]}}")).digest();
            let plain = digest(number.to_string());
            prop_assert_eq!(digest(format!("{number}.{}", "0".repeat(zeros))), plain.as_str());
            prop_assert_eq!(digest(format!("{number}e0")), plain.as_str());
            prop_assert_ne!(digest((number + 1).to_string()), plain.as_str());
            prop_assert_ne!(digest(format!("\"{number}\"")), plain.as_str());
        }
    }

    #[test]
    fn a_content_type_may_have_parameters() {
        assert!(is_json("application/json") && is_json("Application/JSON ; charset=utf-8"));
        assert!(!is_json("") && !is_json("text/plain") && !is_json("application/json+x"));
    }
}
