//! Circuit breakers for campaigns' partners and endpoints of webhooks. One opens after failures of
//! several subjects (submissions or events) in a row, and lets a probe through after a wait. A
//! subject that always fails counts once, and is no probe while another waits. An environment that
//! saw no failures does not read the breaker for a second. Its answer to a request sent after the
//! breaker opened clears no failures of others.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;

use super::table::Table;
use super::write::{Sent, Write};
use super::{Item, StoreResult, coordination, number, read_number, read_time};
use crate::cache::Cache;
use crate::config::{self, ConfigError, Env};
use crate::domain::{RetrySpeedup, Timestamp};

const MAX_FAILURES: usize = 5;
/// Doubled by each failed probe.
const FIRST_OPEN_TIME: Duration = Duration::from_secs(5);
const MAX_PARTNER_OPEN_TIME: Duration = Duration::from_mins(10);
const MAX_ENDPOINT_OPEN_TIME: Duration = Duration::from_hours(1);
const PROBE_LEASE: Duration = Duration::from_secs(30);
/// The probe's reservation for a submission that has not failed: its next step is up to ten seconds
/// after the wait, and its message may be late.
const UNTRIED_GRACE: Duration = Duration::from_secs(90);
/// Age up to which a closed breaker is not read.
const MAX_CLOSED_AGE: Duration = Duration::from_secs(1);
const READING: &str = "reading a breaker";
const CLOSING: &str = "closing a breaker";
const SLOW_UNTIL: &str = "slow_until";
/// Renewed by a row of slow answers.
const SLOW_TIME: Duration = Duration::from_mins(2);
const SLOW_ANSWERS: &str = "slow_answers";
const COUNTED_UNTIL: &str = "slow_counted_until";
/// A single one is a hiccup.
const MIN_SLOW_ANSWERS: u32 = 5;
const COUNTED_TIME: Duration = Duration::from_secs(10);
const OPEN_UNTIL: &str = "open_until";
const UNTRIED_UNTIL: &str = "untried_until";
const FAILED: &str = "failed";
const FAILED_PROBES: &str = "failed_probes";

const RETENTION: Duration = Duration::from_hours(24);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BreakerPermit {
    Granted(Grant),
    CircuitOpen { retry_at: Timestamp },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    subject: String,
    failed: Vec<String>,
    is_slow: bool,
    probe: Option<Probe>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    leased_until: Timestamp,
    failed_before: u32,
}

#[derive(Clone, Debug)]
pub struct Breakers {
    table: Table,
    max_open_time: Duration,
    speedup: RetrySpeedup,
    closed: Arc<Cache<String, ()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    Closed,
    Slow,
    OpenUntil(Timestamp),
}

impl Breakers {
    pub fn for_partners(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Self::new(env, client, MAX_PARTNER_OPEN_TIME)
    }

    pub fn for_endpoints(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Self::new(env, client, MAX_ENDPOINT_OPEN_TIME)
    }

    fn new(env: &Env, client: &Client, max_open_time: Duration) -> Result<Self, ConfigError> {
        Ok(Self {
            table: coordination::table(env, client)?,
            max_open_time,
            speedup: config::retry_speedup(env)?,
            closed: Arc::default(),
        })
    }

    pub async fn state(&self, breaker: &str, now: Timestamp) -> StoreResult<BreakerState> {
        let item = self.table.get(key(breaker), READING).await?;
        let item = item.unwrap_or_default();
        Ok(match open_until(&item) {
            Some(until) => BreakerState::OpenUntil(until),
            None if is_slow(&item, now) => BreakerState::Slow,
            None => BreakerState::Closed,
        })
    }

    /// After a request that succeeded beside it, such as a test.
    pub async fn close(&self, breaker: &str) -> StoreResult<()> {
        let closing = self.closing(breaker).when_present(OPEN_UNTIL);
        closing.send(CLOSING).await.map(drop)
    }

    /// An endpoint that answers slowly still does.
    fn closing(&self, breaker: &str) -> Write {
        let update = self.table.update(key(breaker));
        update.remove([FAILED, FAILED_PROBES, OPEN_UNTIL, UNTRIED_UNTIL])
    }

    /// After the wait, one of many callers is granted; `was_tried` if an earlier request of the
    /// subject went unanswered. A timeline of two: both read that the wait is over; the first moves
    /// its end; the second's condition fails.
    pub async fn acquire(
        &self,
        breaker: &str,
        subject: &str,
        was_tried: bool,
        now: Timestamp,
    ) -> StoreResult<BreakerPermit> {
        let granted = |failed, is_slow, probe| {
            BreakerPermit::Granted(Grant {
                subject: subject.to_owned(),
                failed,
                is_slow,
                probe,
            })
        };
        let cache_key = breaker.to_owned();
        if self.closed.peek(&cache_key, now, MAX_CLOSED_AGE).is_some() {
            return Ok(granted(Vec::new(), false, None));
        }
        let item = self.table.get(key(breaker), READING).await?;
        let item = item.unwrap_or_default();
        let failed = failed_subjects(&item);
        let is_slow = is_slow(&item, now);
        if failed.is_empty() && !is_slow {
            self.closed.set(&cache_key, now, Some(()));
        }
        let Some(open_until) = open_until(&item) else {
            return Ok(granted(failed, is_slow, None));
        };
        let kept_for_untried = read_time(&item, UNTRIED_UNTIL).filter(|until| now < *until);
        if now < open_until {
            if !was_tried && kept_for_untried.is_none_or(|until| until < open_until) {
                self.keep_probe_for_untried(breaker, open_until).await?;
            }
            return Ok(BreakerPermit::CircuitOpen {
                retry_at: open_until,
            });
        }
        if was_tried && let Some(until) = kept_for_untried {
            return Ok(BreakerPermit::CircuitOpen { retry_at: until });
        }
        let failed_before = read_number(&item, FAILED_PROBES).unwrap_or(0);
        let probe = Probe {
            leased_until: now.after(PROBE_LEASE),
            failed_before,
        };
        let is_first = self
            .table
            .update(key(breaker))
            .set(OPEN_UNTIL, probe.leased_until)
            .when_equal(OPEN_UNTIL, open_until)
            .send("letting a probe through")
            .await?;
        Ok(if is_first {
            granted(failed, is_slow, Some(probe))
        } else {
            BreakerPermit::CircuitOpen {
                retry_at: probe.leased_until,
            }
        })
    }

