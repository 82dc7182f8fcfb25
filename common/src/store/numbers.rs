//! The `numbers` table: counters of submissions and entrants, and the mark of each shard of their streams.

pub mod recount;

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::Update;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::record_version::{self, FIRST};
use super::table::Table;
use super::transaction::{self, CancellationCause, TransactionResult};
use super::{
    Item, StoreError, entrants, number, read_number, read_text, required, submissions, text,
};
use crate::config::{ConfigError, Env};
use crate::domain::numbers::mark::{ShardCheckpoint, Step};
use crate::domain::numbers::{Amount, Cell, Cells, Metric, of_entrant, of_submission};
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// The partition key: scope, metric and day, `demo#live#outcomes#2026-11-22`.
pub const KEY: &str = "metric";
/// The sort key: hour and dimension, `2026-11-22T14#accepted#entered`.
pub const SORT: &str = "cell";
/// The environment variable that names the table.
pub const VARIABLE: &str = "NUMBERS_TABLE";
/// The attribute with the second after which a mark is deleted; counters have none.
pub const EXPIRY: &str = "expires_at";

/// A stream keeps its changes for a day, and those that failed can be counted again for some days more: 7 days.
const MARK_RETENTION: Duration = Duration::from_hours(168);
/// Cells that are deleted at once.
const MAX_CONCURRENCY: usize = 16;
/// The sort key of a mark.
const MARK: &str = "mark";

const COUNTING: &str = "counting changes";
const READING: &str = "reading numbers";

/// The result of writing a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountResult {
    /// The step was written, and the mark moved.
    Counted,
    /// Nothing was written, because this mark is stored instead of the expected one.
    OtherMark(Option<ShardCheckpoint>),
}

/// The table.
#[derive(Clone, Debug)]
pub struct Numbers {
    table: Table,
}

