//! What an operator sees: a report on standard output, problems, notes and progress on standard error.

use std::io::{self, Write};

use common::clock::Clock;
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::words::{grouped, printable};

/// Everything went as asked.
pub const FINE: u8 = 0;
/// A command was refused, or something failed.
pub const REFUSED: u8 = 1;
/// The command line was not understood.
pub const USAGE: u8 = 2;

/// Where a command writes to.
pub struct Console<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
    /// Whether a person watches standard error, so that progress can be drawn in place.
    pub err_is_terminal: bool,
}

/// What a command has to say when it is done.
pub(crate) struct Report {
    /// For programs.
    pub(crate) json: Value,
    /// For people.
    pub(crate) text: String,
    /// For people, beside what they asked for.
    pub(crate) note: Option<String>,
}

impl Report {
    /// A report without a note.
    pub(crate) fn new(json: Value, text: impl Into<String>) -> Self {
        Self { json, text: text.into(), note: None }
    }
}

impl Console<'_> {
    /// Shows how a command ended; the exit code.
    pub(crate) fn show(&mut self, ended: Result<Report, Failure>, as_json: bool) -> u8 {
        let (shown, code) = match ended {
            Ok(report) if as_json => (writeln!(self.out, "{}", printable_json(&report.json)), FINE),
            Ok(report) => (self.report(&report), FINE),
            Err(failure) if as_json => {
                (writeln!(self.err, "{}", printable_json(&json!({ "error": failure }))), REFUSED)
            }
            Err(failure) => (self.failure(&failure), REFUSED),
        };
        // Nobody reads any more, so nobody was told.
        if shown.is_ok() { code } else { REFUSED }
    }

    fn report(&mut self, report: &Report) -> io::Result<()> {
        writeln!(self.out, "{}", report.text.trim_end())?;
        match &report.note {
            Some(note) => writeln!(self.err, "{note}"),
            None => Ok(()),
        }
    }

    fn failure(&mut self, failure: &Failure) -> io::Result<()> {
        failure.problems.iter().try_for_each(|problem| writeln!(self.err, "{problem}"))?;
        writeln!(self.err, "error: {failure}")
    }

    /// Shows what is wrong with the command line, or the help that it asks for; the exit code.
    pub(crate) fn usage(&mut self, error: &clap::Error, as_json: bool) -> u8 {
        let text = error.to_string();
        let (shown, code) = if !error.use_stderr() {
            (write!(self.out, "{text}"), FINE)
        } else if as_json {
            (writeln!(self.err, "{}", json!({ "error": { "code": "usage", "message": text } })), USAGE)
        } else {
            (write!(self.err, "{text}"), USAGE)
        };
        if shown.is_ok() { code } else { REFUSED }
    }
}

/// A JSON document in which what cannot be seen stands as its escape, so that a terminal shows it as it is.
/// Such characters stand in strings alone, so it is the same document.
fn printable_json(document: &Value) -> String {
    let mut shown = String::new();
    for c in document.to_string().chars() {
        if (' '..='~').contains(&c) || printable(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8() {
            shown.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
        }
    }
    shown
}

/// How far a long command is: a line drawn in place for a person, one every few seconds for a log.
pub(crate) struct Progress<'a> {
    clock: &'a Clock,
    doing: &'static str,
    total: u64,
    started: Timestamp,
    shown: Timestamp,
}

impl<'a> Progress<'a> {
    /// A person's eye takes no more than this.
    const BETWEEN_DRAWINGS_MILLIS: i64 = 250;
    /// A log should not fill up.
    const BETWEEN_LINES_MILLIS: i64 = 5_000;

    /// Nothing done yet. `doing` is such as `minted`.
    pub(crate) fn new(clock: &'a Clock, doing: &'static str, total: u64) -> Self {
        let now = clock.now();
        Self { clock, doing, total, started: now, shown: now }
    }

    /// Shows how much is done, unless that was shown a moment ago.
    pub(crate) fn show(&mut self, console: &mut Console<'_>, done: u64) {
        let now = self.clock.now();
        let pause =
            if console.err_is_terminal { Self::BETWEEN_DRAWINGS_MILLIS } else { Self::BETWEEN_LINES_MILLIS };
        if now.as_millis() - self.shown.as_millis() < pause {
            return;
        }
        self.shown = now;
        let line = self.line(now, done);
        // Progress is a courtesy: the work goes on when it cannot be shown.
        let _ = if console.err_is_terminal {
            write!(console.err, "\r\u{1b}[K{line}").and_then(|()| console.err.flush())
        } else {
            writeln!(console.err, "{line}")
        };
    }

    /// Takes the line away again.
    pub(crate) fn end(&self, console: &mut Console<'_>) {
        if console.err_is_terminal && self.shown != self.started {
            let _ = write!(console.err, "\r\u{1b}[K");
        }
    }

    fn line(&self, now: Timestamp, done: u64) -> String {
        let millis = u64::try_from(now.as_millis() - self.started.as_millis()).unwrap_or(0).max(1);
        let rate = (done.saturating_mul(1000) / millis).max(1);
        let left = self.total.saturating_sub(done).div_ceil(rate);
        let percent = done.saturating_mul(100) / self.total.max(1);
        format!(
            "{} {} of {} ({percent} %), {} a second, {left} s left",
            self.doing,
            grouped(done),
            grouped(self.total),
            grouped(rate)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn json_is_the_same_document_with_what_cannot_be_seen_escaped() {
        let document = json!({ "region": "a\u{7f}\u{202e}b\u{2028}\u{e0041} é \u{1f375}" });
        let shown = printable_json(&document);
        assert_eq!(shown, "{\"region\":\"a\\u007f\\u202eb\\u2028\\udb40\\udc41 é \u{1f375}\"}");
        assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON"), document);
    }

    #[test]
    fn progress_says_how_much_how_fast_and_how_long_still() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        let mut progress = Progress::new(&clock, "minted", 10_000_000);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console { out: &mut out, err: &mut err, err_is_terminal: false };
        progress.show(&mut console, 1);
        clock.advance(Duration::from_secs(5));
        progress.show(&mut console, 2_500_000);
        progress.end(&mut console);
        let shown = String::from_utf8(err).expect("text");
        assert_eq!(shown, "minted 2,500,000 of 10,000,000 (25 %), 500,000 a second, 15 s left\n");
    }
}
