use crate::column::{AFTER_DAMAGE, ColumnType, spreadsheet_damage};
use crate::prelude::*;

const CODES: ColumnType<String> = ColumnType {
    invalid: "code_file_invalid",
    names: ["code", "codes"],
    is_heading,
    parse: normal,
};

pub fn codes<'a>(path: &'a Path, heading: Option<&'a str>) -> Column<'a, String> {
    Column {
        path,
        heading,
        values: CODES,
    }
}

/// Such as `Code`, `promo_codes` and `Voucher code`.
fn is_heading(cell: &str) -> bool {
    let lower = cell.to_ascii_lowercase();
    let is_of_words = lower
        .chars()
        .all(|c| c.is_ascii_lowercase() || matches!(c, ' ' | '_' | '-'));
    is_of_words && (lower.ends_with("code") || lower.ends_with("codes"))
}

fn normal(cell: &str) -> Result<String, String> {
    let no_code = |why: &str| Err(format!("this is not a code; {why}"));
    let code: Code = match cell.parse() {
        Ok(code) => code,
        Err(why) => return no_code(&format!("{why}")),
    };
    let normal = code.normal();
    if let Some(damage) = spreadsheet_damage(cell).or_else(|| spreadsheet_damage(&normal)) {
        return Err(format!("this is {damage}; {AFTER_DAMAGE}"));
    }
    if [cell, &normal]
        .iter()
        .any(|text| text.contains([',', '"', ';']) || text.contains(char::is_control))
    {
        return no_code("put one code on each line, columns apart by commas");
    }
    if code.sentinel().is_some() {
        return Err("this is a test code, which test keys accept as it is; remove it".to_owned());
    }
    Ok(normal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Line;

    fn lines(bytes: &[u8]) -> Vec<Line<String>> {
        codes(Path::new("codes.csv"), None)
            .lines_of(bytes)
            .next_lines(100)
            .expect("it can be read")
    }

    fn good(line: usize, code: &str) -> Line<String> {
        (line, Ok(code.to_owned()))
    }

    #[test]
    fn a_heading_is_recognised_and_codes_are_folded() {
        let read = lines(b"\xef\xbb\xbfPromo Code,Printed\r\n\"ab-12\",x\r\n\r\n  cd 34  \nef56");
        assert_eq!(read, [good(2, "AB12"), good(4, "CD34"), good(5, "EF56")]);
        for heading in ["code", "Codes", "VOUCHER_CODE", "unique-codes"] {
            assert_eq!(
                lines(format!("{heading}\nAB12\n").as_bytes()),
                [good(2, "AB12")],
                "{heading}"
            );
        }
        assert_eq!(
            lines(b"AB12\ncode\n"),
            [good(1, "AB12"), good(2, "CODE")],
            "a heading is on top"
        );
        assert_eq!(
            lines(b"QR1CODE\n"),
            [good(1, "QR1CODE")],
            "a heading has no digits"
        );
    }

    #[test]
    fn what_is_no_code_is_named_by_its_line() {
        let text = format!(
            "AB12\n{}\ntest-0-valid\n---\nA;B\n#REF!\n1.2E+11\n\u{ff11}.5\n2026-03-12\nA\u{7}B\nCD34\n",
            "y".repeat(65)
        );
        let read = lines(text.as_bytes());
        let wrong: Vec<_> = read
            .iter()
            .filter(|(_, code)| code.is_err())
            .map(|(line, _)| *line)
            .collect();
        assert_eq!(wrong, [2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(read.last(), Some(&good(11, "CD34")));
        assert!(
            read.iter()
                .filter_map(|(_, code)| code.as_ref().err())
                .all(|why| why.starts_with("this "))
        );
    }
}
