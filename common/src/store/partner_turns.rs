//! The turns of campaigns whose partners are asked from the queue, in the `rate_limits` table: one record, which names
//! the scope that had the last turn. All environments share it.

use std::time::Duration;

use aws_sdk_dynamodb::Client;

use super::rate_limits::{EXPIRY, KEY, VARIABLE};
use super::record_version::{self, FIRST};
use super::table::Table;
use super::{StoreError, condition_held, number, read_text, text};
use crate::config::{ConfigError, Env};
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// The key of the only record.
const TURNS: &str = "turns#partner";
/// The attribute with the scope of the last turn.
const SCOPE: &str = "scope";
/// The expiry of the record: an older turn decides nothing.
const RETENTION: Duration = Duration::from_hours(24);

/// The turns of campaigns with a partner.
#[derive(Clone, Debug)]
pub struct PartnerTurns {
    table: Table,
}

impl PartnerTurns {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// The scope that had the last turn; `None` before the first.
    pub async fn last(&self) -> Result<Option<Scope>, StoreError> {
        let record = self
            .table
            .get(TURNS, "reading the last turn of a partner")
            .await?;
        Ok(record.and_then(|record| read_text(&record, SCOPE)?.parse().ok()))
    }

    /// Passes the turn from `last` to `next`; false if another environment has passed it since `last` was read. If both
    /// are the same scope, nothing is written.
    pub async fn pass(
        &self,
        last: Option<&Scope>,
        next: &Scope,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        if last == Some(next) {
            return Ok(true);
        }
        let update = self
            .table
            .update_item(TURNS)
            .update_expression(format!(
                "SET #scope = :next, #expiry = :expiry, {}",
                record_version::SET
            ))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_names("#scope", SCOPE)
            .expression_attribute_names("#expiry", EXPIRY)
            .expression_attribute_values(":next", text(next.to_string()))
            .expression_attribute_values(":expiry", number(now.after(RETENTION).as_seconds()));
        let update = match last {
            Some(last) => update
                .condition_expression("#scope = :last")
                .expression_attribute_values(":last", text(last.to_string())),
            None => update.condition_expression("attribute_not_exists(#scope)"),
        };
        condition_held(update.send().await, "passing the turn of a partner")
    }
}
