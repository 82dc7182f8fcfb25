use super::*;

const WORDS: ColumnType<String> = ColumnType {
    invalid: "word_file_invalid",
    names: ["word", "words"],
    is_heading: |cell| cell.eq_ignore_ascii_case("word"),
    parse: |cell| Ok(cell.to_owned()),
};

fn read_named(bytes: &[u8], heading: Option<&str>) -> Vec<Line<String>> {
    let column = Column {
        path: Path::new("words.csv"),
        heading,
        values: WORDS,
    };
    column
        .lines_of(bytes)
        .next_lines(100)
        .expect("it can be read")
}

fn read(bytes: &[u8]) -> Vec<Line<String>> {
    read_named(bytes, None)
}

fn good(lines: &[(usize, &str)]) -> Vec<Line<String>> {
    lines
        .iter()
        .map(|(line, word)| (*line, Ok((*word).to_owned())))
        .collect()
}

fn bad_lines<T>(read: &[Line<T>]) -> Vec<usize> {
    read.iter()
        .filter(|(_, word)| word.is_err())
        .map(|(line, _)| *line)
        .collect()
}

#[test]
fn byte_order_mark_quotes_and_empty_lines_are_passed_over() {
    let expected = good(&[(2, "a"), (4, "b c"), (5, "d\"e"), (6, "f")]);
    assert_eq!(
        read(b"\xef\xbb\xbfWord\r\n\"a\"\r\n\r\n  b c \t\r\n \"d\"\"e\" \nf"),
        expected
    );
    assert_eq!(
        read(b"a\nword\n"),
        good(&[(1, "a"), (2, "word")]),
        "a heading is on top"
    );
    assert_eq!(
        read(b"a,,\n,,\n\"\",\nb,\n"),
        good(&[(1, "a"), (4, "b")]),
        "empty columns are none"
    );
}

#[test]
fn column_is_the_one_with_the_heading() {
    for separator in [",", ";", "\t"] {
        let text = "n|Word|\"when, or; not\"\n1|a|x\n2|\"b\"\n|c|\n".replace('|', separator);
        assert_eq!(
            read(text.as_bytes()),
            good(&[(2, "a"), (3, "b"), (4, "c")]),
            "{text}"
        );
        let named = read_named(text.as_bytes(), Some(" When, Or; Not "));
        assert_eq!(named.first(), Some(&(2, Ok("x".to_owned()))));
        assert_eq!(bad_lines(&named), [3, 4], "what is not filled in");
    }
}

#[test]
fn columns_without_a_known_heading_are_refused_once() {
    for text in ["n,what\n1,a\n", "word,word\na,b\n"] {
        let read = read(text.as_bytes());
        assert_eq!((read.len(), bad_lines(&read)), (1, vec![1]), "{text}");
    }
    for text in ["n,what\n1,a\n", "a\nb\n", "other,other\n1,a\n"] {
        assert_eq!(
            read_named(text.as_bytes(), Some("other")).len(),
            1,
            "{text}"
        );
    }
}

#[test]
fn a_line_that_is_set_out_differently_is_named() {
    let text = format!(
        "a\nb,c\n\"d\n\"e\"f\ng\"h\n{}\n\u{e9}\ni\n",
        "x".repeat(10_000)
    );
    let lines = read(text.as_bytes());
    assert_eq!(bad_lines(&lines), [2, 3, 4, 5, 6]);
    assert_eq!(lines.last(), Some(&(8, Ok("i".to_owned()))));
    assert_eq!(bad_lines(&read(b"a\n\xff\nb\n")), [2]);
    let first = read(format!("\u{feff}{}\nb\n", "x".repeat(10_000)).as_bytes());
    assert_eq!(
        (bad_lines(&first), first.last()),
        (vec![1], Some(&(2, Ok("b".to_owned())))),
        "with a byte order mark"
    );
}

#[test]
fn one_bad_line_among_a_million_is_named() {
    let number = |cell: &str| cell.parse().map_err(|_| "this is no number".to_owned());
    let values = ColumnType {
        invalid: "bad",
        names: ["number", "numbers"],
        is_heading: |_| false,
        parse: number,
    };
    let text = format!("{}x\n{}", "1\n".repeat(499_999), "1\n".repeat(500_000));
    let column: Column<'_, u8> = Column {
        path: Path::new("million.csv"),
        heading: None,
        values,
    };
    let mut lines = column.lines_of(text.as_bytes());
    let (mut count, mut bad) = (0, Vec::new());
    loop {
        let part = lines.next_lines(1_000).expect("it can be read");
        if part.is_empty() {
            break;
        }
        count += part.len();
        bad.extend(bad_lines(&part));
    }
    assert_eq!((count, bad), (1_000_000, vec![500_000]));
}

#[test]
fn what_is_no_text_is_refused_once() {
    for start in [
        &b"\xff\xfea\0"[..],
        b"\xfe\xff\0a",
        b"PK\x03\x04",
        b"\xd0\xcf\x11\xe0",
    ] {
        let read = read(&[start, b"\nb\nc\n"].concat());
        assert_eq!((read.len(), bad_lines(&read)), (1, vec![1]));
    }
}

#[test]
fn what_spreadsheets_make_of_codes_is_recognised() {
    for cell in [
        "#REF!",
        "#N/A",
        "####",
        "1.2E+11",
        "1,2E+11",
        "1E-05",
        "9.99e+15",
        "2026-03-12",
        "12/03/2026",
        "3/12/26",
        "31.12.2026",
        "2026/1/2",
        "12-Mar",
        "Mar-26",
        "12-Mar-26",
        "12-Mar-2026",
        "May-2026",
        "123.0",
        "1,5",
    ] {
        assert!(spreadsheet_damage(cell).is_some(), "{cell}");
    }
    for cell in [
        "AB12",
        "7E12",
        "1E5",
        "12E+11",
        "2026-13-12",
        "20260312",
        "1234-56-78",
        "12-03-26",
        "MARS-26",
        "MAR-26",
        "12-34",
        "1.2.3.4",
        "Mar",
        "12",
        "KETTLE-01",
        "",
    ] {
        assert_eq!(spreadsheet_damage(cell), None, "{cell}");
    }
}
