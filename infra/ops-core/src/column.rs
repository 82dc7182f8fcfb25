//! Reads one column of a file that a spreadsheet or another program exported: one value per line. It reads in parts, so a
//! file of any length fits into memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::failure::Failure;
use crate::problem::{Problem, Problems};

/// Bytes of a line; a file with a longer one is not a list.
const MAX_LINE_BYTES: usize = 4096;

/// Reading stops after this many problems.
const MAX_PROBLEMS: usize = 100;

/// The characters between columns. Where the decimal point is a comma, spreadsheets write semicolons.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// The kind of values in a column.
#[derive(Debug)]
pub struct ColumnType<T> {
    /// The code of the failure when a file has other values.
    pub invalid: &'static str,
    /// Singular and plural, for messages.
    pub names: [&'static str; 2],
    /// True if a cell of the first line is a usual heading of such values.
    pub is_heading: fn(&str) -> bool,
    /// Reads a cell. The error begins with `this` and does not repeat the cell.
    pub parse: fn(&str) -> Result<T, String>,
}

/// A column of a file.
#[derive(Debug)]
pub struct Column<'a, T> {
    /// The file.
    pub path: &'a Path,
    /// The column's heading, as given by the operator. With `None`, the heading is a usual one, or the file has only one
    /// column.
    pub heading: Option<&'a str>,
    /// The kind of its values.
    pub values: ColumnType<T>,
}

// Derived, these would ask for values that can be copied.
impl<T> Clone for ColumnType<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ColumnType<T> {}
impl<T> Clone for Column<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Column<'_, T> {}

/// A line that is not empty: its number, from 1, and its value, or why it has none.
pub type Line<T> = (usize, Result<T, String>);

/// Reads a column, line by line.
#[derive(Debug)]
pub struct Lines<'a, R, T> {
    column: Column<'a, T>,
    reader: R,
    line: usize,
    /// `None` before the first line.
    layout: Option<Layout>,
    /// The first line is a heading.
    has_heading: bool,
    /// The rest of the file cannot be read.
    ended: bool,
}

/// A column without problems.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedColumn {
    /// The number of values.
    pub(crate) count: u64,
    /// True if a heading is above them.
    pub(crate) has_heading: bool,
}

/// The layout of a file, which its first line decides.
#[derive(Clone, Copy, Debug)]
struct Layout {
    separator: char,
    /// The index of the value's cell in a line.
    index: usize,
    /// The number of cells in the first line.
    width: usize,
}

impl<'a, T> Column<'a, T> {
    pub fn open(self) -> Result<Lines<'a, BufReader<File>, T>, Failure> {
        let file = File::open(self.path)
            .map_err(|error| Failure::from_io(self.path, "reading", &error))?;
        Ok(self.lines_of(BufReader::new(file)))
    }

    /// Reads from `reader`; the path is only named in errors.
    pub fn lines_of<R>(self, reader: R) -> Lines<'a, R, T> {
        Lines {
            column: self,
            reader,
            line: 0,
            layout: None,
            has_heading: false,
            ended: false,
        }
    }

    /// Checks every line. `check` gets the values of one part, each with its line, and reports problems by line. Returns the
    /// number of values, and whether a heading was above them.
    pub(crate) async fn check_all(
        self,
        most_at_once: usize,
        mut check: impl AsyncFnMut(Vec<(usize, T)>, &mut dyn FnMut(usize, &str)) -> Result<(), Failure>,
    ) -> Result<CheckedColumn, Failure> {
        let problems = Problems::from_file(&self.path.display().to_string());
        let [name, names] = self.values.names;
        let mut lines = self.open()?;
        let mut count = 0;
        loop {
            let part = lines.next_lines(most_at_once)?;
            if part.is_empty() || problems.count() >= MAX_PROBLEMS {
                break;
            }
            let mut values = Vec::new();
            for (line, value) in part {
                match value {
                    Ok(value) => values.push((line, value)),
                    Err(why) => problems.add_line(line, why),
                }
            }
            count += u64::try_from(values.len()).unwrap_or(u64::MAX);
            check(values, &mut |line, why| problems.add_line(line, why)).await?;
        }
        if problems.count() == 0 && count == 0 {
            problems.add_line(
                1,
                format!("the file holds no {names}; put one {name} on each line"),
            );
        }
        let mut found = problems.into_sorted();
        if found.is_empty() {
            return Ok(CheckedColumn {
                count,
                has_heading: lines.has_heading,
            });
        }
        truncate_problems(&mut found);
        Err(Failure::from_problems(self.values.invalid, found))
    }
}

