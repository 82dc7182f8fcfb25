//! JSON bodies: an object, read field by field, with the path of whatever is wrong.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::request::Request;
use crate::domain::hex::hex;
use crate::domain::phone::Phone;
use crate::error::{Error, ErrorCode};

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

    /// The fields.
    pub fn fields(&self) -> Fields<'_> {
        Fields { object: &self.0, path: String::new() }
    }
}

/// The fields of one object. Each reader answers `None` for a field that is absent or null, and names
/// the field when it has the wrong shape. Read them in the order of the reference: the first error is
/// the one that is answered.
#[derive(Clone)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    /// The path of one of these fields, such as `claimed.items[0].qty`.
    pub fn path(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn wrong(&self, name: &str, expected: &str) -> Error {
        Error::field(self.path(name), format!("`{}` must be {expected}.", self.path(name)))
    }

    /// Turns an absent field into an error.
    ///
    /// # Errors
    /// `validation_failed` with the field.
    pub fn required<T>(&self, name: &str, value: Option<T>) -> Result<T, Error> {
        value.ok_or_else(|| Error::field(self.path(name), format!("`{}` is missing.", self.path(name))))
    }

    /// A string of this many characters, without control characters.
    ///
    /// # Errors
    /// `validation_failed` with the field.
    pub fn text(&self, name: &str, chars: std::ops::RangeInclusive<usize>) -> Result<Option<&'a str>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let (least, most) = (chars.start(), chars.end());
        match value.as_str() {
            Some(text) if text.chars().any(char::is_control) => {
                Err(self.wrong(name, "a string without control characters"))
            }
            Some(text) if chars.contains(&text.chars().count()) => Ok(Some(text)),
            Some(_) | None if *least == 0 => {
                Err(self.wrong(name, &format!("a string of at most {most} characters")))
            }
            Some(_) | None => Err(self.wrong(name, &format!("a string of {least} to {most} characters"))),
        }
    }

    /// A whole number in a range.
    ///
    /// # Errors
    /// `validation_failed` with the field.
    pub fn integer(&self, name: &str, range: std::ops::RangeInclusive<u32>) -> Result<Option<u32>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.as_u64().and_then(|number| u32::try_from(number).ok()) {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            Some(_) | None => {
                Err(self.wrong(name, &format!("a whole number from {} to {}", range.start(), range.end())))
            }
        }
    }

    /// A whole number from 1 on.
    ///
    /// # Errors
    /// `validation_failed` with the field.
    pub fn positive(&self, name: &str) -> Result<Option<u64>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.as_u64() {
            Some(number) if number > 0 => Ok(Some(number)),
            Some(_) | None => Err(self.wrong(name, "a whole number greater than 0")),
        }
    }

    /// Whether the field is exactly `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.object.get(name) == Some(&Value::Bool(true))
    }

    /// An object.
    ///
    /// # Errors
    /// `validation_failed` with the field.
    pub fn object(&self, name: &str) -> Result<Option<Fields<'a>>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.as_object() {
            Some(object) => Ok(Some(Fields { object, path: format!("{}.", self.path(name)) })),
            None => Err(self.wrong(name, "an object")),
        }
    }

    /// A list of at most this many objects.
    ///
    /// # Errors
    /// `validation_failed` with the field.
    pub fn objects(&self, name: &str, most: usize) -> Result<Option<Vec<Fields<'a>>>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let list = value.as_array().filter(|list| list.len() <= most);
        let list = list.ok_or_else(|| self.wrong(name, &format!("a list of at most {most} objects")))?;
        let object = |(index, value): (usize, &'a Value)| {
            let path = format!("{}[{index}]", self.path(name));
            match value.as_object() {
                Some(object) => Ok(Fields { object, path: format!("{path}.") }),
                None => Err(Error::field(path.clone(), format!("`{path}` must be an object."))),
            }
        };
        list.iter().enumerate().map(object).collect::<Result<_, _>>().map(Some)
    }

    /// The phone, in `phone`.
    ///
    /// # Errors
    /// `validation_failed` with the field when it has the wrong shape, `phone_invalid` when it is not a
    /// Tanzanian mobile number.
    pub fn phone(&self) -> Result<Option<Phone>, Error> {
        let typed = self.text("phone", Phone::TYPED_CHARS)?;
        let parsed = typed.map(str::parse).transpose();
        parsed.map_err(|_| Error::from(ErrorCode::PhoneInvalid).with_field(self.path("phone")))
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
    fn the_path_of_a_nested_field_is_named() {
        let body = body(r#"{"claimed":{"items":[{"key":"a"},{"key":"b","qty":100}]}}"#);
        let claimed = body.fields().object("claimed").expect("an object").expect("present");
        let items = claimed.objects("items", 40).expect("a list").expect("present");
        let Err(Error::Refused(refusal)) = items[1].integer("qty", 1..=99) else { panic!("100 passed") };
        assert_eq!(refusal.field.as_deref(), Some("claimed.items[1].qty"));
    }

    #[test]
    fn lengths_count_characters() {
        let body = body(r#"{"a":"ééé","b":"x\u0000","c":7,"d":null}"#);
        assert_eq!(body.fields().text("a", 1..=3).expect("three"), Some("ééé"));
        assert!(body.fields().text("b", 1..=9).is_err());
        assert!(body.fields().text("c", 1..=9).is_err());
        assert_eq!(body.fields().text("d", 1..=9).expect("absent"), None);
    }

    #[test]
    fn a_content_type_may_have_parameters() {
        assert!(is_json("application/json") && is_json("Application/JSON ; charset=utf-8"));
        assert!(!is_json("") && !is_json("text/plain") && !is_json("application/json+x"));
    }
}
