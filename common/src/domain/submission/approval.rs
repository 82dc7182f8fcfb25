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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    Awaited,
    Reached(OperatorDecision),
    SamePerson,
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
    pub fn agreement(&self, second: &Approval) -> Agreement {
        let is_same = |first: &&Approval| first.change == second.change;
        let Some(first) = self.approval.as_ref().filter(is_same) else {
            return Agreement::Awaited;
        };
        match first.decision.confirmed_by(&second.decision) {
            Some(both) => Agreement::Reached(both),
            None => Agreement::SamePerson,
        }
    }

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
    fn two_people_who_accept_the_same_agree() {
        let open = Submission::example();
        let first = acceptance("asha", "user/asha", 1);
        assert_eq!(open.agreement(&first), Agreement::Awaited);
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
            assert_eq!(
                once.agreement(&acceptance(by, identity, 1)),
                Agreement::SamePerson,
                "{by} {identity}"
            );
            assert!(once.was_first_accepted_by(identity, by));
        }
        assert!(!once.was_first_accepted_by("user/juma", "juma"));
        let Agreement::Reached(both) = once.agreement(&acceptance("juma", "user/juma", 1)) else {
            panic!("they agree")
        };
        let why = Some("juma saw it".to_owned());
        let second = Confirmation {
            by: "juma".to_owned(),
            why,
            identity: Some("user/juma".to_owned()),
        };
        assert_eq!(
            both,
            OperatorDecision {
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
    fn other_entries_or_another_code_begin_again() {
        let once = Submission::example().awaiting(acceptance("asha", "user/asha", 1));
        let code = "AB12CD3456".parse().expect("a code");
        let other_code = Approval {
            change: ProposedChange::Accept(Acceptance {
                entries: 1,
                purchase: Some(code),
            }),
            ..acceptance("juma", "user/juma", 1)
        };
        for other in [
            acceptance("juma", "user/juma", 2),
            acceptance("asha", "user/asha", 2),
            other_code,
        ] {
            assert_eq!(once.agreement(&other), Agreement::Awaited);
        }
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
