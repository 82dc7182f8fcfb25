//! A submission, the states it goes through, and the one status to show for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::code::Code;
use super::ids::{ReceiptId, Reference, SubmissionId};
use super::message::MessageKey;
use super::partner::reply::Upstream;
use super::phone::Phone;
use super::receipt::judgement::ReceiptSummary;
use super::receipt::payload::VerificationCode;
use super::scope::Scope;
use super::settling::{Assignee, PendingSettlement};
use super::timestamp::Timestamp;

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
    /// The receipt that is attached to it; none for a refused one.
    pub receipt_id: Option<ReceiptId>,
    /// What the tax authority knows of the receipt, as far as callers see it.
    pub receipt: Option<ReceiptSummary>,
    /// The purchase that the receipt proves: accepting the submission takes it.
    pub purchase: Option<VerificationCode>,
    /// How it stands.
    #[serde(rename = "standing")]
    pub status: SubmissionStatus,
    /// Why, for logs: message keys, or reasons for operators.
    pub reasons: Vec<String>,
    /// The campaign's day it was made on, `YYYY-MM-DD`: limits count by it, also when it settles later.
    pub day: String,
    /// The consumer's region, as sent.
    pub region: Option<String>,
    /// What the consumer says they bought.
    pub claimed: Option<Claimed>,
    /// The code that a partner has to be asked about; forgotten once it is settled.
    pub partner_code: Option<Code>,
    /// What the partner said.
    pub upstream: Option<Upstream>,
    /// The operator's decision, when a person settled it.
    pub decision: Option<OperatorDecision>,
    /// How it is to be settled; none once it is.
    pub settling: Option<PendingSettlement>,
    /// Counts its changes: a change is written only over the one it was made from.
    pub revision: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What the request that made it is called in logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// How it was before, oldest first: the first state and the latest 39.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastState>,
}

/// States that a submission remembers. One whose tax authority or partner is silent for a day changes more often.
const MAX_HISTORY: usize = 40;

/// How a submission was before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastState {
    /// Since when.
    pub at: Timestamp,
    /// How it stood.
    #[serde(rename = "standing")]
    pub status: SubmissionStatus,
    /// Why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Whether a step had been begun, and not ended yet.
    pub is_under_way: bool,
    /// What was not as expected by then.
    #[serde(default, rename = "surprise", skip_serializing_if = "Option::is_none")]
    pub anomaly: Option<String>,
}

/// Who settled a submission by hand, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorDecision {
    /// The operator, as they named themselves.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why, in their words.
    pub why: Option<String>,
}

/// A purchase as the consumer tells it: kept beside what the receipt says, and no outcome rests on it.
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

/// Current state of a submission. New values may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SubmissionState"))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Still being checked: the receipt, or the partner's answer.
    Pending,
    /// The consumer is in. Final.
    Accepted,
    /// The consumer is not in. Final; code, receipt and limits are free again.
    Rejected,
    /// The partner or the tax authority has not answered. The service keeps asking by itself.
    Unknown,
}

/// Result of looking at the receipt. New values may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// The receipt counts.
    Verified,
    /// A person looks at the receipt.
    UnderReview,
    /// The receipt does not count.
    Declined,
}

/// The one status to show to the consumer. New values may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DisplayStatus {
    /// The consumer is in.
    Entered,
    /// Being checked; the result comes by itself, within seconds or hours.
    Checking,
    /// A person looks at the receipt; the result comes by itself.
    ReceiptInReview,
    /// The consumer is not in.
    NotAccepted,
    /// Not in because of the receipt: the consumer can send a better one, with the same code.
    NeedsAttention,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Accepted, Self::Rejected, Self::Unknown];
}

/// How a submission stands: everything about its outcome, made only in the ways below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionStatus {
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
    /// A person has to look at the receipt.
    Review,
    /// Whoever had to be asked does not answer.
    Unanswered,
}

