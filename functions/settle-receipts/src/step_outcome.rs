use common::app::job::JobOutcome;
use common::app::settlement::{ATTEMPTS_EXHAUSTED, with_stale_metric};
use common::domain::receipt::judgement::judge;
use common::domain::receipt::rules::ReceiptRules;
use common::domain::receipt::sentinel::ReceiptSentinel;
use common::domain::resolved_code::SENTINEL_PRIZE;
use common::domain::retry::{LookupFailure, LookupFailures, RetryDecision};
use common::domain::settling::SENTINEL_DELAY;
use common::domain::{
    AlreadySettled, Anomaly, Campaign, Findings, FiscalRecord, MessageKey, PendingSettlement,
    PhotoFault, Progress, ReceiptSummary, RetryContext, State, Submission, Timestamp, Transition,
};
use common::upstream::tax_authority::answer::LookupAnswer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepOutcome {
    pub(crate) transition: Transition,
    pub(crate) findings: Findings,
    pub(crate) obstacle: Option<&'static str>,
    /// The code exists with another time.
    pub(crate) receipt_time_mismatch: bool,
}

impl From<Transition> for StepOutcome {
    fn from(transition: Transition) -> Self {
        Self {
            transition,
            findings: Findings::default(),
            obstacle: None,
            receipt_time_mismatch: false,
        }
    }
}

impl StepOutcome {
    pub(crate) fn reject(key: MessageKey, reason: &'static str) -> Self {
        Transition::Reject {
            key,
            reason: Some(reason),
        }
        .into()
    }

    pub(crate) fn review(reason: &'static str) -> Self {
        Transition::Review(reason).into()
    }

    pub(crate) fn left_to_operator(fault: PhotoFault) -> Self {
        Self::review(fault.as_str())
    }

    /// An operator sees more than a machine, except in a file that is no image.
    pub(crate) fn from_photo_fault(fault: PhotoFault) -> Self {
        if fault == PhotoFault::NotDecoded {
            return Self::reject(MessageKey::ReceiptUnreadable, fault.as_str());
        }
        Self::left_to_operator(fault)
    }

    pub(crate) fn already_used(receipt: Option<ReceiptSummary>) -> Self {
        let findings = Findings {
            receipt,
            ..Findings::default()
        };
        Self {
            findings,
            ..Transition::reject(MessageKey::ReceiptAlreadyUsed).into()
        }
    }

    pub(crate) fn wait_until(at: Timestamp, obstacle: &'static str) -> Self {
        Self {
            obstacle: Some(obstacle),
            ..Transition::RetryAt(at).into()
        }
    }

    pub(crate) fn from_sentinel(
        sentinel: ReceiptSentinel,
        campaign: &Campaign,
        state: State,
        retry: RetryContext,
    ) -> Self {
        let is_first_step = state == State::Pending;
        let accept = |prize| Transition::Accept {
            entries: campaign.entries_per_submission,
            prize,
        };
        let transition = match sentinel {
            ReceiptSentinel::Slow if is_first_step => Transition::Unanswered {
                retry_at: retry.after(SENTINEL_DELAY),
            },
            ReceiptSentinel::Verified | ReceiptSentinel::Slow => accept(None),
            ReceiptSentinel::Wins => accept(Some(SENTINEL_PRIZE.to_owned())),
            ReceiptSentinel::Review => Transition::Review("asked_for_by_test"),
            ReceiptSentinel::Stays(key) => Transition::Stay(key),
            ReceiptSentinel::Declined(key) => Transition::reject(key),
        };
        let is_verified = matches!(transition, Transition::Accept { .. });
        let receipt = is_verified.then(|| ReceiptSummary::made_up(campaign.receipt.as_ref()));
        Self {
            findings: Findings {
                receipt,
                ..Findings::default()
            },
            ..transition.into()
        }
    }

    pub(crate) fn from_answer(
        answer: &LookupAnswer,
        campaign: &Campaign,
        rules: &ReceiptRules,
        submission: &Submission,
        retry: RetryContext,
    ) -> Self {
        let name = answer.as_str();
        let failure = match answer {
            LookupAnswer::Found(record) => {
                return Self::from_record(record, campaign, rules, submission.created_at);
            }
            LookupAnswer::WrongTime => {
                let mismatch = Transition::reject(MessageKey::ReceiptTimeMismatch);
                return Self {
                    receipt_time_mismatch: true,
                    ..mismatch.into()
                };
            }
            LookupAnswer::RefererRefused => {
                let outcome = Self::from(Transition::Escalate { reason: Some(name) });
                return outcome.blocked_by(name, anomaly(answer));
            }
            LookupAnswer::NotFoundYet => LookupFailure::Missing,
            LookupAnswer::Throttled => LookupFailure::Throttled,
            LookupAnswer::Unavailable(_) | LookupAnswer::Unexpected(_) => LookupFailure::Failed,
        };
        let outcome = Self::from_lookup_failure(failure, submission, Some(name), retry);
        outcome.blocked_by(name, anomaly(answer))
    }

