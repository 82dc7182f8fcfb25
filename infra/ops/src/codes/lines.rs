//! Reads codes from a file: one per line, in the first column, as spreadsheets and printers export them.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use common::domain::code::Code;

use crate::failure::Failure;
use crate::problem::{Problem, Problems};

/// Bytes of a line; a file with a longer one is not a list of codes.
const MAX_LINE_BYTES: usize = 4096;

/// Reading stops after this many problems.
const MAX_PROBLEMS: usize = 100;

/// The heading that the first line may have.
const HEADER: &str = "code";

/// Reads a file's codes, normalized, in parts, so that a file of any length fits into memory.
#[derive(Debug)]
pub struct CodeLines<R> {
    path: PathBuf,
    reader: R,
    line: usize,
}

/// A line that is not empty: its number, from 1, and its normalized code, or why it is not a code.
pub type Line = (usize, Result<String, &'static str>);

impl CodeLines<BufReader<File>> {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(|error| Failure::from_io(path, "reading", &error))?;
        Ok(Self::new(path, BufReader::new(file)))
    }
}

impl<R: BufRead> CodeLines<R> {
    /// Reads from `reader`; `path` is only named in errors.
    pub fn new(path: &Path, reader: R) -> Self {
        Self { path: path.to_owned(), reader, line: 0 }
    }

    /// Returns at most `most` lines; none at the end of the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next_lines(&mut self, most: usize) -> Result<Vec<Line>, Failure> {
        let mut lines = Vec::new();
        while lines.len() < most {
            match self.next_line() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => break,
                Err(error) => return Err(Failure::from_io(&self.path, "reading", &error)),
            }
        }
        Ok(lines)
    }

    fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
            if io::Read::take(&mut self.reader, most).read_until(b'\n', &mut bytes)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if bytes.len() >= MAX_LINE_BYTES && bytes.last() != Some(&b'\n') {
                self.reader.skip_until(b'\n')?;
                return Ok(Some((self.line, Err("this line is too long; put one code on each line"))));
            }
            let Ok(text) = std::str::from_utf8(&bytes) else {
                return Ok(Some((self.line, Err("this line is not UTF-8; save the file as UTF-8"))));
            };
            let text = if self.line == 1 { text.trim_start_matches('\u{feff}') } else { text };
            let cell = first_cell(text);
            if text.trim().is_empty() || (self.line == 1 && cell.eq_ignore_ascii_case(HEADER)) {
                continue;
            }
            return Ok(Some((self.line, normal(cell))));
        }
    }
}

/// The first column of a line, without quotes and surrounding space.
fn first_cell(line: &str) -> &str {
    let cell = line.split(',').next().unwrap_or_default().trim();
    cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(cell).trim()
}

/// The normalized code, or why the cell is not a code.
fn normal(cell: &str) -> Result<String, &'static str> {
    if cell.contains(['"', ';', '\t']) || cell.chars().any(char::is_control) {
        return Err("this line is not a code; put one code on each line, columns apart by commas");
    }
    let code: Code = cell.parse().map_err(|_| "this line is not a code; a code is 1 to 64 characters")?;
    if code.sentinel().is_some() {
        return Err("this is a test code, which works by itself with test keys; remove it");
    }
    let normal = code.normal();
    if normal.is_empty() { Err("this line is not a code; it has no letters or digits") } else { Ok(normal) }
}

/// Checks every line of a file. `check` gets the codes of one part, each with its line, and reports problems by line.
/// Returns the number of codes.
pub(super) async fn check_all(
    path: &Path,
    most_at_once: usize,
    mut check: impl AsyncFnMut(Vec<(usize, String)>, &mut dyn FnMut(usize, &str)) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let problems = Problems::of_file(&path.display().to_string());
    let mut lines = CodeLines::open(path)?;
    let mut count = 0;
    loop {
        let part = lines.next_lines(most_at_once)?;
        if part.is_empty() || problems.count() >= MAX_PROBLEMS {
            break;
        }
        let mut codes = Vec::new();
        for (line, code) in part {
            match code {
                Ok(code) => codes.push((line, code)),
                Err(why) => problems.add_line(line, why),
            }
        }
        count += u64::try_from(codes.len()).unwrap_or(u64::MAX);
        check(codes, &mut |line, why| problems.add_line(line, why)).await?;
    }
    if problems.count() == 0 && count == 0 {
        problems.add_line(1, "the file holds no codes; put one on each line");
    }
    let mut found = problems.into_sorted();
    if found.is_empty() {
        return Ok(count);
    }
    cut_short(&mut found);
    Err(Failure::from_problems("code_file_invalid", found))
}

fn cut_short(found: &mut Vec<Problem>) {
    if found.len() > MAX_PROBLEMS {
        found.truncate(MAX_PROBLEMS);
        if let Some(last) = found.last_mut() {
            last.message.push_str(" (there may be more below)");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<Line> {
        CodeLines::new(Path::new("codes.csv"), bytes).next_lines(100).expect("it can be read")
    }

    fn good(line: usize, code: &str) -> Line {
        (line, Ok(code.to_owned()))
    }

    #[test]
    fn a_header_a_byte_order_mark_quotes_and_further_columns_are_passed_over() {
        let read = lines(b"\xef\xbb\xbfCode,Printed\r\n\"ab-12\",x\r\n\r\n  cd 34  \nef56");
        assert_eq!(read, [good(2, "AB12"), good(4, "CD34"), good(5, "EF56")]);
        assert_eq!(lines(b"AB12\ncode\n"), [good(1, "AB12"), good(2, "CODE")], "a header is on top");
    }

    #[test]
    fn what_is_no_code_is_named_by_its_line() {
        let long = "x".repeat(10_000);
        let text = format!("AB12\n{}\ntest-0-valid\n---\nA;B\n{long}\nCD34\n", "y".repeat(65));
        let read = lines(text.as_bytes());
        let wrong: Vec<_> = read.iter().filter(|(_, code)| code.is_err()).map(|(line, _)| *line).collect();
        assert_eq!(wrong, [2, 3, 4, 5, 6]);
        assert_eq!(read.last(), Some(&good(7, "CD34")));
        assert!(lines(b"\xff\xfe\n").first().is_some_and(|(line, code)| *line == 1 && code.is_err()));
    }
}
