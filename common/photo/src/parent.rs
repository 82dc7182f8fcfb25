//! The parent process: starts a child for each photo, reads its output, and always ends it.

use std::ffi::OsString;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::config::{ConfigError, Env};
use common::domain::receipt::photo::{MAX_BYTES, PhotoType};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::Unreadable;
use crate::decode::NotDecoded;
use crate::protocol::{JOB_VARIABLE, Job, Line, MAX_TEXT_CHARS, MAX_TEXTS, SHOW_VARIABLE};
use crate::sanitized_copy::MAX_SHOWN_BYTES;

/// Environment variable with the path of the photo reader program; by default, this program reads
/// photos itself.
pub const PHOTO_READER: &str = "PHOTO_READER";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit of a child. Texts found before it count.
    pub deadline: Duration,
    pub reader_timeout: Duration,
    pub memory_bytes: u64,
    /// Further photos wait.
    pub at_once: usize,
}

impl Default for Limits {
    /// Generous for one full processor: the whole cascade takes about a second, and 40 million
    /// pixels take 280 MB in the common formats.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(12),
            reader_timeout: Duration::from_secs(3),
            memory_bytes: 512 * 1024 * 1024,
            at_once: 1,
        }
    }
}

/// Output of a child: ten texts of 400 characters, at most six bytes each when escaped, and
/// overhead.
const MAX_OUTPUT_BYTES: u64 = 10 * 400 * 6 + 4_096;

#[derive(Debug)]
pub struct PhotoReader {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: Limits,
    turns: Semaphore,
}

impl PhotoReader {
    /// Starts children of the program in the environment, or of this one, whose `main` has to begin
    /// with [`serve_if_asked`](crate::serve_if_asked), and with
    /// [`copy_if_asked`](crate::copy_if_asked) for copies.
    pub fn from_env(env: &Env) -> Result<Self, ConfigError> {
        let limits = Limits::default();
        match env.optional(PHOTO_READER) {
            Some(program) => Ok(Self::program(program, &[], limits)),
            None => Self::this_program(limits).map_err(|_| ConfigError::Malformed {
                variable: PHOTO_READER,
                expected: "set, because this program cannot tell where it is itself",
            }),
        }
    }

    pub fn this_program(limits: Limits) -> io::Result<Self> {
        Ok(Self::program(std::env::current_exe()?, &[], limits))
    }

    pub fn program(program: impl Into<PathBuf>, arguments: &[&str], limits: Limits) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            limits,
            turns: Semaphore::new(limits.at_once.max(1)),
        }
    }

    /// Reads the distinct texts of a photo's QR codes in the order found: 1 to 10, of at most 400
    /// characters. The child stops after the pass that found a receipt, after the last one, or at
    /// the deadline.
    pub async fn read(&self, photo: &[u8]) -> Result<Vec<String>, Unreadable> {
        let mut received = ChildOutput::default();
        let in_time = self
            .ask(JOB_VARIABLE, photo, |output| {
                read_lines(output, &mut received)
            })
            .await?;
        received.outcome(in_time.is_some())
    }

    /// Makes a copy that is safe to show: a PNG file of the gray pixels alone, upright, of a
    /// screen's size.
    pub async fn copy(&self, photo: &[u8]) -> Result<Vec<u8>, Unreadable> {
        let copied = self.ask(SHOW_VARIABLE, photo, read_copy).await?;
        copied.unwrap_or(Err(Unreadable::TooSlow))
    }

    /// `None` if the time ran out.
    async fn ask<F: Future>(
        &self,
        variable: &str,
        photo: &[u8],
        read: impl FnOnce(pipe::Receiver) -> F,
    ) -> Result<Option<F::Output>, Unreadable> {
        if u64::try_from(photo.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
            return Err(NotDecoded::TooManyBytes.into());
        }
        // The semaphore is never closed; an error would only let one more child run.
        let _turn = self.turns.acquire().await;
        let mut child = ChildGuard(self.command(variable)?.spawn()?);
        let (input, output) = child.pipes()?;
        let answer = timeout(self.limits.deadline, exchange(input, photo, read(output))).await;
        drop(child);
        Ok(answer.ok())
    }

    fn command(&self, variable: &str) -> io::Result<Command> {
        let job = Job {
            memory_bytes: self.limits.memory_bytes,
            // Abandoned reader threads keep using processor time.
            cpu_seconds: self.limits.deadline.as_secs().saturating_mul(2).max(1),
            reader_timeout: self.limits.reader_timeout,
        };
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .env(variable, serde_json::to_string(&job)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        Ok(command)
    }
}