impl<R: BufRead, T> Lines<'_, R, T> {
    /// Returns at most `most` lines; none at the end of the file.
    pub fn next_lines(&mut self, most: usize) -> Result<Vec<Line<T>>, Failure> {
        let mut lines = Vec::new();
        while lines.len() < most {
            match self.next_line() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => break,
                Err(error) => return Err(Failure::from_io(self.column.path, "reading", &error)),
            }
        }
        Ok(lines)
    }

    /// Returns at most `most` values of a file that was checked; fails if the file was changed since.
    pub(crate) fn next_values(&mut self, most: usize) -> Result<Vec<T>, Failure> {
        let changed = |line: usize| {
            let path = self.column.path.display();
            let message = format!(
                "{path} was changed while it was read: line {line} was good before; what was done so far stays. \
                 Leave the file alone and run this again"
            );
            Failure::new("file_changed", message)
        };
        let lines = self.next_lines(most)?;
        lines
            .into_iter()
            .map(|(line, value)| value.map_err(|_| changed(line)))
            .collect()
    }

    fn next_line(&mut self) -> io::Result<Option<Line<T>>> {
        while !self.ended {
            let text = match self.read_line()? {
                None => return Ok(None),
                Some(Ok(text)) => text,
                Some(Err(why)) => return Ok(Some((self.line, Err(why)))),
            };
            if text
                .chars()
                .all(|c| c.is_whitespace() || c == '"' || SEPARATORS.contains(&c))
            {
                continue;
            }
            let cell = match self.layout {
                Some(layout) => layout.cell(&text, self.column.values.names),
                None => match self.read_layout(&text) {
                    Ok(None) => continue,
                    Ok(Some(cell)) => Ok(cell),
                    Err(why) => {
                        self.ended = true;
                        Err(why)
                    }
                },
            };
            return Ok(Some((
                self.line,
                cell.and_then(|cell| (self.column.values.parse)(&cell)),
            )));
        }
        Ok(None)
    }

    /// The text of the next line, or why it is not text.
    fn read_line(&mut self) -> io::Result<Option<Result<String, String>>> {
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        if io::Read::take(&mut self.reader, most).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        let is_cut = bytes.len() >= MAX_LINE_BYTES && bytes.last() != Some(&b'\n');
        if self.line == 1 {
            if let Some(why) = not_text(&bytes) {
                self.ended = true;
                return Ok(Some(Err(why.to_owned())));
            }
            if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
                bytes = rest.to_vec();
            }
        }
        if is_cut {
            self.reader.skip_until(b'\n')?;
            let [name, _] = self.column.values.names;
            return Ok(Some(Err(format!(
                "this line is too long; put one {name} on each line"
            ))));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(Ok(text))),
            Err(_) => {
                // So is the rest, or it is no text at all.
                self.ended = true;
                Ok(Some(Err(
                    "this line is not UTF-8; save the file as CSV UTF-8".to_owned(),
                )))
            }
        }
    }

    /// Reads the layout from the first line. Returns the line's value, or `None` if the line is a heading.
    fn read_layout(&mut self, line: &str) -> Result<Option<String>, String> {
        let [name, names] = self.column.values.names;
        let several = |separator: &char| cells(line, *separator).is_ok_and(|cells| cells.len() > 1);
        let separator = SEPARATORS.into_iter().find(several).unwrap_or(',');
        let cells = cells(line, separator)?;
        let is_wanted = |cell: &&String| match self.column.heading {
            Some(heading) => cell.to_lowercase() == heading.trim().to_lowercase(),
            None => (self.column.values.is_heading)(cell),
        };
        let mut headings = cells.iter().enumerate().filter(|(_, cell)| is_wanted(cell));
        let (first, second) = (headings.next(), headings.next());
        let layout = |index| Layout {
            separator,
            index,
            width: cells.len(),
        };
        match (first, second, self.column.heading) {
            (Some((index, _)), None, _) => {
                self.layout = Some(layout(index));
                self.has_heading = true;
                Ok(None)
            }
            (None, _, Some(_)) => Err(
                "this line has no such heading as --column names; copy the heading from here"
                    .to_owned(),
            ),
            (Some(_), Some(_), Some(_)) => Err(
                "this line has two such headings as --column names; give them different names"
                    .to_owned(),
            ),
            (None, _, None) if cells.len() == 1 => {
                self.layout = Some(layout(0));
                Ok(cells.into_iter().next())
            }
            (_, _, None) => Err(format!(
                "this line has several columns; name the heading of the one with the {names} with --column, or \
                 leave only that one in the file, one {name} on each line"
            )),
        }
    }
}

impl Layout {
    fn cell(self, line: &str, [name, _]: [&str; 2]) -> Result<String, String> {
        let cells = cells(line, self.separator)?;
        if cells.len() > self.width {
            return Err(format!(
                "this line has more columns than the first; put quotes around what has a separator in it, or leave \
                 only the column with the {name} in the file"
            ));
        }
        let cell = cells
            .into_iter()
            .nth(self.index)
            .filter(|cell| !cell.is_empty());
        cell.ok_or_else(|| {
            format!("this line has no {name} in its column; remove it, or fill it in")
        })
    }
}

