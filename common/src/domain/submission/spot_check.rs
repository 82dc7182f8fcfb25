//! The other person does not see the verdict.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{MessageKey, State, Submission};
use crate::domain::{Environment, Timestamp};

/// Decisions in a thousand.
const OF_OPERATORS: u64 = 50;
/// Decisions in a thousand.
const OF_SERVICE: u64 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpotCheck {
    pub by: String,
    pub at: Timestamp,
    /// `None` accepts.
    pub rejects: Option<MessageKey>,
    /// The reasons may differ.
    pub agrees: bool,
}

impl Submission {
    /// A fixed share by the id's digest, so that operators cannot choose. Erased submissions have
    /// nothing to look at, revoked ones had a second decision.
    pub fn awaits_spot_check(&self) -> bool {
        let share = if self.decision.is_some() {
            OF_OPERATORS
        } else {
            OF_SERVICE
        };
        self.status.is_terminal()
            && self.status.review_status().is_some()
            && self.scope.environment == Environment::Live
            && self.spot_check.is_none()
            && self.phone.is_some()
            && !self.is_revoked()
            && sampling_number(self) < share
    }

    /// Callers see no change.
    #[must_use]
    pub fn with_spot_check(&self, by: String, rejects: Option<MessageKey>, at: Timestamp) -> Self {
        let agrees = rejects.is_none() == (self.status.state() == State::Accepted);
        let spot_check = Some(SpotCheck {
            by,
            at,
            rejects,
            agrees,
        });
        Self {
            spot_check,
            revision: self.revision.saturating_add(1),
            ..self.clone()
        }
    }
}

fn sampling_number(submission: &Submission) -> u64 {
    let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(submission.submission_id.to_string()).into();
    u64::from(u32::from_be_bytes([a, b, c, d])) % 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::phone_protection::StoredPhone;
    use crate::domain::submission::ReviewStatus;
    use crate::domain::{OperatorDecision, SubmissionId, SubmissionStatus};

    fn accepted(number: u32, decision: Option<OperatorDecision>) -> Submission {
        let mut id = [0; 24];
        let [a, b, c, d] = number.to_be_bytes();
        id[8..12].copy_from_slice(&[a, b, c, d]);
        let status = SubmissionStatus {
            review_status: Some(ReviewStatus::Verified),
            ..SubmissionStatus::accepted(1, None)
        };
        let mut scope = Submission::example().scope;
        scope.environment = Environment::Live;
        let submission_id = SubmissionId::from_random(id);
        let phone: Option<StoredPhone> =
            serde_json::from_value(serde_json::json!("A".repeat(55))).ok();
        Submission {
            submission_id,
            status,
            scope,
            decision,
            phone,
            settling: None,
            ..Submission::example()
        }
    }

    fn by_hand() -> Option<OperatorDecision> {
        let at = Timestamp::from_millis(0);
        Some(OperatorDecision {
            by: "asha".to_owned(),
            at,
            why: None,
            confirmed: None,
            identity: None,
        })
    }

    #[test]
    fn shares_of_spot_checks_are_five_percent_and_one() {
        let picked = |decision: &dyn Fn() -> Option<OperatorDecision>| {
            (0..20_000)
                .filter(|number| accepted(*number, decision()).awaits_spot_check())
                .count()
        };
        let (people, service) = (picked(&by_hand), picked(&|| None));
        assert!((900..1_100).contains(&people), "{people}");
        assert!((150..250).contains(&service), "{service}");
    }

    #[test]
    fn numbers_below_the_share_are_looked_at() {
        let numbered = |wanted| {
            (0..20_000)
                .map(|number| accepted(number, by_hand()))
                .find(|submission| sampling_number(submission) == wanted)
                .expect("one in a thousand")
        };
        assert!(numbered(OF_OPERATORS - 1).awaits_spot_check());
        assert!(!numbered(OF_OPERATORS).awaits_spot_check());
    }

    #[test]
    fn erased_open_and_reviewed_submissions_need_no_spot_check() {
        let picked = (0..)
            .map(|number| accepted(number, by_hand()))
            .find(Submission::awaits_spot_check);
        let picked = picked.expect("one in twenty");
        let again = picked.with_spot_check("juma".to_owned(), None, Timestamp::from_millis(1));
        assert_eq!(again.revision, picked.revision + 1);
        let open = Submission {
            status: SubmissionStatus::receipt_received(),
            ..picked.clone()
        };
        let erased = picked.erased(picked.entrant_id.clone());
        let mut test = picked.clone();
        test.scope.environment = Environment::Test;
        for other in [again, open, erased, test] {
            assert!(!other.awaits_spot_check(), "{other:?}");
        }
    }

    #[test]
    fn people_agree_who_both_accept_or_both_reject() {
        let reject = Some(MessageKey::ReceiptUnreadable);
        let accepted = accepted(0, by_hand());
        let rejected = SubmissionStatus::rejected(MessageKey::ReceiptWrongStore);
        let rejected = Submission {
            status: rejected,
            ..accepted.clone()
        };
        let agree = |submission: &Submission, rejects| {
            let again =
                submission.with_spot_check("juma".to_owned(), rejects, Timestamp::from_millis(1));
            again.spot_check.expect("a spot check").agrees
        };
        assert_eq!(
            [agree(&accepted, None), agree(&accepted, reject)],
            [true, false]
        );
        assert_eq!(
            [agree(&rejected, None), agree(&rejected, reject)],
            [false, true]
        );
    }
}
