//! What follows from what was learnt of a receipt: a pure function from answers to the next state.

use std::time::Duration;

use common::app::code_verifier::SENTINEL_PRIZE;
use common::domain::campaign::Campaign;
use common::domain::message::MessageKey;
use common::domain::receipt::judgement::{Judgement, ReceiptSummary, Verdict, judge};
use common::domain::receipt::payload::VerificationCode;
use common::domain::receipt::record::FiscalRecord;
use common::domain::receipt::rules::ReceiptRules;
use common::domain::receipt::schedule::{LookupFailure, LookupFailures, RetryDecision};
use common::domain::receipt::sentinel::ReceiptSentinel;
use common::domain::settling::{Anomaly, PendingSettlement, RetrySpeedup, SENTINEL_DELAY};
use common::domain::submission::{AlreadySettled, Event, State, Submission};
use common::domain::timestamp::Timestamp;
use common::runtime::event_handler::JobOutcome;
use common::upstream::tax_authority::answer::Answer;

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepOutcome {
    /// What becomes of the submission.
    pub(crate) next: Transition,
    /// Why, besides the message key.
    pub(crate) reason: Option<&'static str>,
    /// What callers see of the authority's record, once there is one.
    pub(crate) receipt: Option<ReceiptSummary>,
    /// The purchase that the record proves.
    pub(crate) purchase: Option<VerificationCode>,
    /// Something that was not as expected, for the operator.
    pub(crate) anomaly: Option<Anomaly>,
    /// What kind of answer it was instead of one that decides, for the counters.
    pub(crate) obstacle: Option<&'static str>,
    /// Code and time did not belong together.
    pub(crate) receipt_time_mismatch: bool,
}

/// What becomes of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Transition {
    /// It is accepted, with these entries and perhaps another prize than its code's.
    Accept { entries: u32, prize: Option<String> },
    /// It is rejected.
    Reject(MessageKey),
    /// A person has to look at the receipt.
    Review,
    /// Nobody answers; a person has to know.
    Unanswered,
    /// One more step follows after this wait.
    RetryAfter(Duration, LookupFailures),
    /// Its phone is throttled, or no slot was free in time: it goes on at this moment as if nothing had been tried.
    WaitUntil(Timestamp),
    /// It is unanswered for some seconds: what a test asked for.
    AcceptLater,
    /// It stays as it is, for a person to settle: what a test asked for.
    StaysPending(MessageKey),
}

impl From<Transition> for StepOutcome {
    fn from(next: Transition) -> Self {
        Self {
            next,
            reason: None,
            receipt: None,
            purchase: None,
            anomaly: None,
            obstacle: None,
            receipt_time_mismatch: false,
        }
    }
}

