//! Operators' corrections of settled submissions: an accepted one is revoked, a rejected one is
//! reopened.

use serde::{Deserialize, Serialize};

use super::{MessageKey, OperatorDecision, ReviewStatus, State, Submission, SubmissionStatus};
use crate::domain::settling::PendingSettlement;

/// The reason of a revoked submission, beside its message key.
const REVOKED: &str = "revoked";
/// The reason of a reopened submission.
const REOPENED: &str = "reopened";

/// The key of a revoked submission. Of the keys that callers know, its text alone sends the
/// consumer to customer care; the others blame a code or a receipt that was found good, and ask for
/// another try.
const REVOKED_KEY: MessageKey = MessageKey::Blocked;

/// A change of a settled submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Correction {
    /// An accepted submission is rejected.
    Revoke {
        /// True if its code can be entered again; otherwise the code stays used.
        free_code: bool,
    },
    /// A rejected submission waits for an operator.
    Reopen,
}

/// Why a submission cannot be corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCorrectable {
    /// It can still be settled.
    #[error("the submission is not settled")]
    NotSettled,
    /// Only an accepted submission is revoked.
    #[error("the submission was rejected")]
    Rejected,
    /// It was revoked before.
    #[error("the submission is revoked already")]
    RevokedAlready,
    /// Only a rejected submission is reopened.
    #[error("the submission is accepted")]
    Accepted,
    /// It was refused before it took a code or a receipt, so that accepting it would leave both
    /// free.
    #[error("the submission has no code and no receipt")]
    WithoutEvidence,
    /// Its person was erased: there is no number to call, and no limit counts it.
    #[error("the submission has no person")]
    Erased,
}

impl Submission {
    /// True if it was accepted until an operator revoked it.
    pub fn is_revoked(&self) -> bool {
        let was_accepted = |last: &super::PastState| last.status.state == State::Accepted;
        self.status.state == State::Rejected && self.history.last().is_some_and(was_accepted)
    }

    /// The instant prize that it won, also if it was revoked since.
    pub fn prize_won(&self) -> Option<&str> {
        let past = self.history.iter().rev().map(|past| &past.status);
        std::iter::once(&self.status)
            .chain(past)
            .find_map(SubmissionStatus::instant_win)
    }

    /// The submission after a correction.
    ///
    /// # Errors
    /// When its state does not allow the correction.
    pub fn corrected(
        &self,
        correction: Correction,
        decision: OperatorDecision,
    ) -> Result<Self, NotCorrectable> {
        match (correction, self.status.state) {
            (_, State::Pending | State::Unknown) => Err(NotCorrectable::NotSettled),
            (Correction::Revoke { .. }, State::Rejected) if self.is_revoked() => {
                Err(NotCorrectable::RevokedAlready)
            }
            (Correction::Revoke { .. }, State::Rejected) => Err(NotCorrectable::Rejected),
            (Correction::Revoke { .. }, State::Accepted) => Ok(self.revoked(decision)),
            (Correction::Reopen, State::Accepted) => Err(NotCorrectable::Accepted),
            (Correction::Reopen, State::Rejected) if self.phone.is_none() => {
                Err(NotCorrectable::Erased)
            }
            (Correction::Reopen, State::Rejected) => self.reopened(decision),
        }
    }

    fn revoked(&self, decision: OperatorDecision) -> Self {
        // Its receipt was good, and stays verified.
        let review_status = self.status.review_status;
        Self {
            status: SubmissionStatus {
                review_status,
                ..SubmissionStatus::rejected(REVOKED_KEY)
            },
            reasons: vec![REVOKED_KEY.as_str().to_owned(), REVOKED.to_owned()],
            approval: None,
            ..self.changed(decision.at).decided(decision)
        }
    }

    fn reopened(&self, decision: OperatorDecision) -> Result<Self, NotCorrectable> {
        let status = match (self.receipt_id, &self.code_key) {
            (Some(_), _) => {
                let review_status = Some(ReviewStatus::UnderReview);
                SubmissionStatus::open(State::Pending, review_status, MessageKey::ReceiptReceived)
            }
            (None, Some(_)) => SubmissionStatus::unknown(),
            (None, None) => return Err(NotCorrectable::WithoutEvidence),
        };
        let (now, prize) = (decision.at, self.prize_won().map(str::to_owned));
        Ok(Self {
            status,
            reasons: vec![REOPENED.to_owned()],
            // Without a record, the purchase is the code that an operator typed, perhaps by
            // mistake.
            purchase: self.purchase.clone().filter(|_| self.receipt.is_some()),
            settling: Some(PendingSettlement::due_at(now, prize).escalate(now)),
            approval: None,
            ..self.changed(now).decided(decision)
        })
    }

    fn decided(self, decision: OperatorDecision) -> Self {
        Self {
            decision: Some(decision),
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