    pub(crate) fn from_failure(submission: &Submission, retry: RetryContext) -> Self {
        Self::from_lookup_failure(LookupFailure::Failed, submission, None, retry).blocked_by(
            "service_failed",
            Some("a part of the service failed".into()),
        )
    }

    pub(crate) fn exhausted(submission: &Submission) -> Self {
        let earlier = submission
            .settling
            .as_ref()
            .and_then(|pending| pending.anomaly.as_ref());
        let anomaly = Anomaly {
            summary: format!(
                "a step was begun again and again, and never finished; {}",
                earlier.map_or("nothing else", |anomaly| anomaly.summary.as_str())
            ),
            excerpt: earlier.and_then(|anomaly| anomaly.excerpt.clone()),
        };
        let reason = Some(ATTEMPTS_EXHAUSTED);
        Self::from(Transition::Escalate { reason }).blocked_by(ATTEMPTS_EXHAUSTED, Some(anomaly))
    }

    fn blocked_by(mut self, obstacle: &'static str, anomaly: Option<Anomaly>) -> Self {
        self.obstacle = Some(obstacle);
        self.findings.anomaly = anomaly;
        self
    }

    /// `reason` applies if it gives up.
    fn from_lookup_failure(
        failure: LookupFailure,
        submission: &Submission,
        reason: Option<&'static str>,
        retry: RetryContext,
    ) -> Self {
        let failures = submission
            .settling
            .as_ref()
            .map(PendingSettlement::lookup_failures);
        let (failures, decision) = failures.unwrap_or_default().after(failure, retry);
        match decision {
            RetryDecision::RetryAfter(wait) => Self::retry(retry.after(wait), failures),
            RetryDecision::DoesNotExist => Transition::reject(MessageKey::ReceiptNotFound).into(),
            RetryDecision::GiveUp => Transition::Escalate { reason }.into(),
        }
    }

    fn retry(at: Timestamp, failures: LookupFailures) -> Self {
        let progress = Some(Progress::TaxAuthority(failures));
        Self {
            findings: Findings {
                progress,
                ..Findings::default()
            },
            ..Transition::RetryAt(at).into()
        }
    }

    fn from_record(
        record: &FiscalRecord,
        campaign: &Campaign,
        rules: &ReceiptRules,
        submitted_at: Timestamp,
    ) -> Self {
        let judgement = judge(record, campaign, rules, submitted_at);
        let (transition, findings) = judgement.into_step(record);
        Self {
            findings,
            ..transition.into()
        }
    }

    /// True if not only a late receipt keeps it open.
    fn is_blocked_upstream(&self) -> bool {
        self.obstacle
            .is_some_and(|obstacle| obstacle != LookupAnswer::NotFoundYet.as_str())
    }

    pub(crate) fn logged(&self, after: &Submission) -> JobOutcome {
        let is_escalated = matches!(self.transition, Transition::Escalate { .. });
        let mut metrics = if is_escalated {
            vec![("EscalatedToOperator", 1)]
        } else {
            Vec::new()
        };
        metrics.extend(match self.obstacle {
            Some("unexpected_page" | "referer_refused") => Some(("TaxAuthorityUnreadable", 1)),
            Some("trouble" | "throttled") => Some(("TaxAuthorityDown", 1)),
            Some(_) | None => None,
        });
        let outcome = self.obstacle.unwrap_or(match &self.transition {
            Transition::Accept { .. } => "accepted",
            Transition::Reject { key, .. } => key.as_str(),
            Transition::Review(_) => "under_review",
            Transition::Escalate { .. } => "unanswered",
            Transition::Unanswered { .. } | Transition::RetryAt(_) => "again_later",
            Transition::Stay(_) => "stays",
        });
        let logged = JobOutcome { outcome, metrics };
        if self.is_blocked_upstream() {
            with_stale_metric(logged, after)
        } else {
            logged
        }
    }

    pub(crate) fn apply(
        &self,
        before: &Submission,
        now: Timestamp,
    ) -> Result<Submission, AlreadySettled> {
        before.apply(&self.transition, self.findings.clone(), now)
    }
}

fn anomaly(answer: &LookupAnswer) -> Option<Anomaly> {
    match answer {
        LookupAnswer::Unexpected(page) => Some(Anomaly {
            summary: format!(
                "{} at {} (status {})",
                page.why, page.final_path, page.status
            ),
            excerpt: Some(page.excerpt.clone()),
        }),
        LookupAnswer::Unavailable(trouble) => Some(trouble.as_str().into()),
        LookupAnswer::RefererRefused => {
            Some("the authority did not recognise our request as one from a receipt's page".into())
        }
        LookupAnswer::Found(_)
        | LookupAnswer::WrongTime
        | LookupAnswer::NotFoundYet
        | LookupAnswer::Throttled => None,
    }
}

#[cfg(test)]
mod tests;
