//! A slow partner holds up its own campaign only.

use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use common::domain::Timestamp;
use common::error::StoreResult;
use common::store::turns::TurnResult;

use crate::SettlePartners;

/// Pause after finding no other campaign: a look reads every partition of the index.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl SettlePartners {
    pub(crate) async fn choose(&self, message: &SettleMessage) -> Option<SettleMessage> {
        let now = self.worker.now();
        let is_recent = |alone: Timestamp| now < alone.after(LOOK_INTERVAL);
        if self.last_seen_alone.lock().is_some_and(is_recent) {
            return None;
        }
        let choosing = self.pass_turn(message, now);
        self.worker.choose(message, choosing).await?.1
    }

    /// Runs before the step, so that workers starting meanwhile choose the next campaign.
    async fn pass_turn(
        &self,
        message: &SettleMessage,
        now: Timestamp,
    ) -> StoreResult<Option<SettleMessage>> {
        let last = self.turns.last().await?;
        let last_scope = last.as_ref().and_then(|last| last.scope.as_ref());
        let other = self
            .worker
            .next_campaign_before(message, last_scope)
            .await?;
        let next = other.as_ref().map_or(&message.scope, |other| &other.scope);
        let passed = last_scope == Some(next)
            || matches!(
                self.turns.take(last.as_ref(), next, now).await?,
                TurnResult::Taken(_)
            );
        // Others go first after its own turn: none is due.
        let is_alone = other.is_none() && last_scope == Some(&message.scope);
        *self.last_seen_alone.lock() = is_alone.then_some(now);
        // Otherwise another worker has that turn.
        Ok(other.filter(|_| passed))
    }
}
