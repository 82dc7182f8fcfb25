//! A worker's part in a step: begin it, so that no other worker does, and write down what follows if the submission
//! is still as it was.
//!
//! Every write is conditional on the submission's revision. A worker that dies in between leaves a step that is due
//! again after [`STEP_LEASE`](crate::domain::settling::LONGEST_STEP); a worker that comes second writes nothing.

use std::time::Duration;

use crate::aws::settle_queue::{SettleMessage, SettleQueue};
use crate::config::{self, ConfigError};
use crate::domain::campaign::Campaign;
use crate::domain::settling::{Assignee, Dependency, RetrySpeedup, StepClaim};
use crate::domain::submission::Submission;
use crate::domain::timestamp::Timestamp;
use crate::error::Error;
use crate::runtime::event_handler::{EventContext, Job, JobError, JobOutcome};
use crate::store::campaigns::Campaigns;
use crate::store::submission_writes::{SettleResult, SubmissionStore};

/// Why a step is given up that was begun again and again.
pub const NEVER_FINISHED: &str = "step_never_finished";
/// Between two sweeps, which find whatever is due later.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// What is still open after this is counted at every step.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

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
    background: EventContext,
    function: &'static str,
    dependency: Dependency,
    store: SubmissionStore,
    campaigns: Campaigns,
    queue: SettleQueue,
    hasten: RetrySpeedup,
}

impl Worker {
    /// The worker of a function, which does the steps that have to do with this counterpart.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn new(
        background: &EventContext,
        function: &'static str,
        dependency: Dependency,
    ) -> Result<Self, ConfigError> {
        let (env, dynamodb) = (&background.env, background.aws.dynamodb());
        Ok(Self {
            function,
            dependency,
            store: SubmissionStore::from_env(env, &dynamodb)?,
            campaigns: Campaigns::from_env(env, &dynamodb)?,
            queue: SettleQueue::from_env(dependency, env, &background.aws)?,
            hasten: config::hasten(env)?,
            background: background.clone(),
        })
    }

    /// The tables of submissions and what belongs to them.
    pub fn store(&self) -> &SubmissionStore {
        &self.store
    }

    /// What planned waits are divided by.
    pub fn hasten(&self) -> RetrySpeedup {
        self.hasten
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.background.now()
    }

    /// Does a step and writes the line about it.
    ///
    /// # Errors
    /// Those of the step.
    pub async fn run_logged(
        &self,
        message: &SettleMessage,
        step: impl Future<Output = Result<JobOutcome, JobError>>,
    ) -> Result<JobOutcome, Error> {
        let subject = message.submission_id.to_string();
        let (function, started) = (self.function, self.now());
        let work = Job { function, started, scope: Some(&message.scope), subject: Some(&subject) };
        self.background.run_logged(work, step).await
    }

    /// Writes the line about a message that cannot be read.
    pub(crate) async fn refuse_unreadable_message(&self) -> Result<(), Error> {
        let work = Job { function: self.function, started: self.now(), scope: None, subject: None };
        let unreadable = async { Err(Error::internal("the message cannot be read").into()) };
        self.background.run_logged(work, unreadable).await.map(drop)
    }

    /// Begins the step that is due, if one is.
    ///
    /// # Errors
    /// When a table fails, or the submission cannot be read; it is then made due again later.
    pub async fn claim(&self, message: &SettleMessage) -> Result<Step, Error> {
        let (submissions, now) = (self.store.submissions(), self.now());
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
        if settling.dependency != self.dependency {
            // The message is in the wrong queue. The sweep sends one to the right queue.
            return Ok(Step::Nothing("other_function"));
        }
        let settling = match settling.claim(now) {
            StepClaim::NotDue => return Ok(Step::Nothing("not_due")),
            StepClaim::Exhausted => return Ok(Step::NeverFinished(Box::new(submission))),
            StepClaim::Claimed(settling) => settling,
        };
        let begun = Submission { settling: Some(settling), ..submission.changed(now) };
        Ok(match self.store.settle(&submission, &begun, None).await? {
            SettleResult::Committed => Step::Begun(Box::new(begun)),
            SettleResult::StaleRevision | SettleResult::ReceiptAlreadyUsed => {
                Step::Nothing("begun_by_another")
            }
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
    ) -> Result<SettleResult, Error> {
        let settled = self.store.settle(before, after, wrong_code_in).await?;
        if settled == SettleResult::Committed {
            self.send_for_next_step(after).await;
        }
        Ok(settled)
    }

    async fn send_for_next_step(&self, submission: &Submission) {
        let Some(next_attempt_at) =
            submission.settling.as_ref().and_then(|settling| settling.next_attempt_at())
        else {
            return;
        };
        let wait = next_attempt_at.since(submission.updated_at);
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
pub fn with_age(mut finding: JobOutcome, after: &Submission) -> JobOutcome {
    let goes_on = after.settling.as_ref().is_some_and(|settling| settling.assignee == Assignee::Service);
    let is_old = after.updated_at.since(after.created_at) >= STALE_AFTER;
    finding.figures.extend((goes_on && is_old).then_some(("OpenForLong", 1)));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settling::PendingSettlement;

    #[test]
    fn what_is_open_for_an_hour_and_goes_on_is_counted() {
        let example = Submission::example();
        let open = PendingSettlement::at_once(example.created_at, None);
        let figures = |age: Duration, settling: Option<PendingSettlement>| {
            let updated_at = example.created_at.after(age);
            let after = Submission { settling, updated_at, ..example.clone() };
            with_age("trouble".into(), &after).figures
        };
        let a_little_less = STALE_AFTER - Duration::from_millis(1);
        assert_eq!(figures(STALE_AFTER, Some(open.clone())), [("OpenForLong", 1)]);
        assert_eq!(figures(a_little_less, Some(open.clone())), []);
        assert_eq!(figures(STALE_AFTER, Some(open.escalate(example.created_at))), []);
        assert_eq!(figures(STALE_AFTER, None), []);
        assert_eq!(with_age("trouble".into(), &example).outcome, "trouble");
    }
}
