use serde::{Deserialize, Serialize};

use super::correction::Correction;
use super::{Confirmation, OperatorDecision, Submission, VerificationCode};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub change: ProposedChange,
    pub decision: OperatorDecision,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposedChange {
    Accept(Acceptance),
    Correct(Correction),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    pub entries: u32,
    pub purchase: Option<VerificationCode>,
}

impl OperatorDecision {
    /// `None` if both are one person.
    pub fn confirmed_by(&self, second: &Self) -> Option<Self> {
        let Self {
            by,
            at,
            why,
            identity,
            ..
        } = second.clone();
        let is_same = self.is_by(identity.as_deref().unwrap_or_default(), &by);
        (!is_same).then(|| Self {
            at,
            confirmed: Some(Confirmation { by, why, identity }),
            ..self.clone()
        })
    }
}

impl Submission {
    /// Callers see no change.
    #[must_use]
    pub fn awaiting(&self, approval: Approval) -> Self {
        Self {
            approval: Some(approval),
            revision: self.revision.saturating_add(1),
            ..self.clone()
        }
    }

    /// Callers see no change.
    #[must_use]
    pub fn without_approval(&self) -> Self {
        Self {
            approval: None,
            revision: self.revision.saturating_add(1),
            ..self.clone()
        }
    }

    pub fn first_acceptance(&self) -> Option<(&Acceptance, &OperatorDecision)> {
        let Approval { change, decision } = self.approval.as_ref()?;
        match change {
            ProposedChange::Accept(acceptance) => Some((acceptance, decision)),
            ProposedChange::Correct(_) => None,
        }
    }

    pub fn was_first_accepted_by(&self, identity: &str, by: &str) -> bool {
        self.first_acceptance()
            .is_some_and(|(_, decision)| decision.is_by(identity, by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Findings, Timestamp, Transition};

    fn acceptance(by: &str, identity: &str, entries: u32) -> Approval {
        let (at, why) = (
            Timestamp::from_millis(entries.into()),
            Some(format!("{by} saw it")),
        );
        let identity = Some(identity.to_owned());
        let decision = OperatorDecision {
            by: by.to_owned(),
            at,
            why,
            confirmed: None,
            identity,
        };
        let purchase = None;
        Approval {
            change: ProposedChange::Accept(Acceptance { entries, purchase }),
            decision,
        }
    }

    #[test]
    fn second_person_confirms_and_the_first_cannot() {
        let open = Submission::example();
        let first = acceptance("asha", "user/asha", 1);
        let once = open.awaiting(first.clone());
        assert_eq!(
            (once.revision, once.updated_at),
            (open.revision + 1, open.updated_at)
        );
        let same = [
            ("asha", "user/asha"),
            ("ASHA", "user/juma"),
            ("juma", "user/asha"),
            ("juma", "assumed-role/operator/Asha"),
            ("juma", "assumed-role/operator/asha"),
        ];
        for (by, identity) in same {
            let again = acceptance(by, identity, 1).decision;
            assert_eq!(first.decision.confirmed_by(&again), None, "{by} {identity}");
            assert!(once.was_first_accepted_by(identity, by));
        }
        assert!(!once.was_first_accepted_by("user/juma", "juma"));
        let other = acceptance("juma", "user/juma", 2).decision;
        let both = first.decision.confirmed_by(&other).expect("they agree");
        let why = Some("juma saw it".to_owned());
        let second = Confirmation {
            by: "juma".to_owned(),
            why,
            identity: Some("user/juma".to_owned()),
        };
        assert_eq!(
            both,
            OperatorDecision {
                at: other.at,
                confirmed: Some(second),
                ..first.decision
            }
        );
        assert!(
            both.is_by("assumed-role/operator/juma", "neema"),
            "the second person took it as well"
        );
        assert!(!both.is_by("assumed-role/operator/neema", "neema"));
    }

    #[test]
    fn withdrawn_approval_leaves_only_a_revision() {
        let once = Submission::example().awaiting(acceptance("asha", "user/asha", 1));
        let expected = Submission {
            revision: once.revision + 1,
            ..Submission::example()
        };
        assert_eq!(once.without_approval(), expected);
    }

    #[test]
    fn settled_submission_awaits_no_approval() {
        let once = Submission::example().awaiting(acceptance("asha", "user/asha", 1));
        let now = Timestamp::from_millis(9);
        let reject = Transition::reject(super::super::MessageKey::Invalid);
        for transition in [
            reject,
            Transition::Accept {
                entries: 1,
                prize: None,
            },
        ] {
            let settled = once
                .apply(&transition, Findings::default(), now)
                .expect("it is open");
            assert_eq!(settled.approval, None);
        }
        let later = once
            .apply(&Transition::RetryAt(now), Findings::default(), now)
            .expect("it is open");
        assert_eq!(later.approval, once.approval);
    }
}
