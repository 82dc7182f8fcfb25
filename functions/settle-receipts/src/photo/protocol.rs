//! The protocol of parent and child: the job is in the child's only environment variable, the photo on its standard input,
//! and the child writes lines of JSON to its standard output. It writes each text at once, so that no text is lost at the
//! deadline.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cascade::Effort;
use super::decode::NotDecoded;

/// The variable that makes a process the child. It holds a [`Job`].
pub(super) const JOB_VARIABLE: &str = "RECEIPT_PHOTO_JOB";

/// Texts of one photo, at most.
pub(super) const MAX_TEXTS: usize = 10;

/// Characters of one text, at most: a receipt's are about 50.
pub(super) const MAX_TEXT_CHARS: usize = 400;

/// The child's work and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) effort: Effort,
    pub(super) memory_bytes: u64,
    pub(super) cpu_seconds: u64,
    pub(super) reader_timeout: Duration,
}

/// One line of the child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// A code was read.
    Found(String),
    /// All passes are over, or enough was found.
    Finished,
    /// The photo's own fault.
    NotDecoded(NotDecoded),
}
