//! The schedule, every minute: finds what is due to be settled and was missed, and sends a message for it.
//!
//! It is what makes lost messages harmless. It sends no more messages at a time than can be worked on until
//! the next sweep, so that the queue does not grow by being swept: of each campaign in turn the longest due.

use common::aws::settle_queue::{SettleMessage, SettleQueue};
use common::config::ConfigError;
use common::domain::scope::Environment;
use common::domain::settling::Dependency;
use common::domain::timestamp::Timestamp;
use common::error::Error;
use common::runtime::event_handler::{EventContext, EventHandler, Job, JobError, JobOutcome};
use common::store::submissions::{DueSubmission, Submissions};
use serde::Deserialize;

/// Messages of one sweep, and at most so many of one campaign from each partition: the tax authority bears about forty
/// look-ups a minute, partners hundreds.
fn limits(work: Dependency) -> (usize, u8) {
    match work {
        Dependency::TaxAuthority => (48, 12),
        Dependency::Partner => (640, 40),
    }
}

/// The function.
pub struct SweepUnsettled {
    background: EventContext,
    submissions: Submissions,
    queues: [(Dependency, SettleQueue); 2],
}

/// What the schedule sends; nothing of it is used.
#[derive(Debug, Default, Deserialize)]
pub struct Tick {}

impl EventHandler for SweepUnsettled {
    type Event = Tick;
    type Reply = ();

    fn connect(background: &EventContext) -> Result<Self, ConfigError> {
        let env = &background.env;
        Ok(Self {
            submissions: Submissions::from_env(env, &background.aws.dynamodb())?,
            queues: [
                (
                    Dependency::TaxAuthority,
                    SettleQueue::from_env(Dependency::TaxAuthority, env, &background.aws)?,
                ),
                (Dependency::Partner, SettleQueue::from_env(Dependency::Partner, env, &background.aws)?),
            ],
            background: background.clone(),
        })
    }

    async fn handle(&self, _tick: Tick) -> Result<(), Error> {
        let now = self.background.now();
        let work = Job { function: "sweep-unsettled", started: now, scope: None, subject: None };
        self.background.run_logged(work, self.sweep(now)).await.map(drop)
    }
}

impl SweepUnsettled {
    async fn sweep(&self, now: Timestamp) -> Result<JobOutcome, JobError> {
        let (mut found, mut sent, mut oldest) = (0, 0, 0);
        for (work, queue) in &self.queues {
            let (max_messages, max_each) = limits(*work);
            let mut due = self.submissions.due(*work, now, max_each).await?;
            let ages = due.iter().map(|due| now.since(due.next_step_at).as_secs());
            oldest = ages.max().unwrap_or(0).max(oldest);
            due.truncate(max_messages);
            let message = |due: &DueSubmission| SettleMessage {
                scope: due.scope.clone(),
                submission_id: due.submission_id,
            };
            found += due.len();
            sent += queue.send_all(&due.iter().map(message).collect::<Vec<_>>()).await?;
        }
        let since = self.submissions.longest_waiting_for_a_person(Environment::Live).await?;
        let longest = since.map_or(0, |since| now.since(since).as_secs());
        Ok(JobOutcome {
            outcome: "swept",
            figures: vec![
                ("Due", count(found)),
                ("Hinted", count(sent)),
                ("OldestDueSeconds", oldest),
                ("LongestWaitForAPersonSeconds", longest),
            ],
        })
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
