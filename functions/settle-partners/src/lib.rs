//! Settles submissions by asking their partner again.

mod fairness;

use common::app::job::{EventContext, JobError, JobOutcome};
use common::app::partner_gateway::{AskedFrom, PartnerGateway};
use common::app::settlement::{ATTEMPTS_EXHAUSTED, LeaseResult, Worker, with_stale_metric};
use common::aws::StartSecret;
use common::aws::deployment_secret::DeploymentSecrets;
use common::aws::settle_queue::SettleMessage;
use common::config::ConfigError;
use common::domain::{
    Assignee, Campaign, Dependency, FaultOwner, PartnerOutcome, PartnerRules, Submission,
    Timestamp, Unanswered,
};
use common::error::Error;
use common::lock::Mutex;
use common::runtime::event_handler::EventHandler;
use common::runtime::sqs_batch::{Settle, SqsBatchResponse, SqsEvent, settle_each};
use common::store::submission_writes::SettleResult;
use common::store::turns::Turns;

pub struct SettlePartners {
    worker: Worker,
    partners: PartnerGateway,
    turns: Turns,
    last_seen_alone: Mutex<Option<Timestamp>>,
    secrets: DeploymentSecrets,
}

impl EventHandler for SettlePartners {
    type Event = SqsEvent;
    type Reply = SqsBatchResponse;
    const SECRETS: &[StartSecret] = &[StartSecret::Deployment, StartSecret::Moments];

    fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        Ok(Self {
            worker: Worker::new(context, "settle-partners", Dependency::Partner)?,
            partners: PartnerGateway::from_env(&context.env, &context.aws)?,
            turns: Turns::from_env(&context.env, &context.aws.dynamodb(), Dependency::Partner)?,
            last_seen_alone: Mutex::default(),
            secrets: DeploymentSecrets::from_env(&context.env, &context.aws)?,
        })
    }

    async fn handle(&self, event: SqsEvent) -> Result<SqsBatchResponse, Error> {
        Ok(settle_each(self, &self.worker, event).await)
    }
}

impl Settle for SettlePartners {
    async fn settle(&self, message: &SettleMessage) -> Result<(), Error> {
        let Some(other) = self.choose(message).await else {
            return self.run_step(message).await;
        };
        // Logged; the other submission stays due. The message waits for its turn.
        let _ = self.run_step(&other).await;
        self.worker.requeue(message).await;
        Ok(())
    }
}

impl SettlePartners {
    async fn run_step(&self, message: &SettleMessage) -> Result<(), Error> {
        self.worker
            .run_logged(message, Box::pin(self.step(message)))
            .await
            .map(drop)
    }

    async fn step(&self, message: &SettleMessage) -> Result<JobOutcome, JobError> {
        let leased = match self.worker.lease(message, None).await? {
            LeaseResult::Leased(leased) => leased,
            LeaseResult::Exhausted(submission) => {
                // A partner request cannot crash the worker: a missing answer.
                let unasked = Unanswered::unasked(ATTEMPTS_EXHAUSTED, FaultOwner::Service);
                return Ok(self
                    .conclude(&submission, &PartnerOutcome::NoAnswer(unasked), None)
                    .await?);
            }
            LeaseResult::Skipped(why) => return Ok(why.into()),
        };
        match self.ask(&leased).await {
            // If this fails, the attempt is unfinished and the code possibly redeemed.
            Ok((outcome, campaign)) => {
                Ok(self.conclude(&leased, &outcome, Some(&campaign)).await?)
            }
            Err(error) => {
                let outcome = PartnerOutcome::NoAnswer(Unanswered::service_failed());
                let logged = self.conclude(&leased, &outcome, None).await?;
                Err(JobError {
                    error,
                    metrics: logged.metrics,
                })
            }
        }
    }

    /// Fails only if the partner was not asked.
    async fn ask(&self, leased: &Submission) -> Result<(PartnerOutcome, Campaign), Error> {
        let campaign = self.worker.campaign(leased).await?;
        let phone = self
            .secrets
            .phone_of(leased)
            .await?
            .ok_or_else(|| Error::internal("the phone was erased"))?;
        let clock = || self.worker.now();
        let asked = self.partners.ask(
            leased,
            &phone,
            &campaign,
            PartnerRules::MAX_TIMEOUT,
            AskedFrom::Queue,
            clock,
        );
        let answered = asked.await?;
        Ok((answered.outcome, campaign))
    }

    async fn conclude(
        &self,
        before: &Submission,
        outcome: &PartnerOutcome,
        campaign: Option<&Campaign>,
    ) -> Result<JobOutcome, Error> {
        let entries = campaign.map_or(0, |campaign| campaign.entries_per_submission);
        let Ok(after) = outcome.apply(before, entries, self.worker.retry()) else {
            return Ok("already_settled".into());
        };
        let wrong_code_in = campaign.filter(|_| outcome.is_wrong_code());
        Ok(
            match self.worker.finish(before, &after, wrong_code_in).await? {
                SettleResult::Committed => with_stale_metric(logged(outcome, &after), &after),
                SettleResult::StaleRevision | SettleResult::ReceiptAlreadyUsed => {
                    "settled_by_another".into()
                }
            },
        )
    }
}

fn logged(outcome: &PartnerOutcome, after: &Submission) -> JobOutcome {
    let is_escalated = after.assignee() == Some(Assignee::Operator);
    let mut metrics = outcome.metrics();
    metrics.extend(is_escalated.then_some(("EscalatedToOperator", 1)));
    let outcome = match outcome {
        PartnerOutcome::Decided(_) if is_escalated => "used_when_asked_again",
        PartnerOutcome::Decided(verdict) => verdict.outcome.as_str(),
        PartnerOutcome::NoAnswer(unanswered) => unanswered.why,
        PartnerOutcome::CircuitOpen { .. } => "partner_circuit_open",
        PartnerOutcome::AtLimit => "partner_at_limit",
    };
    JobOutcome { outcome, metrics }
}
