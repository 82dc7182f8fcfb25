use common::domain::{State, Submission};
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
        /// The earlier reply was a replay.
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

    /// True for the consumer's earlier submission of the code, unless it lost the code.
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
