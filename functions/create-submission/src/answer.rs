//! The submission in a reply, and how it relates to the request.

use common::domain::submission::{State, Submission};
use common::http::reply::LogFields;

pub(crate) struct Answer {
    pub(crate) submission: Submission,
    pub(crate) kind: AnswerKind,
    pub(crate) log_fields: LogFields,
}

/// How the submission in a reply relates to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// Created by this request.
    New,
    /// An earlier submission with the same code and phone.
    SameCodeAndPhone,
    /// The submission recorded under the request's Idempotency-Key.
    SameIdempotencyKey {
        /// The recorded reply was already a replay of an earlier submission.
        was_replay: bool,
    },
}

impl Answer {
    pub(crate) fn new(submission: Submission, kind: AnswerKind) -> Self {
        Self { submission, kind, log_fields: LogFields::default() }
    }

    /// True if the reply shows the consumer's earlier submission of the same code. A submission that was rejected since
    /// then has lost the code and is no replay.
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