struct ChildGuard(Child);

impl ChildGuard {
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

impl Drop for ChildGuard {
    /// Blocks for a few milliseconds, until the child's memory is free.
    fn drop(&mut self) {
        // If killing fails, waiting could block until the child ends.
        if self.0.kill().is_ok() {
            drop(self.0.wait());
        }
    }
}

#[derive(Debug, Default)]
struct ChildOutput {
    texts: Vec<String>,
    last_line: Option<Line>,
}

impl ChildOutput {
    /// False for the last line.
    fn push(&mut self, line: &str) -> bool {
        match serde_json::from_str(line) {
            Ok(Line::Found(text)) if text.chars().count() <= MAX_TEXT_CHARS => {
                if self.texts.len() < MAX_TEXTS && !self.texts.contains(&text) {
                    self.texts.push(text);
                }
                true
            }
            // Without a last line, the child is another program, or broken.
            last => {
                self.last_line = last.ok();
                false
            }
        }
    }

    /// Texts count even after a crash or timeout.
    fn outcome(self, in_time: bool) -> Result<Vec<String>, Unreadable> {
        if !self.texts.is_empty() {
            return Ok(self.texts);
        }
        Err(match self.last_line {
            Some(Line::NotDecoded(fault)) => fault.into(),
            Some(Line::Finished) => Unreadable::NoQrCode,
            Some(Line::Found(_) | Line::Copy(_)) | None if in_time => Unreadable::Crashed,
            Some(Line::Found(_) | Line::Copy(_)) | None => Unreadable::TooSlow,
        })
    }
}

async fn exchange<T>(input: pipe::Sender, photo: &[u8], read: impl Future<Output = T>) -> T {
    let write = async move {
        let mut input = input;
        // A child that does not read the whole photo says why, or has crashed.
        drop(input.write_all(photo).await);
        drop(input);
        pending::<T>().await
    };
    tokio::select! {
        answer = read => answer,
        never = write => never,
    }
}

async fn read_lines(output: pipe::Receiver, received: &mut ChildOutput) {
    let mut lines = BufReader::new(output.take(MAX_OUTPUT_BYTES)).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if !received.push(&line) {
            break;
        }
    }
}

async fn read_copy(output: pipe::Receiver) -> Result<Vec<u8>, Unreadable> {
    let mut output = BufReader::new(output.take(MAX_SHOWN_BYTES));
    let mut line = String::new();
    output.read_line(&mut line).await?;
    let bytes = match serde_json::from_str(&line) {
        Ok(Line::Copy(bytes)) => bytes,
        Ok(Line::NotDecoded(fault)) => return Err(fault.into()),
        Ok(Line::Found(_) | Line::Finished) | Err(_) => return Err(Unreadable::Crashed),
    };
    let mut copy = Vec::new();
    output.read_to_end(&mut copy).await?;
    let is_whole = u64::try_from(copy.len()).is_ok_and(|read| read == bytes);
    // Nothing else that the child may have written is shown.
    let is_copy = PhotoType::from_magic_bytes(&copy) == Some(PhotoType::Png);
    if is_whole && is_copy {
        Ok(copy)
    } else {
        Err(Unreadable::Crashed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_texts_are_taken_than_the_most_and_each_only_once() {
        let mut received = ChildOutput::default();
        for number in 0..=MAX_TEXTS {
            for _ in 0..2 {
                assert!(received.push(&format!(r#"{{"found":"{number}"}}"#)));
            }
        }
        assert_eq!(
            received.texts,
            (0..MAX_TEXTS)
                .map(|number| number.to_string())
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_text_that_is_too_long_is_not_the_childs_language() {
        let line = |characters: usize| format!(r#"{{"found":"{}"}}"#, "é".repeat(characters));
        assert!(ChildOutput::default().push(&line(MAX_TEXT_CHARS)));
        assert!(!ChildOutput::default().push(&line(MAX_TEXT_CHARS + 1)));
    }
}
