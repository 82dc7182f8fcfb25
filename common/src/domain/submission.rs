//! A submission, the states it goes through, and the one status to show for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ids::{Reference, SubmissionId};
use super::message::MessageKey;
use super::moment::Moment;
use super::phone::Phone;
use super::scope::Scope;

/// One attempt of a consumer to enter, refused ones included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Its id.
    pub submission_id: SubmissionId,
    /// The reference a consumer can quote.
    pub reference: Reference,
    /// What it belongs to.
    pub scope: Scope,
    /// Who sent it.
    pub phone: Phone,
    /// The key of the code it holds or redeemed; none for a refused one.
    pub code_key: Option<String>,
    /// How it stands.
    pub standing: Standing,
    /// Why, for logs: message keys, or reasons for operators.
    pub reasons: Vec<String>,
    /// The campaign's day it was made on, `YYYY-MM-DD`: limits count by it, also when it settles later.
    pub day: String,
    /// The consumer's region, as sent.
    pub region: Option<String>,
    /// What the consumer says they bought.
    pub claimed: Option<Claimed>,
    /// The operator's decision, when a person settled it.
    pub decision: Option<OperatorDecision>,
    /// When it was made.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

/// Who settled a submission by hand, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorDecision {
    /// The operator, as they named themselves.
    pub by: String,
    /// When.
    pub at: Moment,
    /// Why, in their words.
    pub why: Option<String>,
}

/// What the consumer says they bought; recorded for comparison, never deciding anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// Products and how many.
    pub items: Vec<ClaimedItem>,
    /// The branch.
    pub branch: Option<String>,
}

/// One claimed product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedItem {
    /// The product's key in the campaign.
    pub key: String,
    /// How many, 1 to 99.
    pub qty: u32,
}

/// Where a submission is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Still being checked.
    Pending,
    /// In.
    Accepted,
    /// Not in.
    Rejected,
    /// The partner did not answer; the service settles it by itself.
    Unknown,
}

/// How far the receipt has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// The receipt counts.
    Verified,
    /// A person looks at it.
    UnderReview,
    /// The receipt does not count.
    Declined,
}

/// The one status to show a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisplayStatus {
    /// In.
    Entered,
    /// Being checked by machines.
    Checking,
    /// Being looked at by a person.
    ReceiptInReview,
    /// Not in.
    NotAccepted,
    /// Not in, but the consumer can do something about it.
    NeedsAttention,
}

/// How a submission stands: everything about its outcome, made only in the ways below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    state: State,
    review_status: Option<ReviewStatus>,
    message_key: MessageKey,
    entries: u32,
    instant_win: Option<String>,
}

/// What moves a submission that is not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Everything that had to be checked was found good.
    Accept {
        /// Entries earned.
        entries: u32,
        /// The instant prize, in words.
        instant_win: Option<String>,
    },
    /// Something was found that refuses it.
    Reject(MessageKey),
}

/// The submission is settled: nothing moves it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the submission is settled already")]
pub struct AlreadySettled;

impl Standing {
    /// In, with this many entries and perhaps a prize.
    pub fn accepted(entries: u32, instant_win: Option<String>) -> Self {
        let message_key = if instant_win.is_some() { MessageKey::InstantWin } else { MessageKey::Entered };
        Self { state: State::Accepted, review_status: None, message_key, entries, instant_win }
    }

    /// Not in, for this reason.
    pub fn rejected(message_key: MessageKey) -> Self {
        Self { state: State::Rejected, review_status: None, message_key, entries: 0, instant_win: None }
    }

