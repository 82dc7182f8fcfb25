//! The job is the child's only environment variable, the photo its standard input, JSON lines or a
//! copy its standard output. Each text is written at once, so that the deadline loses none.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::decode::NotDecoded;

/// Makes a process read. A [`Job`].
pub(crate) const JOB_VARIABLE: &str = "RECEIPT_PHOTO_JOB";
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    Found(String),
    /// All passes ran, or a receipt was found.
    Finished,
    NotDecoded(NotDecoded),
}
