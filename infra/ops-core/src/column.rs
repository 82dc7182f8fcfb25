//! Reads one column, in parts, so that any length fits into memory.

use std::io::{BufRead, BufReader, Read};
use std::sync::LazyLock;

use regex::RegexSet;

use crate::prelude::*;

/// A file with a longer line is not a list.
const MAX_LINE_BYTES: u64 = 4096;

const MAX_PROBLEMS: usize = 100;

/// Where the decimal point is a comma, spreadsheets write semicolons.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

#[derive(Debug)]
pub struct ColumnType<T> {
    /// Failure code.
    pub invalid: &'static str,
    pub names: [&'static str; 2],
    /// True for usual headings.
    pub is_heading: fn(&str) -> bool,
    /// Errors begin with `this` and do not repeat the cell.
    pub parse: fn(&str) -> Result<T, String>,
}

#[derive(Debug)]
pub struct Column<'a, T> {
    pub path: &'a Path,
    /// `None` takes a usual heading, or the only column.
    pub heading: Option<&'a str>,
    pub values: ColumnType<T>,
}

/// Number, from 1, and value or problem; empty lines are skipped.
pub type Line<T> = (usize, Result<T, String>);

#[derive(Debug)]
pub struct Lines<'a, R, T> {
    column: &'a Column<'a, T>,
    reader: R,
    line: usize,
    /// `None` before the first line.
    layout: Option<Layout>,
    has_heading: bool,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedColumn {
    pub(crate) count: u64,
    pub(crate) has_heading: bool,
}

/// Decided by the first line.
#[derive(Clone, Copy, Debug)]
struct Layout {
    separator: char,
    index: usize,
    width: usize,
}