    /// Where it stands after an event. A settled one stays as it is: an event twice is an event once.
    ///
    /// # Errors
    /// [`AlreadySettled`] when nothing can happen any more.
    pub fn after(&self, event: Event) -> Result<Self, AlreadySettled> {
        if self.is_terminal() {
            return Err(AlreadySettled);
        }
        Ok(match event {
            Event::Accept { entries, instant_win } => {
                let review_status = self.review_status.map(|_| ReviewStatus::Verified);
                Self { review_status, ..Self::accepted(entries, instant_win) }
            }
            Event::Reject(key) => {
                let review_status = self.review_status.map(|_| ReviewStatus::Declined);
                Self { review_status, ..Self::rejected(key) }
            }
        })
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// How far the receipt has been looked at.
    pub fn review_status(&self) -> Option<ReviewStatus> {
        self.review_status
    }

    /// Which message applies.
    pub fn message_key(&self) -> MessageKey {
        self.message_key
    }

    /// Entries earned; 0 until accepted.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// The instant prize, in words.
    pub fn instant_win(&self) -> Option<&str> {
        self.instant_win.as_deref()
    }

    /// Whether nothing more happens without a person.
    pub fn is_terminal(&self) -> bool {
        match self.state {
            State::Accepted | State::Rejected => true,
            State::Pending | State::Unknown => false,
        }
    }

    /// Whether it counts towards the phone's limits and keeps its code.
    pub fn counts(&self) -> bool {
        match self.state {
            State::Pending | State::Unknown | State::Accepted => true,
            State::Rejected => false,
        }
    }

    /// The one status to show.
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

impl Submission {
    /// Seconds to wait before asking again; `None` when settled. Short while fresh, growing with age,
    /// long while a person looks.
    pub fn poll_after_seconds(&self, now: Moment) -> Option<u64> {
        /// Soon enough to feel immediate.
        const SHORTEST: u64 = 2;
        /// Slow enough to cost nothing.
        const LONGEST: u64 = 30;
        /// A person does not answer within seconds.
        const WHILE_REVIEWED: u64 = 300;
        /// A tenth of the age keeps the number of polls logarithmic.
        const SHARE_OF_AGE: u64 = 10;
        if self.standing.is_terminal() {
            return None;
        }
        if self.standing.review_status == Some(ReviewStatus::UnderReview) {
            return Some(WHILE_REVIEWED);
        }
        let age: Duration = now.since(self.created_at);
        Some((age.as_secs() / SHARE_OF_AGE).clamp(SHORTEST, LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn standing(state: State, review_status: Option<ReviewStatus>) -> Standing {
        Standing { state, review_status, message_key: MessageKey::Checking, entries: 0, instant_win: None }
    }

    #[test]
    fn every_pair_of_state_and_review_shows_one_status() {
        use DisplayStatus::{Checking, Entered, NeedsAttention, NotAccepted, ReceiptInReview};
        use ReviewStatus::{Declined, UnderReview, Verified};
        let reviews = [None, Some(Verified), Some(UnderReview), Some(Declined)];
        let table = [
            (State::Accepted, [Entered, Entered, Entered, Entered]),
            (State::Rejected, [NotAccepted, NotAccepted, NotAccepted, NeedsAttention]),
            (State::Pending, [Checking, Checking, ReceiptInReview, Checking]),
            (State::Unknown, [Checking, Checking, Checking, Checking]),
        ];
        for (state, row) in table {
            for (review, shown) in reviews.into_iter().zip(row) {
                assert_eq!(standing(state, review).display_status(), shown, "{state:?} {review:?}");
            }
        }
    }

    fn any_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0u32..9, prop::option::of("[a-z]{1,8}"))
                .prop_map(|(entries, instant_win)| Event::Accept { entries, instant_win }),
            prop::sample::select(MessageKey::ALL).prop_map(Event::Reject),
        ]
    }

    fn any_state() -> impl Strategy<Value = State> {
        prop::sample::select(vec![State::Pending, State::Accepted, State::Rejected, State::Unknown])
    }

    proptest! {
        #[test]
        fn a_settled_submission_never_moves_and_an_open_one_settles_once(
            state in any_state(), first in any_event(), second in any_event()
        ) {
            let start = standing(state, None);
            match start.after(first.clone()) {
                Err(AlreadySettled) => prop_assert!(start.is_terminal()),
                Ok(settled) => {
                    prop_assert!(!start.is_terminal() && settled.is_terminal());
                    prop_assert_eq!(settled.after(second), Err(AlreadySettled));
                    prop_assert_eq!(settled.counts(), matches!(first, Event::Accept { .. }));
                    prop_assert!(settled.counts() || settled.entries() == 0);
                }
            }
        }
    }
}
