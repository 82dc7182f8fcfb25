//! Sends a message for each due submission, every minute. Waiting messages count towards the
//! maximum, so a queue does not fill faster than it empties. Campaigns take turns, each with its
//! longest-due submission. Then come events, alarms, days of plans, and a slice of expired
//! personal data.

mod plans;
mod retention;
mod webhooks;

use std::time::Duration;

use common::app::job::{EventContext, Job, JobError, JobOutcome};
use common::aws::settle_queue::{SettleMessage, SettleQueues};
use common::config::ConfigError;
use common::domain::settling::PARTNER_STEPS_PER_MINUTE;
use common::domain::{Dependency, Environment, Timestamp};
use common::error::{Error, StoreError, StoreResult};
use common::runtime::event_handler::EventHandler;
use common::store::audit::AuditLog;
use common::store::submissions::Submissions;
use common::telemetry;
use serde::Deserialize;

use self::plans::PlanSweep;
use self::retention::RetentionSweep;
use self::webhooks::WebhookSweep;

/// Messages in a queue after a sweep; messages per campaign and index partition. The tax authority
/// takes forty look-ups a minute, partners hundreds.
fn limits(dependency: Dependency) -> (usize, u8) {
    match dependency {
        Dependency::TaxAuthority => (48, 12),
        Dependency::Partner => (usize::from(PARTNER_STEPS_PER_MINUTE), 40),
    }
}

/// Age up to which a foreign item in the audit log raises the alarm.
const INTRUSION_ALARM: Duration = Duration::from_hours(1);

pub struct SweepUnsettled {
    context: EventContext,
    submissions: Submissions,
    queues: SettleQueues,
    webhooks: WebhookSweep,
    retention: RetentionSweep,
    plans: PlanSweep,
    audit: AuditLog,
}

#[derive(Debug, Default, Deserialize)]
pub struct Tick {}

impl EventHandler for SweepUnsettled {
    type Event = Tick;
    type Reply = ();

    fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let env = &context.env;
        Ok(Self {
            submissions: Submissions::from_env(env, &context.aws.dynamodb())?,
            queues: SettleQueues::from_env(&Dependency::ALL, env, &context.aws)?,
            webhooks: WebhookSweep::connect(context)?,
            retention: RetentionSweep::connect(context)?,
            plans: PlanSweep::connect(context)?,
            audit: AuditLog::from_env(env, &context.aws.dynamodb())?,
            context: context.clone(),
        })
    }

    async fn handle(&self, _tick: Tick) -> Result<(), Error> {
        let now = self.context.now();
        let job = Job {
            function: "sweep-unsettled",
            started: now,
            scope: None,
            subject: None,
        };
        self.context
            .run_logged(job, self.sweep(now))
            .await
            .map(drop)
    }
}

struct Woken {
    due: usize,
    sent: usize,
    oldest: Duration,
}

impl SweepUnsettled {
    /// Each part runs although another failed; the first failure is the job's.
    async fn sweep(&self, now: Timestamp) -> Result<JobOutcome, JobError> {
        let mut failures = Vec::new();
        let [tax, partner] = Dependency::ALL.map(|dependency| self.wake_due(dependency, now));
        let (tax, partner) = tokio::join!(tax, partner);
        let woken: Vec<_> = [tax, partner]
            .into_iter()
            .filter_map(|half| kept(half, &mut failures))
            .collect();
        let mut metrics = vec![
            ("Due", count(woken.iter().map(|woken| woken.due).sum())),
            ("Hinted", count(woken.iter().map(|woken| woken.sent).sum())),
        ];
        // If a queue was not served, the alarm finds no data.
        if failures.is_empty() {
            let oldest = woken
                .iter()
                .map(|woken| woken.oldest)
                .max()
                .unwrap_or_default();
            metrics.push(("OldestDueSeconds", oldest.as_secs()));
        }
        let waiting = self
            .submissions
            .longest_waiting_for_a_person(Environment::Live)
            .await;
        if let Some(since) = kept(waiting, &mut failures) {
            metrics.push((
                "OldestReviewSeconds",
                since.map_or(0, |since| now.since(since).as_secs()),
            ));
        }
        let (swept, result) = self.webhooks.sweep(now).await;
        kept(result, &mut failures);
        let oldest_due = swept.oldest_due.as_secs();
        metrics.push(("WebhooksFailing", swept.failing));
        metrics.push(("WebhookOldestDueSeconds", oldest_due));
        metrics.extend((swept.sent > 0).then_some(("WebhooksHinted", count(swept.sent))));
        if let Some(slice) = kept(self.retention.sweep(now).await, &mut failures) {
            let deleted = [
                ("PhonesDeleted", slice.phones),
                ("PhotosDeleted", slice.photos),
            ];
            metrics.extend(deleted.into_iter().filter(|(_, deleted)| *deleted > 0));
        }
        if let Some(not_armed) = self.plans.sweep(now, &mut failures).await {
            metrics.push(("PlansNotArmed", not_armed));
        }
        if let Some(skipped_at) = kept(self.audit.skipped_at().await, &mut failures) {
            let is_recent = skipped_at.is_some_and(|at| now.since(at) < INTRUSION_ALARM);
            metrics.push(("AuditRowsPassedBy", u64::from(is_recent)));
        }
        let mut failures = failures.into_iter();
        let Some(first) = failures.next() else {
            return Ok(JobOutcome {
                outcome: "swept",
                metrics,
            });
        };
        for error in failures {
            tracing::error!(
                error = telemetry::cause(&error),
                "another part of the sweep failed"
            );
        }
        Err(JobError {
            error: first.into(),
            metrics,
        })
    }

    async fn wake_due(&self, dependency: Dependency, now: Timestamp) -> StoreResult<Woken> {
        let (max_messages, max_each) = limits(dependency);
        let mut due = self.submissions.due(dependency, now, max_each).await?;
        let oldest = due
            .iter()
            .map(|due| now.since(due.next_step_at))
            .max()
            .unwrap_or_default();
        due.truncate(max_messages);
        let found = due.len();
        due.truncate(max_messages.saturating_sub(self.queues.count_waiting(dependency).await?));
        let messages: Vec<_> = due
            .iter()
            .map(|due| SettleMessage::new(&due.scope, due.submission_id))
            .collect();
        let sent = self.queues.wake_all(dependency, &messages).await?;
        Ok(Woken {
            due: found,
            sent,
            oldest,
        })
    }
}

fn kept<T>(result: StoreResult<T>, failures: &mut Vec<StoreError>) -> Option<T> {
    result.map_err(|error| failures.push(error)).ok()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
