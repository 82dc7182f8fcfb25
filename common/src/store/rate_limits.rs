//! The `rate_limits` table: logs of sliding windows, and the counters of keys' rate limits.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure, Update,
};

use super::record_version::{self, FIRST};
use super::table::Table;
use super::transaction::{self, CancellationCause, TransactionResult, backoff};
use super::{Item, StoreError, number, read_number};
use crate::config::{ConfigError, Env};
use crate::domain::rate_limit_status::RateLimitStatus;
use crate::domain::sliding_window::{SlidingWindow, WindowDecision};
use crate::domain::timestamp::Timestamp;

/// The partition key: the limited subject.
pub const KEY: &str = "limited";
/// The TTL attribute: seconds since the epoch.
pub const EXPIRY: &str = "expires_at";
/// The environment variable that names the table.
pub const VARIABLE: &str = "RATE_LIMITS_TABLE";

/// Attempts to count one hit. An attempt fails only because others were counted in between, and fewer of them than this
/// fill any limit.
const MAX_ATTEMPTS: u32 = 40;

/// A counter is useless after its minute; this allows for differing clocks.
const LEASE_RETENTION: Duration = Duration::from_mins(5);

/// The rate limits.
#[derive(Clone, Debug)]
pub struct RateLimits {
    table: Table,
}

/// A limited subject and its limit.
#[derive(Clone, Debug)]
pub struct RateLimitRule {
    /// The limit's name for callers.
    pub name: &'static str,
    /// The subject, as in the table's key.
    pub key: String,
    /// The limit: so many hits within a span of time.
    pub window: SlidingWindow,
}

impl RateLimitRule {
    /// The limit's status after these hits; unknown if no hits were seen.
    fn status(&self, log: &[Timestamp], now: Timestamp) -> RateLimitStatus {
        RateLimitStatus {
            name: self.name,
            quota: self.window.limit,
            window: self.window.span,
            left: (!log.is_empty()).then(|| self.window.left(log, now)),
        }
    }
}

/// The result of a hit, and the status of the limits after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateLimitDecision {
    /// The hit counts towards all limits, which are given with their status.
    Admitted(Vec<RateLimitStatus>),
    /// A limit is reached.
    Refused {
        /// The time until there is room again.
        retry_after: Duration,
        /// The status of the limits.
        limits: Vec<RateLimitStatus>,
    },
}

impl RateLimits {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// Counts one hit in each of several sliding windows, if all have room. A window never exceeds its limit, however
    /// many hits come at once, and a hit that one window refuses counts in none.
    ///
    /// Below the limit we append without reading the log. At the limit the condition fails and returns the log; then we
    /// either refuse, or replace the log without its expired hits if nothing has changed it since.
    ///
    /// A single limit is counted by a plain update, which returns its status. With several, the status is known only
    /// for those whose log was returned.
    pub async fn hit(
        &self,
        limits: &[RateLimitRule],
        now: Timestamp,
    ) -> Result<RateLimitDecision, StoreError> {
        let mut seen: Vec<Vec<Timestamp>> = vec![Vec::new(); limits.len()];
        for tries in 1..=MAX_ATTEMPTS {
            let mut updates = Vec::with_capacity(limits.len());
            let mut logs = Vec::with_capacity(limits.len());
            let mut refused = None;
            for (limited, seen) in limits.iter().zip(&seen) {
                match limited.window.admit(seen, now) {
                    // If several are full, the longest wait applies.
                    WindowDecision::Refused { retry_after } => {
                        refused = refused.max(Some(retry_after))
                    }
                    WindowDecision::Admitted(log) => {
                        updates.push(self.count_hit(limited, seen, &log, now)?);
                        // The log may hold unseen hits before the appended one.
                        logs.push(if seen.is_empty() { Vec::new() } else { log });
                    }
                }
            }
            let statuses = |logs: &[Vec<Timestamp>]| {
                limits
                    .iter()
                    .zip(logs)
                    .map(|(limited, log)| limited.status(log, now))
                    .collect()
            };
            if let Some(retry_after) = refused {
                return Ok(RateLimitDecision::Refused {
                    retry_after,
                    limits: statuses(&seen),
                });
            }
            let reasons = match self.count(updates).await? {
                Counted::All { log } => {
                    return Ok(RateLimitDecision::Admitted(statuses(
                        &log.map_or(logs, |log| vec![log]),
                    )));
                }
                Counted::None(reasons) => reasons,
            };
            for (reason, seen) in reasons.iter().zip(&mut seen) {
                if let CancellationCause::ConditionFailed(item) = reason {
                    *seen = item.as_ref().map(read_log).unwrap_or_default();
                }
            }
            backoff(tries).await;
        }
        Err(StoreError::new(
            "counting a hit",
            "others kept hitting the same limits",
        ))
    }

    /// Counts one hit in each log, or in none.
    async fn count(&self, updates: Vec<Update>) -> Result<Counted, StoreError> {
        if let [update] = updates.as_slice() {
            return self.count_alone(update).await;
        }
        let items = updates.into_iter().map(transaction::update).collect();
        Ok(
            match transaction::write(self.table.client(), items).await? {
                TransactionResult::Committed => Counted::All { log: None },
                TransactionResult::Cancelled(reasons) => Counted::None(reasons),
            },
        )
    }

