//! The commands: each calls the library and reports the result, as JSON and as text.

use crate::words::printable;

pub(crate) mod campaign;
pub(crate) mod code;
pub(crate) mod key;
pub(crate) mod migrate;
pub(crate) mod person;
pub(crate) mod phone;
pub(crate) mod secret;
pub(crate) mod smoke;
pub(crate) mod submission;

/// Shown in place of a missing value.
const NOTHING: &str = "-";

fn or_nothing(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
}

/// Names and values, one pair per line, values aligned and printable.
fn lines(pairs: &[(&str, String)]) -> String {
    let widest = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    pairs.iter().map(|(name, value)| format!("{name:widest$}  {}\n", printable(value))).collect()
}
