//! What follows from what was learnt of a receipt: a pure function from answers to the next state.

use std::time::Duration;

use common::background::Finding;
use common::domain::campaign::Campaign;
use common::domain::message::MessageKey;
use common::domain::moment::Moment;
use common::domain::receipt::judgement::{Judgement, ReceiptSummary, Verdict, judge};
use common::domain::receipt::payload::VerificationCode;
use common::domain::receipt::record::FiscalRecord;
use common::domain::receipt::rules::ReceiptRules;
use common::domain::receipt::schedule::{Obstacle, Plan, Tally};
use common::domain::receipt::sentinel::ReceiptSentinel;
use common::domain::settling::{Hasten, SLOW, Settling, Surprise};
use common::domain::submission::{AlreadySettled, Event, State, Submission};
use common::judge::SENTINEL_PRIZE;
use common::upstream::tax_authority::answer::Answer;

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conclusion {
    /// What becomes of the submission.
    pub(crate) next: Next,
    /// Why, besides the message key.
    pub(crate) reason: Option<&'static str>,
    /// What callers see of the authority's record, once there is one.
    pub(crate) receipt: Option<ReceiptSummary>,
    /// The purchase that the record proves.
    pub(crate) purchase: Option<VerificationCode>,
    /// Something that was not as expected, for the operator.
    pub(crate) surprise: Option<Surprise>,
    /// What kind of answer it was instead of one that decides, for the counters.
    pub(crate) obstacle: Option<&'static str>,
    /// Code and time did not belong together.
    pub(crate) wrong_pair: bool,
}

/// What becomes of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is accepted, with these entries and perhaps another prize than its code's.
    Accept { entries: u32, prize: Option<String> },
    /// It is rejected.
    Reject(MessageKey),
    /// A person has to look at the receipt.
    Review,
    /// Nobody answers; a person has to know.
    Unanswered,
    /// One more step follows after this wait.
    Again(Duration, Tally),
    /// Its phone is throttled, or no slot was free in time: it goes on at this moment as if nothing had been tried.
    WaitUntil(Moment),
    /// It is unanswered for some seconds: what a test asked for.
    SayYesLater,
    /// It stays as it is, for a person to settle: what a test asked for.
    Stay(MessageKey),
}

impl From<Next> for Conclusion {
    fn from(next: Next) -> Self {
        Self {
            next,
            reason: None,
            receipt: None,
            purchase: None,
            surprise: None,
            obstacle: None,
            wrong_pair: false,
        }
    }
}

