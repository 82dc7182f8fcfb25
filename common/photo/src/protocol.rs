//! The protocol between parent and child. The job is in the child's only environment variable, the
//! photo on its standard input, and the child writes JSON lines to standard output. It writes each
//! text at once, so that the deadline loses none.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::decode::NotDecoded;

/// Turns a process into a child that reads; its value is a [`Job`].
pub(crate) const JOB_VARIABLE: &str = "RECEIPT_PHOTO_JOB";
/// Turns a process into a child that makes a copy to show; its value is a [`Job`].
pub(crate) const SHOW_VARIABLE: &str = "RECEIPT_PHOTO_SHOW";

pub(crate) const MAX_TEXTS: usize = 10;
/// A receipt's text has about 50 characters.
pub(crate) const MAX_TEXT_CHARS: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) memory_bytes: u64,
    pub(crate) cpu_seconds: u64,
    pub(crate) reader_timeout: Duration,
}

/// One line of the child's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    Found(String),
    /// All passes ran, or a receipt was found.
    Finished,
    /// A copy of so many bytes follows this line.
    Copy(u64),
    NotDecoded(NotDecoded),
}