impl Numbers {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// Adds the amounts of a step and moves the shard's mark, if the mark is still as in `before`. Then deletes the regions
    /// and branches that nothing is counted under any more.
    ///
    /// A timeline of two deliveries of one batch: both know mark 7; the first counts and writes mark 9; the second's
    /// condition fails and brings back mark 9, so it skips what is counted.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn count(
        &self,
        shard: &str,
        before: Option<&ShardCheckpoint>,
        step: Step,
        now: Timestamp,
    ) -> Result<CountResult, StoreError> {
        let mark = self.move_mark(shard, before, &step.mark, now)?;
        let lowered = step
            .cells
            .iter()
            .filter(|(cell, amount)| cell.metric.is_free_text() && amount.records < 0);
        let lowered: Vec<Cell> = lowered.map(|(cell, _)| cell.clone()).collect();
        let add = |(cell, amount)| {
            self.add(&cell, amount)
                .build()
                .map_err(StoreError::during(COUNTING))
        };
        let cells = step.cells.into_iter().map(add);
        let updates = [Ok(mark)]
            .into_iter()
            .chain(cells)
            .collect::<Result<Vec<_>, _>>()?;
        let items = updates.into_iter().map(transaction::update).collect();
        let reasons = match transaction::write(self.table.client(), items).await? {
            TransactionResult::Committed => {
                self.delete_empty(lowered).await?;
                return Ok(CountResult::Counted);
            }
            TransactionResult::Cancelled(reasons) => reasons,
        };
        match reasons.into_iter().next() {
            Some(CancellationCause::ConditionFailed(item)) => {
                // The delivery that counted this may have ended before it deleted.
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
    ) -> Result<Update, StoreError> {
        let part = |mark: &ShardCheckpoint| number(mark.cells.unwrap_or(0));
        let update = self
            .table
            .update(format!("{MARK}#{shard}"))
            .key(SORT, text(MARK))
            .update_expression(format!(
                "SET #sequence = :sequence, counted_cells = :cells, {EXPIRY} = :expiry, {}",
                record_version::SET
            ))
            .expression_attribute_names("#sequence", "sequence")
            .expression_attribute_values(":sequence", text(mark.sequence.to_string()))
            .expression_attribute_values(":cells", part(mark))
            .expression_attribute_values(":expiry", number(now.after(MARK_RETENTION).as_seconds()))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute());
        let update = match before {
            Some(before) => update
                .condition_expression("#sequence = :before AND counted_cells = :cells_before")
                .expression_attribute_values(":before", text(before.sequence.to_string()))
                .expression_attribute_values(":cells_before", part(before)),
            None => update.condition_expression("attribute_not_exists(#sequence)"),
        };
        update.build().map_err(StoreError::during(COUNTING))
    }

    /// Deletes those of the cells that are 0.
    async fn delete_empty(&self, cells: Vec<Cell>) -> Result<(), StoreError> {
        let deletions = cells.into_iter().map(|cell| self.delete_if_empty(cell));
        stream::iter(deletions)
            .buffer_unordered(MAX_CONCURRENCY)
            .try_collect::<Vec<_>>()
            .await
            .map(drop)
    }

    /// Deletes a cell if it is 0; false if not. That changes no number: the next change that counts there creates the cell
    /// again.
    async fn delete_if_empty(&self, cell: Cell) -> Result<bool, StoreError> {
        const ACTION: &str = "deleting an empty number";
        let delete = self
            .table
            .delete(partition(&cell.scope, cell.metric, &cell.day))
            .key(SORT, text(sort(&cell)))
            .condition_expression("records = :none AND entries = :none")
            .expression_attribute_values(":none", number(0))
            .build()
            .map_err(StoreError::during(ACTION))?;
        transaction::write_one(self.table.client(), transaction::delete(delete), ACTION).await
    }

    fn add(&self, cell: &Cell, amount: Amount) -> UpdateBuilder {
        self.table
            .update(partition(&cell.scope, cell.metric, &cell.day))
            .key(SORT, text(sort(cell)))
            .update_expression(format!(
                "SET {} ADD records :records, entries :entries",
                record_version::SET
            ))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_values(":records", number(amount.records))
            .expression_attribute_values(":entries", number(amount.entries))
    }

    /// The cells of a metric on a day.
    ///
    /// # Errors
    /// When the table does not answer, or a record cannot be read.
    pub async fn cells(
        &self,
        scope: &Scope,
        metric: Metric,
        day: &str,
    ) -> Result<Cells, StoreError> {
        let mut items = self
            .table
            .query_items()
            .key_condition_expression(format!("{KEY} = :partition"))
            .expression_attribute_values(":partition", text(partition(scope, metric, day)))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        let mut cells = Cells::default();
        while let Some(item) = items.next().await {
            let item = item.map_err(StoreError::during(READING))?;
            FIRST.check(&item, READING)?;
            let sort = required(read_text(&item, SORT), READING)?;
            let (hour, dimension) = required(sort.split_once('#'), READING)?;
            let (day, hour) = (day.to_owned(), hour.to_owned());
            let amount = Amount {
                records: required(read_number(&item, "records"), READING)?,
                entries: required(read_number(&item, "entries"), READING)?,
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

    /// Adds the missing amount to a cell if the cell still has the counted one; false if not. For operators; a change that is
    /// still to be counted would be counted twice.
    ///
    /// A timeline of two operators: both find that 3 are missing; the first adds them; the second's condition fails.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn correct(
        &self,
        cell: &Cell,
        counted: Amount,
        missing: Amount,
    ) -> Result<bool, StoreError> {
        const ACTION: &str = "correcting a number";
        let is_same = "records = :counted AND entries = :counted_entries";
        let condition = if counted == Amount::default() {
            format!("attribute_not_exists(records) OR ({is_same})")
        } else {
            is_same.to_owned()
        };
        let update = self
            .add(cell, missing)
            .condition_expression(condition)
            .expression_attribute_values(":counted", number(counted.records))
            .expression_attribute_values(":counted_entries", number(counted.entries))
            .build()
            .map_err(StoreError::during(ACTION))?;
        transaction::write_one(self.table.client(), transaction::update(update), ACTION).await
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
    let sequence = required(read_text(item, "sequence"), READING)?;
    let cells: usize = required(read_number(item, "counted_cells"), READING)?;
    Ok(ShardCheckpoint {
        sequence: sequence.parse().map_err(StoreError::during(READING))?,
        cells: (cells > 0).then_some(cells),
    })
}

/// The cells that an item of the submissions or entrants table counts in; none for no item.
///
/// # Errors
/// When the record is of a later version, or cannot be read.
pub fn of_item(item: Item) -> Result<Cells, StoreError> {
    if item.is_empty() {
        Ok(Cells::default())
    } else if item.contains_key(submissions::KEY) {
        submissions::read(item).map(|submission| of_submission(&submission))
    } else {
        entrants::read_counts(&item).map(|counts| of_entrant(&counts))
    }
}
