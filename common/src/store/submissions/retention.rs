use super::{Submissions, read};
use crate::aws::concurrently;
use crate::domain::{Scope, Submission};
use crate::store::table_pages::Position;
use crate::store::{StoreResult, transaction};
use crate::telemetry;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionPage {
    pub done: u64,
    /// They need their phone, changed meanwhile, or cannot be read.
    pub left: u64,
    pub position: Position,
}

impl Submissions {
    /// Repeating a page is harmless.
    pub async fn remove_personal_data(
        &self,
        scope: &Scope,
        position: Position,
    ) -> StoreResult<RetentionPage> {
        const ACTION: &str = "reading submissions whose retention is over";
        let scan = self.table.scan_scope(scope, None);
        let read = self.table.read_page(scan, position, ACTION, read);
        let (page, position) = read.await?;
        for record in &page.unreadable {
            let error = telemetry::cause(record);
            tracing::error!(error, "a submission whose retention is over cannot be read");
        }
        let left = u64::try_from(page.unreadable.len()).unwrap_or(u64::MAX);
        let removals = page
            .records
            .into_iter()
            .map(|before| self.remove_person(before));
        let removals = concurrently(removals).await?;
        let count = |wanted: bool| {
            removals
                .iter()
                .filter(|done| **done == wanted)
                .map(|_| 1)
                .sum()
        };
        Ok(RetentionPage {
            done: count(true),
            left: left + count(false),
            position,
        })
    }

    async fn remove_person(&self, before: Submission) -> StoreResult<bool> {
        const ACTION: &str = "taking the person out of a submission";
        match before.past_retention() {
            None => Ok(false),
            Some(after) if after == before => Ok(true),
            Some(after) => transaction::write_one(self.change(&before, &after), ACTION).await,
        }
    }
}
