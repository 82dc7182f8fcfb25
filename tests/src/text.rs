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

/// Fields in one line: `accepted 1` for `state entries`; a path has dots, as in `items.0.key`.
#[track_caller]
pub fn fields(value: &Value, names: &str) -> String {
    let field = |name: &str| {
        let path = format!("/{}", name.replace('.', "/"));
        match value.pointer(&path) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => panic!("no {name} in {value}"),
        }
    };
    names.split(' ').map(field).collect::<Vec<_>>().join(" ")
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
