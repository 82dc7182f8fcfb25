//! The `numbers` table: counters, and a mark for each shard of the streams.

pub mod recount;

use std::time::Duration;

use super::record_version::FIRST;
use super::table::all;
use super::transaction::{self, CancellationCause, TransactionResult};
use super::write::Write;
use super::{
    During, Item, StoreError, entrants, number, read_number, read_text, required, submissions, text,
};
use crate::aws::concurrently;
use crate::domain::numbers::mark::{ShardCheckpoint, Step};
use crate::domain::numbers::{Amount, Cell, Cells, Metric, of_entrant, of_submission};
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// Scope, metric and day, `demo#live#outcomes#2026-11-22`.
pub const KEY: &str = "metric";
/// Hour and dimension, `2026-11-22T14#accepted#entered`.
pub const SORT: &str = "cell";
pub const VARIABLE: &str = "NUMBERS_TABLE";

/// A stream keeps changes for one day; failed ones can be counted some days later.
const MARK_RETENTION: Duration = Duration::from_hours(168);
const MARK: &str = "mark";
const SEQUENCE: &str = "sequence";
const COUNTED_CELLS: &str = "counted_cells";
const RECORDS: &str = "records";
const ENTRIES: &str = "entries";

const COUNTING: &str = "counting changes";
const READING: &str = "reading numbers";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountResult {
    Counted,
    /// Nothing was written; this mark is stored.
    OtherMark(Option<ShardCheckpoint>),
}

store! {
    Numbers
}

impl Numbers {
    /// Adds a step's amounts and moves the mark, if it is `before`; then deletes empty regions and
    /// branches.
    ///
    /// A timeline of two deliveries of one batch: both know mark 7; the first counts and writes
    /// mark 9; the second's condition fails and returns mark 9, so it skips what is counted.
    pub async fn count(
        &self,
        shard: &str,
        before: Option<&ShardCheckpoint>,
        step: Step,
        now: Timestamp,
    ) -> Result<CountResult, StoreError> {
        let mark = self.move_mark(shard, before, &step.mark, now);
        let lowered = step
            .cells
            .iter()
            .filter(|(cell, amount)| cell.metric.is_free_text() && amount.records < 0);
        let lowered: Vec<Cell> = lowered.map(|(cell, _)| cell.clone()).collect();
        let cells = step.cells.into_iter();
        let cells = cells.map(|(cell, amount)| self.add(&cell, amount));
        let items = [mark].into_iter().chain(cells).collect();
        let reasons = match transaction::write(items).await? {
            TransactionResult::Committed => {
                self.delete_empty(lowered).await?;
                return Ok(CountResult::Counted);
            }
            TransactionResult::Cancelled(reasons) => reasons,
        };
        match reasons.into_iter().next() {
            Some(CancellationCause::ConditionFailed(item)) => {
                // An earlier delivery may have ended before it deleted.
                self.delete_empty(lowered).await?;
                Ok(CountResult::OtherMark(
                    item.as_ref().map(read_mark).transpose()?,
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

    fn move_mark(
        &self,
        shard: &str,
        before: Option<&ShardCheckpoint>,
        mark: &ShardCheckpoint,
        now: Timestamp,
    ) -> Write {
        let part = |mark: &ShardCheckpoint| mark.cells.unwrap_or(0);
        let update = self
            .table
            .update(format!("{MARK}#{shard}"))
            .sort(SORT, MARK)
            .set(SEQUENCE, mark.sequence.to_string())
            .set(COUNTED_CELLS, part(mark))
            .expires(now.after(MARK_RETENTION));
        match before {
            Some(before) => update
                .when_equal(SEQUENCE, before.sequence.to_string())
                .when_equal(COUNTED_CELLS, part(before)),
            None => update.when_absent(SEQUENCE),
        }
    }

    async fn delete_empty(&self, cells: Vec<Cell>) -> Result<(), StoreError> {
        let deletions = cells.into_iter().map(|cell| self.delete_if_empty(cell));
        concurrently(deletions).await.map(drop)
    }

    async fn delete_if_empty(&self, cell: Cell) -> Result<bool, StoreError> {
        let delete = self
            .table
            .delete(partition(&cell.scope, cell.metric, &cell.day))
            .sort(SORT, sort(&cell))
            .when_equal(RECORDS, 0)
            .when_equal(ENTRIES, 0);
        transaction::write_one(delete, "deleting an empty number").await
    }

    fn add(&self, cell: &Cell, amount: Amount) -> Write {
        self.table
            .update(partition(&cell.scope, cell.metric, &cell.day))
            .sort(SORT, sort(cell))
            .add(RECORDS, number(amount.records))
            .add(ENTRIES, number(amount.entries))
    }

    pub async fn cells(
        &self,
        scope: &Scope,
        metric: Metric,
        day: &str,
    ) -> Result<Cells, StoreError> {
        let key = (":partition", text(partition(scope, metric, day)));
        let query = self.table.query("#metric = :partition", [key]);
        let mut cells = Cells::default();
        for item in all(query.consistent_read(true), READING).await? {
            FIRST.check(&item, READING)?;
            let sort = required(read_text(&item, SORT), READING)?;
            let (hour, dimension) = required(sort.split_once('#'), READING)?;
            let (day, hour) = (day.to_owned(), hour.to_owned());
            let amount = Amount {
                records: required(read_number(&item, RECORDS), READING)?,
                entries: required(read_number(&item, ENTRIES), READING)?,
            };
            let dimension = dimension.to_owned();
            cells.add(
                Cell {
                    scope: scope.clone(),
                    metric,
                    day,
                    hour,
                    dimension,
                },
                amount,
            );
        }
        Ok(cells)
    }

    /// Adds the missing amount if the cell is unchanged; a change yet to be counted would count
    /// twice.
    ///
    /// A timeline of two operators: both find that 3 are missing; the first adds them; the second's
    /// condition fails.
    pub async fn correct(
        &self,
        cell: &Cell,
        counted: Amount,
        missing: Amount,
    ) -> Result<bool, StoreError> {
        let is_same = "records = :counted AND entries = :counted_entries";
        let condition = if counted == Amount::default() {
            format!("attribute_not_exists(records) OR ({is_same})")
        } else {
            is_same.to_owned()
        };
        let update = self
            .add(cell, missing)
            .when(&condition)
            .bind(":counted", counted.records)
            .bind(":counted_entries", counted.entries);
        transaction::write_one(update, "correcting a number").await
    }
}

fn sort(cell: &Cell) -> String {
    format!("{}#{}", cell.hour, cell.dimension)
}

fn partition(scope: &Scope, metric: Metric, day: &str) -> String {
    scope.key(format_args!("{}#{day}", metric.as_str()))
}

fn read_mark(item: &Item) -> Result<ShardCheckpoint, StoreError> {
    FIRST.check(item, READING)?;
    let sequence = required(read_text(item, SEQUENCE), READING)?;
    let cells: usize = required(read_number(item, COUNTED_CELLS), READING)?;
    Ok(ShardCheckpoint {
        sequence: sequence.parse().during(READING)?,
        cells: (cells > 0).then_some(cells),
    })
}

pub fn of_item(item: Item) -> Result<Cells, StoreError> {
    if item.is_empty() {
        Ok(Cells::default())
    } else if item.contains_key(submissions::KEY) {
        submissions::read(item).map(|submission| of_submission(&submission))
    } else {
        entrants::read_counts(&item).map(|counts| of_entrant(&counts))
    }
}
