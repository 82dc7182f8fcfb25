//! The log of calls to a winner, of a draw or of an instant prize.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use super::draw::Operator;

/// A winner who answers none is skipped.
pub const MAX_CALLS: u8 = 3;
const MIN_BETWEEN_CALLS: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactLog {
    /// Oldest first. A draw's begins with [`ContactEvent::Drawn`], an instant prize's is empty.
    #[serde(default)]
    pub steps: Vec<ContactStep>,
    #[serde(default)]
    pub revision: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactStep {
    pub at: Timestamp,
    /// `None` where the rules decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Operator>,
    pub event: ContactEvent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ContactEvent {
    Drawn,
    NoAnswer,
    Reached,
    Identified,
    HandedOver,
    Skipped {
        reason: SkipReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        inspector: Option<String>,
    },
}

text_enum! {
    pub enum SkipReason {
        NoAnswer = "no_answer",
        WrongNumber = "wrong_number",
        UnderAge = "under_age",
        NotIdentified = "not_identified",
        Declined = "declined",
        Excluded = "excluded",
        NotCollected = "not_collected",
        HasPrize = "has_prize",
        Erased = "erased",
        PhoneDeleted = "phone_deleted",
        /// All entries of the row were revoked.
        Revoked = "revoked",
        /// The draw, before its run was finished.
        Abandoned = "abandoned",
    }
}

impl SkipReason {
    /// True if operators give this reason; the others follow from the rules.
    pub fn is_given(self) -> bool {
        !matches!(
            self,
            Self::HasPrize | Self::Erased | Self::PhoneDeleted | Self::Abandoned
        )
    }

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
            Self::Abandoned => "two people gave the draw up",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ContactState {
    Drawn,
    Called {
        /// Calls so far, [`MAX_CALLS`] at most.
        times: u8,
    },
    Reached,
    Identified,
    HandedOver,
    Skipped {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    Counts,
    Revoked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepRefused {
    #[error(
        "the step does not follow: a winner is called, reached, identified, and then gets the prize"
    )]
    OutOfOrder,
    #[error("three calls were made without an answer; what follows is the reason no-answer")]
    NoMoreCalls,
    #[error("calls to a winner are at least a minute apart; the next one can be logged at {next}")]
    TooSoon { next: Timestamp },
    #[error("a winner who does not answer is called three times first")]
    TooFewCalls,
    #[error("this reason needs a call: log it first")]
    NotCalled,
    #[error("this reason needs a winner who was reached: log the call first")]
    NotYetReached,
    #[error("the log says otherwise: this winner was reached, or has shown an identity card")]
    Contradicts,
    #[error("the rules give this reason by themselves")]
    NotGiven,
    #[error(
        "every entry of this winner was revoked after the freeze; skip this one with the reason revoked"
    )]
    Revoked,
    #[error(
        "an entry of this winner is still accepted; revoke it first with `ops submission revoke`"
    )]
    NotRevoked,
    #[error("this is final: the prize was handed over, or the winner has lost it")]
    Final,
}

impl ContactLog {
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

    pub fn is_open(&self) -> bool {
        match self.state() {
            ContactState::Drawn
            | ContactState::Called { .. }
            | ContactState::Reached
            | ContactState::Identified => true,
            ContactState::HandedOver | ContactState::Skipped { .. } => false,
        }
    }

    pub fn changed_at(&self) -> Option<Timestamp> {
        self.steps.last().map(|step| step.at)
    }

    /// The clock may be behind that of the last step.
    pub fn step_time(&self, now: Timestamp) -> Timestamp {
        self.changed_at().map_or(now, |last| last.max(now))
    }

    pub fn holds_prize(&self) -> bool {
        self.is_open() || self.state() == ContactState::HandedOver
    }

    pub fn after(&self, step: ContactStep) -> Result<Self, StepRefused> {
        check(self.state(), &step.event)?;
        self.check_pace(&step)?;
        let steps = self.steps.iter().cloned().chain([step]).collect();
        Ok(Self {
            steps,
            revision: self.revision.saturating_add(1),
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

    /// An operator's reason must fit the entries.
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
    use SkipReason::*;

    let need = |holds, otherwise| if holds { Ok(()) } else { Err(otherwise) };
    let was_reached = matches!(state, ContactState::Reached | ContactState::Identified);
    match reason {
        NoAnswer if was_reached => Err(StepRefused::Contradicts),
        NoAnswer => need(
            state == ContactState::Called { times: MAX_CALLS },
            StepRefused::TooFewCalls,
        ),
        WrongNumber | UnderAge | NotIdentified if state == ContactState::Identified => {
            Err(StepRefused::Contradicts)
        }
        WrongNumber => need(state != ContactState::Drawn, StepRefused::NotCalled),
        UnderAge | NotIdentified | Declined | NotCollected => {
            need(was_reached, StepRefused::NotYetReached)
        }
        Excluded | HasPrize | Erased | PhoneDeleted | Revoked | Abandoned => Ok(()),
    }
}

#[cfg(test)]
mod tests;
