pub mod recount;

use std::time::Duration;

use super::record_version::FIRST;
use super::table::all;
use super::transaction::{self, CancellationCause};
use super::write::Write;
use super::{
    During, Item, StoreError, StoreResult, entrants, number, read_number, read_text, required,
    submissions, text,
};
use crate::aws::concurrently;
use crate::domain::statistics::checkpoint::{ShardCheckpoint, Step};
use crate::domain::statistics::{Amount, Counter, Counters, Metric, of_entrant, of_submission};
use crate::domain::{Scope, Timestamp};

/// Scope, metric and day, `demo#live#outcomes#2026-11-22`.
pub const KEY: &str = "metric";
/// Hour and dimension, `2026-11-22T14#accepted#entered`.
pub const SORT: &str = "cell";
pub const VARIABLE: &str = "NUMBERS_TABLE";

/// A stream keeps changes for one day; failed ones can be counted some days later.
const CHECKPOINT_RETENTION: Duration = Duration::from_hours(168);
const CHECKPOINT: &str = "mark";
const SEQUENCE: &str = "sequence";
const COUNTED: &str = "counted_cells";
const RECORDS: &str = "records";
const ENTRIES: &str = "entries";

const COUNTING: &str = "counting changes";
const READING: &str = "reading numbers";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountResult {
    Counted,
    /// Nothing was written; this checkpoint is stored.
    OtherCheckpoint(Option<ShardCheckpoint>),
}

store! {
    Statistics
}

impl Statistics {
    /// Adds a step's amounts and moves the checkpoint, if it is `before`; then deletes empty
    /// regions and branches. A timeline of two deliveries of one batch: both know checkpoint 7; the
    /// first counts and writes checkpoint 9; the second's condition fails and returns checkpoint 9.
    pub async fn count(
        &self,
        shard: &str,
        before: Option<&ShardCheckpoint>,
        step: Step,
        now: Timestamp,
    ) -> StoreResult<CountResult> {
        let checkpoint = self.move_checkpoint(shard, before, &step.checkpoint, now);
        let lowered = step
            .counters
            .iter()
            .filter(|(counter, amount)| counter.metric.is_free_text() && amount.records < 0);
        let lowered: Vec<Counter> = lowered.map(|(counter, _)| counter.clone()).collect();
        let counters = step.counters.into_iter();
        let counters = counters.map(|(counter, amount)| self.add(&counter, amount));
        let items = [checkpoint].into_iter().chain(counters).collect();
        let Err(reasons) = transaction::write(items).await? else {
            self.delete_empty(lowered).await?;
            return Ok(CountResult::Counted);
        };
        match reasons.into_iter().next() {
            Some(CancellationCause::ConditionFailed(item)) => {
                // An earlier delivery may have ended before it deleted.
                self.delete_empty(lowered).await?;
                Ok(CountResult::OtherCheckpoint(
                    item.as_ref().map(read_checkpoint).transpose()?,
                ))
            }
            Some(
                CancellationCause::None
                | CancellationCause::Conflict
                | CancellationCause::Throttled,
            )
            | None => Err(StoreError::new(
                COUNTING,
                "other shards kept changing the same numbers",
            )),
        }
    }

    fn move_checkpoint(
        &self,
        shard: &str,
        before: Option<&ShardCheckpoint>,
        checkpoint: &ShardCheckpoint,
        now: Timestamp,
    ) -> Write {
        let part = |checkpoint: &ShardCheckpoint| checkpoint.counted.unwrap_or(0);
        let update = self
            .table
            .update(format!("{CHECKPOINT}#{shard}"))
            .sort(SORT, CHECKPOINT)
            .set(SEQUENCE, checkpoint.sequence.to_string())
            .set(COUNTED, part(checkpoint))
            .expires(now.after(CHECKPOINT_RETENTION));
        match before {
            Some(before) => update
                .when_equal(SEQUENCE, before.sequence.to_string())
                .when_equal(COUNTED, part(before)),
            None => update.when_absent(SEQUENCE),
        }
    }

    async fn delete_empty(&self, counters: Vec<Counter>) -> StoreResult<()> {
        let deletions = counters
            .into_iter()
            .map(|counter| self.delete_if_empty(counter));
        concurrently(deletions).await.map(drop)
    }

    async fn delete_if_empty(&self, counter: Counter) -> StoreResult<bool> {
        let delete = self
            .table
            .delete(partition(&counter.scope, counter.metric, &counter.day))
            .sort(SORT, sort(&counter))
            .when_equal(RECORDS, 0)
            .when_equal(ENTRIES, 0);
        transaction::write_one(delete, "deleting an empty number").await
    }

    fn add(&self, counter: &Counter, amount: Amount) -> Write {
        self.table
            .update(partition(&counter.scope, counter.metric, &counter.day))
            .sort(SORT, sort(counter))
            .add(RECORDS, number(amount.records))
            .add(ENTRIES, number(amount.entries))
    }

    pub async fn counters(
        &self,
        scope: &Scope,
        metric: Metric,
        day: &str,
    ) -> StoreResult<Counters> {
        let key = (":partition", text(partition(scope, metric, day)));
        let query = self.table.query("#metric = :partition", [key]);
        let mut counters = Counters::default();
        for item in all(query.consistent_read(true), READING).await? {
            FIRST.check(&item, READING)?;
            let sort = required(read_text(&item, SORT), READING)?;
            let (hour, dimension) = required(sort.split_once('#'), READING)?;
            let amount = Amount {
                records: required(read_number(&item, RECORDS), READING)?,
                entries: required(read_number(&item, ENTRIES), READING)?,
            };
            counters.add(Counter::new(scope, metric, [day, hour, dimension]), amount);
        }
        Ok(counters)
    }

    /// A timeline of two operators: both find that 3 are missing; the first adds them; the second's
    /// condition fails.
    pub async fn correct(
        &self,
        counter: &Counter,
        counted: Amount,
        missing: Amount,
    ) -> StoreResult<bool> {
        let is_same = "records = :counted AND entries = :counted_entries";
        let condition = if counted == Amount::default() {
            format!("attribute_not_exists(records) OR ({is_same})")
        } else {
            is_same.to_owned()
        };
        let update = self
            .add(counter, missing)
            .when(&condition)
            .bind(":counted", counted.records)
            .bind(":counted_entries", counted.entries);
        transaction::write_one(update, "correcting a number").await
    }
}

fn sort(counter: &Counter) -> String {
    format!("{}#{}", counter.hour, counter.dimension)
}

fn partition(scope: &Scope, metric: Metric, day: &str) -> String {
    scope.key(format_args!("{}#{day}", metric.as_str()))
}

fn read_checkpoint(item: &Item) -> StoreResult<ShardCheckpoint> {
    FIRST.check(item, READING)?;
    let sequence = required(read_text(item, SEQUENCE), READING)?;
    let counted: usize = required(read_number(item, COUNTED), READING)?;
    Ok(ShardCheckpoint {
        sequence: sequence.parse().during(READING)?,
        counted: (counted > 0).then_some(counted),
    })
}

pub fn of_item(item: Item) -> StoreResult<Counters> {
    if item.is_empty() {
        Ok(Counters::default())
    } else if item.contains_key(submissions::KEY) {
        submissions::read(item).map(|submission| of_submission(&submission))
    } else {
        entrants::read_counts(&item).map(|counts| of_entrant(&counts))
    }
}
