//! The winners of a draw, and the log of calls to them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{DrawName, Operator};
use crate::domain::ids::{Reference, SubmissionId};
use crate::domain::timestamp::Timestamp;

/// Calls to a winner before the next one is drawn.
pub const MAX_CALLS: u8 = 3;
/// The least time between two calls. Verifiers ask for it too.
const MIN_BETWEEN_CALLS: Duration = Duration::from_secs(60);

/// A winner: a place in a tier's order that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The draw.
    pub draw: DrawName,
    /// The tier; from 0.
    pub tier: u32,
    /// The tier's prize.
    pub prize: String,
    /// The place in its order; from 1.
    pub place: u64,
    /// The row of `entries.csv`; from 0.
    pub row: u64,
    /// The first reference of the row, published. `None` if there was no number to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The submission whose phone is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission_id: Option<SubmissionId>,
    /// The region; `None` once the person was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The masked phone; `None` once the person was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked_phone: Option<String>,
    /// The log, oldest first, from [`ContactEvent::Drawn`] on.
    pub steps: Vec<ContactStep>,
    /// The number of changes.
    pub revision: u32,
}

/// A line of the contact log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactStep {
    /// When it was recorded.
    pub at: Timestamp,
    /// The operator; `None` where the rules decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Operator>,
    /// The event.
    pub event: ContactEvent,
}

/// A step of a winner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ContactEvent {
    /// The place came up in the order.
    Drawn,
    /// Called without an answer.
    NoAnswer,
    /// Answered a call.
    Reached,
    /// Showed an identity card.
    Identified,
    /// Has the prize.
    HandedOver,
    /// The next in the order is drawn.
    Skipped {
        /// Why.
        reason: SkipReason,
        /// The inspector who agreed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inspector: Option<String>,
    },
}

/// A reason to skip a winner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Did not answer three calls.
    NoAnswer,
    /// It is another person's number.
    WrongNumber,
    /// Under 18.
    UnderAge,
    /// Showed no identity card of their own.
    NotIdentified,
    /// Does not want the prize.
    Declined,
    /// The terms exclude the person.
    Excluded,
    /// Did not collect the prize in time.
    NotCollected,
    /// Has another prize of the draw.
    HasPrize,
    /// The person was erased.
    Erased,
    /// Retention deleted the number.
    PhoneDeleted,
    /// Every entry of the row was revoked.
    Revoked,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [Self; 11] = [
        Self::NoAnswer,
        Self::WrongNumber,
        Self::UnderAge,
        Self::NotIdentified,
        Self::Declined,
        Self::Excluded,
        Self::NotCollected,
        Self::HasPrize,
        Self::Erased,
        Self::PhoneDeleted,
        Self::Revoked,
    ];

    /// True if operators give this reason; the others follow from the rules.
    pub fn is_given(self) -> bool {
        !matches!(self, Self::HasPrize | Self::Erased | Self::PhoneDeleted)
    }

    /// The key in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::WrongNumber => "wrong_number",
            Self::UnderAge => "under_age",
            Self::NotIdentified => "not_identified",
            Self::Declined => "declined",
            Self::Excluded => "excluded",
            Self::NotCollected => "not_collected",
            Self::HasPrize => "has_prize",
            Self::Erased => "erased",
            Self::PhoneDeleted => "phone_deleted",
            Self::Revoked => "revoked",
        }
    }

    /// The reason in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NoAnswer => "did not answer three calls",
            Self::WrongNumber => "the number belongs to another person",
            Self::UnderAge => "under 18",
            Self::NotIdentified => "showed no identity card, or that of another person",
            Self::Declined => "declined the prize",
            Self::Excluded => "the terms of the campaign exclude the person",
            Self::NotCollected => "did not collect the prize in time",
            Self::HasPrize => "has another prize of this draw",
            Self::Erased => "the person's data was erased",
            Self::PhoneDeleted => "the phone number was deleted when its retention ended",
            Self::Revoked => "the entries were revoked after the freeze",
        }
    }
}

