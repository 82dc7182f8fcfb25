//! The contact log of a draw: those who were drawn, and what happened to each of them.

use serde::{Deserialize, Serialize};

use super::{DrawName, Operator};
use crate::domain::ids::{Reference, SubmissionId};
use crate::domain::timestamp::Timestamp;

/// Winners are called so often before the next one is drawn, as the inspectors of lotteries ask for.
pub const MAX_CALLS: u8 = 3;

/// Somebody who was drawn: a place in a tier's order that was reached. Places of a tier have contacts from the first on
/// without a gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The draw.
    pub draw: DrawName,
    /// The tier, by its place in the header's prizes; from 0.
    pub tier: u32,
    /// The tier's name.
    pub prize: String,
    /// The place in the tier's order; from 1.
    pub place: u64,
    /// The row of `entries.csv`; from 0.
    pub row: u64,
    /// The reference that is published: the first of the row's. `None` if its person was erased before the draw was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The submission with this reference, whose phone is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission_id: Option<SubmissionId>,
    /// The region, as the consumer sent it; `None` also once the person was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The masked phone, as it is published; `None` once the person was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked_phone: Option<String>,
    /// What happened, oldest first. The first step is [`ContactEvent::Drawn`].
    pub steps: Vec<ContactStep>,
    /// The number of changes. A change is written only over the revision that it was made from.
    pub revision: u32,
}

/// A line of the contact log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactStep {
    /// When.
    pub at: Timestamp,
    /// Who recorded it; `None` where the rules of the draw decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Operator>,
    /// What happened.
    pub event: ContactEvent,
}

/// What happens to somebody who was drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ContactEvent {
    /// Drawn.
    Drawn,
    /// Called; nobody answered.
    NotReached,
    /// Called, and spoken to.
    Reached,
    /// Showed an identity card.
    Identified,
    /// Has the prize.
    HandedOver,
    /// Does not get the prize: the next in the order is drawn.
    Skipped {
        /// Why.
        reason: SkipReason,
        /// The inspector who agreed, if one was there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inspector: Option<String>,
    },
}

/// Why somebody who was drawn does not get the prize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Did not answer three calls.
    NotReached,
    /// Under 18.
    UnderAge,
    /// Showed no identity card, or that of another person.
    NotIdentified,
    /// Does not want the prize.
    Declined,
    /// The terms exclude the person, such as staff of the brand.
    Excluded,
    /// Did not collect the prize in the time that the terms give.
    NotCollected,
    /// Won a prize of an earlier tier, and the rules give one to each entrant.
    HasPrize,
    /// The person's data was erased, so nobody can be called.
    Erased,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::NotReached,
        Self::UnderAge,
        Self::NotIdentified,
        Self::Declined,
        Self::Excluded,
        Self::NotCollected,
        Self::HasPrize,
        Self::Erased,
    ];

    /// The key in records, on the command line and in certificates.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotReached => "not_reached",
            Self::UnderAge => "under_age",
            Self::NotIdentified => "not_identified",
            Self::Declined => "declined",
            Self::Excluded => "excluded",
            Self::NotCollected => "not_collected",
            Self::HasPrize => "has_prize",
            Self::Erased => "erased",
        }
    }
}

/// Where a contact stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// Drawn, and not called yet.
    Drawn,
    /// Called without an answer.
    Called {
        /// How often.
        times: u8,
    },
    /// Spoken to.
    Reached,
    /// Showed an identity card: the prize is theirs.
    Identified,
    /// Has the prize.
    HandedOver,
    /// Does not get the prize.
    Skipped(SkipReason),
}

/// Why a step is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepRefused {
    /// The step does not follow the state.
    #[error("the step does not follow: a winner is called, reached, identified, and then gets the prize")]
    OutOfOrder,
    /// Three calls were made.
    #[error("three calls were made without an answer; skip this one, and the next is drawn")]
    NoMoreCalls,
    /// Fewer than three calls were made.
    #[error("a winner who does not answer is called three times before the next one is drawn")]
    TooFewCalls,
    /// The prize was handed over, or the contact skipped.
    #[error("this is final: the prize was handed over, or the winner was skipped")]
    Final,
}

impl Contact {
    /// Where it stands.
    pub fn state(&self) -> ContactState {
        let mut state = ContactState::Drawn;
        for step in &self.steps {
            state = match (&step.event, state) {
                (ContactEvent::Drawn, _) => ContactState::Drawn,
                (ContactEvent::NotReached, ContactState::Called { times }) => {
                    ContactState::Called { times: times.saturating_add(1) }
                }
                (ContactEvent::NotReached, _) => ContactState::Called { times: 1 },
                (ContactEvent::Reached, _) => ContactState::Reached,
                (ContactEvent::Identified, _) => ContactState::Identified,
                (ContactEvent::HandedOver, _) => ContactState::HandedOver,
                (ContactEvent::Skipped { reason, .. }, _) => ContactState::Skipped(*reason),
            };
        }
        state
    }

    /// Whether the prize is still being claimed.
    pub fn is_open(&self) -> bool {
        match self.state() {
            ContactState::Drawn
            | ContactState::Called { .. }
            | ContactState::Reached
            | ContactState::Identified => true,
            ContactState::HandedOver | ContactState::Skipped(_) => false,
        }
    }

    /// Whether the prize is, or can still become, this one's.
    pub fn holds_prize(&self) -> bool {
        self.is_open() || self.state() == ContactState::HandedOver
    }

