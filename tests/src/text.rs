//! What tests look for in texts and JSON documents.

use serde_json::Value;

/// Asserts that a text has all of these parts.
#[macro_export]
macro_rules! assert_contains {
    ($text:expr, $($part:expr),+ $(,)?) => {
        $crate::text::assert_parts(&$text, &[$(AsRef::<str>::as_ref(&$part)),+], true)
    };
}

/// Asserts that a text has none of these parts.
#[macro_export]
macro_rules! assert_lacks {
    ($text:expr, $($part:expr),+ $(,)?) => {
        $crate::text::assert_parts(&$text, &[$(AsRef::<str>::as_ref(&$part)),+], false)
    };
}

#[track_caller]
pub fn assert_parts(text: impl AsRef<str>, parts: &[&str], are_there: bool) {
    let text = text.as_ref();
    for part in parts {
        assert_eq!(text.contains(part), are_there, "{part:?} in: {text}");
    }
}

#[track_caller]
pub fn parse_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
pub fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[track_caller]
pub fn list_of(value: &Value) -> &Vec<Value> {
    let list = value.as_array();
    list.unwrap_or_else(|| panic!("no list: {value}"))
}

#[track_caller]
pub fn len_of(value: &Value) -> usize {
    list_of(value).len()
}
