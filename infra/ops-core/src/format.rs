use common::domain::unicode::is_format;

use crate::prelude::*;

/// Such as `soda-rush-2026, live`.
pub fn scope_in_words(scope: &Scope) -> String {
    format!("{}, {}", scope.campaign, scope.environment)
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 entry`, `7 entries`.
pub fn entries_in_words(entries: impl Into<u64>) -> String {
    match entries.into() {
        1 => "1 entry".to_owned(),
        entries => format!("{} entries", grouped(entries)),
    }
}

/// Such as `one guess in 770 million million`.
pub fn one_guess_in(odds: f64) -> String {
    if odds <= 0.0 {
        return "no guess".to_owned();
    }
    let mut guesses = 1.0 / odds;
    let mut millions = 0;
    while guesses >= 9.95e5 {
        guesses /= 1e6;
        millions += 1;
    }
    let unit = 10f64.powf(guesses.log10().floor() - 1.0);
    let rounded = format!("{:.1}", (guesses / unit).round() * unit);
    let whole = rounded.trim_end_matches(".0");
    let whole = whole
        .parse()
        .map_or_else(|_| whole.to_owned(), |whole: u64| grouped(whole));
    format!("one guess in {whole}{}", " million".repeat(millions))
}

/// One line; invisible characters (control, format, line separator) are escaped, so that they
/// cannot affect a terminal.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Visible; only Rust escapes them.
            '"' | '\'' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// Text for others without invisible characters (control except line ends and tabs, format, line
/// separator), which could turn its direction or hide a part.
pub fn visible(text: &str) -> String {
    let is_seen = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    let is_separator = |c: char| matches!(c, '\u{2028}' | '\u{2029}');
    text.chars()
        .filter(|c| is_seen(*c) && !is_format(*c) && !is_separator(*c))
        .collect()
}

/// Trimmed, with 1 to `max_chars` characters.
pub(crate) fn one_line(text: &str, max_chars: usize) -> Option<&str> {
    let text = text.trim();
    let fits = (1..=max_chars).contains(&text.chars().count());
    (fits && !text.chars().any(char::is_control)).then_some(text)
}

/// The zone's name has to be beside it.
pub fn local_time(timestamp: Timestamp, zone: Tz) -> String {
    timestamp
        .in_zone(zone)
        .format("%Y-%m-%d %H:%M:%S")
        .to_string()
}

pub fn zoned_time(timestamp: Timestamp, zone: Tz) -> String {
    format!("{} {}", local_time(timestamp, zone), zone.name())
}

/// Span in the largest unit that fits twice, such as `12 minutes`.
pub fn span_in_words(span: Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let seconds = span.as_secs();
    let fits = UNITS.into_iter().find(|(unit, _)| seconds >= 2 * *unit);
    let (unit, name) = fits.unwrap_or((1, "second"));
    counted(seconds / unit, name)
}

/// `1 code`, `2 codes`.
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = grouped(number);
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// With commas between.
pub fn joined(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// The first ones, and how many more there are, such as `a, b and 3 more`.
pub fn shortened(items: &[impl ToString], limit: usize) -> String {
    let shown = joined(items.iter().take(limit).map(ToString::to_string));
    match items.len().saturating_sub(limit) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A dash in place of a missing value.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// One pair per line, aligned and printable.
pub fn lines(pairs: &[(impl AsRef<str>, String)]) -> String {
    let widths = pairs.iter().map(|(name, _)| name.as_ref().len());
    let widest = widths.max().unwrap_or(0);
    pairs
        .iter()
        .map(|(name, value)| format!("{:widest$}  {}\n", name.as_ref(), printable(value)))
        .collect()
}

/// Aligned and printable.
pub fn aligned(heading: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| row.iter().map(|cell| printable(cell)).collect())
        .collect();
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count());
        let name = heading.get(column).map_or(0, |name| name.chars().count());
        cells.max().unwrap_or(0).max(name)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        let text = padded.collect::<Vec<_>>().join("  ");
        format!("{}\n", text.trim_end())
    };
    let heading = line(heading.to_vec());
    rows.iter().fold(heading, |text, row| {
        text + &line(row.iter().map(String::as_str).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn span_is_told_in_the_largest_unit_that_fits_twice() {
        for (seconds, words) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (119, "119 seconds"),
            (725, "12 minutes"),
            (7_300, "2 hours"),
            (90_000, "25 hours"),
            (172_800, "2 days"),
        ] {
            assert_eq!(span_in_words(Duration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn odds_are_told_in_guesses() {
        for (odds, words) in [
            (0.0, "no guess"),
            (1.0, "one guess in 1"),
            (0.75, "one guess in 1.3"),
            (0.1, "one guess in 10"),
            (1e-6, "one guess in 1 million"),
            (2e-6, "one guess in 500,000"),
            (1.02e-6, "one guess in 980,000"),
            (6.6e-9, "one guess in 150 million"),
            (3e-11, "one guess in 33,000 million"),
            (1.3e-15, "one guess in 770 million million"),
        ] {
            assert_eq!(one_guess_in(odds), words, "{odds}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(
            printable("Duka la 'Chai' \\ \"Bora\", é 茶 •"),
            "Duka la 'Chai' \\ \"Bora\", é 茶 •"
        );
        for (unseen, escape) in [
            ('\n', "\\n"),
            ('\u{1b}', "\\u{1b}"),
            ('\u{85}', "\\u{85}"),
            ('\u{ad}', "\\u{ad}"),
            ('\u{200b}', "\\u{200b}"),
            ('\u{202e}', "\\u{202e}"),
            ('\u{2066}', "\\u{2066}"),
            ('\u{2028}', "\\u{2028}"),
            ('\u{2029}', "\\u{2029}"),
            ('\u{feff}', "\\u{feff}"),
            ('\u{e0041}', "\\u{e0041}"),
        ] {
            assert_eq!(printable(&format!("a{unseen}b")), format!("a{escape}b"));
        }
    }

    #[test]
    fn a_time_is_told_by_the_zones_clocks() {
        let midnight = Timestamp::from_millis(1_767_214_800_007);
        let shown = zoned_time(midnight, Tz::Africa__Dar_es_Salaam);
        assert_eq!(shown, "2026-01-01 00:00:00 Africa/Dar_es_Salaam");
    }

    #[test]
    fn summer_time_is_told_by_its_own_clocks() {
        let time = |text: &str| local_time(text.parse().expect(text), Tz::America__New_York);
        assert_eq!(time("2026-03-08T06:59:59Z"), "2026-03-08 01:59:59");
        assert_eq!(
            time("2026-03-08T07:00:00Z"),
            "2026-03-08 03:00:00",
            "the hour in between is left out"
        );
        assert_eq!(time("2026-11-01T05:30:00Z"), "2026-11-01 01:30:00");
        assert_eq!(
            time("2026-11-01T06:30:00Z"),
            "2026-11-01 01:30:00",
            "an hour comes twice"
        );
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["a".to_owned(), "1".to_owned()],
            vec!["longer".to_owned(), String::new()],
        ];
        assert_eq!(
            aligned(&["name", "n"], rows),
            "name    n\na       1\nlonger\n"
        );
    }
}
