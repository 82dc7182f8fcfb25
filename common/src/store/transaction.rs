//! Writing a transaction and reading why it was refused.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, ConditionCheck, Put, TransactWriteItem, Update};

use tokio::time::{Instant, timeout_at};

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
    Committed,
    /// Nothing was written.
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
/// A call that is still throttled after this is given up: a request has ten seconds, and has to answer.
const THROTTLING_TIMEOUT: Duration = Duration::from_secs(6);

/// Retries of one call while its table is throttled.
pub(crate) struct ThrottlingRetries {
    /// When to stop waiting for the call in progress.
    deadline: Option<Instant>,
    /// When to stop making further calls.
    give_up_at: Instant,
    throttled: u32,
}

impl ThrottlingRetries {
    pub(crate) fn until(deadline: Option<Instant>) -> Self {
        let give_up_at = Instant::now() + THROTTLING_TIMEOUT;
        let give_up_at = deadline.map_or(give_up_at, |deadline| deadline.min(give_up_at));
        Self { deadline, give_up_at, throttled: 0 }
    }

    /// Waits for a call. A call that was throttled before is given up at the deadline, and has then failed for
    /// throttling; any other call is its caller's to give up.
    pub(crate) async fn run<T>(&self, call: impl Future<Output = T>) -> Result<T, Throttled> {
        match self.deadline {
            Some(deadline) if self.throttled > 0 => timeout_at(deadline, call).await.map_err(|_| Throttled),
            Some(_) | None => Ok(call.await),
        }
    }

    /// Waits before the next call.
    pub(crate) async fn backoff(&mut self) -> Result<(), Throttled> {
        self.throttled += 1;
        let next = Instant::now() + jittered(THROTTLING_BACKOFF, self.throttled, MAX_THROTTLING_BACKOFF);
        if next >= self.give_up_at {
            return Err(Throttled);
        }
        tokio::time::sleep_until(next).await;
        Ok(())
    }
}

/// Writes all items or none.
///
/// # Errors
/// Anything but a cancellation by conditions or conflicts; [`StoreError::is_throttled`] for one that stayed throttled.
pub async fn write(client: &Client, items: Vec<TransactWriteItem>) -> Result<TransactionResult, StoreError> {
    write_until(client, items, None).await
}

/// Writes all items or none. With a deadline, a throttled transaction is given up by then.
///
/// The SDK does not retry a transaction that was cancelled for conflicts or throttling, so it is retried here, with
/// backoff and jitter. One that still meets conflicts is returned as refused by [`Reason::Conflict`].
///
/// # Errors
/// Anything but a cancellation by conditions or conflicts; [`StoreError::is_throttled`] for one that stayed throttled.
pub(crate) async fn write_until(
    client: &Client,
    items: Vec<TransactWriteItem>,
    deadline: Option<Instant>,
) -> Result<TransactionResult, StoreError> {
    let mut throttling = ThrottlingRetries::until(deadline);
    let mut conflicts = 0;
    loop {
        let sending = Box::pin(client.transact_write_items().set_transact_items(Some(items.clone())).send());
        let reasons = match throttling.run(sending).await.map_err(StoreError::during(WRITING))? {
            Ok(_) => return Ok(TransactionResult::Committed),
            Err(error) => reasons(error)?,
        };
        if reasons.iter().any(|reason| matches!(reason, Reason::ConditionFailed(_))) {
            return Ok(TransactionResult::Refused(reasons));
        }
        if reasons.iter().any(|reason| matches!(reason, Reason::Throttled)) {
            throttling.backoff().await.map_err(StoreError::during(WRITING))?;
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
        TransactionResult::Committed => Ok(true),
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
    tokio::time::sleep(jittered(CONFLICT_BACKOFF, tries, MAX_CONFLICT_BACKOFF)).await;
}

/// Exponential backoff with full jitter.
fn jittered(backoff: Duration, attempts: u32, max: Duration) -> Duration {
    let longest = backoff.saturating_mul(2u32.saturating_pow(attempts)).min(max);
    longest.mul_f64(random::unit_f64())
}

fn reasons(error: SdkError<TransactWriteItemsError>) -> Result<Vec<Reason>, StoreError> {
    let cancelled = match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => cancelled,
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
            return Ok(vec![Reason::Conflict]);
        }
        Some(
            TransactWriteItemsError::ProvisionedThroughputExceededException(_)
            | TransactWriteItemsError::RequestLimitExceeded(_)
            | TransactWriteItemsError::ThrottlingException(_),
        ) => return Ok(vec![Reason::Throttled]),
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
