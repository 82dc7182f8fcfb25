//! Whose submission had the last turn at the tax authority, in the `rate_limits` table: its look-ups are few, and
//! campaigns share them in turns.

use std::time::Duration;

use aws_sdk_dynamodb::Client;

use super::rate_limits::{EXPIRY, KEY, VARIABLE};
use super::{StoreError, number, read_text, text};
use crate::config::{ConfigError, Env};
use crate::domain::moment::Moment;
use crate::domain::scope::Scope;

/// The record's key.
const LAST_TURN: &str = "turn#tax_authority";
/// The attribute that holds the scope, written as the beginning of its keys.
const SCOPE: &str = "scope";
/// A turn that was taken so long ago decides nothing.
const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// The turns.
#[derive(Clone, Debug)]
pub struct Turns {
    client: Client,
    table: String,
}

impl Turns {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self { client: client.clone(), table: env.required(VARIABLE)? })
    }

    /// Who had the last turn.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn last(&self) -> Result<Option<Scope>, StoreError> {
        let get = self.client.get_item().table_name(&self.table).key(KEY, text(LAST_TURN));
        let reply = get.consistent_read(true).send().await;
        let item = reply.map_err(StoreError::during("reading the last turn"))?.item;
        let scope = item.as_ref().and_then(|item| read_text(item, SCOPE)).and_then(Scope::split_key);
        Ok(scope.map(|(scope, _)| scope))
    }

    /// Writes down whose turn it is. Of two workers at once the later write stays: one campaign is asked for twice.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn take(&self, scope: &Scope, now: Moment) -> Result<(), StoreError> {
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key(KEY, text(LAST_TURN))
            .update_expression("SET #scope = :scope, #expiry = :expiry")
            .expression_attribute_names("#scope", SCOPE)
            .expression_attribute_names("#expiry", EXPIRY)
            .expression_attribute_values(":scope", text(scope.key("")))
            .expression_attribute_values(":expiry", number(now.after(RETENTION).as_seconds()));
        update.send().await.map(drop).map_err(StoreError::during("taking a turn"))
    }
}
