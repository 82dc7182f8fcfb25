//! A worker's part in a step: begin it, so that no other worker does, and write down what follows if the submission
//! is still as it was.
//!
//! Every write is conditional on the submission's revision. A worker that dies in between leaves a step that is due
//! again after [`LONGEST_STEP`](crate::domain::settling::LONGEST_STEP); a worker that comes second writes nothing.

use std::time::Duration;

use crate::background::{Background, Failed, Finding, Work};
use crate::config::{self, ConfigError};
use crate::domain::campaign::Campaign;
use crate::domain::moment::Moment;
use crate::domain::settling::{Begin, Counterpart, Hasten, Turn};
use crate::domain::submission::Submission;
use crate::error::Error;
use crate::settle_queue::{SettleMessage, SettleQueue};
use crate::store::campaigns::Campaigns;
use crate::store::ledger::{Ledger, Settled};

/// Why a step is given up that was begun again and again.
pub const NEVER_FINISHED: &str = "step_never_finished";
/// Between two sweeps, which find whatever is due later.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// What is still open after this is counted at every step.
const LONG: Duration = Duration::from_secs(60 * 60);

/// What a message leads to.
#[derive(Debug)]
pub enum Step {
    /// The step is this worker's.
    Begun(Box<Submission>),
    /// It was begun too often, and is not begun again.
    NeverFinished(Box<Submission>),
    /// There is nothing to do, for this reason.
    Nothing(&'static str),
}

/// What every worker uses.
pub struct Worker {
    background: Background,
    function: &'static str,
    counterpart: Counterpart,
    ledger: Ledger,
    campaigns: Campaigns,
    queue: SettleQueue,
    hasten: Hasten,
}

impl Worker {
    /// The worker of a function, which does the steps that have to do with this counterpart.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn new(
        background: &Background,
        function: &'static str,
        counterpart: Counterpart,
    ) -> Result<Self, ConfigError> {
        let (env, dynamodb) = (&background.env, background.aws.dynamodb());
        Ok(Self {
            function,
            counterpart,
            ledger: Ledger::from_env(env, &dynamodb)?,
            campaigns: Campaigns::from_env(env, &dynamodb)?,
            queue: SettleQueue::of(counterpart, env, &background.aws)?,
            hasten: config::hasten(env)?,
            background: background.clone(),
        })
    }

    /// The tables of submissions and what belongs to them.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What planned waits are divided by.
    pub fn hasten(&self) -> Hasten {
        self.hasten
    }

    /// The time now.
    pub fn now(&self) -> Moment {
        self.background.now()
    }

    /// Does a step and writes the line about it.
    ///
    /// # Errors
    /// Those of the step.
    pub async fn watch(
        &self,
        message: &SettleMessage,
        step: impl Future<Output = Result<Finding, Failed>>,
    ) -> Result<Finding, Error> {
        let subject = message.submission_id.to_string();
        let (function, started) = (self.function, self.now());
        let work = Work { function, started, scope: Some(&message.scope), subject: Some(&subject) };
        self.background.watch(work, step).await
    }

    /// Writes the line about a message that cannot be read.
    pub(super) async fn refuse_unreadable_message(&self) -> Result<(), Error> {
        let work = Work { function: self.function, started: self.now(), scope: None, subject: None };
        let unreadable = async { Err(Error::internal("the message cannot be read").into()) };
        self.background.watch(work, unreadable).await.map(drop)
    }

