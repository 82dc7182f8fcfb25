//! Runs every minute and sends a message for each submission whose step is due, so that a lost message does no harm.
//!
//! It sends no more messages than can be processed before the next sweep, so the queue does not fill up. Campaigns take
//! turns, each with its longest-due submission.
//!
//! Then it deletes a slice of the personal data whose retention is over: see `retention`.

mod retention;

use common::aws::settle_queue::SettleQueues;
use common::config::ConfigError;
use common::domain::scope::Environment;
use common::domain::settling::Dependency;
use common::domain::timestamp::Timestamp;
use common::error::Error;
use common::runtime::event_handler::{EventContext, EventHandler, Job, JobError, JobOutcome};
use common::store::submissions::Submissions;
use serde::Deserialize;

use self::retention::RetentionSweep;

/// Maximum messages per sweep, and per campaign from each index partition. The tax authority takes about forty look-ups
/// a minute, partners hundreds.
fn limits(dependency: Dependency) -> (usize, u8) {
    match dependency {
        Dependency::TaxAuthority => (48, 12),
        Dependency::Partner => (640, 40),
    }
}

pub struct SweepUnsettled {
    context: EventContext,
    submissions: Submissions,
    queues: SettleQueues,
    retention: RetentionSweep,
}

/// The schedule's event; none of its fields is used.
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
            retention: RetentionSweep::connect(context)?,
            context: context.clone(),
        })
    }

    async fn handle(&self, _tick: Tick) -> Result<(), Error> {
        let now = self.context.now();
        let job = Job { function: "sweep-unsettled", started: now, scope: None, subject: None };
        self.context.run_logged(job, self.sweep(now)).await.map(drop)
    }
}

impl SweepUnsettled {
    async fn sweep(&self, now: Timestamp) -> Result<JobOutcome, JobError> {
        let (mut found, mut sent, mut oldest) = (0, 0, 0);
        for dependency in Dependency::ALL {
            let (max_messages, max_each) = limits(dependency);
            let mut due = self.submissions.due(dependency, now, max_each).await?;
            let ages = due.iter().map(|due| now.since(due.next_step_at).as_secs());
            oldest = ages.max().unwrap_or(0).max(oldest);
            due.truncate(max_messages);
            found += due.len();
            sent += self.queues.wake_all(dependency, &due).await?;
        }
        let since = self.submissions.longest_waiting_for_a_person(Environment::Live).await?;
        let longest = since.map_or(0, |since| now.since(since).as_secs());
        let mut metrics = vec![
            ("Due", count(found)),
            ("Hinted", count(sent)),
            ("OldestDueSeconds", oldest),
            ("OldestReviewSeconds", longest),
        ];
        match self.retention.sweep(now).await {
            Ok(slice) => {
                let deleted = [("PhonesDeleted", slice.phones), ("PhotosDeleted", slice.photos)];
                metrics.extend(deleted.into_iter().filter(|(_, deleted)| *deleted > 0));
                Ok(JobOutcome { outcome: "swept", metrics })
            }
            Err(error) => Err(JobError { error: error.into(), metrics }),
        }
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
