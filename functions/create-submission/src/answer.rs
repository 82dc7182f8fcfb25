//! The submission that a request is answered with.

use common::domain::submission::{State, Submission};
use common::http::reply::LogFields;

pub(crate) struct Answer {
    pub(crate) submission: Submission,
    pub(crate) kind: AnswerKind,
    pub(crate) log_fields: LogFields,
}

/// Which submission a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// The one that it made.
    New,
    /// An earlier one of the same code and phone.
    SameCodeAndPhone,
    /// The one that its Idempotency-Key led to before.
    SameIdempotencyKey {
        /// Whether that was an earlier one of the same code and phone.
        was_replay: bool,
    },
}

impl Answer {
    pub(crate) fn new(submission: Submission, kind: AnswerKind) -> Self {
        Self { submission, kind, log_fields: LogFields::default() }
    }

    /// Whether the code and phone, not the request, made the submission. One that was rejected since the replay no longer
    /// has the code.
    pub(crate) fn is_replayed(&self) -> bool {
        match self.kind {
            AnswerKind::New => false,
            AnswerKind::SameCodeAndPhone => true,
            AnswerKind::SameIdempotencyKey { was_replay } => {
                was_replay && self.submission.status.state() != State::Rejected
            }
        }
    }

    pub(crate) fn is_idempotent_replay(&self) -> bool {
        match self.kind {
            AnswerKind::SameIdempotencyKey { .. } => true,
            AnswerKind::New | AnswerKind::SameCodeAndPhone => false,
        }
    }
}
