//! Writing a transaction and reading why it was refused.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, ConditionCheck, Put, TransactWriteItem, Update};

use tokio::time::Instant;

use super::{Item, StoreError, Throttled};
use crate::random;

/// What is being done when a transaction fails.
const WRITING: &str = "writing a transaction";

/// Why one item of a transaction stopped it, in the order of the items.
#[derive(Debug)]
pub enum Reason {
    /// This one did not.
    None,
    /// Its condition failed; the item as it was, unless it was not there.
    ConditionFailed(Option<Item>),
    /// Another transaction touched it at the same moment.
    Conflict,
    /// Its table, or the part of the table where it is, takes no more at the moment.
    Throttled,
}

/// How a transaction ended.
#[derive(Debug)]
pub enum TransactionResult {
    /// Everything was written.
    WriteResult,
    /// Nothing was.
    Refused(Vec<Reason>),
}

/// Attempts at one transaction before giving up on conflicts: with the backoff below, several seconds.
const MAX_CONFLICT_ATTEMPTS: u32 = 14;
/// The first wait after a conflict is at most this; each further one at most twice the last.
const CONFLICT_BACKOFF: Duration = Duration::from_millis(10);
/// No single wait after a conflict is longer.
const MAX_CONFLICT_BACKOFF: Duration = Duration::from_millis(800);
/// As [`CONFLICT_BACKOFF`], after throttling: a table needs longer than a rival to be free again.
const THROTTLING_BACKOFF: Duration = Duration::from_millis(50);
/// No single wait after throttling is longer.
const MAX_THROTTLING_BACKOFF: Duration = Duration::from_secs(2);
/// A transaction that is still throttled after this is given up: a request has ten seconds, and has to answer.
const THROTTLING_TIMEOUT: Duration = Duration::from_secs(6);

/// Writes all items or none.
///
/// The SDK does not retry a transaction that was cancelled for conflicts or throttling, so it is retried here, with
/// backoff and jitter. One that still meets conflicts is returned as refused by [`Reason::Conflict`].
///
/// # Errors
/// Anything but a cancellation by conditions or conflicts; [`StoreError::is_throttled`] for one that stayed throttled.
pub async fn write(client: &Client, items: Vec<TransactWriteItem>) -> Result<TransactionResult, StoreError> {
    let started = Instant::now();
    let (mut conflicts, mut throttled) = (0, 0);
    loop {
        let sent = client.transact_write_items().set_transact_items(Some(items.clone())).send().await;
        let reasons = match sent {
            Ok(_) => return Ok(TransactionResult::WriteResult),
            Err(error) => reasons(error)?,
        };
        if reasons.iter().any(|reason| matches!(reason, Reason::ConditionFailed(_))) {
            return Ok(TransactionResult::Refused(reasons));
        }
        if reasons.iter().any(|reason| matches!(reason, Reason::Throttled)) {
            if started.elapsed() >= THROTTLING_TIMEOUT {
                return Err(StoreError::new(WRITING, Throttled));
            }
            throttled += 1;
            sleep_up_to(THROTTLING_BACKOFF, throttled, MAX_THROTTLING_BACKOFF).await;
        } else {
            conflicts += 1;
            if conflicts >= MAX_CONFLICT_ATTEMPTS {
                return Ok(TransactionResult::Refused(reasons));
            }
            backoff(conflicts).await;
        }
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
        TransactionResult::WriteResult => Ok(true),
        TransactionResult::Refused(reasons) => match reasons.first() {
            Some(Reason::ConditionFailed(_)) => Ok(false),
            Some(Reason::Conflict | Reason::Throttled | Reason::None) | None => {
                Err(StoreError::new(action, "others kept changing the same record"))
            }
        },
    }
}

/// Waits a random while that grows with the number of tries made, so that rivals spread out.
pub async fn backoff(tries: u32) {
    sleep_up_to(CONFLICT_BACKOFF, tries, MAX_CONFLICT_BACKOFF).await;
}

/// Exponential backoff with full jitter.
async fn sleep_up_to(backoff: Duration, attempts: u32, max: Duration) {
    let longest = backoff.saturating_mul(2u32.saturating_pow(attempts)).min(max);
    tokio::time::sleep(longest.mul_f64(random::unit_f64())).await;
}

fn reasons(error: SdkError<TransactWriteItemsError>) -> Result<Vec<Reason>, StoreError> {
    let cancelled = match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => cancelled,
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
            return Ok(vec![Reason::Conflict]);
        }
        Some(_) | None => return Err(StoreError::new(WRITING, error)),
    };
    let known: Option<Vec<_>> = cancelled.cancellation_reasons().iter().map(reason).collect();
    match known {
        Some(reasons) if !reasons.is_empty() => Ok(reasons),
        Some(_) | None => Err(StoreError::new(WRITING, error)),
    }
}

fn reason(reason: &CancellationReason) -> Option<Reason> {
    match reason.code() {
        None | Some("None") => Some(Reason::None),
        Some("ConditionalCheckFailed") => Some(Reason::ConditionFailed(reason.item().cloned())),
        Some("TransactionConflict") => Some(Reason::Conflict),
        Some("ThrottlingError" | "ProvisionedThroughputExceeded") => Some(Reason::Throttled),
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
