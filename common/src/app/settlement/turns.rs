//! Campaigns take turns, one step each. A message can be behind thousands of another campaign's: it
//! wakes a worker for the next campaign, and is sent again if that is another one.

use std::time::Duration;

use tokio::time::timeout;

use super::Worker;
use crate::aws::settle_queue::SettleMessage;
use crate::domain::settling::StepLease;
use crate::domain::{Scope, Submission};
use crate::error::{StoreError, StoreResult};
use crate::telemetry;

/// The message's own submission goes next after this.
const CHOOSING_TIMEOUT: Duration = Duration::from_secs(3);

impl Worker {
    /// `None` if the tables do not answer in time: an unfair turn is better than none.
    pub async fn choose<T>(
        &self,
        message: &SettleMessage,
        choosing: impl Future<Output = StoreResult<T>>,
    ) -> Option<(Submission, T)> {
        let choosing = async {
            match self.due(message).await {
                Some(due) => choosing.await.map(|chosen| Some((due, chosen))),
                None => Ok(None),
            }
        };
        let chosen = take_turn(
            message,
            "no campaign was chosen",
            CHOOSING_TIMEOUT,
            choosing,
        );
        chosen.await.flatten()
    }

    /// `None` if it is not due, or cannot be read, which its step handles.
    async fn due(&self, message: &SettleMessage) -> Option<Submission> {
        let submissions = self.store.submissions();
        let found = submissions.get(&message.scope, message.submission_id);
        found.await.ok()?.filter(|found| {
            found.settling.as_ref().is_some_and(|settling| {
                settling.progress.dependency() == self.dependency
                    && settling.lease(self.now()) != StepLease::NotDue
            })
        })
    }

    /// Ordered by key; `last` had the last turn.
    pub async fn next_campaign_before(
        &self,
        message: &SettleMessage,
        last: Option<&Scope>,
    ) -> StoreResult<Option<SettleMessage>> {
        let next = self
            .store
            .submissions()
            .next_due(self.dependency, last, self.now())
            .await?;
        // Includes the message's own scope, which the index may not show yet.
        let turn = |scope: &Scope| {
            let key = scope.key("");
            (last.is_some_and(|last| key <= last.key("")), key)
        };
        let next = next.filter(|next| turn(&next.scope) < turn(&message.scope));
        Ok(next.map(|next| SettleMessage::new(&next.scope, next.submission_id)))
    }
}

pub async fn take_turn<T>(
    message: &SettleMessage,
    warning: &'static str,
    limit: Duration,
    part: impl Future<Output = StoreResult<T>>,
) -> Option<T> {
    let done = timeout(limit, part).await;
    let done = done
        .map_err(|late| StoreError::new("taking a turn", late))
        .flatten();
    done.inspect_err(|error| {
        let error = telemetry::cause(error);
        tracing::warn!(error, subject = %message.submission_id, "{warning}");
    })
    .ok()
}