/// The state of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ContactState {
    /// Not called yet.
    Drawn,
    /// Called without an answer.
    Called {
        /// Calls so far, at most [`MAX_CALLS`].
        times: u8,
    },
    /// Answered a call.
    Reached,
    /// Showed an identity card.
    Identified,
    /// Has the prize.
    HandedOver,
    /// Does not get the prize.
    Skipped {
        /// Why.
        reason: SkipReason,
    },
}

impl fmt::Display for ContactState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drawn => f.write_str("drawn"),
            Self::Called { times } => write!(f, "called {times} of {MAX_CALLS} times"),
            Self::Reached => f.write_str("reached"),
            Self::Identified => f.write_str("identified"),
            Self::HandedOver => f.write_str("prize handed over"),
            Self::Skipped { reason } => write!(f, "skipped: {}", reason.in_words()),
        }
    }
}

/// The entries of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// One is accepted.
    Counts,
    /// All were revoked.
    Revoked,
}

/// The reason why a step is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepRefused {
    /// It does not follow the state.
    #[error(
        "the step does not follow: a winner is called, reached, identified, and then gets the prize"
    )]
    OutOfOrder,
    /// Three calls were made.
    #[error("three calls were made without an answer; skip this one, and the next is drawn")]
    NoMoreCalls,
    /// The last call was less than a minute ago.
    #[error("calls to a winner are at least a minute apart; the next one can be logged at {next}")]
    TooSoon {
        /// When the next call is possible.
        next: Timestamp,
    },
    /// Fewer than three calls were made.
    #[error("a winner who does not answer is called three times before the next one is drawn")]
    TooFewCalls,
    /// The reason needs a call.
    #[error("this reason needs a call: log it first with `ops draw call`")]
    NotCalled,
    /// The reason needs an answered call.
    #[error("this reason needs a winner who was reached: log the call first with `ops draw call`")]
    NotYetReached,
    /// The reason contradicts the log.
    #[error("the log says otherwise: this winner was reached, or has shown an identity card")]
    Contradicts,
    /// The rules alone give this reason.
    #[error("the rules of the draw give this reason by themselves")]
    NotGiven,
    /// Every entry of the row was revoked.
    #[error(
        "every entry of this winner was revoked after the freeze; skip this one with the reason revoked"
    )]
    Revoked,
    /// An entry of the row is accepted.
    #[error(
        "an entry of this winner is still accepted; revoke it first with `ops submission revoke`"
    )]
    NotRevoked,
    /// Handed over, or skipped.
    #[error("this is final: the prize was handed over, or the winner was skipped")]
    Final,
}

impl Contact {
    /// The state after the last step.
    pub fn state(&self) -> ContactState {
        let mut state = ContactState::Drawn;
        for step in &self.steps {
            state = match (&step.event, state) {
                (ContactEvent::Drawn, _) => ContactState::Drawn,
                (ContactEvent::NoAnswer, ContactState::Called { times }) => ContactState::Called {
                    times: times.saturating_add(1),
                },
                (ContactEvent::NoAnswer, _) => ContactState::Called { times: 1 },
                (ContactEvent::Reached, _) => ContactState::Reached,
                (ContactEvent::Identified, _) => ContactState::Identified,
                (ContactEvent::HandedOver, _) => ContactState::HandedOver,
                (ContactEvent::Skipped { reason, .. }, _) => {
                    ContactState::Skipped { reason: *reason }
                }
            };
        }
        state
    }

    /// True if the prize is not collected yet.
    pub fn is_open(&self) -> bool {
        match self.state() {
            ContactState::Drawn
            | ContactState::Called { .. }
            | ContactState::Reached
            | ContactState::Identified => true,
            ContactState::HandedOver | ContactState::Skipped { .. } => false,
        }
    }

    /// When the last step was recorded.
    pub fn changed_at(&self) -> Option<Timestamp> {
        self.steps.last().map(|step| step.at)
    }

    /// True if the winner has the prize, or can get it.
    pub fn holds_prize(&self) -> bool {
        self.is_open() || self.state() == ContactState::HandedOver
    }

    /// The contact with this step.
    ///
    /// # Errors
    /// When the step does not follow.
    pub fn after(&self, step: ContactStep) -> Result<Self, StepRefused> {
        check(self.state(), &step.event)?;
        self.check_pace(&step)?;
        let steps = self.steps.iter().cloned().chain([step]).collect();
        Ok(Self {
            steps,
            revision: self.revision.saturating_add(1),
            ..self.clone()
        })
    }

