//! The schedule, every minute: finds what is due to be settled and was missed, and sends a hint for it.
//!
//! It is what makes lost messages harmless. It sends no more hints at a time than can be worked on until
//! the next sweep, the longest due first, so that the queue does not grow by being swept.

use common::background::{Background, EventFunction, Failed, Finding, Work};
use common::config::ConfigError;
use common::domain::moment::Moment;
use common::domain::scope::Environment;
use common::domain::settling::Counterpart;
use common::error::Error;
use common::settle_queue::{Hint, SettleQueue};
use common::store::submissions::{Due, Submissions};
use serde::Deserialize;

/// Hints of one of the 16 partitions in one sweep: the tax authority bears about forty look-ups a minute,
/// partners hundreds.
fn most_of_a_partition(work: Counterpart) -> u8 {
    match work {
        Counterpart::TaxAuthority => 3,
        Counterpart::Partner => 40,
    }
}

/// The function.
pub struct SweepUnsettled {
    background: Background,
    submissions: Submissions,
    queues: [(Counterpart, SettleQueue); 2],
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
            submissions: Submissions::from_env(env, &background.aws.dynamodb())?,
            queues: [
                (
                    Counterpart::TaxAuthority,
                    SettleQueue::of(Counterpart::TaxAuthority, env, &background.aws)?,
                ),
                (Counterpart::Partner, SettleQueue::of(Counterpart::Partner, env, &background.aws)?),
            ],
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
    async fn sweep(&self, now: Moment) -> Result<Finding, Failed> {
        let (mut found, mut sent, mut oldest) = (0, 0, 0);
        for (work, queue) in &self.queues {
            let due = self.submissions.due(*work, now, most_of_a_partition(*work)).await?;
            oldest = due.first().map_or(0, |due| now.since(due.next_step_at).as_secs()).max(oldest);
            let hint = |due: &Due| Hint { scope: due.scope.clone(), submission_id: due.submission_id };
            found += due.len();
            sent += queue.send_all(&due.iter().map(hint).collect::<Vec<_>>()).await?;
        }
        let waiting = self.submissions.for_a_person(Environment::Live, Some(1)).await?;
        let longest = waiting.first().map_or(0, |waiting| now.since(waiting.next_step_at).as_secs());
        Ok(Finding {
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
