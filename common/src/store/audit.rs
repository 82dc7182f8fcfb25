//! The audit log by UTC day and row number. Rows never change: PartiQL's INSERT never replaces an
//! item and has its own IAM permission. The end of the log is a separate item.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::execute_transaction::ExecuteTransactionError;
use aws_sdk_dynamodb::types::{AttributeValue, ParameterizedStatement};
use futures_util::TryStreamExt;
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};

use super::record_version::FIRST;
use super::table::{Table, all, items, pages};
use super::{
    During, Item, StoreError, StoreResult, from_record, number, read_number, read_text, read_time,
    required, text, transaction,
};
use crate::config::{ConfigError, Env};
use crate::domain::Timestamp;
use crate::domain::audit::{AuditEntry, AuditHead, AuditRow, StoredAuditRow};
use crate::lock::Mutex;
use crate::random;

pub const KEY: &str = "day";
pub const SORT: &str = "sequence";
pub const VARIABLE: &str = "AUDIT_TABLE";
/// Partition of the end of the log, at number 0.
pub const HEAD: &str = "head";

/// More rows than are ever written.
const MAX_SEQUENCE: u64 = 1 << 53;
const SKIPPED_AT: &str = "skipped_at";

/// Several seconds with the backoff.
const MAX_ATTEMPTS: u32 = 30;

const READING: &str = "reading the audit log";
const WRITING: &str = "writing to the audit log";

#[derive(Clone, Debug)]
pub struct AuditLog {
    table: Table,
    /// The end after this process's last row.
    head: Arc<Mutex<Option<AuditHead>>>,
}

impl AuditLog {
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
            head: Arc::default(),
        })
    }

    /// A timeline with an item put at the next number without `ops`: the row is refused though the
    /// end has not moved, so a random later number is tried; foreseeable ones could all be taken.
    pub async fn append(&self, entry: &AuditEntry, now: Timestamp) -> StoreResult<AuditRow> {
        let known = self.head.lock().take();
        let mut head = match known {
            Some(head) => Some(head),
            None => self.head().await?,
        };
        let mut passed_by = 0;
        for tries in 1..=MAX_ATTEMPTS {
            let next = head
                .as_ref()
                .map_or(0, |head| head.last_sequence)
                .saturating_add(1);
            let number = next.saturating_add(passed_by);
            let row = AuditRow::numbered(number, head.as_ref(), entry.clone(), now);
            let written = self.write(head.as_ref(), &row, passed_by > 0).await?;
            if written == Written::Added {
                *self.head.lock() = Some(row.head());
                return Ok(row);
            }
            transaction::backoff(tries).await;
            let before = std::mem::replace(&mut head, self.head().await?);
            let is_taken = written == Written::NumberTaken && head == before;
            passed_by = if is_taken {
                1 + u64::from_le_bytes(random::bytes()) % (1 << tries)
            } else {
                0
            };
        }
        Err(StoreError::new(WRITING, "others kept adding rows"))
    }

    pub async fn head(&self) -> StoreResult<Option<AuditHead>> {
        let Some(item) = self.head_item().await? else {
            return Ok(None);
        };
        let head = from_record(item, READING).and_then(|head: AuditHead| {
            let is_possible = head.last_sequence < MAX_SEQUENCE;
            required(is_possible.then_some(Some(head)), READING)
        });
        head.map_err(StoreError::of_record("audit", HEAD.to_owned()))
    }

    /// Last skip of a number taken without `ops`.
    pub async fn skipped_at(&self) -> StoreResult<Option<Timestamp>> {
        let head = self.head_item().await?.unwrap_or_default();
        Ok(read_time(&head, SKIPPED_AT))
    }

    async fn head_item(&self) -> StoreResult<Option<Item>> {
        self.table.get_item(head_key().into(), READING).await
    }

    pub async fn of_day(&self, day: &str) -> StoreResult<Vec<StoredAuditRow>> {
        let query = self.table.query("#day = :day", [(":day", text(day))]);
        let items = all(query.consistent_read(true), READING).await?;
        items.into_iter().map(stored).collect()
    }

    pub async fn scan_one(&self) -> StoreResult<()> {
        let mut items = pin!(items(pages(self.table.scan().limit(1), 1, READING)));
        items.try_next().await.map(drop)
    }

    /// Days in any order, their rows in order.
    pub async fn read_all(&self, mut each: impl FnMut(&StoredAuditRow)) -> StoreResult<()> {
        let scan = self.table.scan().consistent_read(true);
        let mut items = pin!(items(pages(scan, 1, READING)));
        while let Some(item) = items.try_next().await? {
            let row = stored(item)?;
            if (row.day.as_str(), row.sequence) != (HEAD, 0) {
                each(&row);
            }
        }
        Ok(())
    }

    /// `skips` if numbers before it were taken without `ops`.
    async fn write(
        &self,
        head: Option<&AuditHead>,
        row: &AuditRow,
        skips: bool,
    ) -> StoreResult<Written> {
        let mut item: Item = to_item(row).during(WRITING)?;
        item.insert(KEY.to_owned(), text(row.day()));
        let skipped_at = skips.then_some(row.at);
        let sent = self
            .table
            .client()
            .execute_transaction()
            .transact_statements(self.insert(FIRST.mark(item))?)
            .transact_statements(self.move_head(head, &row.head(), skipped_at)?)
            .send();
        match Box::pin(sent).await {
            Ok(_) => Ok(Written::Added),
            Err(error) => Written::refused(&error).ok_or_else(|| StoreError::new(WRITING, error)),
        }
    }

    fn move_head(
        &self,
        before: Option<&AuditHead>,
        after: &AuditHead,
        skipped_at: Option<Timestamp>,
    ) -> StoreResult<ParameterizedStatement> {
        let mut moved: Item = to_item(after).during(WRITING)?;
        moved.extend(skipped_at.map(|at| (SKIPPED_AT.to_owned(), number(at.as_millis()))));
        let Some(before) = before else {
            moved.extend(head_key());
            return self.insert(FIRST.mark(moved));
        };
        let (names, mut values): (Vec<_>, Vec<_>) = sorted(moved).unzip();
        let set: String = names
            .iter()
            .map(|name| format!("SET \"{name}\" = ? "))
            .collect();
        let statement = format!(
            "UPDATE \"{}\" {set}WHERE \"{KEY}\" = '{HEAD}' AND \"{SORT}\" = 0 AND \"last_hash\" = ?",
            self.table.name()
        );
        values.push(text(&before.last_hash));
        parameterized(statement, values)
    }

    fn insert(&self, item: Item) -> StoreResult<ParameterizedStatement> {
        let (names, values): (Vec<_>, Vec<_>) = sorted(item).unzip();
        let names: Vec<_> = names.iter().map(|name| format!("'{name}': ?")).collect();
        let statement = format!(
            "INSERT INTO \"{}\" VALUE {{{}}}",
            self.table.name(),
            names.join(", ")
        );
        parameterized(statement, values)
    }
}