    fn check_pace(&self, step: &ContactStep) -> Result<(), StepRefused> {
        let is_call =
            |event: &ContactEvent| matches!(event, ContactEvent::NoAnswer | ContactEvent::Reached);
        let last = self
            .steps
            .iter()
            .rev()
            .find(|step| is_call(&step.event))
            .filter(|_| is_call(&step.event));
        match last.map(|last| last.at.after(MIN_BETWEEN_CALLS)) {
            Some(next) if step.at < next => Err(StepRefused::TooSoon { next }),
            Some(_) | None => Ok(()),
        }
    }

    /// [`Self::after`], for an operator's step.
    ///
    /// # Errors
    /// When the step does not follow, or its reason does not fit the entries.
    pub fn after_operator(
        &self,
        step: ContactStep,
        row_status: RowStatus,
    ) -> Result<Self, StepRefused> {
        let next = self.after(step.clone())?;
        match (&step.event, row_status) {
            (ContactEvent::Skipped { reason, .. }, _) if !reason.is_given() => {
                Err(StepRefused::NotGiven)
            }
            (
                ContactEvent::Skipped {
                    reason: SkipReason::Revoked,
                    ..
                },
                RowStatus::Counts,
            ) => Err(StepRefused::NotRevoked),
            (ContactEvent::Skipped { .. }, _) | (_, RowStatus::Counts) => Ok(next),
            (_, RowStatus::Revoked) => Err(StepRefused::Revoked),
        }
    }

    /// The contact without the person.
    #[must_use]
    pub fn erased(&self) -> Self {
        let revision = self.revision.saturating_add(1);
        Self {
            submission_id: None,
            region: None,
            masked_phone: None,
            revision,
            ..self.clone()
        }
    }
}

fn check(state: ContactState, event: &ContactEvent) -> Result<(), StepRefused> {
    use ContactState::{Called, Drawn, HandedOver, Identified, Reached, Skipped};
    match (state, event) {
        (HandedOver | Skipped { .. }, _) => Err(StepRefused::Final),
        (Called { times }, ContactEvent::NoAnswer | ContactEvent::Reached)
            if times >= MAX_CALLS =>
        {
            Err(StepRefused::NoMoreCalls)
        }
        (Drawn | Called { .. }, ContactEvent::NoAnswer | ContactEvent::Reached)
        | (Reached, ContactEvent::Identified)
        | (Identified, ContactEvent::HandedOver) => Ok(()),
        (Drawn | Called { .. } | Reached | Identified, ContactEvent::Skipped { reason, .. }) => {
            check_reason(state, *reason)
        }
        (Drawn | Called { .. } | Reached | Identified, _) => Err(StepRefused::OutOfOrder),
    }
}

fn check_reason(state: ContactState, reason: SkipReason) -> Result<(), StepRefused> {
    let need = |holds, otherwise| if holds { Ok(()) } else { Err(otherwise) };
    let was_reached = matches!(state, ContactState::Reached | ContactState::Identified);
    match reason {
        SkipReason::NoAnswer if was_reached => Err(StepRefused::Contradicts),
        SkipReason::NoAnswer => need(
            state == ContactState::Called { times: MAX_CALLS },
            StepRefused::TooFewCalls,
        ),
        SkipReason::WrongNumber | SkipReason::UnderAge | SkipReason::NotIdentified
            if state == ContactState::Identified =>
        {
            Err(StepRefused::Contradicts)
        }
        SkipReason::WrongNumber => need(state != ContactState::Drawn, StepRefused::NotCalled),
        SkipReason::UnderAge
        | SkipReason::NotIdentified
        | SkipReason::Declined
        | SkipReason::NotCollected => need(was_reached, StepRefused::NotYetReached),
        SkipReason::Excluded
        | SkipReason::HasPrize
        | SkipReason::Erased
        | SkipReason::PhoneDeleted
        | SkipReason::Revoked => Ok(()),
    }
}

#[cfg(test)]
mod tests;
