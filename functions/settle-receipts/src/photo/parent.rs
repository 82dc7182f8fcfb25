//! The parent's side: starts a child for each photo, listens to it, and ends it in any case.

use std::ffi::OsString;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::domain::receipt::photo::MAX_BYTES;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Unreadable;
use super::cascade::Effort;
use super::decode::NotDecoded;
use super::protocol::{JOB_VARIABLE, Job, Line, MAX_TEXT_CHARS, MAX_TEXTS};

/// What reading one photo may take, and how many are read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start of the child to its end. What it found until then counts.
    pub deadline: Duration,
    /// How long one reader may be busy with one view of a photo before the other takes over.
    pub patience: Duration,
    /// Bytes that a child may write to.
    pub memory_bytes: u64,
    /// Children at the same time; further photos wait for their turn.
    pub at_once: usize,
}

impl Default for Limits {
    /// Ample for one full processor: the whole cascade takes about a second when no reader hangs,
    /// and 40 million pixels take 280 MB in the common kinds of file.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(12),
            patience: Duration::from_secs(3),
            memory_bytes: 512 * 1024 * 1024,
            at_once: 1,
        }
    }
}

/// Bytes that a child may say: ten texts of 400 characters, each at most six bytes once escaped or
/// four as UTF-8, and some.
const MAX_SAID_BYTES: u64 = 10 * 400 * 6 + 4_096;

/// Reads the QR codes out of photos, each in a process of its own.
#[derive(Debug)]
pub struct PhotoReader {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: Limits,
    effort: Effort,
    turns: Semaphore,
}

impl PhotoReader {
    /// With children of this same program, whose `main` begins with
    /// [`serve_if_asked`](super::serve_if_asked).
    ///
    /// # Errors
    /// When the system does not say where this program is.
    pub fn this_program(limits: Limits) -> io::Result<Self> {
        Ok(Self::program(std::env::current_exe()?, &[], limits))
    }

    /// With children of another program that does the same.
    pub fn program(program: impl Into<PathBuf>, arguments: &[&str], limits: Limits) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            limits,
            effort: Effort::Cascade,
            turns: Semaphore::new(limits.at_once.max(1)),
        }
    }

    /// With these readers only.
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// The distinct texts of the QR codes in a photo (at most 10, each at most 400 characters), in
    /// the order in which they were found: the child stops after the pass that found an accepted
    /// one, else when it has tried everything or its time is up. Never empty.
    ///
    /// # Errors
    /// As [`Unreadable`] says.
    pub async fn read(&self, photo: &[u8]) -> Result<Vec<String>, Unreadable> {
        if u64::try_from(photo.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
            return Err(NotDecoded::TooManyBytes.into());
        }
        // The semaphore is never closed; if it were, reading at once would do no harm.
        let _turn = self.turns.acquire().await;
        let mut child = Reading(self.command()?.spawn()?);
        let (input, output) = child.pipes()?;
        let mut heard = Heard::default();
        let in_time = timeout(self.limits.deadline, converse(input, output, photo, &mut heard)).await;
        drop(child);
        heard.outcome(in_time.is_ok())
    }

    fn command(&self) -> io::Result<Command> {
        let job = Job {
            effort: self.effort,
            memory_bytes: self.limits.memory_bytes,
            // Threads that are not waited for any more use time as well.
            cpu_seconds: self.limits.deadline.as_secs().saturating_mul(2).max(1),
            patience: self.limits.patience,
        };
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .env(JOB_VARIABLE, serde_json::to_string(&job)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        Ok(command)
    }
}

/// A child at work, which ends with this.
struct Reading(Child);

impl Reading {
    /// What the child reads, and what it says.
    fn pipes(&mut self) -> io::Result<(pipe::Sender, pipe::Receiver)> {
        let missing = || io::Error::other("the child has no pipe");
        let input = self.0.stdin.take().ok_or_else(missing)?;
        let output = self.0.stdout.take().ok_or_else(missing)?;
        Ok((
            pipe::Sender::from_owned_fd(OwnedFd::from(input))?,
            pipe::Receiver::from_owned_fd(OwnedFd::from(output))?,
        ))
    }
}

impl Drop for Reading {
    /// Holds the thread until nothing is left of the child: some milliseconds, for its memory.
    fn drop(&mut self) {
        // One that may not be killed would have to be waited for until it ends by itself.
        if self.0.kill().is_ok() {
            drop(self.0.wait());
        }
    }
}

/// What a child said.
#[derive(Debug, Default)]
struct Heard {
    texts: Vec<String>,
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    Finished,
    NotDecoded(NotDecoded),
}

impl Heard {
    /// Takes a line in; false when nothing can follow it.
    fn take(&mut self, line: &str) -> bool {
        match serde_json::from_str(line) {
            Ok(Line::Found(text)) if text.chars().count() <= MAX_TEXT_CHARS => {
                if self.texts.len() < MAX_TEXTS && !self.texts.contains(&text) {
                    self.texts.push(text);
                }
                true
            }
            Ok(Line::Finished) => {
                self.end = Some(End::Finished);
                false
            }
            Ok(Line::NotDecoded(fault)) => {
                self.end = Some(End::NotDecoded(fault));
                false
            }
            // Not the child's language: it is some other program, or broken.
            Ok(Line::Found(_)) | Err(_) => false,
        }
    }

    /// What was found counts, however the child ended.
    fn outcome(self, in_time: bool) -> Result<Vec<String>, Unreadable> {
        if !self.texts.is_empty() {
            return Ok(self.texts);
        }
        Err(match self.end {
            Some(End::NotDecoded(fault)) => fault.into(),
            Some(End::Finished) => Unreadable::NoQrCode,
            None if in_time => Unreadable::Crashed,
            None => Unreadable::TooSlow,
        })
    }
}

/// Hands the photo over and listens, until the child has said everything.
async fn converse(input: pipe::Sender, output: pipe::Receiver, photo: &[u8], heard: &mut Heard) {
    let hand_over = async move {
        let mut input = input;
        // A child that does not want all of it says why on its output, or has crashed.
        drop(input.write_all(photo).await);
        drop(input);
        pending::<()>().await
    };
    let listen = async {
        let mut lines = BufReader::new(output.take(MAX_SAID_BYTES)).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if !heard.take(&line) {
                break;
            }
        }
    };
    tokio::select! {
        () = listen => {}
        () = hand_over => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_makes_the_whole_effort_unless_it_is_told_otherwise() {
        let reader = PhotoReader::program("reader", &[], Limits::default());
        assert_eq!(reader.effort, Effort::Cascade);
        assert_eq!(reader.with_effort(Effort::StrongOnly).effort, Effort::StrongOnly);
    }

    #[test]
    fn no_more_texts_are_taken_than_the_most_and_each_only_once() {
        let mut heard = Heard::default();
        for number in 0..=MAX_TEXTS {
            for _ in 0..2 {
                assert!(heard.take(&format!(r#"{{"found":"{number}"}}"#)));
            }
        }
        assert_eq!(heard.texts, (0..MAX_TEXTS).map(|number| number.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_text_that_is_too_long_is_not_the_childs_language() {
        let said = |characters: usize| format!(r#"{{"found":"{}"}}"#, "é".repeat(characters));
        assert!(Heard::default().take(&said(MAX_TEXT_CHARS)));
        assert!(!Heard::default().take(&said(MAX_TEXT_CHARS + 1)));
    }
}
