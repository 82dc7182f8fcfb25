//! An acceptance with an instant prize, or with more entries than the service itself gives: it takes effect once a second operator accepts the same.

use serde::{Deserialize, Serialize};

use super::{Confirmation, OperatorDecision, Submission, VerificationCode};

/// An acceptance that takes effect once a second operator accepts the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedAcceptance {
    /// The entries to award.
    pub entries: u32,
    /// The purchase to claim; `None` if the submission has no receipt, or the receipt's code cannot be read.
    pub purchase: Option<VerificationCode>,
    /// Who accepted it, when and why.
    pub decision: OperatorDecision,
}

/// The effect of an operator's acceptance where two people have to agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TwoPersonApproval {
    /// It waits for a second operator.
    Awaited,
    /// It takes effect, as the decision of both.
    Reached(OperatorDecision),
    /// The same person accepted the same before.
    SamePerson,
}

impl Submission {
    /// The effect of an operator accepting the submission and its instant prize.
    pub fn agreement(&self, second: &ProposedAcceptance) -> TwoPersonApproval {
        let is_same = |first: &&ProposedAcceptance| {
            (first.entries, &first.purchase) == (second.entries, &second.purchase)
        };
        let Some(first) = self.acceptance.as_ref().filter(is_same) else {
            return TwoPersonApproval::Awaited;
        };
        let OperatorDecision {
            by,
            at,
            why,
            identity,
            ..
        } = second.decision.clone();
        if first
            .decision
            .is_by(identity.as_deref().unwrap_or_default(), &by)
        {
            return TwoPersonApproval::SamePerson;
        }
        let confirmed = Some(Confirmation { by, why, identity });
        TwoPersonApproval::Reached(OperatorDecision {
            at,
            confirmed,
            ..first.decision.clone()
        })
    }

    /// The submission with the acceptance of a first operator. Its callers see no change.
    #[must_use]
    pub fn with_first_acceptance(&self, acceptance: ProposedAcceptance) -> Self {
        Self {
            acceptance: Some(acceptance),
            revision: self.revision.saturating_add(1),
            ..self.clone()
        }
    }

    /// Whether a person of this identity or name accepted it first, and it waits for a second operator.
    pub fn was_first_accepted_by(&self, identity: &str, by: &str) -> bool {
        self.acceptance
            .as_ref()
            .is_some_and(|first| first.decision.is_by(identity, by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::submission::transition::{Findings, Transition};
    use crate::domain::timestamp::Timestamp;

    fn acceptance(by: &str, identity: &str, entries: u32) -> ProposedAcceptance {
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
        ProposedAcceptance {
            entries,
            purchase: None,
            decision,
        }
    }

    #[test]
    fn two_people_who_accept_the_same_agree_and_nobody_agrees_alone() {
        let open = Submission::example();
        let first = acceptance("asha", "user/asha", 1);
        assert_eq!(open.agreement(&first), TwoPersonApproval::Awaited);
        let once = open.with_first_acceptance(first.clone());
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
                TwoPersonApproval::SamePerson,
                "{by} {identity}"
            );
            assert!(once.was_first_accepted_by(identity, by));
        }
        assert!(!once.was_first_accepted_by("user/juma", "juma"));
        let TwoPersonApproval::Reached(both) = once.agreement(&acceptance("juma", "user/juma", 1))
        else {
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
    fn who_accepts_with_other_entries_or_another_code_is_the_first_again() {
        let once = Submission::example().with_first_acceptance(acceptance("asha", "user/asha", 1));
        let code = "AB12CD3456".parse().expect("a code");
        let other_code = ProposedAcceptance {
            purchase: Some(code),
            ..acceptance("juma", "user/juma", 1)
        };
        for other in [
            acceptance("juma", "user/juma", 2),
            acceptance("asha", "user/asha", 2),
            other_code,
        ] {
            assert_eq!(once.agreement(&other), TwoPersonApproval::Awaited);
        }
    }

    #[test]
    fn a_settled_submission_waits_for_nobody() {
        let once = Submission::example().with_first_acceptance(acceptance("asha", "user/asha", 1));
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
            assert_eq!(settled.acceptance, None);
        }
        let later = once
            .apply(&Transition::RetryAt(now), Findings::default(), now)
            .expect("it is open");
        assert_eq!(later.acceptance, once.acceptance);
    }
}
