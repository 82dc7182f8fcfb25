use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::moments::hmac_sha256;
use super::plan::{Plan, UnreadablePlan};
use crate::domain::digest::{Digest, Hex, RoundSignature};
use crate::domain::draw::Operator;
use crate::domain::{EntrantId, OperatorDecision, Reference, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPlan {
    pub commitment: Digest,
    /// Its secret is derived from the scope and this.
    pub name: String,
    /// The published bytes.
    pub header: String,
    /// Random, for what is published of references and entrants. Not of the secret, which who logs days must not have.
    pub salts: Hex<32>,
    pub planned_at: Timestamp,
    pub planned_by: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanState {
    pub plan: Digest,
    pub open: bool,
    /// `None` before it is armed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<PlanRound>,
    /// Openings and stops, oldest first.
    #[serde(default)]
    pub changes: Vec<PlanChange>,
    /// True if it follows another plan of the scope, so that two people start it.
    #[serde(default)]
    pub follows_another: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<PlanRequest>,
    /// SHA-256 of each `rows.csv` and `result.json`. With one, the plan never opens again, though it may not be
    /// published yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revealed_at: Option<Timestamp>,
    /// Of changes by operators; claims leave it.
    pub revision: u64,
    /// By prize: attributes of their own.
    #[serde(skip)]
    pub given: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRound {
    pub signature: RoundSignature,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChange {
    pub at: Timestamp,
    pub open: bool,
    pub by: String,
}

text_enum! {
    /// What two people decide.
    pub enum PlanAct {
        Start = "start",
        Reveal = "reveal",
    }
}

/// A second person has to ask for the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRequest {
    pub act: PlanAct,
    pub decision: OperatorDecision,
}

impl StoredPlan {
    pub fn plan(&self) -> Result<Plan, UnreadablePlan> {
        let plan = Plan::read(&self.header)?;
        if plan.commitment() == self.commitment {
            Ok(plan)
        } else {
            Err(UnreadablePlan::OtherForm)
        }
    }

    /// Published for a reference. Its salt keeps it from being guessed back.
    pub fn reference_digest(&self, reference: Reference) -> Digest {
        let reference = reference.to_string();
        let salt = hmac_sha256(self.salts.as_bytes(), &[reference.as_bytes()]);
        let salt = hex::encode(salt.split_at(16).0);
        let text = format!("svc-instant-row-v1\n{reference}\n{salt}");
        Digest::from_parts(&[text.as_bytes()])
    }

    /// Published for an entrant; another plan's cannot be compared.
    pub fn pseudonym(&self, entrant: &EntrantId) -> Digest {
        let parts = [b"svc-instant-entrant-v1\n", entrant.as_str().as_bytes()];
        hmac_sha256(self.salts.as_bytes(), &parts).into()
    }
}

impl PlanRound {
    /// Never recorded, so that it cannot be changed without the signature.
    pub fn randomness(&self) -> Digest {
        Digest::from_parts(&[self.signature.as_bytes()])
    }
}

impl PlanState {
    pub fn closed(plan: Digest, before: Option<&Self>) -> Self {
        Self {
            plan,
            open: false,
            round: None,
            changes: Vec::new(),
            follows_another: before
                .is_some_and(|before| before.round.is_some() || before.follows_another),
            request: None,
            rows: Vec::new(),
            revealed_at: None,
            revision: before.map_or(0, |before| before.revision) + 1,
            given: Vec::new(),
        }
    }

    #[must_use]
    pub fn next(&self) -> Self {
        Self {
            revision: self.revision.saturating_add(1),
            request: None,
            ..self.clone()
        }
    }

    #[must_use]
    pub fn turned(&self, open: bool, at: Timestamp, by: String) -> Self {
        let mut next = self.next();
        next.open = open;
        // Storage's clock has seconds: a stop within one must not vanish, nor end before it begins.
        let later = |last: &PlanChange| last.at.after(Duration::from_millis(1)).max(at);
        let at = self.changes.last().map_or(at, later);
        next.changes.push(PlanChange { at, open, by });
        next
    }

    /// Spans of at least a millisecond, up to `end`.
    pub fn stops(&self, first: Timestamp, end: Timestamp) -> Vec<Range<Timestamp>> {
        let mut stops = Vec::new();
        let mut closed = Some(first);
        for change in &self.changes {
            if change.open {
                stops.extend(closed.take().map(|from| from..change.at));
            } else if closed.is_none() {
                closed = Some(change.at.max(first));
            }
        }
        stops.extend(closed.map(|from| from..end));
        stops.retain(|stop| !stop.is_empty());
        stops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_the_times_between_openings() {
        let at = Timestamp::from_millis;
        let plan = Digest::from_parts(&[]);
        let mut state = PlanState::closed(plan, None);
        let stops = |state: &PlanState| state.stops(at(10), at(100));
        assert_eq!(stops(&state), [at(10)..at(100)]);
        for (open, time) in [(true, 5), (false, 20), (true, 30), (false, 25)] {
            state = state.turned(open, at(time), "asha".to_owned());
        }
        assert_eq!(stops(&state), [at(20)..at(30), at(31)..at(100)]);
        assert_eq!(state.revision, 5);
        assert!(!PlanState::closed(plan, Some(&state)).follows_another);
    }

    #[test]
    fn change_withdraws_the_request() {
        let closed = PlanState::closed(Digest::from_parts(&[]), None);
        let decision = OperatorDecision {
            by: "asha".to_owned(),
            at: Timestamp::from_millis(0),
            why: None,
            confirmed: None,
            identity: None,
        };
        let request = Some(PlanRequest {
            act: PlanAct::Start,
            decision,
        });
        let state = PlanState { request, ..closed };
        assert_eq!(state.next().request, None);
    }

    #[test]
    fn stored_plan_has_the_commitment_of_its_header() {
        let header = super::super::vector_tests::header();
        let plan = Plan::new(header).expect("no problem");
        let stored = |commitment| StoredPlan {
            commitment,
            name: "first".to_owned(),
            header: plan.json().to_owned(),
            salts: [0; 32].into(),
            planned_at: Timestamp::from_millis(0),
            planned_by: Operator {
                who: "asha".to_owned(),
                by: None,
            },
        };
        assert_eq!(stored(plan.commitment()).plan(), Ok(plan.clone()));
        let other = stored(Digest::from_parts(&[])).plan();
        assert_eq!(other, Err(UnreadablePlan::OtherForm));
    }

    #[test]
    fn plan_after_one_that_was_never_armed_follows_too() {
        let plan = Digest::from_parts(&[]);
        let signature = RoundSignature::from([0; 48]);
        let first = PlanState {
            round: Some(PlanRound { signature }),
            ..PlanState::closed(plan, None)
        };
        let second = PlanState::closed(plan, Some(&first));
        let third = PlanState::closed(plan, Some(&second));
        assert_eq!(
            [&first, &second, &third].map(|state| state.follows_another),
            [false, true, true]
        );
    }
}