impl<T> Column<'_, T> {
    pub(crate) fn open(&self) -> Result<Lines<'_, BufReader<File>, T>> {
        let file = File::open(self.path).map_err(|error| self.failure(error))?;
        Ok(self.lines_of(BufReader::new(file)))
    }

    /// The path is only for errors.
    pub fn lines_of<R>(&self, reader: R) -> Lines<'_, R, T> {
        Lines {
            column: self,
            reader,
            line: 0,
            layout: None,
            has_heading: false,
            ended: false,
        }
    }

    fn failure(&self, error: io::Error) -> Failure {
        Failure::from_io(self.path, "reading")(error)
    }

    /// `check` gets the values of a part with their lines, and reports problems.
    pub(crate) async fn check_all(
        &self,
        part_lines: usize,
        mut check: impl AsyncFnMut(Vec<(usize, T)>, &mut dyn FnMut(usize, &str)) -> Result<()>,
    ) -> Result<CheckedColumn> {
        let problems = Problems::from_file(&self.path.display().to_string());
        let [name, names] = self.values.names;
        let mut lines = self.open()?;
        let mut count = 0;
        loop {
            let part = lines.next_lines(part_lines)?;
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
            let message = format!("the file holds no {names}; put one {name} on each line");
            problems.add_line(1, message);
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
    /// Empty at the end of the file.
    pub fn next_lines(&mut self, limit: usize) -> Result<Vec<Line<T>>> {
        let mut lines = Vec::new();
        while lines.len() < limit {
            match self
                .next_line()
                .map_err(|error| self.column.failure(error))?
            {
                Some(line) => lines.push(line),
                None => break,
            }
        }
        Ok(lines)
    }

    /// Fails if the file changed since it was checked.
    pub(crate) fn next_values(&mut self, limit: usize) -> Result<Vec<T>> {
        let lines = self.next_lines(limit)?.into_iter();
        let value = |(line, value): Line<T>| {
            value.map_err(|_| {
                let path = self.column.path.display();
                failure!(
                    "file_changed",
                    "{path} was changed while it was read: line {line} was good before; what was done so far stays. \
                     Leave the file alone and run this again"
                )
            })
        };
        lines.map(value).collect()
    }

    fn next_line(&mut self) -> io::Result<Option<Line<T>>> {
        let is_filler = |c: char| c.is_whitespace() || c == '"' || SEPARATORS.contains(&c);
        while !self.ended {
            let Some(text) = self.read_line()? else { break };
            let cell = match (text, self.layout) {
                (Ok(text), _) if text.chars().all(is_filler) => continue,
                (Ok(text), Some(layout)) => layout.cell(&text, self.column.values.names),
                (Ok(text), None) => match self.read_layout(&text) {
                    Ok(None) => continue,
                    Ok(Some(cell)) => Ok(cell),
                    Err(why) => {
                        self.ended = true;
                        Err(why)
                    }
                },
                (Err(why), _) => Err(why),
            };
            let value = cell.and_then(|cell| (self.column.values.parse)(&cell));
            return Ok(Some((self.line, value)));
        }
        Ok(None)
    }

    fn read_line(&mut self) -> io::Result<Option<Result<String, String>>> {
        let mut bytes = Vec::new();
        let mut reader = (&mut self.reader).take(MAX_LINE_BYTES);
        if reader.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let is_cut = reader.limit() == 0 && bytes.last() != Some(&b'\n');
        self.line += 1;
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
            let why = format!("this line is too long; put one {name} on each line");
            return Ok(Some(Err(why)));
        }
        let text = String::from_utf8(bytes).map_err(|_| {
            // The rest has the same encoding, or is no text.
            self.ended = true;
            "this line is not UTF-8; save the file as CSV UTF-8".to_owned()
        });
        Ok(Some(text))
    }

    /// `None` for a heading.
    fn read_layout(&mut self, line: &str) -> Result<Option<String>, String> {
        let [name, names] = self.column.values.names;
        let several = |separator: &char| cells(line, *separator).is_ok_and(|cells| cells.len() > 1);
        let separator = SEPARATORS.into_iter().find(several).unwrap_or(',');
        let cells = cells(line, separator)?;
        let wanted = self.column.heading;
        let is_wanted = |cell: &String| match wanted {
            Some(heading) => cell.to_lowercase() == heading.trim().to_lowercase(),
            None => (self.column.values.is_heading)(cell),
        };
        let found = cells.iter().position(is_wanted);
        let is_twice = cells.iter().rposition(is_wanted) != found;
        let width = cells.len();
        self.has_heading = found.is_some();
        self.layout = Some(Layout {
            separator,
            index: found.unwrap_or(0),
            width,
        });
        match (found, wanted) {
            (Some(_), _) if !is_twice => Ok(None),
            (None, None) if width == 1 => Ok(cells.into_iter().next()),
            (None, Some(_)) => Err(
                "this line has no such heading as --column names; copy the heading from here"
                    .to_owned(),
            ),
            (Some(_), Some(_)) => Err(
                "this line has two such headings as --column names; give them different names"
                    .to_owned(),
            ),
            (_, None) => Err(format!(
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
        let cell = cells.into_iter().nth(self.index);
        cell.filter(|cell| !cell.is_empty()).ok_or_else(|| {
            format!("this line has no {name} in its column; remove it, or fill it in")
        })
    }
}

/// Trimmed, without empty cells at the end. The `csv` crate reads a quoted cell past the line's
/// end, and then counts other lines than people.
fn cells(line: &str, separator: char) -> Result<Vec<String>, String> {
    let mut is_quoted = false;
    let parts = line.split(|c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    });
    let parts: Vec<_> = parts.collect();
    if is_quoted {
        let why = "this line has a quote that does not end on it; save the file with one line for each row";
        return Err(why.to_owned());
    }
    let mut cells: Vec<_> = parts.into_iter().map(unquoted).collect::<Result<_, _>>()?;
    let used = cells.iter().rposition(|cell| !cell.is_empty());
    cells.truncate(used.map_or(1, |last| last + 1));
    Ok(cells)
}

fn unquoted(cell: &str) -> Result<String, String> {
    let cell = cell.trim();
    let inner = cell
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let parts: Vec<_> = match inner {
        Some(inner) => inner.split("\"\"").collect(),
        None => vec![cell],
    };
    if parts.iter().any(|part| part.contains('"')) {
        let why = "this line has a quote in the middle of a cell; put quotes around whole cells";
        return Err(why.to_owned());
    }
    Ok(parts.join("\"").trim().to_owned())
}

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

/// Damage that spreadsheets do to codes and phones; continues `this is`.
pub(crate) fn spreadsheet_damage(cell: &str) -> Option<&'static str> {
    let (_, damage) = DAMAGE.get(FORMS.matches(cell).iter().next()?)?;
    Some(damage)
}

/// Forms of cells. Spreadsheets write the sign of `1E+11` and months as `Mar`, and codes have dashes too: so `7E12`, `MAR-26` and
/// `12-03-26` may be codes.
const DAMAGE: [(&str, &str); 4] = [
    ("^#", "an error of a spreadsheet"),
    (
        "^[0-9]([.,][0-9]+)?[eE][+-][0-9]+$",
        "a long number that a spreadsheet shortened, and its last digits are lost",
    ),
    (
        r"(?x) ^( (19|20)[0-9]{2} ( -M-D | /M/D ) | D/D/Y | D\.M\.Y | (D-)?N-Y | D-N )$",
        "a date, which a spreadsheet may have made of it",
    ),
    (
        "^[0-9]+[.,][0-9]+$",
        "a number with a decimal point, which a spreadsheet may have made of it",
    ),
];

#[expect(clippy::expect_used, reason = "the forms are tested")]
static FORMS: LazyLock<RegexSet> = LazyLock::new(|| {
    let form = |(form, _): &(&str, &str)| {
        form.replace('Y', "(19|20)?[0-9]{2}")
            .replace('M', "(0?[1-9]|1[0-2])")
            .replace('D', "(0?[1-9]|[12][0-9]|3[01])")
            .replace('N', "([JFMASOND][a-z]{2})")
    };
    RegexSet::new(DAMAGE.iter().map(form)).expect("the forms are valid")
});

pub(crate) const AFTER_DAMAGE: &str =
    "give the column the format Text in the spreadsheet, fill it in again, and save it as CSV";

#[cfg(test)]
mod tests;
