//! Which campaign's receipt is looked up next: campaigns share the few look-ups out, one each in turn.

use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use common::domain::scope::{Environment, Scope};
use common::domain::settling::{Dependency, PendingSettlement, StepClaim};
use common::store::StoreError;

use crate::SettleReceipts;
use crate::pace::Seen;

/// All that choosing may take; after it, the submission of the message is chosen.
const CHOOSING_TIMEOUT: Duration = Duration::from_secs(3);

/// What a message leads to.
#[derive(Default)]
pub(crate) struct Choice {
    /// Another campaign's submission, which comes before that of the message.
    pub(crate) other: Option<SettleMessage>,
    /// The last slot, where it was looked at.
    pub(crate) seen: Option<Seen>,
}

impl SettleReceipts {
    /// Chooses whose step is done. It is that of the message, too, when the tables do not answer in time: fairness is no
    /// reason not to settle. Tests take no slot, so they need no turn.
    pub(crate) async fn choose(&self, message: &SettleMessage) -> Choice {
        if message.scope.environment == Environment::Test {
            return Choice::default();
        }
        let choice = tokio::time::timeout(CHOOSING_TIMEOUT, self.find_next(message)).await;
        choice.ok().and_then(Result::ok).unwrap_or_default()
    }

    async fn find_next(&self, message: &SettleMessage) -> Result<Choice, StoreError> {
        let (submissions, now) = (self.worker.store().submissions(), self.worker.now());
        // One that cannot be read is the step's to deal with.
        let Ok(Some(submission)) = submissions.get(&message.scope, message.submission_id).await else {
            return Ok(Choice::default());
        };
        let is_due = |settling: &PendingSettlement| {
            settling.dependency == Dependency::TaxAuthority && settling.claim(now) != StepClaim::NotDue
        };
        if !submission.settling.as_ref().is_some_and(is_due) {
            return Ok(Choice::default());
        }
        let seen = self.pace.see().await?;
        let next = submissions.next_due(Dependency::TaxAuthority, seen.scope(), now).await?;
        // The index may not show the submission of the message yet.
        let turn = |scope: &Scope| {
            let key = scope.key("");
            (seen.scope().is_some_and(|last| key <= last.key("")), key)
        };
        let next = next.filter(|next| turn(&next.scope) < turn(&message.scope));
        let other = next.map(|next| SettleMessage { scope: next.scope, submission_id: next.submission_id });
        Ok(Choice { other, seen: Some(seen) })
    }
}
