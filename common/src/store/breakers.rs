//! Circuit breakers, in the `coordination` table: one for each campaign's partner, shared by all environments.
//!
//! A breaker opens after the partner has failed with several different submissions in a row, and lets a probe through
//! after a wait. A submission that the partner always fails with counts once, and is not the probe while another waits.
//!
//! An environment that has seen a breaker without failures does not read it again for a second. So it may still ask up
//! to a second after the breaker opens; the partner's answer then does not clear failures of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;

use super::table::Table;
use super::write::Sent;
use super::{Item, StoreError, coordination, read_number};
use crate::config::{self, ConfigError, Env};
use crate::domain::ids::SubmissionId;
use crate::domain::retry::RetrySpeedup;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// Different submissions in a row that a partner has to fail with before the breaker opens.
const MAX_FAILURES: usize = 5;
/// The first wait of an open breaker; each failed probe doubles it.
const FIRST_OPEN_TIME: Duration = Duration::from_secs(5);
const MAX_OPEN_TIME: Duration = Duration::from_mins(10);
/// The time that a probe may take before another is let through.
const PROBE_LEASE: Duration = Duration::from_secs(30);
/// After the wait, the probe is reserved this long for a submission that has not failed: its next step is up to ten
/// seconds after the wait, and its message or the sweep may be late.
const UNTRIED_GRACE: Duration = Duration::from_secs(90);
/// How long a breaker without failures is not read again.
const MAX_CLOSED_AGE: Duration = Duration::from_secs(1);
/// When an open breaker lets the next probe through.
const OPEN_UNTIL: &str = "open_until";
/// Until when the probe is reserved for a submission that has not failed.
const UNTRIED_UNTIL: &str = "untried_until";
const FAILED: &str = "failed";
const FAILED_PROBES: &str = "failed_probes";

/// The expiry of an unused breaker.
const RETENTION: Duration = Duration::from_hours(24);

/// The permission to ask a partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BreakerPermit {
    /// Ask, then record the outcome with this grant.
    Granted(Grant),
    /// The breaker is open.
    CircuitOpen {
        /// When it lets the next probe through.
        retry_at: Timestamp,
    },
}

/// The permission to ask a partner once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    submission_id: SubmissionId,
    /// Failed submissions at the time of the grant.
    failed: Vec<String>,
    /// The probe's lease; `None` while the breaker is closed.
    probe: Option<Probe>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    leased_until: Timestamp,
    /// Failed probes before this one.
    failed_before: u32,
}

/// The circuit breakers of all scopes.
#[derive(Clone, Debug)]
pub struct Breakers {
    table: Table,
    speedup: RetrySpeedup,
    /// When breakers without failures were last read.
    closed: Arc<Mutex<HashMap<Scope, Timestamp>>>,
}

impl Breakers {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: coordination::table(env, client)?,
            speedup: config::retry_speedup(env)?,
            closed: Arc::default(),
        })
    }

    /// Asks for permission to send a request about a submission to the scope's partner now; `was_tried` if an earlier
    /// request went unanswered. Once the wait of an open breaker is over, only one of many callers is granted.
    ///
    /// A timeline of two of them: both read that the wait is over; the first moves its end; the second's condition
    /// fails.
    pub async fn acquire(
        &self,
        scope: &Scope,
        submission_id: SubmissionId,
        was_tried: bool,
        now: Timestamp,
    ) -> Result<BreakerPermit, StoreError> {
        if self.was_just_closed(scope, now) {
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
            self.closed().insert(scope.clone(), now);
        }
        let timestamp = |name: &str| read_number::<i64>(&item, name).map(Timestamp::from_millis);
        let Some(open_until) = timestamp(OPEN_UNTIL).filter(|_| failed.len() >= MAX_FAILURES)
        else {
            return Ok(BreakerPermit::Granted(Grant {
                submission_id,
                failed,
                probe: None,
            }));
        };
        let kept_for_untried = timestamp(UNTRIED_UNTIL).filter(|until| now < *until);
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

    /// Whether this environment saw the breaker without failures less than [`MAX_CLOSED_AGE`] ago.
    fn was_just_closed(&self, scope: &Scope, now: Timestamp) -> bool {
        let closed = self.closed();
        // A read time in the future is from before the clock was set back.
        closed
            .get(scope)
            .is_some_and(|read_at| *read_at <= now && now.since(*read_at) < MAX_CLOSED_AGE)
    }

    fn closed(&self) -> MutexGuard<'_, HashMap<Scope, Timestamp>> {
        // Nothing panics while holding the lock; even then the map would be intact.
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves the next probe for a submission that the partner has not been asked about yet.
    async fn keep_probe_for_untried(
        &self,
        scope: &Scope,
        open_until: Timestamp,
    ) -> Result<(), StoreError> {
        let until = open_until.after(self.speedup.apply(UNTRIED_GRACE));
        self.table
            .update(key(scope))
            .set(UNTRIED_UNTIL, until)
            .when_present(OPEN_UNTIL)
            .send("leaving a probe to others")
            .await
            .map(drop)
    }

    /// Records a failure of the partner, and returns whether it opened the breaker. Concurrent failures after the
    /// opening one are ignored; once the breaker is open, only a failed probe extends it.
    pub async fn record_failure(
        &self,
        scope: &Scope,
        grant: Grant,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.closed().remove(scope);
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
            // The lease of a slow probe may be another's by now.
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

    /// Records an answer of the partner: clears its failures and closes the breaker.
    pub async fn record_success(&self, scope: &Scope, grant: Grant) -> Result<(), StoreError> {
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
    /// Whether it is the single request that tests whether the partner is back.
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
