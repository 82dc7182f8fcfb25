//! The states of a submission, and the status shown to the consumer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::MessageKey;

text_enum! {
    /// Current state of a submission. New values may be added.
    #[derive(JsonSchema)]
    #[schemars(rename = "SubmissionState")]
    pub enum State {
        /// Still being checked: the receipt, or the partner's answer.
        Pending = "pending",
        /// The entry counts. Final, unless your service operator finds that it must not count.
        Accepted = "accepted",
        /// The entry does not count. Final, unless your service operator corrects it. It no longer counts towards limits,
        /// and its code can be used again unless the entry had been accepted.
        Rejected = "rejected",
        /// The partner or the tax authority has not answered. The service keeps asking.
        Unknown = "unknown",
    }
}

/// Result of looking at the receipt. New values may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// The receipt counts.
    Verified,
    /// Your operator is reviewing the receipt.
    UnderReview,
    /// The receipt does not count.
    Declined,
}

/// The one status to show to the consumer. New values may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisplayStatus {
    /// The consumer is in.
    Entered,
    /// Being checked; the result follows within seconds or hours.
    Checking,
    /// Your operator is reviewing the receipt; the result follows.
    ReceiptInReview,
    /// The consumer is not in.
    NotAccepted,
    /// Not accepted because of the receipt: the consumer can send a better one, with the same code.
    NeedsAttention,
}

/// Constructors allow only valid combinations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionStatus {
    pub(super) state: State,
    pub(super) review_status: Option<ReviewStatus>,
    pub(super) message_key: MessageKey,
    pub(super) entries: u32,
    pub(super) instant_win: Option<String>,
    /// True if a winning moment gave it: a revocation gives it back to the plan, for another entry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) won_by_moment: bool,
}

impl SubmissionStatus {
    pub fn accepted(entries: u32, instant_win: Option<String>) -> Self {
        let message_key = if instant_win.is_some() {
            MessageKey::InstantWin
        } else {
            MessageKey::Entered
        };
        Self {
            state: State::Accepted,
            review_status: None,
            message_key,
            entries,
            instant_win,
            won_by_moment: false,
        }
    }

    #[must_use]
    pub fn winning(self, prize: String) -> Self {
        Self {
            message_key: MessageKey::InstantWin,
            instant_win: Some(prize),
            won_by_moment: true,
            ..self
        }
    }

    pub fn rejected(message_key: MessageKey) -> Self {
        Self {
            state: State::Rejected,
            review_status: None,
            message_key,
            entries: 0,
            instant_win: None,
            won_by_moment: false,
        }
    }

    pub fn receipt_received() -> Self {
        Self::open(State::Pending, None, MessageKey::ReceiptReceived)
    }

    pub fn checking() -> Self {
        Self::open(State::Pending, None, MessageKey::Checking)
    }

    pub fn unknown() -> Self {
        Self::open(State::Unknown, None, MessageKey::Checking)
    }

    #[cfg(test)]
    pub(crate) fn under_review() -> Self {
        let review_status = Some(ReviewStatus::UnderReview);
        Self::open(State::Pending, review_status, MessageKey::ReceiptReceived)
    }

    pub(super) fn open(
        state: State,
        review_status: Option<ReviewStatus>,
        message_key: MessageKey,
    ) -> Self {
        Self {
            state,
            review_status,
            message_key,
            entries: 0,
            instant_win: None,
            won_by_moment: false,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    pub fn review_status(&self) -> Option<ReviewStatus> {
        self.review_status
    }

    pub fn message_key(&self) -> MessageKey {
        self.message_key
    }

    pub fn entries(&self) -> u32 {
        self.entries
    }

    pub fn instant_win(&self) -> Option<&str> {
        self.instant_win.as_deref()
    }

    pub fn is_terminal(&self) -> bool {
        match self.state {
            State::Accepted | State::Rejected => true,
            State::Pending | State::Unknown => false,
        }
    }

    /// True if it counts towards the phone's limits and keeps its code.
    pub fn counts(&self) -> bool {
        match self.state {
            State::Pending | State::Unknown | State::Accepted => true,
            State::Rejected => false,
        }
    }

    pub fn display_status(&self) -> DisplayStatus {
        match (self.state, self.review_status) {
            (State::Accepted, _) => DisplayStatus::Entered,
            (State::Rejected, Some(ReviewStatus::Declined)) => DisplayStatus::NeedsAttention,
            (State::Rejected, None | Some(ReviewStatus::Verified | ReviewStatus::UnderReview)) => {
                DisplayStatus::NotAccepted
            }
            (State::Pending, Some(ReviewStatus::UnderReview)) => DisplayStatus::ReceiptInReview,
            (State::Pending, None | Some(ReviewStatus::Verified | ReviewStatus::Declined))
            | (State::Unknown, _) => DisplayStatus::Checking,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: State, review_status: Option<ReviewStatus>) -> SubmissionStatus {
        SubmissionStatus {
            state,
            review_status,
            message_key: MessageKey::Checking,
            entries: 0,
            instant_win: None,
            won_by_moment: false,
        }
    }

    #[test]
    fn every_pair_of_state_and_review_shows_one_status() {
        use DisplayStatus::{Checking, Entered, NeedsAttention, NotAccepted, ReceiptInReview};
        use ReviewStatus::{Declined, UnderReview, Verified};
        let reviews = [None, Some(Verified), Some(UnderReview), Some(Declined)];
        let table = [
            (State::Accepted, [Entered, Entered, Entered, Entered]),
            (
                State::Rejected,
                [NotAccepted, NotAccepted, NotAccepted, NeedsAttention],
            ),
            (
                State::Pending,
                [Checking, Checking, ReceiptInReview, Checking],
            ),
            (State::Unknown, [Checking, Checking, Checking, Checking]),
        ];
        for (state, row) in table {
            for (review, shown) in reviews.into_iter().zip(row) {
                assert_eq!(
                    status(state, review).display_status(),
                    shown,
                    "{state:?} {review:?}"
                );
            }
        }
    }

    #[test]
    fn moment_makes_an_acceptance_win() {
        let prize = "Airtime".to_owned();
        let expected = SubmissionStatus {
            won_by_moment: true,
            ..SubmissionStatus::accepted(2, Some(prize.clone()))
        };
        assert_eq!(SubmissionStatus::accepted(2, None).winning(prize), expected);
    }
}
