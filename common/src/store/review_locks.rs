//! Locks of submissions under review. A lock is a separate record, so settling continues.

use std::time::Duration;

use super::write::Sent;
use super::{StoreResult, read_text, read_time};
use crate::domain::{Scope, SubmissionId, Timestamp};

/// Longer than a look at a receipt, short enough to wait for.
pub const LOCK_LIFETIME: Duration = Duration::from_mins(2);

/// A timeline of two reviewers: the first writes its lock; the second's condition fails and returns
/// it; two minutes after the last renewal, the second's next try replaces it.
const FREE_OR_OWN: &str =
    "attribute_not_exists(#holder) OR #holder = :holder OR #held_until <= :now";

const HOLDER: &str = "holder";
const HELD_UNTIL: &str = "held_until";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewLock {
    Acquired,
    Held { until: Timestamp, holder: String },
}

store! {
    ReviewLocks, coordination
}

impl ReviewLocks {
    /// A holder is one screen of one reviewer.
    pub async fn acquire(
        &self,
        scope: &Scope,
        id: SubmissionId,
        holder: &str,
        now: Timestamp,
    ) -> StoreResult<ReviewLock> {
        let until = now.after(LOCK_LIFETIME);
        let sent = self
            .table
            .update(key(scope, id))
            .set(HOLDER, holder)
            .set(HELD_UNTIL, until)
            .expires(until)
            .when(FREE_OR_OWN)
            .bind(":holder", holder)
            .bind(":now", now)
            .send_and_read("locking a submission for review")
            .await?;
        Ok(match sent {
            Sent::Written(_) => ReviewLock::Acquired,
            Sent::Refused(found) => {
                let found = found.unwrap_or_default();
                ReviewLock::Held {
                    until: read_time(&found, HELD_UNTIL).unwrap_or(until),
                    holder: read_text(&found, HOLDER).unwrap_or_default().to_owned(),
                }
            }
        })
    }

    pub async fn release(&self, scope: &Scope, id: SubmissionId, holder: &str) -> StoreResult<()> {
        let delete = self.table.delete(key(scope, id)).when_equal(HOLDER, holder);
        let released = delete.send("releasing a submission that was locked for review");
        released.await.map(drop)
    }
}

fn key(scope: &Scope, id: SubmissionId) -> String {
    format!("review_locks#{}", scope.key(id))
}
