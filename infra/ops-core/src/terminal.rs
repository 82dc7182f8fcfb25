//! Output: reports on standard output; problems, notes and progress on standard error.

use std::io::BufRead;
use std::sync::Arc;

use common::lock::Mutex;

use crate::prelude::*;

pub const EXIT_OK: u8 = 0;
/// The command was refused or failed.
pub const EXIT_FAILURE: u8 = 1;
/// An invalid command line.
pub const EXIT_USAGE: u8 = 2;

pub struct Terminal<'a> {
    pub out: &'a mut (dyn Write + Send),
    pub err: &'a mut (dyn Write + Send),
    /// `None` without a terminal.
    pub input: Option<&'a mut (dyn BufRead + Send)>,
    /// True if progress can be redrawn in place.
    pub err_is_terminal: bool,
    /// True with `--json`: standard error has only an error's document.
    pub is_quiet: bool,
    /// `--yes` agrees to every question.
    pub yes: bool,
}

impl<'a> Terminal<'a> {
    /// A terminal that cannot ask.
    pub fn without_input(out: &'a mut (dyn Write + Send), err: &'a mut (dyn Write + Send)) -> Self {
        Self {
            out,
            err,
            input: None,
            err_is_terminal: false,
            is_quiet: false,
            yes: false,
        }
    }
}

pub(crate) struct Report {
    pub(crate) json: Value,
    pub(crate) text: String,
    /// Text for standard error, without `--json`.
    pub(crate) note: Option<String>,
    /// [`EXIT_OK`], unless scripts need to know of a finding.
    pub(crate) code: u8,
}

impl Report {
    /// The document gets its times as text, and the names of its scope.
    pub(crate) fn new(json: Value, text: impl Into<String>) -> Self {
        let mut json = of_record(&json);
        write_times_out(&mut json);
        Self {
            json,
            text: text.into(),
            note: None,
            code: EXIT_OK,
        }
    }

    pub(crate) fn with_notes(self, notes: &[String]) -> Self {
        self.with_note((!notes.is_empty()).then(|| notes.join("\n")))
    }

    pub(crate) fn with_note(self, note: impl Into<Option<String>>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }
}

impl Terminal<'_> {
    /// Returns the exit code.
    pub(crate) fn show(&mut self, ended: Result<Report>, as_json: bool) -> u8 {
        let (shown, code) = match ended {
            Ok(report) if as_json => (
                writeln!(self.out, "{}", printable_json(&report.json)),
                report.code,
            ),
            Ok(report) => (self.report(&report), report.code),
            Err(failure) if as_json => (
                writeln!(self.err, "{}", printable_json(&json!({ "error": failure }))),
                EXIT_FAILURE,
            ),
            Err(failure) => (self.failure(&failure), EXIT_FAILURE),
        };
        // The output was closed, so the operator did not see it.
        if shown.is_ok() { code } else { EXIT_FAILURE }
    }

    /// A part of the output, before the rest is known.
    pub(crate) fn print(&mut self, text: &str) {
        if !self.is_quiet {
            let _ = writeln!(self.out, "{text}");
        }
    }

    pub(crate) fn note(&mut self, text: &str) {
        if !self.is_quiet {
            let _ = writeln!(self.err, "{text}");
        }
    }

    fn report(&mut self, report: &Report) -> io::Result<()> {
        if !report.text.is_empty() {
            writeln!(self.out, "{}", report.text.trim_end())?;
        }
        match &report.note {
            Some(note) => writeln!(self.err, "{note}"),
            None => Ok(()),
        }
    }

    fn failure(&mut self, failure: &Failure) -> io::Result<()> {
        failure
            .problems
            .iter()
            .try_for_each(|problem| writeln!(self.err, "{problem}"))?;
        writeln!(self.err, "error: {failure}")
    }

    /// Returns the exit code.
    pub(crate) fn usage(&mut self, error: &clap::Error, as_json: bool) -> u8 {
        let text = error.to_string();
        let (shown, code) = if !error.use_stderr() {
            (write!(self.out, "{text}"), EXIT_OK)
        } else if as_json {
            (
                writeln!(
                    self.err,
                    "{}",
                    json!({ "error": { "code": "usage", "message": text } })
                ),
                EXIT_USAGE,
            )
        } else {
            (write!(self.err, "{text}"), EXIT_USAGE)
        };
        if shown.is_ok() { code } else { EXIT_FAILURE }
    }
}

