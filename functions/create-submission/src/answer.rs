//! The submission in a reply, and how it relates to the request.

use common::domain::submission::{State, Submission};
use common::http::reply::LogFields;

pub(crate) struct Answer {
    pub(crate) submission: Submission,
    pub(crate) origin: AnswerOrigin,
    pub(crate) log_fields: LogFields,
}

/// How the submission in a reply relates to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerOrigin {
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
    pub(crate) fn new(submission: Submission, origin: AnswerOrigin) -> Self {
        Self {
            submission,
            origin,
            log_fields: LogFields::default(),
        }
    }

    /// True if the reply shows the consumer's earlier submission of the same code. A submission that was rejected since
    /// then has lost the code and is not a replay.
    pub(crate) fn is_replayed(&self) -> bool {
        match self.origin {
            AnswerOrigin::New => false,
            AnswerOrigin::SameCodeAndPhone => true,
            AnswerOrigin::SameIdempotencyKey { was_replay } => {
                was_replay && self.submission.status.state() != State::Rejected
            }
        }
    }

    pub(crate) fn is_idempotent_replay(&self) -> bool {
        match self.origin {
            AnswerOrigin::SameIdempotencyKey { .. } => true,
            AnswerOrigin::New | AnswerOrigin::SameCodeAndPhone => false,
        }
    }
}
