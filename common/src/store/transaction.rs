//! Writing a transaction and reading why it was refused.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, ConditionCheck, Put, TransactWriteItem, Update};

use super::{Item, StoreError};
use crate::entropy;

/// Why one item of a transaction stopped it, in the order of the items.
#[derive(Debug)]
pub enum Reason {
    /// This one did not.
    Harmless,
    /// Its condition failed; the item as it was, unless it was not there.
    ConditionFailed(Option<Item>),
    /// Another transaction touched it at the same moment.
    Conflict,
}

/// How a transaction ended.
#[derive(Debug)]
pub enum Outcome {
    /// Everything was written.
    Written,
    /// Nothing was.
    Refused(Vec<Reason>),
}

/// Tries of one transaction before giving up on conflicts: with the waits below, several seconds.
const CONFLICT_TRIES: u32 = 14;
/// The first wait is at most this; each further one at most twice the last.
const FIRST_WAIT: Duration = Duration::from_millis(10);
/// No single wait is longer.
const LONGEST_WAIT: Duration = Duration::from_millis(800);

/// Writes all items or none.
///
/// A transaction that met nothing but conflicts is tried again here, after a random wait, because
/// the SDK does not; one that still meets them is returned as refused by [`Reason::Conflict`].
///
/// # Errors
/// Anything but a cancellation by conditions or conflicts.
pub async fn write(client: &Client, items: Vec<TransactWriteItem>) -> Result<Outcome, StoreError> {
    let mut tries = 1;
    loop {
        let sent = client.transact_write_items().set_transact_items(Some(items.clone())).send().await;
        let reasons = match sent {
            Ok(_) => return Ok(Outcome::Written),
            Err(error) => reasons(error)?,
        };
        let only_conflicts = reasons.iter().all(|reason| !matches!(reason, Reason::ConditionFailed(_)));
        if !only_conflicts || tries >= CONFLICT_TRIES {
            return Ok(Outcome::Refused(reasons));
        }
        wait_after(tries).await;
        tries += 1;
    }
}

/// Writes one item that transactions touch as well; false when its condition failed. By itself it would
/// be refused, and not tried again, whenever one of them is under way.
pub(crate) async fn write_one(
    client: &Client,
    item: TransactWriteItem,
    action: &'static str,
) -> Result<bool, StoreError> {
    match write(client, vec![item]).await? {
        Outcome::Written => Ok(true),
        Outcome::Refused(reasons) => match reasons.first() {
            Some(Reason::ConditionFailed(_)) => Ok(false),
            Some(Reason::Conflict | Reason::Harmless) | None => {
                Err(StoreError::new(action, "others kept changing the same record"))
            }
        },
    }
}

/// Waits a random while that grows with the number of tries made, so that rivals spread out.
pub async fn wait_after(tries: u32) {
    let longest = FIRST_WAIT.saturating_mul(2u32.saturating_pow(tries)).min(LONGEST_WAIT);
    tokio::time::sleep(longest.mul_f64(entropy::fraction())).await;
}

fn reasons(error: SdkError<TransactWriteItemsError>) -> Result<Vec<Reason>, StoreError> {
    let cancelled = match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => cancelled,
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
            return Ok(vec![Reason::Conflict]);
        }
        Some(_) | None => return Err(StoreError::new("writing a transaction", error)),
    };
    let known: Option<Vec<_>> = cancelled.cancellation_reasons().iter().map(reason).collect();
    match known {
        Some(reasons) if !reasons.is_empty() => Ok(reasons),
        Some(_) | None => Err(StoreError::new("writing a transaction", error)),
    }
}

fn reason(reason: &CancellationReason) -> Option<Reason> {
    match reason.code() {
        None | Some("None") => Some(Reason::Harmless),
        Some("ConditionalCheckFailed") => Some(Reason::ConditionFailed(reason.item().cloned())),
        Some("TransactionConflict") => Some(Reason::Conflict),
        Some(_) => None,
    }
}

/// A put as an item of a transaction.
pub(crate) fn put(put: Put) -> TransactWriteItem {
    TransactWriteItem::builder().put(put).build()
}

/// A condition as an item of a transaction.
pub(crate) fn check(check: ConditionCheck) -> TransactWriteItem {
    TransactWriteItem::builder().condition_check(check).build()
}

/// An update as an item of a transaction.
pub(crate) fn update(update: Update) -> TransactWriteItem {
    TransactWriteItem::builder().update(update).build()
}