    /// Begins the step that is due, if one is.
    ///
    /// # Errors
    /// When a table fails, or the submission cannot be read; it is then made due again later.
    pub async fn begin(&self, message: &SettleMessage) -> Result<Step, Error> {
        let (submissions, now) = (self.ledger.submissions(), self.now());
        let found = match submissions.get(&message.scope, message.submission_id).await {
            Err(error) if error.is_unreadable() => {
                submissions
                    .postpone_unreadable(&message.scope, message.submission_id, now, self.hasten)
                    .await?;
                return Err(error.into());
            }
            found => found?,
        };
        let Some(submission) = found else { return Ok(Step::Nothing("unknown_submission")) };
        let Some(settling) = &submission.settling else { return Ok(Step::Nothing("settled_before")) };
        if settling.counterpart != self.counterpart {
            // The message is in the wrong queue. The sweep sends one to the right queue.
            return Ok(Step::Nothing("other_function"));
        }
        let settling = match settling.begin(now) {
            Begin::NotDue => return Ok(Step::Nothing("not_due")),
            Begin::GiveUp => return Ok(Step::NeverFinished(Box::new(submission))),
            Begin::Go(settling) => settling,
        };
        let begun = Submission { settling: Some(settling), ..submission.changed(now) };
        Ok(match self.ledger.settle(&submission, &begun, None).await? {
            Settled::Done => Step::Begun(Box::new(begun)),
            Settled::Moved | Settled::PurchaseTaken => Step::Nothing("begun_by_another"),
        })
    }

    /// The campaign of a submission.
    ///
    /// # Errors
    /// When the table does not answer, or has no such campaign.
    pub async fn campaign(&self, submission: &Submission) -> Result<Campaign, Error> {
        let campaign = self.campaigns.get(&submission.scope.campaign).await?;
        campaign.ok_or_else(|| Error::internal("the campaign is not there"))
    }

    /// Writes down what follows from a step. With `wrong_code_in`, the code or the receipt's time was wrong, and is
    /// logged under the limit of that campaign. A next step that is due before the next sweep gets a message.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn finish(
        &self,
        before: &Submission,
        after: &Submission,
        wrong_code_in: Option<&Campaign>,
    ) -> Result<Settled, Error> {
        let settled = self.ledger.settle(before, after, wrong_code_in).await?;
        if settled == Settled::Done {
            self.send_for_next_step(after).await;
        }
        Ok(settled)
    }

    async fn send_for_next_step(&self, submission: &Submission) {
        let Some(planned_for) = submission.settling.as_ref().and_then(|settling| settling.planned_for())
        else {
            return;
        };
        let wait = planned_for.since(submission.updated_at);
        if wait > self.hasten.apply(SWEEP_INTERVAL) {
            return;
        }
        let message =
            SettleMessage { scope: submission.scope.clone(), submission_id: submission.submission_id };
        self.send(&message, wait).await;
    }

    /// Sends a message to this worker's own queue. The sweep makes up for one that is lost.
    pub async fn send(&self, message: &SettleMessage, delay: Duration) {
        let _ = self.queue.send(message, delay).await;
    }
}

/// A finding that also counts a submission that is old and not settled yet.
#[must_use]
pub fn with_age(mut finding: Finding, after: &Submission) -> Finding {
    let goes_on = after.settling.as_ref().is_some_and(|settling| settling.turn == Turn::Service);
    let is_old = after.updated_at.since(after.created_at) >= LONG;
    finding.figures.extend((goes_on && is_old).then_some(("OpenForLong", 1)));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settling::Settling;

    #[test]
    fn what_is_open_for_an_hour_and_goes_on_is_counted() {
        let example = Submission::example();
        let open = Settling::at_once(example.created_at, None);
        let figures = |age: Duration, settling: Option<Settling>| {
            let updated_at = example.created_at.after(age);
            let after = Submission { settling, updated_at, ..example.clone() };
            with_age("trouble".into(), &after).figures
        };
        let a_little_less = LONG - Duration::from_millis(1);
        assert_eq!(figures(LONG, Some(open.clone())), [("OpenForLong", 1)]);
        assert_eq!(figures(a_little_less, Some(open.clone())), []);
        assert_eq!(figures(LONG, Some(open.for_a_person(example.created_at))), []);
        assert_eq!(figures(LONG, None), []);
        assert_eq!(with_age("trouble".into(), &example).outcome, "trouble");
    }
}
