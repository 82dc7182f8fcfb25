use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::transaction::{self, CancellationCause, TransactionResult, backoff};
use super::write::{Sent, Write};
use super::{Item, StoreError, StoreResult, number, read_number, read_times};
use crate::domain::sliding_window::WindowDecision;
use crate::domain::{RateLimitStatus, SlidingWindow, Timestamp};

const HITS: &str = "hits";
const LEASED: &str = "leased";

/// An attempt fails only because others were counted; fewer than this fill any limit.
const MAX_ATTEMPTS: u32 = 40;

/// Allows for differing clocks.
const LEASE_RETENTION: Duration = Duration::from_mins(5);

store! {
    RateLimits, coordination
}

#[derive(Clone, Debug)]
pub struct RateLimitRule {
    pub name: &'static str,
    pub key: String,
    pub window: SlidingWindow,
}

impl RateLimitRule {
    fn status(&self, log: &[Timestamp], now: Timestamp) -> RateLimitStatus {
        RateLimitStatus {
            name: self.name,
            quota: self.window.limit,
            window: self.window.span,
            left: (!log.is_empty()).then(|| self.window.left(log, now)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateLimitDecision {
    Admitted(Vec<RateLimitStatus>),
    Refused {
        retry_after: Duration,
        limits: Vec<RateLimitStatus>,
    },
}

impl RateLimits {
    /// Counts one hit in several sliding windows, if all have room; a refused hit counts in none.
    /// Below the limit, the hit is appended without reading the log. At the limit, the condition
    /// fails and returns the log: the hit is refused, or replaces expired hits of the unchanged
    /// log. Of several limits, only those whose log was returned have a status.
    pub async fn hit(
        &self,
        limits: &[RateLimitRule],
        now: Timestamp,
    ) -> StoreResult<RateLimitDecision> {
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
                        updates.push(self.count_hit(limited, seen, &log, now));
                        // Unseen hits may precede the appended one.
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
                Ok(log) => {
                    let logs = log.map_or(logs, |log| vec![log]);
                    return Ok(RateLimitDecision::Admitted(statuses(&logs)));
                }
                Err(reasons) => reasons,
            };
            for (reason, seen) in reasons.iter().zip(&mut seen) {
                if let CancellationCause::ConditionFailed(item) = reason {
                    *seen = log_in(item.as_ref());
                }
            }
            backoff(tries).await;
        }
        Err(StoreError::new(
            "counting a hit",
            "others kept hitting the same limits",
        ))
    }

    /// A single log is returned. If the answer is lost, its hit counts twice: stricter by one for
    /// its span.
    async fn count(
        &self,
        mut updates: Vec<Write>,
    ) -> StoreResult<TransactionResult<Option<Vec<Timestamp>>>> {
        if updates.len() == 1
            && let Some(update) = updates.pop()
        {
            return Ok(match update.send_and_read("counting a hit").await? {
                Sent::Written(item) => Ok(Some(read_times(&item, HITS))),
                Sent::Refused(item) => Err(vec![CancellationCause::ConditionFailed(item)]),
            });
        }
        Ok(transaction::write(updates).await?.map(|()| None))
    }

    fn count_hit(
        &self,
        limited: &RateLimitRule,
        seen: &[Timestamp],
        log: &[Timestamp],
        now: Timestamp,
    ) -> Write {
        let window = limited.window;
        let expiry = now.after(window.span + Duration::from_secs(1));
        let update = self.table.update(&limited.key).expires(expiry);
        if seen.is_empty() {
            let hit = AttributeValue::L(vec![number(now.as_millis())]);
            update
                .append(HITS, hit)
                .when("attribute_not_exists(#hits) OR size(#hits) < :limit")
                .bind(":limit", window.limit)
        } else {
            update.set(HITS, log).when_equal(HITS, seen)
        }
    }

    pub async fn lease(
        &self,
        key_id: &str,
        minute: i64,
        per_minute: u32,
        wanted: u32,
    ) -> StoreResult<Lease> {
        let limited = format!("ceiling#{key_id}#{minute}");
        let expiry = Timestamp::from_millis(minute.saturating_mul(60_000)).after(LEASE_RETENTION);
        let mut wanted = wanted.min(per_minute);
        loop {
            let sent = self
                .table
                .update(&limited)
                .expires(expiry)
                .add(LEASED, number(wanted))
                .when("attribute_not_exists(#leased) OR #leased <= :room")
                .bind(":room", per_minute.saturating_sub(wanted))
                .send_and_read("leasing requests")
                .await?;
            let is_written = matches!(sent, Sent::Written(_));
            let leased = read_number(&sent.item(), LEASED).unwrap_or(per_minute);
            let left = per_minute.saturating_sub(leased);
            if is_written || left == 0 {
                let granted = if is_written { wanted } else { 0 };
                return Ok(Lease { granted, left });
            }
            wanted = wanted.min(left);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub granted: u32,
    pub left: u32,
}

fn log_in(item: Option<&Item>) -> Vec<Timestamp> {
    item.map_or_else(Vec::new, |item| read_times(item, HITS))
}
