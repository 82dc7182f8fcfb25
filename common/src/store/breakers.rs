//! Circuit breakers, in the `rate_limits` table: one for each campaign's partner, shared by every instance.
//! A partner that is down is left in peace, but for one probe at a time.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::ReturnValue;

use super::rate_limits::{EXPIRY, KEY, VARIABLE};
use super::{StoreError, made, number, read_number, text};
use crate::config::{self, ConfigError, Env};
use crate::domain::moment::Moment;
use crate::domain::scope::Scope;
use crate::domain::settling::Hasten;

/// Failures in a row that open a breaker.
const MOST_FAILURES: u32 = 5;
/// How long it is open the first time; each probe that fails doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(15);
/// No longer than this.
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);
/// How long a probe may take before another is let through.
const PROBE: Duration = Duration::from_secs(30);
/// A breaker that nobody touched for so long is forgotten.
const MEMORY: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether a partner may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It may; what comes of it is told with the pass.
    Free(Pass),
    /// Not before this.
    Closed {
        /// When the next probe is let through, unless somebody else is first.
        until: Moment,
    },
}

/// Leave to ask a partner once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Failures in a row that were known when it was given.
    failures: u32,
    /// The lease of a probe; none while the breaker is closed.
    probing_until: Option<Moment>,
}

/// The breakers.
#[derive(Clone, Debug)]
pub struct Breakers {
    client: Client,
    table: String,
    hasten: Hasten,
}

impl Breakers {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self { client: client.clone(), table: env.required(VARIABLE)?, hasten: config::hasten(env)? })
    }

    /// Whether the partner of a scope may be asked now. Of many who ask while the breaker is open and its
    /// wait is over, one passes.
    ///
    /// A timeline of two of them: both read that the wait is over; the first moves its end on; the second's
    /// condition fails.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn passage(&self, scope: &Scope, now: Moment) -> Result<Passage, StoreError> {
        const ACTION: &str = "reading a breaker";
        let reply = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(KEY, text(key(scope)))
            .consistent_read(true)
            .send()
            .await
            .map_err(StoreError::during(ACTION))?;
        let failures = reply.item.as_ref().and_then(|item| read_number::<u32>(item, "failures")).unwrap_or(0);
        let open_until = reply.item.as_ref().and_then(|item| read_number::<i64>(item, "open_until"));
        let Some(open_until) = open_until.filter(|_| failures >= MOST_FAILURES) else {
            return Ok(Passage::Free(Pass { failures, probing_until: None }));
        };
        let until = Moment::from_millis(open_until);
        if now < until {
            return Ok(Passage::Closed { until });
        }
        let probed_until = now.after(PROBE);
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .key(KEY, text(key(scope)))
            .update_expression("SET open_until = :probed")
            .condition_expression("open_until = :seen")
            .expression_attribute_values(":probed", number(probed_until.as_millis()))
            .expression_attribute_values(":seen", number(open_until))
            .send()
            .await;
        let first = made(sent, "letting a probe through")?;
        Ok(if first {
            Passage::Free(Pass { failures, probing_until: Some(probed_until) })
        } else {
            Passage::Closed { until: probed_until }
        })
    }

    /// Counts a failure, and says whether it opened the breaker. Of failures that come at once, those
    /// beyond the one that opens it change nothing; once it is open, only a probe makes it longer.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn failed(&self, scope: &Scope, pass: Pass, now: Moment) -> Result<bool, StoreError> {
        let probes = pass.failures.saturating_sub(MOST_FAILURES - 1);
        let wait = match pass.probing_until {
            Some(_) => FIRST_WAIT.saturating_mul(2u32.saturating_pow(probes)).min(LONGEST_WAIT),
            None => FIRST_WAIT,
        };
        let count = self
            .client
            .update_item()
            .table_name(&self.table)
            .key(KEY, text(key(scope)))
            .update_expression("ADD failures :one SET open_until = :until, #expiry = :expiry")
            .expression_attribute_names("#expiry", EXPIRY)
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":until", number(now.after(self.hasten.apply(wait)).as_millis()))
            .expression_attribute_values(":expiry", number(now.after(MEMORY).as_seconds()))
            .return_values(ReturnValue::AllNew);
        let count = match pass.probing_until {
            // A probe whose lease is over speaks for nobody any more.
            Some(lease) => count
                .condition_expression("open_until = :lease")
                .expression_attribute_values(":lease", number(lease.as_millis())),
            None => count
                .condition_expression("attribute_not_exists(failures) OR failures < :most")
                .expression_attribute_values(":most", number(MOST_FAILURES)),
        };
        let failures = match count.send().await {
            Ok(reply) => reply.attributes.and_then(|item| read_number::<u32>(&item, "failures")),
            Err(error) if error.code() == Some("ConditionalCheckFailedException") => None,
            Err(error) => return Err(StoreError::new("counting a failure", error)),
        };
        Ok(pass.probing_until.is_none() && failures == Some(MOST_FAILURES))
    }

    /// The partner answered: its failures are forgotten, and the breaker closes.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn answered(&self, scope: &Scope, pass: Pass) -> Result<(), StoreError> {
        if pass.failures == 0 {
            return Ok(());
        }
        // One that was asked before the partner failed again says nothing about that.
        let delete = self.client.delete_item().table_name(&self.table).key(KEY, text(key(scope)));
        let delete = match pass.probing_until {
            Some(lease) => delete
                .condition_expression("open_until = :lease")
                .expression_attribute_values(":lease", number(lease.as_millis())),
            None => delete
                .condition_expression("failures = :seen")
                .expression_attribute_values(":seen", number(pass.failures)),
        };
        made(delete.send().await, "closing a breaker").map(drop)
    }
}

fn key(scope: &Scope) -> String {
    format!("breaker#{scope}")
}
