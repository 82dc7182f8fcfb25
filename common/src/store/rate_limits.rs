//! The `rate_limits` table: logs of sliding windows, and the counters from which a key's ceiling is
//! leased.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure, Update};

use super::transaction::{self, Outcome, Reason, wait_after};
use super::{Item, StoreError, number, read_number, text};
use crate::config::{ConfigError, Env};
use crate::domain::moment::Moment;
use crate::domain::sliding_window::{Admission, SlidingWindow};

/// The partition key: what is limited.
pub const KEY: &str = "limited";
/// The attribute of the table's expiry: seconds since the epoch.
pub const EXPIRY: &str = "expires_at";
/// The environment variable that names the table.
pub const VARIABLE: &str = "RATE_LIMITS_TABLE";

/// Tries to count one hit. Each further one is made because others were counted in between, and a limit
/// is full after fewer of them than these.
const MOST_TRIES: u32 = 40;

/// A leased counter is of no use after its minute; this leaves room for clocks that differ.
const LEASE_MEMORY: Duration = Duration::from_secs(5 * 60);

/// The table.
#[derive(Clone, Debug)]
pub struct RateLimits {
    client: Client,
    table: String,
}

/// How asking for one more hit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// It counts.
    Admitted,
    /// The limit is reached.
    Refused {
        /// Until there is room again.
        retry_after: Duration,
    },
}

impl RateLimits {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self { client: client.clone(), table: env.required(VARIABLE)? })
    }

    /// Counts one hit on every one of some sliding windows, if all have room: never more than a limit
    /// over any span, however many hit at once, and a hit that one refuses counts in none.
    ///
    /// While a log is short it is appended to unseen. Once it is as long as its limit, the failed
    /// condition brings it back, and either too many of its hits still count, or it is written anew
    /// without those that do not, if nobody changed it meanwhile.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn hit(&self, windows: &[(String, SlidingWindow)], now: Moment) -> Result<Hit, StoreError> {
        let mut seen: Vec<Vec<Moment>> = vec![Vec::new(); windows.len()];
        for tries in 1..=MOST_TRIES {
            let mut items = Vec::with_capacity(windows.len());
            let mut refused = None;
            for ((limited, window), seen) in windows.iter().zip(&seen) {
                match window.admit(seen, now) {
                    // Of several that are full, the one that takes longest decides when there is room.
                    Admission::Refused { retry_after } => refused = refused.max(Some(retry_after)),
                    Admission::Admitted(log) => {
                        items.push(transaction::update(self.count_hit(limited, *window, seen, &log, now)?));
                    }
                }
            }
            if let Some(retry_after) = refused {
                return Ok(Hit::Refused { retry_after });
            }
            let reasons = match transaction::write(&self.client, items).await? {
                Outcome::Written => return Ok(Hit::Admitted),
                Outcome::Refused(reasons) => reasons,
            };
            for (reason, seen) in reasons.iter().zip(&mut seen) {
                if let Reason::ConditionFailed(item) = reason {
                    *seen = item.as_ref().map(read_log).unwrap_or_default();
                }
            }
            wait_after(tries).await;
        }
        Err(StoreError::new("counting a hit", "others kept hitting the same limits"))
    }

    fn count_hit(
        &self,
        limited: &str,
        window: SlidingWindow,
        seen: &[Moment],
        log: &[Moment],
        now: Moment,
    ) -> Result<Update, StoreError> {
        let update = Update::builder()
            .table_name(&self.table)
            .key(KEY, text(limited))
            .expression_attribute_values(":expires_at", number(now.after(window.span).as_seconds() + 1))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let update = if seen.is_empty() {
            update
                .update_expression(
                    "SET hits = list_append(if_not_exists(hits, :none), :hit), expires_at = :expires_at",
                )
                .condition_expression("attribute_not_exists(hits) OR size(hits) < :limit")
                .expression_attribute_values(":none", log_attribute(&[]))
                .expression_attribute_values(":hit", log_attribute(&[now]))
                .expression_attribute_values(":limit", number(window.limit))
        } else {
            update
                .update_expression("SET hits = :log, expires_at = :expires_at")
                .condition_expression("hits = :seen")
                .expression_attribute_values(":seen", log_attribute(seen))
                .expression_attribute_values(":log", log_attribute(log))
        };
        update.build().map_err(StoreError::during("counting a hit"))
    }

    /// Leases up to `wanted` requests of a key's minute: how many were got, and how many of the
    /// ceiling are left after that. Fewer are got only when fewer were left.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn lease(
        &self,
        key_id: &str,
        minute: i64,
        ceiling: u32,
        wanted: u32,
    ) -> Result<Lease, StoreError> {
        const ACTION: &str = "leasing requests";
        let limited = format!("ceiling#{key_id}#{minute}");
        let expires = Moment::from_millis(minute.saturating_mul(60_000)).after(LEASE_MEMORY);
        let mut wanted = wanted.min(ceiling);
        loop {
            let sent = self
                .client
                .update_item()
                .table_name(&self.table)
                .key(KEY, text(&limited))
                .expression_attribute_values(":expires_at", number(expires.as_seconds()))
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                .update_expression("SET expires_at = :expires_at ADD leased :wanted")
                .condition_expression("attribute_not_exists(leased) OR leased <= :room")
                .expression_attribute_values(":wanted", number(wanted))
                .expression_attribute_values(":room", number(ceiling.saturating_sub(wanted)))
                .return_values(ReturnValue::UpdatedNew)
                .send()
                .await;
            let error = match sent {
                Ok(reply) => {
                    let leased: Option<u32> =
                        reply.attributes.as_ref().and_then(|item| read_number(item, "leased"));
                    return Ok(Lease {
                        got: wanted,
                        left: ceiling.saturating_sub(leased.unwrap_or(ceiling)),
                    });
                }
                Err(error) => error,
            };
            match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                    let leased = failed.item.as_ref().and_then(|item| read_number(item, "leased"));
                    let left = ceiling.saturating_sub(leased.unwrap_or(ceiling));
                    if left == 0 {
                        return Ok(Lease { got: 0, left: 0 });
                    }
                    wanted = wanted.min(left);
                }
                Some(_) | None => return Err(StoreError::new(ACTION, error)),
            }
        }
    }
}

/// Requests got from a key's minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// How many may be let through.
    pub got: u32,
    /// How many are left for others.
    pub left: u32,
}

fn read_log(item: &Item) -> Vec<Moment> {
    let hits = item.get("hits").and_then(|value| value.as_l().ok()).map(Vec::as_slice).unwrap_or_default();
    hits.iter().filter_map(|hit| hit.as_n().ok()?.parse().ok()).map(Moment::from_millis).collect()
}

fn log_attribute(log: &[Moment]) -> AttributeValue {
    AttributeValue::L(log.iter().map(|hit| number(hit.as_millis())).collect())
}
