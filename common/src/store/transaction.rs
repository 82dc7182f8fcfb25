use std::time::Duration;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::CancellationReason;

use tokio::time::{Instant, timeout_at};

use super::write::Write;
use super::{During, Item, StoreError, StoreResult, Throttled};
use crate::random;

const WRITING: &str = "writing a transaction";

#[derive(Debug)]
pub enum CancellationCause {
    /// Another item is the reason.
    None,
    ConditionFailed(Option<Item>),
    Conflict,
    Throttled,
}

/// An error means that nothing was written.
pub type TransactionResult<T = ()> = Result<T, Vec<CancellationCause>>;

impl CancellationCause {
    pub(crate) fn is_failed_condition(&self) -> bool {
        matches!(self, Self::ConditionFailed(_))
    }
}

/// Several seconds with the backoff.
pub(crate) const MAX_CONFLICT_ATTEMPTS: u32 = 14;
/// Random waits are at most this times 2^attempts.
const CONFLICT_BACKOFF: Duration = Duration::from_millis(10);
const MAX_CONFLICT_BACKOFF: Duration = Duration::from_millis(800);
/// A throttled table recovers more slowly than a conflict.
const THROTTLING_BACKOFF: Duration = Duration::from_millis(50);
const MAX_THROTTLING_BACKOFF: Duration = Duration::from_secs(2);
/// A request has to answer within ten seconds.
const THROTTLING_TIMEOUT: Duration = Duration::from_secs(6);

pub(crate) struct ThrottlingRetries {
    deadline: Option<Instant>,
    give_up_at: Instant,
    throttled: u32,
}

impl ThrottlingRetries {
    pub(crate) fn until(deadline: Option<Instant>) -> Self {
        let give_up_at = Instant::now() + THROTTLING_TIMEOUT;
        let give_up_at = deadline.map_or(give_up_at, |deadline| deadline.min(give_up_at));
        Self {
            deadline,
            give_up_at,
            throttled: 0,
        }
    }

    /// A throttled call ends at the deadline; otherwise its caller decides when to stop.
    pub(crate) async fn run<T>(&self, call: impl Future<Output = T>) -> Result<T, Throttled> {
        match self.deadline {
            Some(deadline) if self.throttled > 0 => {
                timeout_at(deadline, call).await.map_err(|_| Throttled)
            }
            Some(_) | None => Ok(call.await),
        }
    }

    pub(crate) async fn backoff(&mut self) -> Result<(), Throttled> {
        self.throttled += 1;
        let next =
            Instant::now() + jittered(THROTTLING_BACKOFF, self.throttled, MAX_THROTTLING_BACKOFF);
        if next >= self.give_up_at {
            return Err(Throttled);
        }
        tokio::time::sleep_until(next).await;
        Ok(())
    }
}

pub async fn write(items: Vec<Write>) -> StoreResult<TransactionResult> {
    write_until(|| items.clone(), None, MAX_CONFLICT_ATTEMPTS).await
}

pub(crate) async fn write_all(items: Vec<Write>, action: &'static str) -> StoreResult<bool> {
    condition_held(write(items).await?, action)
}

fn condition_held(written: TransactionResult, action: &'static str) -> StoreResult<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(reasons) if reasons.iter().any(CancellationCause::is_failed_condition) => Ok(false),
        Err(_) => Err(StoreError::new(
            action,
            "others kept changing the same records",
        )),
    }
}

