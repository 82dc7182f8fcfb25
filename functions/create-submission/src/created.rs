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
    /// It has the same code and phone.
    SameCodeAndPhone,
    /// The request's Idempotency-Key was used before.
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

    /// Shows the consumer's earlier submission of the same code. One that was rejected since then
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