/// Escapes invisible characters, so that they cannot affect a terminal. They occur only in strings,
/// so the document's meaning stays.
fn printable_json(document: &Value) -> String {
    let mut shown = String::new();
    for c in document.to_string().chars() {
        if (' '..='~').contains(&c) || printable(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8() {
            shown.push(c);
        } else {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
        }
    }
    shown
}

/// Ctrl-C drops the work, and fails with `stopped`.
pub(crate) async fn unless_interrupted<T>(
    work: impl Future<Output = Result<T>>,
    stopped: &str,
) -> Result<T> {
    tokio::select! {
        // Notices Ctrl-C also while files are written.
        biased;
        () = interrupted() => Err(failure!("interrupted", "{stopped}")),
        done = work => done,
    }
}

/// Ctrl-C; never, if it cannot be noticed.
pub(crate) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Keeps the last line of progress, for a page.
#[derive(Clone, Default)]
pub struct LastLine(Arc<Mutex<String>>);

impl LastLine {
    pub fn text(&self) -> String {
        let line = self.0.lock();
        line.trim_end().to_owned()
    }

    /// A terminal that prints progress here, and cannot ask.
    pub fn terminal<'a>(&'a mut self, out: &'a mut io::Sink) -> Terminal<'a> {
        Terminal::without_input(out, self)
    }
}

impl Write for LastLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let mut line = self.0.lock();
        // A line comes in parts.
        if line.ends_with('\n') {
            line.clear();
        }
        line.push_str(&text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Redrawn on a terminal, otherwise a line every few seconds.
pub(crate) struct Progress<'a> {
    clock: &'a Clock,
    doing: &'static str,
    total: u64,
    started: Timestamp,
    shown: Timestamp,
}

impl<'a> Progress<'a> {
    const BETWEEN_DRAWINGS_MILLIS: i64 = 250;
    /// Rare enough not to fill a log.
    const BETWEEN_LINES_MILLIS: i64 = 5_000;

    /// `doing` is such as `minted`.
    pub(crate) fn new(clock: &'a Clock, doing: &'static str, total: u64) -> Self {
        let now = clock.now();
        Self {
            clock,
            doing,
            total,
            started: now,
            shown: now,
        }
    }

    pub(crate) fn without_total(clock: &'a Clock, doing: &'static str) -> Self {
        Self::new(clock, doing, 0)
    }

    pub(crate) fn show(&mut self, terminal: &mut Terminal<'_>, done: u64) {
        if terminal.is_quiet {
            return;
        }
        let now = self.clock.now();
        let pause = if terminal.err_is_terminal {
            Self::BETWEEN_DRAWINGS_MILLIS
        } else {
            Self::BETWEEN_LINES_MILLIS
        };
        if now.as_millis() - self.shown.as_millis() < pause {
            return;
        }
        self.shown = now;
        let line = self.line(now, done);
        let _ = if terminal.err_is_terminal {
            write!(terminal.err, "\r\u{1b}[K{line}").and_then(|()| terminal.err.flush())
        } else {
            writeln!(terminal.err, "{line}")
        };
    }

    pub(crate) fn end(&self, terminal: &mut Terminal<'_>) {
        if terminal.err_is_terminal && self.shown != self.started {
            let _ = write!(terminal.err, "\r\u{1b}[K");
        }
    }

    fn line(&self, now: Timestamp, done: u64) -> String {
        let millis = u64::try_from(now.as_millis() - self.started.as_millis())
            .unwrap_or(0)
            .max(1);
        let rate = (done.saturating_mul(1000) / millis).max(1);
        if self.total == 0 {
            return format!(
                "{} {}, {} a second",
                self.doing,
                grouped(done),
                grouped(rate)
            );
        }
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
        assert_eq!(
            shown,
            "{\"region\":\"a\\u007f\\u202eb\\u2028\\udb40\\udc41 é \u{1f375}\"}"
        );
        assert_eq!(
            serde_json::from_str::<Value>(&shown).expect("JSON"),
            document
        );
    }

    #[test]
    fn progress_says_how_much_how_fast_and_how_long_still() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        let mut progress = Progress::new(&clock, "minted", 10_000_000);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut terminal = Terminal::without_input(&mut out, &mut err);
        progress.show(&mut terminal, 1);
        clock.advance(Duration::from_secs(5));
        progress.show(&mut terminal, 2_500_000);
        progress.end(&mut terminal);
        let shown = String::from_utf8(err).expect("text");
        assert_eq!(
            shown,
            "minted 2,500,000 of 10,000,000 (25 %), 500,000 a second, 15 s left\n"
        );
    }
}