/// The submission is settled: nothing moves it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the submission is settled already")]
pub struct AlreadySettled;

impl SubmissionStatus {
    /// In, with this many entries and perhaps a prize.
    pub fn accepted(entries: u32, instant_win: Option<String>) -> Self {
        let message_key = if instant_win.is_some() { MessageKey::InstantWin } else { MessageKey::Entered };
        Self { state: State::Accepted, review_status: None, message_key, entries, instant_win }
    }

    /// Not in, for this reason.
    pub fn rejected(message_key: MessageKey) -> Self {
        Self { state: State::Rejected, review_status: None, message_key, entries: 0, instant_win: None }
    }

    /// Still to be checked, with a receipt that has come.
    pub fn receipt_received() -> Self {
        Self::open(State::Pending, None, MessageKey::ReceiptReceived)
    }

    /// Still to be checked, by somebody who has to be asked.
    pub fn checking() -> Self {
        Self::open(State::Pending, None, MessageKey::Checking)
    }

    /// Not decided yet, because whoever had to be asked has not answered.
    pub fn unanswered() -> Self {
        Self::open(State::Unknown, None, MessageKey::Checking)
    }

    fn open(state: State, review_status: Option<ReviewStatus>, message_key: MessageKey) -> Self {
        Self { state, review_status, message_key, entries: 0, instant_win: None }
    }

