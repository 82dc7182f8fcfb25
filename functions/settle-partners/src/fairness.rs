//! Campaigns take turns, one step each, so that a slow partner holds up only its own campaign.
//!
//! The queue delivers roughly in the order of sending, so a campaign's only message can be behind thousands of
//! another's. A message therefore wakes a worker for the campaign that is next, and goes back to the queue if that is
//! another one.

use std::sync::PoisonError;
use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use common::domain::timestamp::Timestamp;
use common::store::StoreError;
use common::telemetry;
use tokio::time::timeout;

use crate::SettlePartners;

/// After this, the submission in the message goes next.
const CHOOSING_TIMEOUT: Duration = Duration::from_secs(3);
/// How long an environment that found no other campaign does not look again: a look reads every partition of the index.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl SettlePartners {
    /// Another campaign's submission that goes before the one in the message. If the tables do not answer in time,
    /// there is none: an unfair turn is better than no turn.
    pub(crate) async fn choose(&self, message: &SettleMessage) -> Option<SettleMessage> {
        let found = timeout(CHOOSING_TIMEOUT, self.pass_turn(message)).await;
        found
            .map_err(|late| StoreError::new("choosing a campaign", late))
            .flatten()
            .unwrap_or_else(|error| {
                let error = telemetry::cause(&error);
                tracing::warn!(error, subject = %message.submission_id, "no campaign was chosen");
                None
            })
    }

    /// Passes the turn before the step, so that workers that start meanwhile choose the campaign after this one.
    async fn pass_turn(
        &self,
        message: &SettleMessage,
    ) -> Result<Option<SettleMessage>, StoreError> {
        let now = self.worker.now();
        let is_recent = |alone: Timestamp| now < alone.after(LOOK_INTERVAL);
        if self.no_other_campaign_due_at().is_some_and(is_recent)
            || !self.worker.is_due(message).await
        {
            return Ok(None);
        }
        let last = self.turns.last().await?;
        let other = self.worker.goes_before(message, last.as_ref()).await?;
        let next = other.as_ref().map_or(&message.scope, |other| &other.scope);
        let passed = self.turns.pass(last.as_ref(), next, now).await?;
        // After its own turn, every other campaign goes before it: none is due.
        let is_alone = other.is_none() && last.as_ref() == Some(&message.scope);
        *self
            .no_other_campaign_due_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = is_alone.then_some(now);
        // Otherwise another worker has the other campaign's turn.
        Ok(other.filter(|_| passed))
    }

    fn no_other_campaign_due_at(&self) -> Option<Timestamp> {
        *self
            .no_other_campaign_due_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
