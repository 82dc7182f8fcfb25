//! CSV for spreadsheets, by RFC 4180, with nothing that they would compute, change or split.

use chrono::NaiveDateTime;

use crate::prelude::*;

/// Begin a formula in Excel or LibreOffice; the last four with full-width forms on.
const FORMULA: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];
/// Separate or end cells in some locale.
const SEPARATORS: [char; 6] = [',', ';', '\t', '"', '\r', '\n'];

pub(super) fn check_name(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|extension| extension == "csv") {
        return Ok(());
    }
    bail!(
        "format_unknown",
        "exports are CSV; let the name of {} end in .csv",
        path.display()
    )
}

/// Its mark tells Excel that the text is UTF-8.
pub(crate) fn heading(columns: &[&str]) -> String {
    format!("\u{feff}{}\r\n", columns.join(","))
}

pub(crate) fn row(cells: &[String]) -> String {
    let cells: Vec<_> = cells.iter().map(|text| cell(text)).collect();
    cells.join(",") + "\r\n"
}

fn cell(text: &str) -> String {
    let text = visible(text);
    // Makes a spreadsheet take the rest as it is.
    let text = if text.starts_with(FORMULA) || is_changed(&text) {
        format!("'{text}")
    } else {
        text
    };
    if text.contains(SEPARATORS) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// True if Excel or LibreOffice would show a text as another number or date: `0042`, `1E+5`, `1/2`,
/// `3-4`, `12:30`, a hexadecimal id. Whole numbers of up to 15 digits and dates such as
/// `2026-03-01` stay.
fn is_changed(text: &str) -> bool {
    const KEPT_DIGITS: usize = 15;
    let is_of_number = |c: char| c.is_ascii_digit() || " .,:/-+eE%()".contains(c);
    let has_digits = text.contains(|c: char| c.is_ascii_digit());
    if !has_digits || !text.chars().all(is_of_number) || text.starts_with(['e', 'E']) {
        return false;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.len() > KEPT_DIGITS || (text.starts_with('0') && text.len() > 1);
    }
    text.parse::<NaiveDate>().is_err()
        && NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_is_quoted_where_it_has_to_be_and_never_computes() {
        let cells = [
            "plain",
            "a,b",
            "say \"hi\"",
            "two\r\nlines",
            "=1+1",
            "+255712345678",
            "-1",
            "@SUM(A1),2",
            "\tx",
            "x;=1+1",
            "x\t=1+1",
            "\u{ff1d}1",
            "\u{ff0b}1",
            "\u{ff0d}1",
            "\u{ff20}a",
            "",
            "chai – 茶",
            "a\u{202e}b\u{2028}c\u{1b}\u{200b}d",
        ]
        .map(str::to_owned);
        let expected = "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\r\nlines\",'=1+1,'+255712345678,'-1,\"'@SUM(A1),2\",\"'\tx\",\
                        \"x;=1+1\",\"x\t=1+1\",'\u{ff1d}1,'\u{ff0b}1,'\u{ff0d}1,'\u{ff20}a,,chai – 茶,abcd\r\n";
        assert_eq!(row(&cells), expected);
        assert_eq!(heading(&["id", "ref"]), "\u{feff}id,ref\r\n");
    }

    #[test]
    fn text_that_a_spreadsheet_would_change_gets_an_apostrophe() {
        for text in [
            "43407078261543708738267820123456",
            "4340707826154e15",
            "1E5",
            "1E+5",
            "1e+05",
            "1E-5",
            "1.5E3",
            "0042",
            "00.5",
            "1.50",
            "1/2",
            "3-4",
            "12:30",
            "12,5",
            "(5)",
            "5%",
            "1-2-2026",
        ] {
            assert_eq!(cell(text).trim_matches('"'), format!("'{text}"));
        }
        for text in [
            "0",
            "42",
            "123456789012345",
            "255712000002",
            "2557•••••678",
            "2026-03-01",
            "2026-03-01 03:00:00",
            "2026-03-01T00:00:00.000Z",
            "e5",
            "5 x chai",
            "c8dc527b0b4b856e9428c2f69070c5e7",
        ] {
            assert_eq!(cell(text), text);
        }
    }
}
