use serde::{Deserialize, Serialize};

use super::{MessageKey, OperatorDecision, ReviewStatus, State, Submission, SubmissionStatus};
use crate::domain::PendingSettlement;

const REVOKED: &str = "revoked";
const REOPENED: &str = "reopened";
const PRIZE_KEPT: &str = "prize_kept";

/// Its text sends the consumer to customer care; other keys would blame a good code or receipt.
const REVOKED_KEY: MessageKey = MessageKey::Blocked;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Correction {
    Revoke {
        /// If false, the code stays used.
        free_code: bool,
        /// True if the prize was handed over and stays so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep_prize: bool,
    },
    Reopen,
}

impl Correction {
    pub const REVOKE: Self = Self::Revoke {
        free_code: false,
        keep_prize: false,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCorrectable {
    #[error("the submission is not settled")]
    NotSettled,
    #[error("the submission was rejected")]
    Rejected,
    #[error("the submission is revoked already")]
    RevokedAlready,
    #[error("the submission is accepted")]
    Accepted,
    /// Accepting it would leave code and receipt free.
    #[error("the submission has no code and no receipt")]
    WithoutEvidence,
    /// No number to call, and no limit counts it.
    #[error("the submission has no person")]
    Erased,
}

impl Submission {
    pub fn is_revoked(&self) -> bool {
        let was_accepted = |last: &super::PastState| last.status.state == State::Accepted;
        self.status.state == State::Rejected && self.history.last().is_some_and(was_accepted)
    }

    /// Includes a prize that was revoked since.
    pub fn prize_won(&self) -> Option<&str> {
        let past = self.history.iter().rev().map(|past| &past.status);
        std::iter::once(&self.status)
            .chain(past)
            .find_map(SubmissionStatus::instant_win)
    }

    /// True if a revocation left the prize with the winner: another acceptance gives none.
    pub fn has_kept_prize(&self) -> bool {
        let past = self.history.iter().map(|past| &past.reasons);
        let mut reasons = past.chain([&self.reasons]).flatten();
        reasons.any(|reason| reason == PRIZE_KEPT)
    }

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
            (Correction::Revoke { keep_prize, .. }, State::Accepted) => {
                Ok(self.revoked(decision, keep_prize))
            }
            (Correction::Reopen, State::Accepted) => Err(NotCorrectable::Accepted),
            (Correction::Reopen, State::Rejected) if self.phone.is_none() => {
                Err(NotCorrectable::Erased)
            }
            (Correction::Reopen, State::Rejected) => self.reopened(decision),
        }
    }

    fn revoked(&self, decision: OperatorDecision, keep_prize: bool) -> Self {
        // Its receipt stays verified.
        let review_status = self.status.review_status;
        Self {
            status: SubmissionStatus {
                review_status,
                ..SubmissionStatus::rejected(REVOKED_KEY)
            },
            reasons: [REVOKED_KEY.as_str(), REVOKED]
                .into_iter()
                .chain(keep_prize.then_some(PRIZE_KEPT))
                .map(str::to_owned)
                .collect(),
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
        let by_moment = self.history.iter().any(|past| past.status.won_by_moment);
        let prize = self.prize_won();
        let prize = prize.filter(|_| !by_moment && !self.has_kept_prize());
        let (now, prize) = (decision.at, prize.map(str::to_owned));
        Ok(Self {
            status,
            reasons: vec![REOPENED.to_owned()],
            // Without a record, the purchase is a code that an operator typed, perhaps by mistake.
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
