//! Settles submissions whose codes a partner judges: asks the partner again about those that it has not answered.

use std::time::Duration;

use common::app::partner_gateway::{Caller, PartnerGateway};
use common::app::settlement::{NEVER_FINISHED, Step, Worker, with_age};
use common::aws::settle_queue::SettleMessage;
use common::config::ConfigError;
use common::domain::campaign::Campaign;
use common::domain::partner::course::{Asked, FaultOwner, Pacing, Silence};
use common::domain::settling::{Assignee, Dependency};
use common::domain::submission::Submission;
use common::error::Error;
use common::random;
use common::runtime::event_handler::{EventContext, EventHandler, JobError, JobOutcome};
use common::runtime::sqs_batch::{BatchReply, QueueEvent, Settle, settle_each};
use common::store::submission_writes::SettleResult;

/// All that asking a partner may take.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(8);

/// The function.
pub struct SettlePartners {
    worker: Worker,
    partners: PartnerGateway,
}

impl EventHandler for SettlePartners {
    type Event = QueueEvent;
    type Reply = BatchReply;

    fn connect(background: &EventContext) -> Result<Self, ConfigError> {
        Ok(Self {
            worker: Worker::new(background, "settle-partners", Dependency::Partner)?,
            partners: PartnerGateway::from_env(&background.env, &background.aws)?,
        })
    }

    async fn handle(&self, event: QueueEvent) -> Result<BatchReply, Error> {
        Ok(settle_each(self, &self.worker, event).await)
    }
}

impl Settle for SettlePartners {
    async fn settle(&self, message: &SettleMessage) -> Result<(), Error> {
        // Boxed: it holds all that a step can meet.
        self.worker.run_logged(message, Box::pin(self.step(message))).await.map(drop)
    }
}

impl SettlePartners {
    /// Does the step that is due, if one is.
    async fn step(&self, message: &SettleMessage) -> Result<JobOutcome, JobError> {
        let begun = match self.worker.claim(message).await? {
            Step::Begun(begun) => begun,
            Step::NeverFinished(submission) => {
                // Asking kills no worker, so these were failures: it goes on as after a silence.
                let asked = Asked::Silent(Silence::unasked(NEVER_FINISHED, FaultOwner::Service));
                return Ok(self.conclude(&submission, &asked, None).await?);
            }
            Step::Nothing(why) => return Ok(why.into()),
        };
        match self.ask(&begun).await {
            // Should writing fail, the step is taken for lost, and remembered as one that may have arrived.
            Ok((asked, campaign)) => Ok(self.conclude(&begun, &asked, Some(&campaign)).await?),
            Err(error) => {
                // Nobody was asked. The step has ended, though badly, and goes on as after a silence.
                let asked = Asked::Silent(Silence::service_failed());
                let finding = self.conclude(&begun, &asked, None).await?;
                Err(JobError { error, figures: finding.figures })
            }
        }
    }

    /// Asks the partner. Should it fail, the partner was not asked.
    async fn ask(&self, begun: &Submission) -> Result<(Asked, Campaign), Error> {
        let campaign = self.worker.campaign(begun).await?;
        let clock = || self.worker.now();
        let answered = self.partners.ask(begun, &campaign, QUESTION_TIMEOUT, Caller::Queue, clock).await?;
        Ok((answered.asked, campaign))
    }

    /// Writes down what follows from asking the partner, or from not having been able to.
    async fn conclude(
        &self,
        before: &Submission,
        asked: &Asked,
        campaign: Option<&Campaign>,
    ) -> Result<JobOutcome, Error> {
        let (now, hasten) = (self.worker.now(), self.worker.hasten());
        let pacing = Pacing { now, hasten, chance: random::unit_f64() };
        let entries = campaign.map_or(0, |campaign| campaign.entries_per_submission);
        let Ok(after) = asked.applied_to(before, entries, pacing) else {
            return Ok("settled_before".into());
        };
        let wrong_code_in = campaign.filter(|_| asked.is_wrong_code());
        Ok(match self.worker.finish(before, &after, wrong_code_in).await? {
            SettleResult::Committed => with_age(finding(asked, &after), &after),
            SettleResult::StaleRevision | SettleResult::ReceiptAlreadyUsed => "settled_by_another".into(),
        })
    }
}

/// What there is to count of an answer.
fn finding(asked: &Asked, after: &Submission) -> JobOutcome {
    let given_up = after.settling.as_ref().is_some_and(|settling| settling.assignee == Assignee::Operator);
    let mut figures = asked.figures();
    figures.extend(given_up.then_some(("LeftToAPerson", 1)));
    let outcome = match asked {
        Asked::Decided(_) if given_up => "unanswered",
        Asked::Decided(verdict) => verdict.outcome.as_str(),
        Asked::Silent(silence) => silence.why,
        Asked::Spared(_) => "partner_spared",
        Asked::AtLimit => "partner_at_limit",
    };
    JobOutcome { outcome, figures }
}
