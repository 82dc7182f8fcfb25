//! The schedule, every minute: finds what is due to be settled and was missed, and sends a hint for it.
//!
//! It is what makes lost messages harmless. It sends no more hints at a time than can be worked on until
//! the next sweep, the longest due first, so that the queue does not grow by being swept.

use common::background::{Background, EventFunction, Finding, Work};
use common::config::ConfigError;
use common::domain::moment::Moment;
use common::domain::scope::Environment;
use common::error::Error;
use common::settle_queue::{Hint, SettleQueue};
use common::store::submissions::{Due, Submissions};
use serde::Deserialize;

/// Hints of one partition in one sweep: the tax authority bears about forty look-ups a minute, and there
/// are 16 partitions.
const MOST_OF_A_PARTITION: u8 = 3;

/// The function.
pub struct SweepUnsettled {
    background: Background,
    submissions: Submissions,
    queue: SettleQueue,
}

/// What the schedule sends; nothing of it is used.
#[derive(Debug, Default, Deserialize)]
pub struct Tick {}

impl EventFunction for SweepUnsettled {
    type Event = Tick;
    type Reply = ();

    fn connect(background: &Background) -> Result<Self, ConfigError> {
        let env = &background.env;
        Ok(Self {
            submissions: Submissions::from_env(env, &background.dynamodb)?,
            queue: SettleQueue::of_the_tax_authority(env, &background.aws)?,
            background: background.clone(),
        })
    }

    async fn handle(&self, _tick: Tick) -> Result<(), Error> {
        let now = self.background.now();
        let work = Work { function: "sweep-unsettled", started: now, scope: None, subject: None };
        self.background.watch(work, self.sweep(now)).await.map(drop)
    }
}

impl SweepUnsettled {
    async fn sweep(&self, now: Moment) -> Result<Finding, Error> {
        let due = self.submissions.due(now, MOST_OF_A_PARTITION).await?;
        let oldest = due.first().map_or(0, |due| now.since(due.next_step_at).as_secs());
        let hint = |due: &Due| Hint { scope: due.scope.clone(), submission_id: due.submission_id };
        let hints: Vec<_> = due.iter().map(hint).collect();
        let sent = self.queue.send_all(&hints).await?;
        let waiting = self.submissions.for_a_person(Environment::Live, Some(1)).await?;
        let longest = waiting.first().map_or(0, |waiting| now.since(waiting.next_step_at).as_secs());
        Ok(Finding {
            outcome: "swept",
            figures: vec![
                ("Due", count(due.len())),
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
