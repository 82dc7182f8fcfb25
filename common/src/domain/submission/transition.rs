use super::{MessageKey, PendingSettlement, ReviewStatus, State, Submission, SubmissionStatus};
use crate::domain::receipt::judgement::{Judgement, ReceiptVerdict};
use crate::domain::{
    Anomaly, Assignee, FiscalRecord, PartnerMessage, Progress, ReceiptSummary, Timestamp,
    VerificationCode,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    Accept {
        entries: u32,
        /// `None` for that of the code.
        prize: Option<String>,
    },
    Reject {
        key: MessageKey,
        /// For logs and operators.
        reason: Option<&'static str>,
    },
    Review(&'static str),
    /// No answer decides; the state is `unknown`.
    Escalate {
        /// For logs and operators.
        reason: Option<&'static str>,
    },
    /// An operator takes over, as a test asked; with `checking`, the state is `unknown`.
    Stay(MessageKey),
    Unanswered {
        retry_at: Timestamp,
    },
    /// Changes nothing else.
    RetryAt(Timestamp),
}

/// `None` keeps the submission's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub progress: Option<Progress>,
    pub anomaly: Option<Anomaly>,
    /// Shown to callers.
    pub receipt: Option<ReceiptSummary>,
    /// Proved by the record.
    pub purchase: Option<VerificationCode>,
    pub upstream: Option<PartnerMessage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the submission is settled already")]
pub struct AlreadySettled;

impl Transition {
    pub fn reject(key: MessageKey) -> Self {
        Self::Reject { key, reason: None }
    }

    fn next_step(&self, now: Timestamp) -> Option<(Assignee, Timestamp)> {
        match *self {
            Self::Accept { .. } | Self::Reject { .. } => None,
            Self::Review(_) | Self::Escalate { .. } | Self::Stay(_) => {
                Some((Assignee::Operator, now))
            }
            Self::Unanswered { retry_at: at } | Self::RetryAt(at) => Some((Assignee::Service, at)),
        }
    }

    fn reasons(&self) -> Vec<String> {
        let (key, reason) = match *self {
            Self::Reject { key, reason } => (Some(key.as_str()), reason),
            Self::Review(reason) => (None, Some(reason)),
            Self::Escalate { reason } => (None, reason),
            Self::Accept { .. } | Self::Stay(_) | Self::Unanswered { .. } | Self::RetryAt(_) => {
                (None, None)
            }
        };
        let reason = reason.filter(|reason| Some(*reason) != key);
        key.into_iter().chain(reason).map(str::to_owned).collect()
    }
}

impl Judgement {
    /// A declined receipt stays free.
    pub fn into_step(self, record: &FiscalRecord) -> (Transition, Findings) {
        let transition = match self.verdict {
            ReceiptVerdict::Verified { entries } => Transition::Accept {
                entries,
                prize: None,
            },
            ReceiptVerdict::Declined(key, reason) => Transition::Reject {
                key,
                reason: Some(reason.as_str()),
            },
            ReceiptVerdict::Review(reason) => Transition::Review(reason.as_str()),
        };
        let is_declined = matches!(transition, Transition::Reject { .. });
        let findings = Findings {
            receipt: Some(self.summary),
            purchase: (!is_declined).then(|| record.code.clone()),
            ..Findings::default()
        };
        (transition, findings)
    }
}

impl Submission {
    pub fn apply(
        &self,
        transition: &Transition,
        findings: Findings,
        now: Timestamp,
    ) -> Result<Self, AlreadySettled> {
        let prize = self
            .settling
            .as_ref()
            .and_then(|settling| settling.prize.as_deref());
        let status = self
            .status
            .after(transition, prize, self.receipt_id.is_some())?;
        let settling = match transition.next_step(now) {
            Some((assignee, at)) => {
                let pending = self.settling.as_ref().ok_or(AlreadySettled)?;
                let planned = match assignee {
                    Assignee::Service => pending.retry_at(at),
                    Assignee::Operator => pending.escalate(at),
                };
                Some(PendingSettlement {
                    progress: findings.progress.unwrap_or(planned.progress),
                    anomaly: findings.anomaly.or(planned.anomaly),
                    ..planned
                })
            }
            None => None,
        };
        let changed = self.changed(now);
        Ok(Self {
            status,
            partner_code: settling.as_ref().and(changed.partner_code),
            approval: settling.as_ref().and(changed.approval),
            settling,
            reasons: transition.reasons(),
            receipt: findings.receipt.or(changed.receipt),
            purchase: findings.purchase.or(changed.purchase),
            upstream: findings.upstream.or(changed.upstream),
            ..changed
        })
    }
}

impl SubmissionStatus {
    fn after(
        &self,
        transition: &Transition,
        prize: Option<&str>,
        has_receipt: bool,
    ) -> Result<Self, AlreadySettled> {
        if self.is_terminal() {
            return Err(AlreadySettled);
        }
        let reviewed = |status| has_receipt.then_some(status);
        Ok(match transition {
            Transition::Accept {
                entries,
                prize: other,
            } => {
                let instant_win = other.clone().or_else(|| prize.map(str::to_owned));
                Self {
                    review_status: reviewed(ReviewStatus::Verified),
                    ..Self::accepted(*entries, instant_win)
                }
            }
            Transition::Reject { key, .. } if key.blames_receipt() => Self {
                review_status: reviewed(ReviewStatus::Declined),
                ..Self::rejected(*key)
            },
            Transition::Reject { key, .. } => Self::rejected(*key),
            Transition::Review(_) => {
                let review_status = reviewed(ReviewStatus::UnderReview);
                Self::open(State::Pending, review_status, MessageKey::ReceiptReceived)
            }
            Transition::Escalate { .. }
            | Transition::Unanswered { .. }
            | Transition::Stay(MessageKey::Checking) => Self::unknown(),
            Transition::Stay(_) | Transition::RetryAt(_) => self.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