    async fn keep_probe_for_untried(
        &self,
        breaker: &str,
        open_until: Timestamp,
    ) -> StoreResult<()> {
        let until = open_until.after(self.speedup.apply(UNTRIED_GRACE));
        self.table
            .update(key(breaker))
            .set(UNTRIED_UNTIL, until)
            .when_present(OPEN_UNTIL)
            .send("leaving a probe to others")
            .await
            .map(drop)
    }

    /// Several in a row mark the breaker as slow.
    pub async fn record_slow(&self, breaker: &str, now: Timestamp) -> StoreResult<()> {
        const ACTION: &str = "counting a slow answer";
        self.closed.set(&breaker.to_owned(), now, None);
        let update = || {
            self.table
                .update(key(breaker))
                .expires(now.after(RETENTION))
        };
        let counted = update()
            .add(SLOW_ANSWERS, number(1))
            .when("#slow_counted_until > :now")
            .bind(":now", now);
        match counted.send_and_read(ACTION).await? {
            Sent::Written(item) if read_number(&item, SLOW_ANSWERS) >= Some(MIN_SLOW_ANSWERS) => {
                let until = now.after(self.speedup.apply(SLOW_TIME));
                let mark = update().set(SLOW_UNTIL, until);
                mark.send("marking slow answers").await.map(drop)
            }
            Sent::Written(_) => Ok(()),
            // Two at once may both begin the count: the mark then takes one answer more.
            Sent::Refused(_) => {
                let begun = update().set(SLOW_ANSWERS, 1);
                let begun = begun.set(COUNTED_UNTIL, now.after(COUNTED_TIME));
                begun.send(ACTION).await.map(drop)
            }
        }
    }

    /// True if it opened the breaker. Once open, only a failed probe extends it.
    pub async fn record_failure(
        &self,
        breaker: &str,
        grant: Grant,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.closed.set(&breaker.to_owned(), now, None);
        let failed_probes = grant
            .probe
            .map_or(0, |probe| probe.failed_before.saturating_add(1));
        let open_time = FIRST_OPEN_TIME
            .saturating_mul(2u32.saturating_pow(failed_probes))
            .min(self.max_open_time);
        let update = self
            .table
            .update(key(breaker))
            .set(OPEN_UNTIL, now.after(self.speedup.apply(open_time)))
            .expires(now.after(RETENTION));
        let update = match grant.probe {
            // A slow probe's lease may be another's by now.
            Some(probe) => update
                .set(FAILED_PROBES, failed_probes)
                .when_equal(OPEN_UNTIL, probe.leased_until),
            None => update
                .add(FAILED, AttributeValue::Ss(vec![grant.subject]))
                .when("attribute_not_exists(#failed) OR size(#failed) < :max")
                .bind(":max", MAX_FAILURES),
        };
        let failed = match update.send_and_read("counting a failure").await? {
            Sent::Written(item) => failed_subjects(&item),
            Sent::Refused(_) => Vec::new(),
        };
        Ok(grant.probe.is_none() && failed.len() == MAX_FAILURES)
    }

    pub async fn record_success(&self, breaker: &str, grant: Grant) -> StoreResult<()> {
        if grant.failed.is_empty() {
            return Ok(());
        }
        let closing = self.closing(breaker);
        let closing = match grant.probe {
            Some(probe) => closing.when_equal(OPEN_UNTIL, probe.leased_until),
            // One of many at once: it ends a row of failures, but opens nothing that they closed.
            None => closing
                .when("size(#failed) < :max")
                .bind(":max", MAX_FAILURES),
        };
        closing.send(CLOSING).await.map(drop)
    }
}

impl Grant {
    pub fn is_probe(&self) -> bool {
        self.probe.is_some()
    }

    pub fn is_slow(&self) -> bool {
        self.is_slow
    }

    pub fn follows_failures(&self) -> bool {
        !self.failed.is_empty()
    }
}

fn is_slow(item: &Item, now: Timestamp) -> bool {
    read_time(item, SLOW_UNTIL).is_some_and(|until| now < until)
}

fn open_until(item: &Item) -> Option<Timestamp> {
    read_time(item, OPEN_UNTIL).filter(|_| failed_subjects(item).len() >= MAX_FAILURES)
}

fn failed_subjects(item: &Item) -> Vec<String> {
    item.get(FAILED)
        .and_then(|failed| failed.as_ss().ok())
        .cloned()
        .unwrap_or_default()
}

fn key(breaker: &str) -> String {
    format!("breaker#{breaker}")
}