/// The trimmed cells of a line, without empty ones at its end.
fn cells(line: &str, separator: char) -> Result<Vec<String>, String> {
    let mut cells = Vec::new();
    let mut chars = line.trim_end_matches(['\r', '\n']).chars().peekable();
    loop {
        let mut cell = String::new();
        while chars
            .next_if(|c| c.is_whitespace() && *c != separator)
            .is_some()
        {}
        if chars.next_if_eq(&'"').is_some() {
            loop {
                match chars.next() {
                    Some('"') if chars.next_if_eq(&'"').is_some() => cell.push('"'),
                    Some('"') => break,
                    Some(c) => cell.push(c),
                    None => {
                        return Err(
                            "this line has a quote that does not end on it; save the file with one line for \
                                    each row"
                                .to_owned(),
                        );
                    }
                }
            }
            while chars
                .next_if(|c| c.is_whitespace() && *c != separator)
                .is_some()
            {}
        } else {
            while let Some(c) = chars.next_if(|c| *c != separator && *c != '"') {
                cell.push(c);
            }
        }
        cells.push(cell.trim().to_owned());
        match chars.next() {
            Some(c) if c == separator => {}
            Some(_) => {
                return Err(
                    "this line has a quote in the middle of a cell; put quotes around whole cells"
                        .to_owned(),
                );
            }
            None => break,
        }
    }
    let used = cells
        .iter()
        .rposition(|cell| !cell.is_empty())
        .map_or(1, |last| last + 1);
    cells.truncate(used);
    Ok(cells)
}

/// Recognises files that are not text by their first bytes.
fn not_text(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        Some("this file is UTF-16; save it as CSV in UTF-8")
    } else if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        Some("this is an Excel workbook: save the sheet as CSV UTF-8")
    } else if bytes.contains(&0) {
        Some("this is not a text file; save the list as CSV UTF-8")
    } else {
        None
    }
}

fn truncate_problems(found: &mut Vec<Problem>) {
    if found.len() > MAX_PROBLEMS {
        found.truncate(MAX_PROBLEMS);
        if let Some(last) = found.last_mut() {
            last.message.push_str(" (there may be more below)");
        }
    }
}

/// Recognises what spreadsheets turn codes and phone numbers into; the text continues `this is`.
pub(crate) fn spreadsheet_damage(cell: &str) -> Option<&'static str> {
    if cell.starts_with('#') {
        Some("an error of a spreadsheet")
    } else if is_scientific(cell) {
        Some("a long number that a spreadsheet shortened, and its last digits are lost")
    } else if is_date(cell) {
        Some("a date, which a spreadsheet may have made of it")
    } else if cell
        .split_once(['.', ','])
        .is_some_and(|(whole, rest)| is_number(whole) && is_number(rest))
    {
        Some("a number with a decimal point, which a spreadsheet may have made of it")
    } else {
        None
    }
}

/// What to do about such a cell.
pub(crate) const AFTER_DAMAGE: &str =
    "give the column the format Text in the spreadsheet, fill it in again, and save it as CSV";

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Such as `1.2E+11`. Spreadsheets write the sign, so `7E12` may be a code.
fn is_scientific(cell: &str) -> bool {
    let Some((mantissa, exponent)) = cell.split_once(['e', 'E']) else {
        return false;
    };
    let (whole, rest) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
    let signed = exponent.strip_prefix(['+', '-']);
    whole.len() == 1 && is_number(whole) && is_number(rest) && signed.is_some_and(is_number)
}

/// Such as `2026-03-12`, `12/03/2026`, `3.12.26`, `12-Mar` and `Mar-26`.
fn is_date(cell: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let parts: Vec<&str> = cell.split(['-', '/', '.']).collect();
    let in_range = |part: &str, most: u16| {
        part.len() <= 2
            && is_number(part)
            && part
                .parse::<u16>()
                .is_ok_and(|number| (1..=most).contains(&number))
    };
    let is_year = |part: &str| {
        part.len() == 4
            && part
                .parse::<u16>()
                .is_ok_and(|year| (1900..=2099).contains(&year))
    };
    // Codes have dashes too, so with dashes only a four-digit year makes a date.
    let is_short_year = |part: &str| !cell.contains('-') && part.len() == 2 && is_number(part);
    match parts.as_slice() {
        [year, month, day] if is_year(year) => in_range(month, 12) && in_range(day, 31),
        [one, other, year] if is_year(year) || is_short_year(year) => {
            (in_range(one, 12) && in_range(other, 31))
                || (in_range(one, 31) && in_range(other, 12))
                || (in_range(one, 31) && MONTHS.contains(other))
        }
        [day, month, year] => in_range(day, 31) && MONTHS.contains(month) && in_range(year, 99),
        [one, other] => {
            (in_range(one, 31) && MONTHS.contains(other))
                || (MONTHS.contains(one) && (in_range(other, 99) || is_year(other)))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
