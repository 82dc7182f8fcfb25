//! Removes personal data from a scope's submissions once the campaign's retention of phones is over.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{KEY, Submissions, read};
use crate::domain::phone::Phone;
use crate::domain::scope::Scope;
use crate::domain::submission::Submission;
use crate::store::segments::Segment;
use crate::store::{StoreError, text, transaction};
use crate::telemetry;

/// Submissions that are changed at once.
const MAX_CONCURRENCY: usize = 16;

/// The result of one page of submissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionPage {
    /// Submissions of the scope without personal data.
    pub done: u64,
    /// Those that still need their phone, changed meanwhile, or cannot be read by this build.
    pub left: u64,
    /// The segment after this page.
    pub segment: Segment,
}

impl Submissions {
    /// Removes the personal data from the next page of a segment. Repeating a page is harmless.
    pub async fn remove_personal_data(
        &self,
        scope: &Scope,
        segment: Segment,
    ) -> Result<RetentionPage, StoreError> {
        const ACTION: &str = "reading submissions whose retention is over";
        let scan = self
            .table
            .scan()
            .filter_expression("begins_with(#key, :scope)")
            .expression_attribute_names("#key", KEY)
            .expression_attribute_values(":scope", text(scope.key("")));
        // An unreadable record is passed on as an error, so that it counts as left.
        let page = self.table.read_page(scan, segment, ACTION, |item| Ok(read(item))).await?;
        let removals = page.records.into_iter().map(|found| self.remove_person(found));
        let removals: Vec<bool> =
            stream::iter(removals).buffer_unordered(MAX_CONCURRENCY).try_collect().await?;
        let count = |wanted: bool| removals.iter().filter(|done| **done == wanted).map(|_| 1).sum();
        Ok(RetentionPage { done: count(true), left: count(false), segment: page.segment })
    }

    /// False if the submission keeps its personal data.
    async fn remove_person(&self, found: Result<Submission, StoreError>) -> Result<bool, StoreError> {
        const ACTION: &str = "taking the person out of a submission";
        let before = match found {
            Ok(before) => before,
            Err(error) if error.is_unreadable() => {
                let error = telemetry::cause(&error);
                tracing::error!(error, "a submission whose retention is over cannot be read");
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        // Before `ops migrate`, the number itself is in the keys.
        if before.entrant_id.as_str().parse::<Phone>().is_ok() {
            return Ok(false);
        }
        match before.past_retention() {
            None => Ok(false),
            Some(after) if after == before => Ok(true),
            Some(after) => {
                let put = transaction::put(self.change_put(&before, &after)?);
                transaction::write_one(self.table.client(), put, ACTION).await
            }
        }
    }
}