    /// The next revision, with this step.
    ///
    /// # Errors
    /// When the step does not follow.
    pub fn after(&self, step: ContactStep) -> Result<Self, StepRefused> {
        check(self.state(), &step.event)?;
        let steps = self.steps.iter().cloned().chain([step]).collect();
        Ok(Self { steps, revision: self.revision.saturating_add(1), ..self.clone() })
    }

    /// The next revision, without the person: reference, place and steps stay.
    #[must_use]
    pub fn erased(&self) -> Self {
        let revision = self.revision.saturating_add(1);
        Self { submission_id: None, region: None, masked_phone: None, revision, ..self.clone() }
    }
}

fn check(state: ContactState, event: &ContactEvent) -> Result<(), StepRefused> {
    use ContactState::{Called, Drawn, HandedOver, Identified, Reached, Skipped};
    match (state, event) {
        (HandedOver | Skipped(_), _) => Err(StepRefused::Final),
        (Called { times }, ContactEvent::NotReached | ContactEvent::Reached) if times >= MAX_CALLS => {
            Err(StepRefused::NoMoreCalls)
        }
        (Drawn | Called { .. }, ContactEvent::NotReached | ContactEvent::Reached)
        | (Reached, ContactEvent::Identified)
        | (Identified, ContactEvent::HandedOver)
        | (Called { times: MAX_CALLS }, ContactEvent::Skipped { .. }) => Ok(()),
        (_, ContactEvent::Skipped { reason: SkipReason::NotReached, .. }) => Err(StepRefused::TooFewCalls),
        (Drawn | Called { .. } | Reached | Identified, ContactEvent::Skipped { .. }) => Ok(()),
        (Drawn | Called { .. } | Reached | Identified, _) => Err(StepRefused::OutOfOrder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_millis(0);

    fn step(event: ContactEvent) -> ContactStep {
        ContactStep { at: AT, by: None, event }
    }

    fn drawn() -> Contact {
        Contact {
            draw: "week-03".parse().expect("a name"),
            tier: 0,
            prize: "grand-prize".to_owned(),
            place: 1,
            row: 7,
            reference: "K7M2Q9XD".parse().ok(),
            submission_id: None,
            region: Some("Mwanza".to_owned()),
            masked_phone: Some("+2557•••••678".to_owned()),
            steps: vec![step(ContactEvent::Drawn)],
            revision: 0,
        }
    }

    fn skipped(reason: SkipReason) -> ContactEvent {
        ContactEvent::Skipped { reason, inspector: None }
    }

    /// The state after these events, or why one of them is refused.
    fn after(events: &[ContactEvent]) -> Result<ContactState, StepRefused> {
        let last = events.iter().try_fold(drawn(), |contact, event| contact.after(step(event.clone())));
        last.map(|contact| contact.state())
    }

    #[test]
    fn a_winner_is_called_reached_and_identified_before_the_prize_is_handed_over() {
        use ContactEvent::{HandedOver, Identified, NotReached, Reached};
        let walk = [NotReached, NotReached, Reached, Identified, HandedOver];
        let states = [
            ContactState::Drawn,
            ContactState::Called { times: 1 },
            ContactState::Called { times: 2 },
            ContactState::Reached,
            ContactState::Identified,
            ContactState::HandedOver,
        ];
        for (steps, state) in states.into_iter().enumerate() {
            assert_eq!(after(&walk[..steps]), Ok(state));
        }
        for early in [&[Identified][..], &[HandedOver], &[Reached, HandedOver], &[Reached, NotReached]] {
            assert_eq!(after(early), Err(StepRefused::OutOfOrder), "{early:?}");
        }
    }

    #[test]
    fn whoever_does_not_answer_is_called_three_times_before_the_next_is_drawn() {
        use ContactEvent::{NotReached, Reached};
        let skip = || skipped(SkipReason::NotReached);
        assert_eq!(after(&[NotReached, NotReached, skip()]), Err(StepRefused::TooFewCalls));
        let calls = [NotReached, NotReached, NotReached];
        for fourth in [NotReached, Reached] {
            assert_eq!(after(&[&calls[..], &[fourth]].concat()), Err(StepRefused::NoMoreCalls));
        }
        let end = ContactState::Skipped(SkipReason::NotReached);
        assert_eq!(after(&[&calls[..], &[skip()]].concat()), Ok(end));
    }

    #[test]
    fn what_is_final_stays() {
        use ContactEvent::{HandedOver, Identified, Reached};
        let skip = skipped(SkipReason::UnderAge);
        for walk in [vec![skip.clone()], vec![Reached, skip.clone()], vec![Reached, Identified, HandedOver]] {
            assert!(after(&walk).is_ok(), "{walk:?}");
            for event in [Reached, skip.clone()] {
                assert_eq!(after(&[&walk[..], &[event]].concat()), Err(StepRefused::Final));
            }
        }
    }

    #[test]
    fn an_erasure_leaves_the_place_the_reference_and_the_steps() {
        let erased = drawn().erased();
        assert_eq!((erased.place, erased.reference.clone(), erased.revision), (1, drawn().reference, 1));
        assert_eq!((erased.region, erased.masked_phone, erased.steps), (None, None, drawn().steps));
    }

    #[test]
    fn a_reason_is_stored_under_its_key() {
        for reason in SkipReason::ALL {
            assert_eq!(serde_json::to_value(reason).expect("JSON"), reason.as_str());
        }
    }
}
