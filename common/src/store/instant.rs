//! A scope's wins are in the partition `…#wins`, by time of acceptance.

use std::ops::Range;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;

use super::table::all;
use super::write::Write;
use super::{StoreResult, from_record, text, transaction};
use crate::domain::win::Win;
use crate::domain::{Scope, Submission, SubmissionId, Timestamp};

pub const KEY: &str = "part";
pub const SORT: &str = "record";
pub const VARIABLE: &str = "INSTANT_TABLE";

const READING: &str = "reading instant prizes";
const WRITING: &str = "writing an instant prize";

store! {
    Wins
}

impl Wins {
    pub fn create(&self, win: &Win) -> Write {
        let put = self.table.put(part(&win.scope), win);
        put.sort(SORT, record(win.accepted_at, win.submission_id))
            .when_absent(SORT)
    }

    /// Conditional on the revision.
    pub fn change(&self, before: &Win, after: &Win) -> Write {
        self.table
            .update(part(&before.scope))
            .sort(SORT, record(before.accepted_at, before.submission_id))
            .change(Some(before), after)
            .when_equal("revision", before.revision)
    }

    /// False if another step was logged since.
    pub async fn log(&self, before: &Win, after: &Win) -> StoreResult<bool> {
        transaction::write_one(self.change(before, after), WRITING).await
    }

    /// Oldest first.
    pub async fn list(&self, scope: &Scope) -> StoreResult<Vec<Win>> {
        let query = self
            .table
            .query("#part = :part", [(":part", text(part(scope)))]);
        read(query).await
    }

    /// Those of a span, oldest first.
    pub async fn list_accepted(
        &self,
        scope: &Scope,
        span: Range<Timestamp>,
    ) -> StoreResult<Vec<Win>> {
        let condition = "#part = :part AND #record BETWEEN :start AND :end";
        let values = [
            (":part", text(part(scope))),
            (":start", text(digits(span.start))),
            // Records of that time are longer, and so above it.
            (":end", text(digits(span.end))),
        ];
        read(self.table.query(condition, values)).await
    }

    /// One for each time that it was accepted with a prize.
    pub async fn of_submission(&self, submission: &Submission) -> StoreResult<Vec<Win>> {
        let mut wins = Vec::new();
        if submission.prize_won().is_none() {
            return Ok(wins);
        }
        for accepted_at in submission.times_accepted() {
            let mut key = self.table.key(part(&submission.scope));
            let record = record(accepted_at, submission.submission_id);
            key.insert(SORT.to_owned(), text(record));
            let item = self.table.get_item(key, READING).await?;
            wins.extend(item.map(|item| from_record(item, READING)).transpose()?);
        }
        Ok(wins)
    }

    pub async fn clear(&self, scope: &Scope) -> StoreResult<u64> {
        let mut deleted = 0;
        for win in self.list(scope).await? {
            let delete = self.table.delete(part(scope));
            let delete = delete.sort(SORT, record(win.accepted_at, win.submission_id));
            deleted += u64::from(delete.send("deleting an instant prize").await?);
        }
        Ok(deleted)
    }
}

fn part(scope: &Scope) -> String {
    scope.key("wins")
}

fn record(accepted_at: Timestamp, id: SubmissionId) -> String {
    format!("{}#{id}", digits(accepted_at))
}

fn digits(at: Timestamp) -> String {
    format!("{:013}", at.as_millis())
}

async fn read(query: QueryFluentBuilder) -> StoreResult<Vec<Win>> {
    let items = all(query.consistent_read(true), READING).await?.into_iter();
    items.map(|item| from_record(item, READING)).collect()
}
