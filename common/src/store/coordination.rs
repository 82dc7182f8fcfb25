//! Every record expires.

use aws_sdk_dynamodb::Client;

use super::table::Table;
use crate::config::{ConfigError, Env};

/// Kind and subject of a record.
pub const KEY: &str = "limited";
pub const VARIABLE: &str = "COORDINATION_TABLE";

pub(super) fn table(env: &Env, client: &Client) -> Result<Table, ConfigError> {
    Table::from_env(env, client, VARIABLE, KEY)
}
