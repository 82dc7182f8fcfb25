//! The commands: each asks the library for what it does, and reports it for programs and for people.

use crate::words::printable;

pub(crate) mod campaign;
pub(crate) mod code;
pub(crate) mod key;
pub(crate) mod migrate;
pub(crate) mod phone;
pub(crate) mod secret;
pub(crate) mod smoke;
pub(crate) mod submission;

/// What stands in a table where there is nothing.
const NOTHING: &str = "-";

/// A value, or the sign for nothing.
fn or_nothing(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
}

/// Names and values, one a line, the values in a column and printable.
fn lines(pairs: &[(&str, String)]) -> String {
    let widest = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    pairs.iter().map(|(name, value)| format!("{name:widest$}  {}\n", printable(value))).collect()
}