    /// Where it stands after an event. A settled one stays as it is: an event twice is an event once.
    ///
    /// # Errors
    /// [`AlreadySettled`] when nothing can happen any more.
    fn after(&self, event: Event, has_receipt: bool) -> Result<Self, AlreadySettled> {
        if self.is_terminal() {
            return Err(AlreadySettled);
        }
        let reviewed = |status| has_receipt.then_some(status);
        Ok(match event {
            Event::Accept { entries, instant_win } => Self {
                review_status: reviewed(ReviewStatus::Verified),
                ..Self::accepted(entries, instant_win)
            },
            Event::Reject(key) if key.blames_receipt() => {
                Self { review_status: reviewed(ReviewStatus::Declined), ..Self::rejected(key) }
            }
            Event::Reject(key) => Self::rejected(key),
            Event::Review => {
                Self::open(State::Pending, reviewed(ReviewStatus::UnderReview), MessageKey::ReceiptReceived)
            }
            Event::Unanswered => Self::unanswered(),
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
    /// The submission after an event.
    ///
    /// # Errors
    /// [`AlreadySettled`] when nothing can happen any more.
    pub fn after(&self, event: Event, now: Timestamp) -> Result<Self, AlreadySettled> {
        let status = self.status.after(event, self.receipt_id.is_some())?;
        let (settling, partner_code) = match status.is_terminal() {
            true => (None, None),
            false => (self.settling.clone(), self.partner_code.clone()),
        };
        Ok(Self { status, settling, partner_code, ..self.changed(now) })
    }

    /// The submission as it is to be written next.
    #[must_use]
    pub fn changed(&self, now: Timestamp) -> Self {
        let mut history = self.history.clone();
        if history.len() >= MAX_HISTORY {
            history.remove(1);
        }
        history.push(self.state_now());
        Self { revision: self.revision.saturating_add(1), updated_at: now, history, ..self.clone() }
    }

    /// How it is, for its history.
    pub fn state_now(&self) -> PastState {
        let settling = self.settling.as_ref();
        let anomaly = settling.and_then(|settling| settling.anomaly.as_ref());
        PastState {
            at: self.updated_at,
            status: self.status.clone(),
            reasons: self.reasons.clone(),
            is_under_way: settling.is_some_and(|settling| settling.unfinished > 0),
            anomaly: anomaly.map(|anomaly| anomaly.what.clone()),
        }
    }

    /// Whether it has a receipt that the service has still to settle: a phone may have so many of them.
    pub fn has_open_receipt(&self) -> bool {
        let is_ours = |settling: &PendingSettlement| settling.assignee == Assignee::Service;
        self.receipt_id.is_some() && self.settling.as_ref().is_some_and(is_ours)
    }

    /// Seconds to wait before asking again; `None` when settled. Short while fresh, growing with age,
    /// not before the next planned step, long while a person looks.
    pub fn poll_after_seconds(&self, now: Timestamp) -> Option<u64> {
        /// Soon enough to feel immediate.
        const SHORTEST: u64 = 2;
        /// Slow enough to cost nothing.
        const LONGEST: u64 = 30;
        /// A person does not answer within seconds.
        const WHILE_REVIEWED: u64 = 300;
        /// A tenth of the age keeps the number of polls logarithmic.
        const SHARE_OF_AGE: u64 = 10;
        if self.status.is_terminal() {
            return None;
        }
        if self.settling.as_ref().is_some_and(|settling| settling.assignee == Assignee::Operator) {
            return Some(WHILE_REVIEWED);
        }
        let age: Duration = now.since(self.created_at);
        let by_age = (age.as_secs() / SHARE_OF_AGE).clamp(SHORTEST, LONGEST);
        let planned = self.settling.as_ref().and_then(PendingSettlement::next_attempt_at);
        let until_planned = planned.map_or(Duration::ZERO, |planned| planned.since(now));
        Some(by_age.max(until_planned.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn status(state: State, review_status: Option<ReviewStatus>) -> SubmissionStatus {
        SubmissionStatus {
            state,
            review_status,
            message_key: MessageKey::Checking,
            entries: 0,
            instant_win: None,
        }
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
                assert_eq!(status(state, review).display_status(), shown, "{state:?} {review:?}");
            }
        }
    }

    fn any_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0u32..9, prop::option::of("[a-z]{1,8}"))
                .prop_map(|(entries, instant_win)| Event::Accept { entries, instant_win }),
            prop::sample::select(MessageKey::ALL).prop_map(Event::Reject),
            Just(Event::Review),
            Just(Event::Unanswered),
        ]
    }

    fn any_state() -> impl Strategy<Value = State> {
        prop::sample::select(vec![State::Pending, State::Accepted, State::Rejected, State::Unknown])
    }

    proptest! {
        #[test]
        fn a_settled_submission_never_moves_and_an_open_one_settles_once(
            state in any_state(), events in prop::collection::vec(any_event(), 1..6), has_receipt in any::<bool>()
        ) {
            let mut now = status(state, None);
            for event in events {
                let settles = matches!(event, Event::Accept { .. } | Event::Reject(_));
                match now.after(event.clone(), has_receipt) {
                    Err(AlreadySettled) => prop_assert!(now.is_terminal()),
                    Ok(next) => {
                        prop_assert!(!now.is_terminal());
                        prop_assert_eq!(next.is_terminal(), settles);
                        prop_assert_eq!(next.counts(), !matches!(event, Event::Reject(_)));
                        prop_assert!(next.state() == State::Accepted || next.entries() == 0);
                        prop_assert!(has_receipt || next.review_status().is_none());
                        now = next;
                    }
                }
            }
        }

        #[test]
        fn only_a_fault_of_the_receipt_asks_for_the_consumers_attention(
            key in prop::sample::select(MessageKey::ALL), reviewed_first in any::<bool>()
        ) {
            let mut open = SubmissionStatus::receipt_received();
            if reviewed_first {
                open = open.after(Event::Review, true).expect("open");
                prop_assert_eq!(open.display_status(), DisplayStatus::ReceiptInReview);
            }
            let shown = open.after(Event::Reject(key), true).expect("open").display_status();
            let expected =
                if key.blames_receipt() { DisplayStatus::NeedsAttention } else { DisplayStatus::NotAccepted };
            prop_assert_eq!(shown, expected);
        }
    }
}

#[cfg(test)]
mod change_tests;
