//! Circuit breakers in the `coordination` table, one for each campaign's partner.
//!
//! A breaker opens after failures of several different submissions in a row, and lets a probe
//! through after a wait. A submission that always fails counts once, and is not the probe while
//! another waits.
//!
//! An environment that saw a breaker without failures does not read it for a second. It may ask
//! that long after the breaker opens; its answer then does not clear failures of others.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;

use super::table::Table;
use super::write::Sent;
use super::{Item, StoreResult, coordination, read_number, read_time};
use crate::cache::Cache;
use crate::config::{self, ConfigError, Env};
use crate::domain::{RetrySpeedup, Scope, SubmissionId, Timestamp};

const MAX_FAILURES: usize = 5;
/// Doubled by each failed probe.
const FIRST_OPEN_TIME: Duration = Duration::from_secs(5);
const MAX_OPEN_TIME: Duration = Duration::from_mins(10);
/// Time for a probe before another is let through.
const PROBE_LEASE: Duration = Duration::from_secs(30);
/// Reservation of the probe for a submission that has not failed: its next step is up to ten
/// seconds after the wait, and its message may be late.
const UNTRIED_GRACE: Duration = Duration::from_secs(90);
/// Time without reading a breaker that had no failures.
const MAX_CLOSED_AGE: Duration = Duration::from_secs(1);
const OPEN_UNTIL: &str = "open_until";
const UNTRIED_UNTIL: &str = "untried_until";
const FAILED: &str = "failed";
const FAILED_PROBES: &str = "failed_probes";

const RETENTION: Duration = Duration::from_hours(24);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BreakerPermit {
    /// Ask, then record the outcome with this grant.
    Granted(Grant),
    CircuitOpen {
        retry_at: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    submission_id: SubmissionId,
    failed: Vec<String>,
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
    speedup: RetrySpeedup,
    /// Breakers that had no failures.
    closed: Arc<Cache<Scope, ()>>,
}

impl Breakers {
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: coordination::table(env, client)?,
            speedup: config::retry_speedup(env)?,
            closed: Arc::default(),
        })
    }

    /// `was_tried` if an earlier request went unanswered. After the wait of an open breaker, one of
    /// many callers is granted.
    ///
    /// A timeline of two: both read that the wait is over; the first moves its end; the second's
    /// condition fails.
    pub async fn acquire(
        &self,
        scope: &Scope,
        submission_id: SubmissionId,
        was_tried: bool,
        now: Timestamp,
    ) -> StoreResult<BreakerPermit> {
        if self.closed.peek(scope, now, MAX_CLOSED_AGE).is_some() {
            return Ok(BreakerPermit::Granted(Grant {
                submission_id,
                failed: Vec::new(),
                probe: None,
            }));
        }
        let item = self
            .table
            .get(key(scope), "reading a breaker")
            .await?
            .unwrap_or_default();
        let failed = failed_submissions(&item);
        if failed.is_empty() {
            self.closed.set(scope, now, Some(()));
        }
        let Some(open_until) =
            read_time(&item, OPEN_UNTIL).filter(|_| failed.len() >= MAX_FAILURES)
        else {
            return Ok(BreakerPermit::Granted(Grant {
                submission_id,
                failed,
                probe: None,
            }));
        };
        let kept_for_untried = read_time(&item, UNTRIED_UNTIL).filter(|until| now < *until);
        if now < open_until {
            if !was_tried && kept_for_untried.is_none_or(|until| until < open_until) {
                self.keep_probe_for_untried(scope, open_until).await?;
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
            .update(key(scope))
            .set(OPEN_UNTIL, probe.leased_until)
            .when_equal(OPEN_UNTIL, open_until)
            .send("letting a probe through")
            .await?;
        Ok(if is_first {
            BreakerPermit::Granted(Grant {
                submission_id,
                failed,
                probe: Some(probe),
            })
        } else {
            BreakerPermit::CircuitOpen {
                retry_at: probe.leased_until,
            }
        })
    }

    async fn keep_probe_for_untried(
        &self,
        scope: &Scope,
        open_until: Timestamp,
    ) -> StoreResult<()> {
        let until = open_until.after(self.speedup.apply(UNTRIED_GRACE));
        self.table
            .update(key(scope))
            .set(UNTRIED_UNTIL, until)
            .when_present(OPEN_UNTIL)
            .send("leaving a probe to others")
            .await
            .map(drop)
    }

    /// True if it opened the breaker. Once open, only a failed probe extends it.
    pub async fn record_failure(
        &self,
        scope: &Scope,
        grant: Grant,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.closed.set(scope, now, None);
        let failed_probes = grant
            .probe
            .map_or(0, |probe| probe.failed_before.saturating_add(1));
        let open_time = FIRST_OPEN_TIME
            .saturating_mul(2u32.saturating_pow(failed_probes))
            .min(MAX_OPEN_TIME);
        let update = self
            .table
            .update(key(scope))
            .set(OPEN_UNTIL, now.after(self.speedup.apply(open_time)))
            .expires(now.after(RETENTION));
        let update = match grant.probe {
            // A slow probe's lease may be another's by now.
            Some(probe) => update
                .set(FAILED_PROBES, failed_probes)
                .when_equal(OPEN_UNTIL, probe.leased_until),
            None => update
                .add(
                    FAILED,
                    AttributeValue::Ss(vec![grant.submission_id.to_string()]),
                )
                .when("attribute_not_exists(#failed) OR size(#failed) < :max")
                .bind(":max", MAX_FAILURES),
        };
        let failed = match update.send_and_read("counting a failure").await? {
            Sent::Written(item) => failed_submissions(&item),
            Sent::Refused(_) => Vec::new(),
        };
        Ok(grant.probe.is_none() && failed.len() == MAX_FAILURES)
    }

    pub async fn record_success(&self, scope: &Scope, grant: Grant) -> StoreResult<()> {
        if grant.failed.is_empty() {
            return Ok(());
        }
        // A request sent before later failures says nothing about them.
        let delete = self.table.delete(key(scope));
        let delete = match grant.probe {
            Some(probe) => delete.when_equal(OPEN_UNTIL, probe.leased_until),
            None => {
                let seen = AttributeValue::Ss(grant.failed);
                delete.when_same(&Item::from([(FAILED.to_owned(), seen)]))
            }
        };
        delete.send("closing a breaker").await.map(drop)
    }
}

impl Grant {
    pub fn is_probe(&self) -> bool {
        self.probe.is_some()
    }
}

fn failed_submissions(item: &Item) -> Vec<String> {
    item.get(FAILED)
        .and_then(|failed| failed.as_ss().ok())
        .cloned()
        .unwrap_or_default()
}

fn key(scope: &Scope) -> String {
    format!("breaker#{scope}")
}