    /// Counts one hit in one log and returns the log. If the answer is lost, the hit counts twice: the limit is then
    /// stricter by one for its span, never looser.
    async fn count_alone(&self, update: &Update) -> Result<Counted, StoreError> {
        let client = self.table.client();
        let sent = client
            .update_item()
            .table_name(update.table_name())
            .set_key(Some(update.key().clone()))
            .update_expression(update.update_expression())
            .set_condition_expression(update.condition_expression().map(str::to_owned))
            .set_expression_attribute_values(update.expression_attribute_values().cloned())
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        let error = match sent {
            Ok(reply) => {
                return Ok(Counted::All {
                    log: reply.attributes.as_ref().map(read_log),
                });
            }
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => Ok(Counted::None(
                vec![CancellationCause::ConditionFailed(failed.item.clone())],
            )),
            Some(_) | None => Err(StoreError::new("counting a hit", error)),
        }
    }

    fn count_hit(
        &self,
        limited: &RateLimitRule,
        seen: &[Timestamp],
        log: &[Timestamp],
        now: Timestamp,
    ) -> Result<Update, StoreError> {
        let window = limited.window;
        let update = self
            .table
            .update(&limited.key)
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_values(
                ":expires_at",
                number(now.after(window.span).as_seconds() + 1),
            );
        let update = if seen.is_empty() {
            update
                .update_expression(format!(
                    "SET hits = list_append(if_not_exists(hits, :none), :hit), expires_at = :expires_at, {}",
                    record_version::SET
                ))
                .condition_expression("attribute_not_exists(hits) OR size(hits) < :limit")
                .expression_attribute_values(":none", log_attribute(&[]))
                .expression_attribute_values(":hit", log_attribute(&[now]))
                .expression_attribute_values(":limit", number(window.limit))
        } else {
            update
                .update_expression(format!(
                    "SET hits = :log, expires_at = :expires_at, {}",
                    record_version::SET
                ))
                .condition_expression("hits = :seen")
                .expression_attribute_values(":seen", log_attribute(seen))
                .expression_attribute_values(":log", log_attribute(log))
        };
        update.build().map_err(StoreError::during("counting a hit"))
    }

    /// Leases up to `wanted` requests of a key's minute; fewer only if fewer are left.
    pub async fn lease(
        &self,
        key_id: &str,
        minute: i64,
        per_minute: u32,
        wanted: u32,
    ) -> Result<Lease, StoreError> {
        const ACTION: &str = "leasing requests";
        let limited = format!("ceiling#{key_id}#{minute}");
        let expires = Timestamp::from_millis(minute.saturating_mul(60_000)).after(LEASE_RETENTION);
        let mut wanted = wanted.min(per_minute);
        loop {
            let sent = self
                .table
                .update_item(&limited)
                .expression_attribute_values(":expires_at", number(expires.as_seconds()))
                .return_values_on_condition_check_failure(
                    ReturnValuesOnConditionCheckFailure::AllOld,
                )
                .update_expression(format!(
                    "SET expires_at = :expires_at, {} ADD leased :wanted",
                    record_version::SET
                ))
                .expression_attribute_values(record_version::VALUE, FIRST.attribute())
                .condition_expression("attribute_not_exists(leased) OR leased <= :room")
                .expression_attribute_values(":wanted", number(wanted))
                .expression_attribute_values(":room", number(per_minute.saturating_sub(wanted)))
                .return_values(ReturnValue::UpdatedNew)
                .send()
                .await;
            let error = match sent {
                Ok(reply) => {
                    let leased: Option<u32> = reply
                        .attributes
                        .as_ref()
                        .and_then(|item| read_number(item, "leased"));
                    return Ok(Lease {
                        granted: wanted,
                        left: per_minute.saturating_sub(leased.unwrap_or(per_minute)),
                    });
                }
                Err(error) => error,
            };
            match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                    let leased = failed
                        .item
                        .as_ref()
                        .and_then(|item| read_number(item, "leased"));
                    let left = per_minute.saturating_sub(leased.unwrap_or(per_minute));
                    if left == 0 {
                        return Ok(Lease {
                            granted: 0,
                            left: 0,
                        });
                    }
                    wanted = wanted.min(left);
                }
                Some(_) | None => return Err(StoreError::new(ACTION, error)),
            }
        }
    }
}

/// The result of counting.
enum Counted {
    /// Every log has the hit.
    All {
        /// The log, if there is only one limit.
        log: Option<Vec<Timestamp>>,
    },
    /// No log has it, because a condition failed.
    None(Vec<CancellationCause>),
}

/// Leased requests of a key's minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The number of requests leased.
    pub granted: u32,
    /// The number of requests left for others.
    pub left: u32,
}

fn read_log(item: &Item) -> Vec<Timestamp> {
    let hits = item
        .get("hits")
        .and_then(|value| value.as_l().ok())
        .map(Vec::as_slice)
        .unwrap_or_default();
    hits.iter()
        .filter_map(|hit| hit.as_n().ok()?.parse().ok())
        .map(Timestamp::from_millis)
        .collect()
}

fn log_attribute(log: &[Timestamp]) -> AttributeValue {
    AttributeValue::L(log.iter().map(|hit| number(hit.as_millis())).collect())
}
