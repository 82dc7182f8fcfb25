//! The submission that answers a request, and its relation to the request.

use common::domain::submission::{State, Submission};
use common::http::reply::LogFields;

pub(crate) struct CreatedSubmission {
    pub(crate) submission: Submission,
    pub(crate) origin: Origin,
    pub(crate) log_fields: LogFields,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    New,
    SameCodeAndPhone,
    SameIdempotencyKey {
        /// That reply was a replay of an earlier submission.
        was_replay: bool,
    },
}

impl CreatedSubmission {
    pub(crate) fn new(submission: Submission, origin: Origin) -> Self {
        let log_fields = LogFields::default();
        Self {
            submission,
            origin,
            log_fields,
        }
    }

    /// True if it is the consumer's earlier submission of the same code. One rejected since then
    /// has lost the code and is no replay.
    pub(crate) fn is_replayed(&self) -> bool {
        match self.origin {
            Origin::New => false,
            Origin::SameCodeAndPhone => true,
            Origin::SameIdempotencyKey { was_replay } => {
                was_replay && self.submission.status.state() != State::Rejected
            }
        }
    }

    pub(crate) fn is_idempotent_replay(&self) -> bool {
        matches!(self.origin, Origin::SameIdempotencyKey { .. })
    }
}