impl StepOutcome {
    /// Rejected for a reason that the key alone does not tell.
    pub(crate) fn reject(key: MessageKey, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Transition::Reject(key).into() }
    }

    /// For a person to look at, for this reason.
    pub(crate) fn review(reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Transition::Review.into() }
    }

    /// What a test receipt asks for.
    pub(crate) fn from_sentinel(sentinel: ReceiptSentinel, campaign: &Campaign, state: State) -> Self {
        let entries = campaign.entries_per_submission;
        let first_try = state == State::Pending;
        let conclusion: Self = match sentinel {
            ReceiptSentinel::Slow if first_try => Transition::AcceptLater.into(),
            ReceiptSentinel::Verified | ReceiptSentinel::Slow => {
                Transition::Accept { entries, prize: None }.into()
            }
            ReceiptSentinel::Wins => {
                Transition::Accept { entries, prize: Some(SENTINEL_PRIZE.to_owned()) }.into()
            }
            ReceiptSentinel::Review => Self::review("asked_for_by_test"),
            ReceiptSentinel::Stays(key) => Transition::StaysPending(key).into(),
            ReceiptSentinel::Declined(key) => Transition::Reject(key).into(),
        };
        let is_verified = matches!(conclusion.next, Transition::Accept { .. });
        let receipt = is_verified.then(|| ReceiptSummary::made_up(campaign.receipt.as_ref()));
        Self { receipt, ..conclusion }
    }

    /// What the authority's answer means.
    pub(crate) fn from_answer(
        answer: Answer,
        campaign: &Campaign,
        rules: &ReceiptRules,
        submission: &Submission,
        now: Timestamp,
        hasten: RetrySpeedup,
    ) -> Self {
        let kind = answer.as_str();
        let anomaly = anomaly(&answer);
        let obstacle = match answer {
            Answer::Found(record) => {
                return Self::from_record(&record, campaign, rules, submission.created_at);
            }
            Answer::WrongTime => {
                let wrong = Self::from(Transition::Reject(MessageKey::ReceiptTimeMismatch));
                return Self { receipt_time_mismatch: true, ..wrong };
            }
            Answer::RefererRefused => {
                return Self {
                    reason: Some(kind),
                    anomaly,
                    obstacle: Some(kind),
                    ..Transition::Unanswered.into()
                };
            }
            Answer::NotFoundYet => LookupFailure::Missing,
            Answer::Throttled => LookupFailure::Throttled,
            Answer::Trouble(_) | Answer::Unexpected(_) => LookupFailure::Trouble,
        };
        let lookup_failures =
            submission.settling.as_ref().map(|settling| settling.lookup_failures).unwrap_or_default();
        let (lookup_failures, plan) = lookup_failures.after(obstacle, now, hasten);
        let next = match plan {
            RetryDecision::AskAgain(wait) => Transition::RetryAfter(wait, lookup_failures),
            RetryDecision::DoesNotExist => Transition::Reject(MessageKey::ReceiptNotFound),
            RetryDecision::Unanswered => Transition::Unanswered,
        };
        let reason = matches!(next, Transition::Unanswered).then_some(kind);
        Self { reason, anomaly, obstacle: Some(kind), ..next.into() }
    }

    /// What follows when a part of the service itself fails: as when the authority does.
    pub(crate) fn from_failure(submission: &Submission, now: Timestamp, hasten: RetrySpeedup) -> Self {
        let lookup_failures =
            submission.settling.as_ref().map(|settling| settling.lookup_failures).unwrap_or_default();
        let (lookup_failures, plan) = lookup_failures.after(LookupFailure::Trouble, now, hasten);
        let next = match plan {
            RetryDecision::AskAgain(wait) => Transition::RetryAfter(wait, lookup_failures),
            RetryDecision::DoesNotExist | RetryDecision::Unanswered => Transition::Unanswered,
        };
        let anomaly = Some("a part of the service failed".into());
        Self { anomaly, obstacle: Some("service_failed"), ..next.into() }
    }

    fn from_record(
        record: &FiscalRecord,
        campaign: &Campaign,
        rules: &ReceiptRules,
        submitted_at: Timestamp,
    ) -> Self {
        let Judgement { verdict, summary } = judge(record, campaign, rules, submitted_at);
        let (next, reason) = match verdict {
            Verdict::Verified { entries } => (Transition::Accept { entries, prize: None }, None),
            Verdict::Declined(key, reason) => (Transition::Reject(key), Some(reason.as_str())),
            Verdict::Review(reason) => (Transition::Review, Some(reason.as_str())),
        };
        let declined = matches!(next, Transition::Reject(_));
        let purchase = (!declined).then(|| record.code.clone());
        Self { reason, receipt: Some(summary), purchase, ..next.into() }
    }

    /// Whether something keeps the receipt from being settled, other than that it is not there yet.
    pub(crate) fn is_blocked_upstream(&self) -> bool {
        self.obstacle.is_some_and(|obstacle| obstacle != Answer::NotFoundYet.as_str())
    }

    /// What there is to count.
    pub(crate) fn finding(&self) -> JobOutcome {
        let given_up = matches!(self.next, Transition::Unanswered);
        let mut figures = if given_up { vec![("LeftToAPerson", 1)] } else { Vec::new() };
        figures.extend(match self.obstacle {
            Some("unexpected_page" | "referer_refused") => Some(("TaxAuthorityChanged", 1)),
            Some("trouble" | "throttled") => Some(("TaxAuthorityDown", 1)),
            Some(_) | None => None,
        });
        JobOutcome { outcome: self.obstacle.unwrap_or_else(|| self.outcome()), figures }
    }

    fn outcome(&self) -> &'static str {
        match &self.next {
            Transition::Accept { .. } => "accepted",
            Transition::Reject(key) => key.as_str(),
            Transition::Review => "under_review",
            Transition::Unanswered => "unanswered",
            Transition::RetryAfter(..) | Transition::AcceptLater => "again_later",
            Transition::WaitUntil(_) => "waits",
            Transition::StaysPending(_) => "stays",
        }
    }

    /// The submission after this.
    ///
    /// # Errors
    /// [`AlreadySettled`] when nothing can happen any more.
    pub(crate) fn apply(
        &self,
        before: &Submission,
        now: Timestamp,
        hasten: RetrySpeedup,
    ) -> Result<Submission, AlreadySettled> {
        let settling = before.settling.clone().ok_or(AlreadySettled)?;
        let settling = PendingSettlement { anomaly: self.anomaly.clone().or(settling.anomaly), ..settling };
        let mut after = match &self.next {
            Transition::Accept { entries, prize } => {
                let instant_win = prize.clone().or(settling.prize);
                before.after(Event::Accept { entries: *entries, instant_win }, now)?
            }
            Transition::Reject(key) => before.after(Event::Reject(*key), now)?,
            Transition::Review => {
                let settling = Some(settling.escalate(now));
                Submission { settling, ..before.after(Event::Review, now)? }
            }
            Transition::Unanswered | Transition::StaysPending(MessageKey::Checking) => {
                let settling = Some(settling.escalate(now));
                Submission { settling, ..before.after(Event::Unanswered, now)? }
            }
            Transition::StaysPending(_) => {
                Submission { settling: Some(settling.escalate(now)), ..before.changed(now) }
            }
            Transition::RetryAfter(wait, lookup_failures) => {
                let settling = Some(settling.again_after(*wait, *lookup_failures, now, hasten));
                Submission { settling, ..before.changed(now) }
            }
            Transition::WaitUntil(until) => {
                let wait = until.since(now);
                let settling =
                    Some(settling.again_after(wait, settling.lookup_failures, now, RetrySpeedup::default()));
                Submission { settling, ..before.changed(now) }
            }
            Transition::AcceptLater => {
                let settling =
                    Some(settling.again_after(SENTINEL_DELAY, settling.lookup_failures, now, hasten));
                Submission { settling, ..before.after(Event::Unanswered, now)? }
            }
        };
        if self.receipt.is_some() {
            after.receipt.clone_from(&self.receipt);
        }
        if self.purchase.is_some() {
            after.purchase.clone_from(&self.purchase);
        }
        after.reasons = match &self.next {
            Transition::Reject(key) => {
                let mut reasons = vec![key.as_str().to_owned()];
                reasons.extend(self.reason.filter(|reason| *reason != key.as_str()).map(str::to_owned));
                reasons
            }
            Transition::Accept { .. }
            | Transition::Review
            | Transition::Unanswered
            | Transition::RetryAfter(..)
            | Transition::WaitUntil(_)
            | Transition::AcceptLater
            | Transition::StaysPending(_) => self.reason.map(str::to_owned).into_iter().collect(),
        };
        Ok(after)
    }
}

/// What an operator should know of an answer that was not as expected.
fn anomaly(answer: &Answer) -> Option<Anomaly> {
    match answer {
        Answer::Unexpected(page) => Some(Anomaly {
            what: format!("{} at {} (status {})", page.why, page.final_path, page.status),
            excerpt: Some(page.excerpt.clone()),
        }),
        Answer::Trouble(trouble) => Some(trouble.as_str().into()),
        Answer::RefererRefused => Some("the authority took our request for none of a receipt's page".into()),
        Answer::Found(_) | Answer::WrongTime | Answer::NotFoundYet | Answer::Throttled => None,
    }
}

#[cfg(test)]
mod tests;
