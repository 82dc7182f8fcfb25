//! Campaigns take turns, one step each, so that no campaign holds up the others: look-ups are scarce.

use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use common::domain::scope::{Environment, Scope};
use common::domain::settling::{Dependency, PendingSettlement, StepClaim};
use common::store::StoreError;
use common::telemetry;
use tokio::time::timeout;

use crate::SettleReceipts;
use crate::pace::Seen;

/// After this, the submission in the message goes next.
const CHOOSING_TIMEOUT: Duration = Duration::from_secs(3);
const TURN_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Choice {
    /// Another campaign's submission that goes before the one in the message.
    pub(crate) other: Option<SettleMessage>,
    /// The last look-up slot, if it was read.
    pub(crate) seen: Option<Seen>,
}

impl SettleReceipts {
    /// Chooses the campaign that goes next. If the tables do not answer in time, that is the message's campaign: an
    /// unfair turn is better than none. Test submissions look nothing up, so they need no turn.
    pub(crate) async fn choose(&self, message: &SettleMessage) -> Choice {
        if message.scope.environment == Environment::Test {
            return Choice::default();
        }
        let found = timeout(CHOOSING_TIMEOUT, self.find_next(message)).await;
        found.map_err(|late| StoreError::new("choosing a campaign", late)).flatten().unwrap_or_else(|error| {
            warn(&error, "no campaign was chosen");
            Choice::default()
        })
    }

    /// Records that a campaign had its turn. If that fails, the campaign may get the next turn too.
    pub(crate) async fn pass_turn(&self, seen: &Seen, scope: &Scope) {
        let passed = timeout(TURN_TIMEOUT, self.throttle.pass_turn(seen, scope, self.worker.now())).await;
        if let Err(error) = passed.map_err(|late| StoreError::new("recording a turn", late)).flatten() {
            warn(&error, "a turn was not recorded");
        }
    }

    async fn find_next(&self, message: &SettleMessage) -> Result<Choice, StoreError> {
        let (submissions, now) = (self.worker.store().submissions(), self.worker.now());
        // The step itself handles a submission that cannot be read.
        let Ok(Some(submission)) = submissions.get(&message.scope, message.submission_id).await else {
            return Ok(Choice::default());
        };
        let is_due = |settling: &PendingSettlement| {
            settling.progress.dependency() == Dependency::TaxAuthority
                && settling.claim(now) != StepClaim::NotDue
        };
        if !submission.settling.as_ref().is_some_and(is_due) {
            return Ok(Choice::default());
        }
        let seen = self.throttle.see().await?;
        let next = submissions.next_due(Dependency::TaxAuthority, seen.scope(), now).await?;
        // Compares with the message's own scope because the index may not show its submission yet.
        let turn = |scope: &Scope| {
            let key = scope.key("");
            (seen.scope().is_some_and(|last| key <= last.key("")), key)
        };
        let next = next.filter(|next| turn(&next.scope) < turn(&message.scope));
        let other = next.map(|next| SettleMessage::new(&next.scope, next.submission_id));
        Ok(Choice { other, seen: Some(seen) })
    }
}

fn warn(error: &StoreError, what: &str) {
    tracing::warn!(error = telemetry::cause(error), "{what}");
}
