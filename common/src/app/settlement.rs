//! A worker leases a step, then writes its result, conditional on the revision. A dead worker's
//! step is due again after [`STEP_LEASE`](crate::domain::settling::STEP_LEASE).

mod turns;

pub use self::turns::take_turn;

use std::sync::Arc;
use std::time::Duration;

use crate::app::job::{EventContext, Job, JobError, JobOutcome};
use crate::app::winning_moments::WinningMoments;
use crate::aws::settle_queue::{SettleMessage, SettleQueues};
use crate::cache::{self, Cache};
use crate::config::{self, ConfigError};
use crate::domain::settling::StepLease;
use crate::domain::{
    Assignee, Campaign, CampaignSlug, Dependency, Entrant, Receipt, ReceiptId, RetryContext,
    RetrySpeedup, State, Submission, Timestamp,
};
use crate::error::{Error, StoreError};
use crate::random;
use crate::store::batch::BatchGet;
use crate::store::campaigns::Campaigns;
use crate::store::submission_writes::{SettleResult, SubmissionStore};
use crate::store::{entrants, receipts};

pub const ATTEMPTS_EXHAUSTED: &str = "step_never_finished";
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// Blocked steps of older submissions count in a metric.
const STALE_AFTER: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub enum LeaseResult {
    Leased(Box<Submission>),
    Exhausted(Box<Submission>),
    Skipped(&'static str),
}

pub struct ReceiptRecords {
    pub campaign: Campaign,
    pub receipt: Receipt,
    pub entrant: Entrant,
}

pub struct Worker {
    context: EventContext,
    function: &'static str,
    dependency: Dependency,
    store: SubmissionStore,
    campaigns: Campaigns,
    queues: SettleQueues,
    speedup: RetrySpeedup,
    /// As last read: a step reads its campaign.
    known: Cache<CampaignSlug, Campaign>,
    moments: WinningMoments,
}

impl Worker {
    pub fn new(
        context: &EventContext,
        function: &'static str,
        dependency: Dependency,
    ) -> Result<Self, ConfigError> {
        let (env, dynamodb) = (&context.env, context.aws.dynamodb());
        let store = SubmissionStore::from_env(env, &dynamodb)?;
        Ok(Self {
            moments: WinningMoments::from_env(env, &context.aws, &store)?,
            function,
            dependency,
            store,
            campaigns: Campaigns::from_env(env, &dynamodb)?,
            queues: SettleQueues::from_env(&[dependency], env, &context.aws)?,
            speedup: config::retry_speedup(env)?,
            context: context.clone(),
            known: Cache::default(),
        })
    }

    pub fn store(&self) -> &SubmissionStore {
        &self.store
    }

    pub fn speedup(&self) -> RetrySpeedup {
        self.speedup
    }

    pub fn retry(&self) -> RetryContext {
        RetryContext {
            now: self.now(),
            speedup: self.speedup,
            jitter: random::unit_f64(),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.context.now()
    }

    pub async fn run_logged(
        &self,
        message: &SettleMessage,
        step: impl Future<Output = Result<JobOutcome, JobError>>,
    ) -> Result<JobOutcome, Error> {
        let subject = message.submission_id.to_string();
        let (function, started) = (self.function, self.now());
        let job = Job {
            function,
            started,
            scope: Some(&message.scope),
            subject: Some(&subject),
        };
        self.context.run_logged(job, step).await
    }

    pub(crate) async fn refuse_unreadable_message(
        &self,
        cause: serde_json::Error,
    ) -> Result<(), Error> {
        let job = Job {
            function: self.function,
            started: self.now(),
            scope: None,
            subject: None,
        };
        let unreadable = async { Err(StoreError::new("reading a message", cause).into()) };
        self.context.run_logged(job, unreadable).await.map(drop)
    }

    /// The lease is conditional on the revision of `read`. After an error, the step is due again
    /// later.
    pub async fn lease(
        &self,
        message: &SettleMessage,
        read: Option<Submission>,
    ) -> Result<LeaseResult, Error> {
        let (submissions, now) = (self.store.submissions(), self.now());
        let found = match read {
            Some(read) => Ok(Some(read)),
            None => submissions.get(&message.scope, message.submission_id).await,
        };
        let found = match found {
            Err(error) if error.is_unreadable() => {
                submissions
                    .postpone_unreadable(&message.scope, message.submission_id, now, self.speedup)
                    .await?;
                return Err(error.into());
            }
            found => found?,
        };
        let Some(submission) = found else {
            return Ok(LeaseResult::Skipped("unknown_submission"));
        };
        let Some(pending) = &submission.settling else {
            return Ok(LeaseResult::Skipped("already_settled"));
        };
        if pending.progress.dependency() != self.dependency {
            // The sweep wakes the other function.
            return Ok(LeaseResult::Skipped("other_function"));
        }
        let leased = match pending.lease(now) {
            StepLease::NotDue => return Ok(LeaseResult::Skipped("not_due")),
            StepLease::Exhausted => return Ok(LeaseResult::Exhausted(Box::new(submission))),
            StepLease::Leased(pending) => Submission {
                settling: Some(pending),
                ..submission.changed(now)
            },
        };
        Ok(match self.store.settle(&submission, &leased, None).await? {
            SettleResult::Committed => LeaseResult::Leased(Box::new(leased)),
            SettleResult::StaleRevision | SettleResult::ReceiptAlreadyUsed => {
                LeaseResult::Skipped("claimed_by_another")
            }
        })
    }

    pub async fn campaign(&self, submission: &Submission) -> Result<Campaign, Error> {
        let campaign = self.campaigns.get(&submission.scope.campaign).await?;
        self.read_campaign(campaign)
    }

    fn read_campaign(&self, campaign: Option<Campaign>) -> Result<Campaign, Error> {
        let campaign = campaign.ok_or_else(|| Error::internal("the campaign is not there"))?;
        let known = Some(campaign.clone());
        self.known.set(&campaign.slug, self.now(), known);
        Ok(campaign)
    }

    pub async fn receipt_records(
        &self,
        submission: &Submission,
        receipt_id: ReceiptId,
    ) -> Result<ReceiptRecords, Error> {
        let scope = &submission.scope;
        let receipt = self.store.receipts().place(scope, receipt_id);
        let entrant = self.store.entrants().place(scope, &submission.entrant_id);
        let mut batch = BatchGet::default();
        self.campaigns.add_to(&mut batch, &scope.campaign);
        batch.add(&receipt);
        batch.add(&entrant);
        let client = self.context.aws.dynamodb();
        let items = batch.send(&client, "reading a receipt's records").await?;
        let campaign = self.campaigns.find_in(&items, &scope.campaign)?;
        let receipt = items.find(&receipt).item().map(receipts::read);
        let entrant = items.find(&entrant).item();
        let entrant = entrant.map(|item| entrants::read(item, &submission.day));
        Ok(ReceiptRecords {
            campaign: self.read_campaign(campaign)?,
            receipt: receipt
                .transpose()?
                .ok_or_else(|| Error::internal("a submission's receipt is not there"))?,
            entrant: entrant.transpose()?.unwrap_or_default(),
        })
    }

    /// `wrong_code_in` counts a wrong code or receipt time under that campaign's limit. A step due
    /// before the next sweep gets a message.
    pub async fn finish(
        &self,
        before: &Submission,
        after: &Submission,
        wrong_code_in: Option<&Campaign>,
    ) -> Result<SettleResult, Error> {
        let slug = &after.scope.campaign;
        let known = self.known.peek(slug, self.now(), cache::MAX_AGE);
        let after = &Submission {
            // Without an endpoint, publishing it costs a look.
            notify: known
                .as_ref()
                .is_none_or(|campaign| campaign.has_webhooks()),
            ..after.clone()
        };
        let now = self.now();
        let settled = if after.status.state() == State::Accepted {
            let campaign = match known {
                Some(campaign) => campaign,
                None => Arc::new(self.campaign(after).await?),
            };
            let claims = self.moments.claims(&after.scope, &campaign);
            let settling =
                self.moments
                    .settle(&self.store, before, after, wrong_code_in, claims, now);
            settling.await?.0
        } else {
            self.store.settle(before, after, wrong_code_in).await?
        };
        let next_sweep = now.after(self.speedup.apply(SWEEP_INTERVAL));
        if settled == SettleResult::Committed
            && after
                .settling
                .as_ref()
                .is_some_and(|pending| pending.next_step_at <= next_sweep)
        {
            self.queues.wake(after, now).await;
        }
        Ok(settled)
    }

    pub async fn requeue(&self, message: &SettleMessage) {
        self.queues.requeue(self.dependency, message).await;
    }
}

#[must_use]
pub fn with_stale_metric(mut outcome: JobOutcome, after: &Submission) -> JobOutcome {
    let is_open = after.assignee() == Some(Assignee::Service);
    let is_old = after.updated_at.since(after.created_at) >= STALE_AFTER;
    outcome
        .metrics
        .extend((is_open && is_old).then_some(("PendingTooLong", 1)));
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::PendingSettlement;

    #[test]
    fn submission_open_for_an_hour_is_counted() {
        let example = Submission::example();
        let open = PendingSettlement::due_at(example.created_at, None);
        let metrics = |age: Duration, settling: Option<PendingSettlement>| {
            let updated_at = example.created_at.after(age);
            let after = Submission {
                settling,
                updated_at,
                ..example.clone()
            };
            with_stale_metric("trouble".into(), &after).metrics
        };
        let a_little_less = STALE_AFTER - Duration::from_millis(1);
        assert_eq!(
            metrics(STALE_AFTER, Some(open.clone())),
            [("PendingTooLong", 1)]
        );
        assert_eq!(metrics(a_little_less, Some(open.clone())), []);
        assert_eq!(
            metrics(STALE_AFTER, Some(open.escalate(example.created_at))),
            []
        );
        assert_eq!(metrics(STALE_AFTER, None), []);
        assert_eq!(
            with_stale_metric("trouble".into(), &example).outcome,
            "trouble"
        );
    }
}
