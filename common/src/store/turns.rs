//! Turns of campaigns at the tax authority and at partners. A turn is written over the one before,
//! so two environments never take the same. At the tax authority, each turn is the slot of one
//! look-up. A dead environment's slot stays unused.

use std::time::Duration;

use aws_sdk_dynamodb::Client;

use super::table::Table;
use super::write::{Sent, Write};
use super::{Item, StoreResult, coordination, number, read_number, read_text, read_time, required};
use crate::config::{ConfigError, Env};
use crate::domain::{Dependency, Scope, Timestamp};

const NUMBER: &str = "slot";
const TAKEN_AT: &str = "taken_at";
const SCOPE: &str = "scope";
/// An older record decides nothing.
const RETENTION: Duration = Duration::from_hours(24);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// 1 for the first; 0 before it.
    pub number: u64,
    pub taken_at: Timestamp,
    /// `None` if this build cannot read it.
    pub scope: Option<Scope>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnResult {
    Taken(Turn),
    Missed(Option<Turn>),
}

#[derive(Clone, Debug)]
pub struct Turns {
    table: Table,
    key: String,
}

impl Turns {
    pub fn from_env(
        env: &Env,
        client: &Client,
        dependency: Dependency,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            table: coordination::table(env, client)?,
            key: format!("turns#{}", dependency.as_str()),
        })
    }

    /// `None` after a day without a turn.
    pub async fn last(&self) -> StoreResult<Option<Turn>> {
        let item = self.table.get(&self.key, READING).await?;
        item.as_ref().map(read).transpose()
    }

    /// A timeline of two environments: both have seen turn 7; the first writes turn 8 over it; the
    /// second's condition fails and returns turn 8.
    pub async fn take(
        &self,
        last: Option<&Turn>,
        scope: &Scope,
        now: Timestamp,
    ) -> StoreResult<TurnResult> {
        let turn = Turn {
            number: last.map_or(1, |last| last.number.saturating_add(1)),
            taken_at: now,
            scope: Some(scope.clone()),
        };
        let write = self
            .over(last, scope, now)
            .set(NUMBER, turn.number)
            .set(TAKEN_AT, now);
        Ok(match write.send_and_read("taking a turn").await? {
            Sent::Written(_) => TurnResult::Taken(turn),
            Sent::Refused(found) => TurnResult::Missed(found.as_ref().map(read).transpose()?),
        })
    }

    /// Records a turn without a slot. A timeline of two environments: both have seen slot 7; the
    /// first takes slot 8 for its scope; the second's condition fails, and the turn stays with that
    /// scope.
    pub async fn pass(
        &self,
        last: Option<&Turn>,
        scope: &Scope,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.over(last, scope, now)
            .set_if_absent(NUMBER, number(0))
            .set_if_absent(TAKEN_AT, number(0))
            .send("recording a turn")
            .await
            .map(drop)
    }

    fn over(&self, last: Option<&Turn>, scope: &Scope, now: Timestamp) -> Write {
        let write = self.table.update(&self.key).set(SCOPE, scope.key(""));
        let write = write.expires(now.after(RETENTION));
        match last {
            Some(last) => write.when_equal(NUMBER, last.number),
            None => write.when_absent(NUMBER),
        }
    }
}

const READING: &str = "reading the last turn";

fn read(item: &Item) -> StoreResult<Turn> {
    let scope = read_text(item, SCOPE).and_then(Scope::split_key);
    Ok(Turn {
        number: required(read_number(item, NUMBER), READING)?,
        taken_at: required(read_time(item, TAKEN_AT), READING)?,
        scope: scope.map(|(scope, _)| scope),
    })
}
