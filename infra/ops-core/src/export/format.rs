//! The formats of exports: CSV for spreadsheets, and one JSON object on each line for programs.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    Csv,
    Ndjson,
}

impl Format {
    /// The format of a file, by the end of its name.
    pub(super) fn from_path(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("ndjson") => Ok(Self::Ndjson),
            Some(_) | None => {
                let message =
                    format!("{} says no format; let its name end in .csv or .ndjson", path.display());
                Err(Failure::new("format_unknown", message))
            }
        }
    }

    /// What stands before the first row.
    pub(super) fn heading(self, columns: &[&str]) -> String {
        match self {
            // The mark at the front tells Excel that the text is UTF-8.
            Self::Csv => format!("\u{feff}{}\r\n", columns.join(",")),
            Self::Ndjson => String::new(),
        }
    }

    /// A row with the end of its line.
    pub(super) fn row(self, columns: &[&str], cells: &[Value]) -> String {
        match self {
            Self::Csv => cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\r\n",
            Self::Ndjson => {
                // A JSON map would sort the columns.
                let fields = columns.iter().zip(cells).map(|(name, value)| format!("\"{name}\":{value}"));
                format!("{{{}}}\n", fields.collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// A cell of CSV by RFC 4180.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        // A spreadsheet would compute text that begins like this, such as `=HYPERLINK(...)` typed as a region.
        Value::String(text)
            if text.starts_with(['=', '+', '-', '@', '\t', '\r']) || is_changed_as_number(text) =>
        {
            format!("'{text}")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Whether a spreadsheet would read a text as a number and show another one: without its zeros in front, without its last
/// digits, or with an exponent applied. An id in hexadecimal can look like that.
fn is_changed_as_number(text: &str) -> bool {
    /// Digits that a spreadsheet keeps.
    const KEPT_DIGITS: usize = 15;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => is_number(digits) && is_number(exponent),
        None => is_number(text) && (text.len() > KEPT_DIGITS || (text.starts_with('0') && text.len() > 1)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_of_csv_is_quoted_where_it_has_to_be_and_never_computes() {
        let cells = [
            json!("plain"),
            json!("a,b"),
            json!("say \"hi\""),
            json!("two\r\nlines"),
            json!("=1+1"),
            json!("+255712345678"),
            json!("-1"),
            json!("@SUM(A1),2"),
            json!("\tx"),
            json!(12),
            json!(null),
            json!(""),
            json!("chai – 茶"),
        ];
        let row = Format::Csv.row(&[], &cells);
        let expected = "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\r\nlines\",'=1+1,'+255712345678,'-1,\"'@SUM(A1),2\",'\tx,12,,,chai – 茶\r\n";
        assert_eq!(row, expected);
        assert_eq!(Format::Csv.heading(&["id", "ref"]), "\u{feff}id,ref\r\n");
    }

    #[test]
    fn text_that_a_spreadsheet_would_read_as_another_number_stays_as_it_is() {
        for (text, shown) in [
            ("43407078261543708738267820123456", "'43407078261543708738267820123456"),
            ("4340707826154e15", "'4340707826154e15"),
            ("1E5", "'1E5"),
            ("0042", "'0042"),
            ("0", "0"),
            ("42", "42"),
            ("123456789012345", "123456789012345"),
            ("2026-03-01", "2026-03-01"),
            ("e5", "e5"),
            ("5e", "5e"),
            ("c8dc527b0b4b856e9428c2f69070c5e7", "c8dc527b0b4b856e9428c2f69070c5e7"),
        ] {
            assert_eq!(cell(&json!(text)), shown);
        }
        assert_eq!(cell(&json!(1_234_567_890_123_456_789_u64)), "1234567890123456789");
    }

    #[test]
    fn a_row_of_json_keeps_the_order_of_columns_and_what_was_written() {
        let row = Format::Ndjson.row(&["ref", "entries", "phone"], &[json!("=1\n"), json!(2), json!(null)]);
        assert_eq!(row, "{\"ref\":\"=1\\n\",\"entries\":2,\"phone\":null}\n");
        assert_eq!(Format::Ndjson.heading(&["ref"]), "");
    }

    #[test]
    fn the_name_of_the_file_says_the_format() {
        assert_eq!(Format::from_path(Path::new("a.csv")).expect("CSV"), Format::Csv);
        assert_eq!(Format::from_path(Path::new("a.ndjson")).expect("JSON"), Format::Ndjson);
        for name in ["a", "a.xlsx", ".csv"] {
            assert_eq!(Format::from_path(Path::new(name)).expect_err("no format").code, "format_unknown");
        }
    }
}