fn head_key() -> [(String, AttributeValue); 2] {
    [(KEY.to_owned(), text(HEAD)), (SORT.to_owned(), number(0))]
}

/// A row always gives the same statement.
fn sorted(item: Item) -> impl Iterator<Item = (String, AttributeValue)> {
    item.into_iter().collect::<BTreeMap<_, _>>().into_iter()
}

fn parameterized(
    statement: String,
    values: Vec<AttributeValue>,
) -> StoreResult<ParameterizedStatement> {
    let statement = ParameterizedStatement::builder()
        .statement(statement)
        .set_parameters(Some(values));
    statement.build().during(WRITING)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Added,
    NumberTaken,
    Retryable,
}

impl Written {
    fn refused(error: &SdkError<ExecuteTransactionError>) -> Option<Self> {
        const RETRYABLE: [&str; 4] = [
            "ConditionalCheckFailed",
            "TransactionConflict",
            "ThrottlingError",
            "ProvisionedThroughputExceeded",
        ];
        match error.as_service_error()? {
            ExecuteTransactionError::TransactionCanceledException(cancelled) => {
                let codes: Vec<_> = cancelled
                    .cancellation_reasons()
                    .iter()
                    .filter_map(|reason| reason.code())
                    .collect();
                if codes.contains(&"DuplicateItem") {
                    return Some(Self::NumberTaken);
                }
                codes
                    .iter()
                    .any(|code| RETRYABLE.contains(code))
                    .then_some(Self::Retryable)
            }
            ExecuteTransactionError::TransactionInProgressException(_) => Some(Self::Retryable),
            _ => None,
        }
    }
}

fn stored(item: Item) -> StoreResult<StoredAuditRow> {
    let day = required(read_text(&item, KEY), READING)?.to_owned();
    let sequence = read_number(&item, SORT).unwrap_or(0);
    let is_known = FIRST.check(&item, READING).is_ok();
    Ok(StoredAuditRow {
        day,
        sequence,
        row: from_item(item).ok().filter(|_| is_known),
    })
}
