use super::PartnerRequest;
use super::reply::{PartnerMessage, PartnerVerdict};
use crate::domain::{
    AlreadySettled, Anomaly, Findings, MessageKey, PartnerProgress, PendingSettlement, Phone,
    Progress, RetryContext, Submission, Timestamp, Transition,
};

const UNNAMED_PRIZE: &str = "Instant prize";
const UNANSWERED: &str = "partner_unanswered";
/// The code is used, perhaps by an earlier request whose answer was lost.
const USED_WHEN_ASKED_AGAIN: &str = "partner_used_when_asked_again";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartnerOutcome {
    Decided(PartnerVerdict),
    NoAnswer(Unanswered),
    CircuitOpen { retry_at: Timestamp },
    AtLimit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    pub why: &'static str,
    pub upstream: Option<PartnerMessage>,
    /// True if the partner may have redeemed the code.
    pub may_have_arrived: bool,
    pub fault_owner: FaultOwner,
    pub opened_breaker: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOwner {
    /// It is down or refuses us; other requests would fail too.
    Partner,
    /// No request can be made, or its reply is not understood.
    Campaign,
    Service,
}

impl Unanswered {
    pub fn unasked(why: &'static str, fault_owner: FaultOwner) -> Self {
        Self {
            why,
            upstream: None,
            may_have_arrived: false,
            fault_owner,
            opened_breaker: false,
        }
    }

    pub fn service_failed() -> Self {
        Self::unasked("service_failed", FaultOwner::Service)
    }
}

impl PartnerOutcome {
    pub fn metrics(&self) -> Vec<(&'static str, u64)> {
        let unanswered = match self {
            Self::NoAnswer(unanswered) => unanswered,
            Self::CircuitOpen { .. } => return vec![("PartnerCircuitOpen", 1)],
            Self::AtLimit => return vec![("PartnerAtLimit", 1)],
            Self::Decided(_) => return Vec::new(),
        };
        let name = match unanswered.fault_owner {
            FaultOwner::Partner => "PartnerUnavailable",
            FaultOwner::Campaign => "PartnerMisconfigured",
            FaultOwner::Service => "Failed",
        };
        let mut metrics = vec![(name, 1)];
        metrics.extend(
            unanswered
                .opened_breaker
                .then_some(("PartnerCircuitOpen", 1)),
        );
        metrics
    }

    pub fn is_wrong_code(&self) -> bool {
        matches!(self, Self::Decided(verdict) if verdict.outcome == MessageKey::Invalid)
    }

    /// `entries` applies without the partner's own.
    pub fn apply(
        &self,
        before: &Submission,
        entries: u32,
        retry: RetryContext,
    ) -> Result<Submission, AlreadySettled> {
        let progress = before
            .settling
            .as_ref()
            .map(PendingSettlement::partner_progress);
        let (transition, findings) = self.transition(progress.unwrap_or_default(), entries, retry);
        before.apply(&transition, findings, retry.now)
    }

    fn transition(
        &self,
        progress: PartnerProgress,
        entries: u32,
        retry: RetryContext,
    ) -> (Transition, Findings) {
        match self {
            Self::Decided(verdict) => {
                let upstream = Some(verdict.upstream.clone());
                (
                    decided(verdict, progress, entries),
                    Findings {
                        upstream,
                        ..Findings::default()
                    },
                )
            }
            Self::NoAnswer(unanswered) => {
                let retry_at = retry.after(progress.backoff(retry.jitter));
                let progress = PartnerProgress {
                    attempts: progress.attempts.saturating_add(1),
                    maybe_redeemed: progress.maybe_redeemed || unanswered.may_have_arrived,
                    ..progress
                };
                let (transition, findings) = wait(progress, retry_at, retry);
                let anomaly = Some(Anomaly::from(unanswered.why));
                (
                    transition,
                    Findings {
                        anomaly,
                        upstream: unanswered.upstream.clone(),
                        ..findings
                    },
                )
            }
            Self::CircuitOpen { retry_at } => wait(progress, retry.after_circuit(*retry_at), retry),
            // The queue asks the partner at once.
            Self::AtLimit => (
                Transition::Unanswered {
                    retry_at: retry.now,
                },
                Findings::default(),
            ),
        }
    }
}

fn decided(verdict: &PartnerVerdict, progress: PartnerProgress, entries: u32) -> Transition {
    let entries = verdict.entries.unwrap_or(entries);
    match verdict.outcome {
        MessageKey::Entered => Transition::Accept {
            entries,
            prize: None,
        },
        MessageKey::InstantWin => {
            let prize = verdict
                .prize
                .clone()
                .unwrap_or_else(|| UNNAMED_PRIZE.to_owned());
            Transition::Accept {
                entries,
                prize: Some(prize),
            }
        }
        MessageKey::AlreadyUsed if progress.maybe_redeemed => Transition::Escalate {
            reason: Some(USED_WHEN_ASKED_AGAIN),
        },
        key => Transition::reject(key),
    }
}

fn wait(
    progress: PartnerProgress,
    retry_at: Timestamp,
    retry: RetryContext,
) -> (Transition, Findings) {
    let since = progress.unanswered_since.unwrap_or(retry.now);
    let transition = match retry.gives_up(since) {
        true => Transition::Escalate {
            reason: Some(UNANSWERED),
        },
        false => Transition::Unanswered { retry_at },
    };
    let progress = PartnerProgress {
        unanswered_since: Some(since),
        ..progress
    };
    (
        transition,
        Findings {
            progress: Some(Progress::Partner(progress)),
            ..Findings::default()
        },
    )
}

pub fn partner_request(submission: &Submission, phone: &Phone) -> Option<PartnerRequest> {
    let code = submission.partner_code.as_ref()?;
    Some(PartnerRequest {
        reference: submission.submission_id.to_string(),
        code: code.expose().to_owned(),
        phone: phone.expose_e164().to_owned(),
        campaign: submission.scope.campaign.to_string(),
        livemode: submission.scope.environment.is_live(),
    })
}
