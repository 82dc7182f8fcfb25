//! Starts a child for each photo, and always ends it.

use std::ffi::OsString;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::config::{ConfigError, Env};
use common::domain::PhotoType;
use common::domain::receipt::photo::MAX_BYTES;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::Unreadable;
use crate::decode::NotDecoded;
use crate::protocol::{JOB_VARIABLE, Job, Line, MAX_TEXT_CHARS, MAX_TEXTS, SHOW_VARIABLE};
use crate::sanitized_copy::MAX_SHOWN_BYTES;

/// Path of the photo reader program; by default, this program reads photos itself.
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
    /// The whole cascade takes about a second on one full processor; 40 million pixels take 280 MB
    /// in the common formats, as 20 million in colors do.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(12),
            reader_timeout: Duration::from_secs(3),
            memory_bytes: 512 * 1024 * 1024,
            at_once: 1,
        }
    }
}

/// Ten texts of 400 characters, at most six bytes each when escaped, and overhead.
const MAX_OUTPUT_BYTES: u64 = 10 * 400 * 6 + 4_096;

/// The last marker of a JPEG file, which shows that a copy is whole.
const JPEG_END: &[u8] = b"\xff\xd9";

#[derive(Debug)]
pub struct PhotoReader {
    program: PathBuf,
    arguments: Vec<OsString>,
    limits: Limits,
    turns: Semaphore,
}

impl PhotoReader {
    /// Children run the program in the environment, or this one, whose `main` begins with
    /// [`serve_if_asked`](crate::serve_if_asked), and [`copy_if_asked`](crate::copy_if_asked) for
    /// copies.
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

    /// Distinct texts in the order found: 1 to 10, of at most 400 characters. The child stops after
    /// the pass that found a receipt, after the last one, or at the deadline.
    pub async fn read(&self, photo: &[u8]) -> Result<Vec<String>, Unreadable> {
        let mut texts = Vec::new();
        let asking = self.ask(JOB_VARIABLE, photo, |output| read_texts(output, &mut texts));
        let why_none = asking.await?.unwrap_or(Unreadable::TooSlow);
        // Texts count even after a crash or timeout.
        if texts.is_empty() {
            Err(why_none)
        } else {
            Ok(texts)
        }
    }

    /// A JPEG file of the pixels alone, upright, of a screen's size.
    pub async fn copy(&self, photo: &[u8]) -> Result<Vec<u8>, Unreadable> {
        let copied = self.ask(SHOW_VARIABLE, photo, read_copy).await?;
        copied.unwrap_or(Err(Unreadable::TooSlow))
    }

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
        // If killing fails, waiting could block.
        if self.0.kill().is_ok() {
            drop(self.0.wait());
        }
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

/// The reason counts if there are no texts.
async fn read_texts(output: impl AsyncRead + Unpin, texts: &mut Vec<String>) -> Unreadable {
    let mut lines = BufReader::new(output.take(MAX_OUTPUT_BYTES)).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(Line::Found(text)) if text.chars().count() <= MAX_TEXT_CHARS => {
                if texts.len() < MAX_TEXTS && !texts.contains(&text) {
                    texts.push(text);
                }
            }
            Ok(Line::NotDecoded(fault)) => return fault.into(),
            Ok(Line::Finished) => return Unreadable::NoQrCode,
            // The child is another program, or broken.
            Ok(Line::Found(_)) | Err(_) => break,
        }
    }
    Unreadable::Crashed
}

/// Shows nothing else that the child may have written.
async fn read_copy(output: pipe::Receiver) -> Result<Vec<u8>, Unreadable> {
    let mut copy = Vec::new();
    output.take(MAX_SHOWN_BYTES).read_to_end(&mut copy).await?;
    if PhotoType::from_magic_bytes(&copy) == Some(PhotoType::Jpeg) && copy.ends_with(JPEG_END) {
        return Ok(copy);
    }
    Err(match serde_json::from_slice(&copy) {
        Ok(Line::NotDecoded(fault)) => fault.into(),
        Ok(Line::Found(_) | Line::Finished) | Err(_) => Unreadable::Crashed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(output: String) -> Vec<String> {
        let mut texts = Vec::new();
        let why_none = read_texts(output.as_bytes(), &mut texts).await;
        assert!(matches!(why_none, Unreadable::Crashed));
        texts
    }

    #[tokio::test]
    async fn texts_are_taken_once_and_no_more_than_the_most() {
        let line = |number| format!("{{\"found\":\"{number}\"}}\n").repeat(2);
        let expected: Vec<_> = (0..MAX_TEXTS).map(|number| number.to_string()).collect();
        assert_eq!(read((0..=MAX_TEXTS).map(line).collect()).await, expected);
    }

    #[tokio::test]
    async fn text_that_is_too_long_is_not_the_childs_language() {
        let line = |characters: usize| format!("{{\"found\":\"{}\"}}\n", "é".repeat(characters));
        let [longest, longer] = [MAX_TEXT_CHARS, MAX_TEXT_CHARS + 1].map(line);
        assert_eq!(read(format!("{longest}{longer}{longest}")).await.len(), 1);
        assert_eq!(read(format!("{longer}{longest}")).await, [""; 0]);
    }
}