/// The SDK does not retry a transaction cancelled for conflicts or throttling. A throttled one
/// gives up by the deadline: [`StoreError::is_throttled`]; one with conflicts after `max_attempts`.
/// Each attempt calls `items`.
pub(crate) async fn write_until(
    items: impl Fn() -> Vec<Write>,
    deadline: Option<Instant>,
    max_attempts: u32,
) -> StoreResult<TransactionResult> {
    let mut throttling = ThrottlingRetries::until(deadline);
    let mut conflicts = 0;
    loop {
        let items = items();
        let Some(client) = items.first().map(|first| first.client().clone()) else {
            return Ok(Ok(()));
        };
        let items: Result<Vec<_>, _> = items
            .into_iter()
            .map(|item| item.into_item(WRITING))
            .collect();
        let sending = client.transact_write_items();
        let sending = Box::pin(sending.set_transact_items(Some(items?)).send());
        let reasons = match throttling.run(sending).await.during(WRITING)? {
            Ok(_) => return Ok(Ok(())),
            Err(error) => reasons(error)?,
        };
        let is_any = |wanted: fn(&CancellationCause) -> bool| reasons.iter().any(wanted);
        if is_any(CancellationCause::is_failed_condition) {
            return Ok(Err(reasons));
        }
        if is_any(|reason| matches!(reason, CancellationCause::Throttled)) {
            throttling.backoff().await.during(WRITING)?;
        } else {
            conflicts += 1;
            if conflicts >= max_attempts {
                return Ok(Err(reasons));
            }
            backoff(conflicts).await;
        }
    }
}

/// A plain write would fail during a transaction on the item. False if its condition failed.
pub(crate) async fn write_one(item: Write, action: &'static str) -> StoreResult<bool> {
    write_all(vec![item], action).await
}

/// The random wait grows with the attempts, so that writers spread out.
pub async fn backoff(tries: u32) {
    tokio::time::sleep(jittered(CONFLICT_BACKOFF, tries, MAX_CONFLICT_BACKOFF)).await;
}

fn jittered(backoff: Duration, attempts: u32, max: Duration) -> Duration {
    let longest = backoff
        .saturating_mul(2u32.saturating_pow(attempts))
        .min(max);
    longest.mul_f64(random::unit_f64())
}

fn reasons(error: SdkError<TransactWriteItemsError>) -> StoreResult<Vec<CancellationCause>> {
    let cancelled = match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => cancelled,
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
            return Ok(vec![CancellationCause::Conflict]);
        }
        Some(
            TransactWriteItemsError::ProvisionedThroughputExceededException(_)
            | TransactWriteItemsError::RequestLimitExceeded(_)
            | TransactWriteItemsError::ThrottlingException(_),
        ) => return Ok(vec![CancellationCause::Throttled]),
        Some(_) | None => return Err(StoreError::new(WRITING, error)),
    };
    let known: Option<Vec<_>> = cancelled
        .cancellation_reasons()
        .iter()
        .map(reason)
        .collect();
    match known {
        Some(reasons) if !reasons.is_empty() => Ok(reasons),
        Some(_) | None => Err(StoreError::new(WRITING, error)),
    }
}

fn reason(reason: &CancellationReason) -> Option<CancellationCause> {
    match reason.code() {
        None | Some("None") => Some(CancellationCause::None),
        Some("ConditionalCheckFailed") => {
            Some(CancellationCause::ConditionFailed(reason.item().cloned()))
        }
        Some("TransactionConflict") => Some(CancellationCause::Conflict),
        Some("ThrottlingError" | "ProvisionedThroughputExceeded") => {
            Some(CancellationCause::Throttled)
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_that_persist_are_an_error_and_no_failed_condition() {
        let held = |reasons| condition_held(Err(reasons), "writing");
        assert!(
            !held(vec![
                CancellationCause::None,
                CancellationCause::ConditionFailed(None)
            ])
            .expect("an answer")
        );
        assert!(held(vec![CancellationCause::Conflict, CancellationCause::None]).is_err());
        assert!(condition_held(Ok(()), "writing").expect("an answer"));
    }

    #[test]
    fn waits_are_random_below_a_bound_that_doubles() {
        let [one, most] = [Duration::from_millis(10), Duration::from_millis(800)];
        for (attempts, bound) in [(0, one), (1, one * 2), (6, one * 64), (7, most), (40, most)] {
            let longest = (0..200)
                .map(|_| jittered(one, attempts, most))
                .max()
                .unwrap_or_default();
            assert!(
                longest > bound / 2 && longest <= bound,
                "{longest:?} after {attempts}"
            );
        }
    }
}
