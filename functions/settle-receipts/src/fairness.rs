//! Campaigns take turns, one step each, so that no campaign holds up the others: look-ups are scarce.

use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use common::domain::scope::Environment;
use common::store::StoreError;
use common::telemetry;
use tokio::time::timeout;

use crate::SettleReceipts;
use crate::pace::SeenSlot;

/// After this, the submission in the message goes next.
const CHOOSING_TIMEOUT: Duration = Duration::from_secs(3);
const TURN_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Choice {
    /// Another campaign's submission that goes before the one in the message.
    pub(crate) other: Option<SettleMessage>,
    /// The last look-up slot, if it was read.
    pub(crate) seen: Option<SeenSlot>,
}

impl SettleReceipts {
    /// Chooses the campaign that goes next. If the tables do not answer in time, that is the message's campaign: an
    /// unfair turn is better than none. Test submissions look nothing up, so they need no turn.
    pub(crate) async fn choose(&self, message: &SettleMessage) -> Choice {
        if message.scope.environment == Environment::Test {
            return Choice::default();
        }
        let found = timeout(CHOOSING_TIMEOUT, self.find_next(message)).await;
        found
            .map_err(|late| StoreError::new("choosing a campaign", late))
            .flatten()
            .unwrap_or_else(|error| {
                warn(&error, message, "no campaign was chosen");
                Choice::default()
            })
    }

    /// Records that the campaign of a message had its turn. If that fails, the campaign may get the next turn too.
    pub(crate) async fn pass_turn(&self, seen: &SeenSlot, message: &SettleMessage) {
        let passing = self
            .throttle
            .pass_turn(seen, &message.scope, self.worker.now());
        let passed = timeout(TURN_TIMEOUT, passing).await;
        if let Err(error) = passed
            .map_err(|late| StoreError::new("recording a turn", late))
            .flatten()
        {
            warn(&error, message, "a turn was not recorded");
        }
    }

    async fn find_next(&self, message: &SettleMessage) -> Result<Choice, StoreError> {
        if !self.worker.is_due(message).await {
            return Ok(Choice::default());
        }
        let seen = self.throttle.see().await?;
        let other = self.worker.goes_before(message, seen.scope()).await?;
        Ok(Choice {
            other,
            seen: Some(seen),
        })
    }
}

fn warn(error: &StoreError, message: &SettleMessage, what: &str) {
    tracing::warn!(error = telemetry::cause(error), subject = %message.submission_id, "{what}");
}