impl Conclusion {
    /// Rejected for a reason that the key alone does not tell.
    pub(crate) fn reject(key: MessageKey, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Next::Reject(key).into() }
    }

    /// For a person to look at, for this reason.
    pub(crate) fn review(reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Next::Review.into() }
    }

    /// What a test receipt asks for.
    pub(crate) fn of_sentinel(sentinel: ReceiptSentinel, campaign: &Campaign, state: State) -> Self {
        let entries = campaign.entries_per_submission;
        let first_try = state == State::Pending;
        let conclusion: Self = match sentinel {
            ReceiptSentinel::Slow if first_try => Next::SayYesLater.into(),
            ReceiptSentinel::Verified | ReceiptSentinel::Slow => Next::Accept { entries, prize: None }.into(),
            ReceiptSentinel::Wins => Next::Accept { entries, prize: Some(SENTINEL_PRIZE.to_owned()) }.into(),
            ReceiptSentinel::Review => Self::review("asked_for_by_test"),
            ReceiptSentinel::Stays(key) => Next::Stay(key).into(),
            ReceiptSentinel::Declined(key) => Next::Reject(key).into(),
        };
        let is_verified = matches!(conclusion.next, Next::Accept { .. });
        let receipt = is_verified.then(|| ReceiptSummary::made_up(campaign.receipt.as_ref()));
        Self { receipt, ..conclusion }
    }

    /// What the authority's answer means.
    pub(crate) fn of_answer(
        answer: Answer,
        campaign: &Campaign,
        rules: &ReceiptRules,
        submission: &Submission,
        now: Moment,
        hasten: Hasten,
    ) -> Self {
        let kind = answer.as_str();
        let surprise = surprise(&answer);
        let obstacle = match answer {
            Answer::Found(record) => return Self::of_record(&record, campaign, rules, submission.created_at),
            Answer::WrongTime => {
                let wrong = Self::from(Next::Reject(MessageKey::ReceiptTimeMismatch));
                return Self { wrong_pair: true, ..wrong };
            }
            Answer::RefererRefused => {
                return Self {
                    reason: Some(kind),
                    surprise,
                    obstacle: Some(kind),
                    ..Next::Unanswered.into()
                };
            }
            Answer::NotFoundYet => Obstacle::Missing,
            Answer::Throttled => Obstacle::Throttled,
            Answer::Trouble(_) | Answer::Unexpected(_) => Obstacle::Trouble,
        };
        let tally = submission.settling.as_ref().map(|settling| settling.tally).unwrap_or_default();
        let (tally, plan) = tally.after(obstacle, now, hasten);
        let next = match plan {
            Plan::AskAgain(wait) => Next::Again(wait, tally),
            Plan::NotThere => Next::Reject(MessageKey::ReceiptNotFound),
            Plan::Unanswered => Next::Unanswered,
        };
        let reason = matches!(next, Next::Unanswered).then_some(kind);
        Self { reason, surprise, obstacle: Some(kind), ..next.into() }
    }

    /// What follows when a part of the service itself fails: as when the authority does.
    pub(crate) fn of_failure(submission: &Submission, now: Moment, hasten: Hasten) -> Self {
        let tally = submission.settling.as_ref().map(|settling| settling.tally).unwrap_or_default();
        let (tally, plan) = tally.after(Obstacle::Trouble, now, hasten);
        let next = match plan {
            Plan::AskAgain(wait) => Next::Again(wait, tally),
            Plan::NotThere | Plan::Unanswered => Next::Unanswered,
        };
        let surprise = Some("a part of the service failed".into());
        Self { surprise, obstacle: Some("service_failed"), ..next.into() }
    }

    fn of_record(
        record: &FiscalRecord,
        campaign: &Campaign,
        rules: &ReceiptRules,
        submitted_at: Moment,
    ) -> Self {
        let Judgement { verdict, summary } = judge(record, campaign, rules, submitted_at);
        let (next, reason) = match verdict {
            Verdict::Verified { entries } => (Next::Accept { entries, prize: None }, None),
            Verdict::Declined(key, reason) => (Next::Reject(key), Some(reason.as_str())),
            Verdict::Review(reason) => (Next::Review, Some(reason.as_str())),
        };
        let declined = matches!(next, Next::Reject(_));
        let purchase = (!declined).then(|| record.code.clone());
        Self { reason, receipt: Some(summary), purchase, ..next.into() }
    }

    /// Whether something keeps the receipt from being settled, other than that it is not there yet.
    pub(crate) fn is_hindered(&self) -> bool {
        self.obstacle.is_some_and(|obstacle| obstacle != Answer::NotFoundYet.as_str())
    }

    /// What there is to count.
    pub(crate) fn finding(&self) -> Finding {
        let given_up = matches!(self.next, Next::Unanswered);
        let mut figures = if given_up { vec![("LeftToAPerson", 1)] } else { Vec::new() };
        figures.extend(match self.obstacle {
            Some("unexpected_page" | "referer_refused") => Some(("TaxAuthorityChanged", 1)),
            Some("trouble" | "throttled") => Some(("TaxAuthorityDown", 1)),
            Some(_) | None => None,
        });
        Finding { outcome: self.obstacle.unwrap_or_else(|| self.outcome()), figures }
    }

    fn outcome(&self) -> &'static str {
        match &self.next {
            Next::Accept { .. } => "accepted",
            Next::Reject(key) => key.as_str(),
            Next::Review => "under_review",
            Next::Unanswered => "unanswered",
            Next::Again(..) | Next::SayYesLater => "again_later",
            Next::WaitUntil(_) => "waits",
            Next::Stay(_) => "stays",
        }
    }

    /// The submission after this.
    ///
    /// # Errors
    /// [`AlreadySettled`] when nothing can happen any more.
    pub(crate) fn applied_to(
        &self,
        before: &Submission,
        now: Moment,
        hasten: Hasten,
    ) -> Result<Submission, AlreadySettled> {
        let settling = before.settling.clone().ok_or(AlreadySettled)?;
        let settling = Settling { surprise: self.surprise.clone().or(settling.surprise), ..settling };
        let mut after = match &self.next {
            Next::Accept { entries, prize } => {
                let instant_win = prize.clone().or(settling.prize);
                before.after(Event::Accept { entries: *entries, instant_win }, now)?
            }
            Next::Reject(key) => before.after(Event::Reject(*key), now)?,
            Next::Review => {
                let settling = Some(settling.for_a_person(now));
                Submission { settling, ..before.after(Event::Review, now)? }
            }
            Next::Unanswered | Next::Stay(MessageKey::Checking) => {
                let settling = Some(settling.for_a_person(now));
                Submission { settling, ..before.after(Event::Unanswered, now)? }
            }
            Next::Stay(_) => Submission { settling: Some(settling.for_a_person(now)), ..before.changed(now) },
            Next::Again(wait, tally) => {
                let settling = Some(settling.again_after(*wait, *tally, now, hasten));
                Submission { settling, ..before.changed(now) }
            }
            Next::WaitUntil(until) => {
                let wait = until.since(now);
                let settling = Some(settling.again_after(wait, settling.tally, now, Hasten::default()));
                Submission { settling, ..before.changed(now) }
            }
            Next::SayYesLater => {
                let settling = Some(settling.again_after(SLOW, settling.tally, now, hasten));
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
            Next::Reject(key) => {
                let mut reasons = vec![key.as_str().to_owned()];
                reasons.extend(self.reason.filter(|reason| *reason != key.as_str()).map(str::to_owned));
                reasons
            }
            Next::Accept { .. }
            | Next::Review
            | Next::Unanswered
            | Next::Again(..)
            | Next::WaitUntil(_)
            | Next::SayYesLater
            | Next::Stay(_) => self.reason.map(str::to_owned).into_iter().collect(),
        };
        Ok(after)
    }
}

/// What an operator should know of an answer that was not as expected.
fn surprise(answer: &Answer) -> Option<Surprise> {
    match answer {
        Answer::Unexpected(page) => Some(Surprise {
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
