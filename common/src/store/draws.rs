//! The `draws` table: the draws of each campaign and environment, and their winners. Only operators write it.
//!
//! The records of a scope are in one partition: a draw as `draw#week-03`, its contacts as `contact#week-03#0#17`, with numbers
//! of a fixed width, so that they are in order. The lock of its freezes is in a partition of its own.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_attribute_value, to_item};

use super::record_version::FIRST;
use super::table::Table;
use super::transaction;
use super::{Item, StoreError, condition_held, number, text};
use crate::config::{ConfigError, Env};
use crate::domain::draw::contact::Contact;
use crate::domain::draw::{Draw, DrawName, DrawOutcome, FreezeLock};
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// The partition key: the scope.
pub const KEY: &str = "scope";
/// The sort key.
pub const SORT: &str = "record";
/// The environment variable that names the table.
pub const VARIABLE: &str = "DRAWS_TABLE";

/// Time after a winner's last step in which an interrupted skip can be run again.
const NEXT_WINNER_TIMEOUT: Duration = Duration::from_hours(24);
/// The most contacts in one call: two items of a transaction each, beside the draw.
pub const MAX_ADDED: usize = 49;

/// The sort key of the lock of freezes.
const LOCK: &str = "lock";

const READING: &str = "reading draws";
const WRITING: &str = "writing a draw";

/// The draws.
#[derive(Clone, Debug)]
pub struct Draws {
    table: Table,
}

impl Draws {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// A draw; `None` if it was not frozen.
    pub async fn get(&self, scope: &Scope, name: &DrawName) -> Result<Option<Draw>, StoreError> {
        let draws: Vec<Draw> = self.read(scope.to_string(), &draw_key(name)).await?;
        Ok(draws.into_iter().find(|draw| draw.name == *name))
    }

    /// The draws of a scope, by name.
    pub async fn list(&self, scope: &Scope) -> Result<Vec<Draw>, StoreError> {
        self.read(scope.to_string(), "draw#").await
    }

    /// The winners of a draw, by tier and place.
    pub async fn contacts(
        &self,
        scope: &Scope,
        name: &DrawName,
    ) -> Result<Vec<Contact>, StoreError> {
        self.read(scope.to_string(), &format!("contact#{name}#"))
            .await
    }

    /// The winners of all draws of a scope.
    pub async fn all_contacts(&self, scope: &Scope) -> Result<Vec<Contact>, StoreError> {
        self.read(scope.to_string(), "contact#").await
    }

    /// The draws whose entries still decide who gets a prize: a winner is to be drawn, or a prize to be collected. All phones
    /// stay so long, since the next entrant wins once a winner is skipped.
    pub async fn unfinished(&self, scope: &Scope, now: Timestamp) -> Result<Vec<Draw>, StoreError> {
        // Before the contacts: a draw has all of its winners before it has an outcome.
        let mut draws = self.list(scope).await?;
        let contacts = self.all_contacts(scope).await?;
        let is_recent = |at: Timestamp| now < at.after(NEXT_WINNER_TIMEOUT);
        let is_claimed =
            |contact: &Contact| contact.is_open() || contact.changed_at().is_some_and(is_recent);
        draws.retain(|draw| {
            let mut own = contacts.iter().filter(|contact| contact.draw == draw.name);
            draw.can_be_drawn(now) || own.any(is_claimed)
        });
        Ok(draws)
    }

    /// The lock of a scope's freezes; `None` before the first one.
    pub async fn freeze_lock(&self, scope: &Scope) -> Result<Option<FreezeLock>, StoreError> {
        let locks: Vec<FreezeLock> = self.read(lock_key(scope), LOCK).await?;
        Ok(locks.into_iter().next())
    }

    /// Writes the lock. Returns false if it was changed since `before` was read.
    pub async fn change_freeze_lock(
        &self,
        scope: &Scope,
        before: Option<&FreezeLock>,
        after: &FreezeLock,
    ) -> Result<bool, StoreError> {
        let put = self
            .table
            .put_item(item(lock_key(scope), LOCK.to_owned(), after)?)
            .condition_expression(lock_condition(before))
            .set_expression_attribute_values(lock_value(before));
        condition_held(put.send().await, WRITING)
    }

    /// The condition of a transaction that no freeze has begun since the lock was read.
    ///
    /// A timeline of an operator who revokes an entry alone, and a freeze: the operator sees no draw with the entry; the
    /// freeze begins, and reads the entry as accepted; the operator's write fails, because the lock is another one.
    pub fn no_freeze_check(
        &self,
        scope: &Scope,
        seen: Option<&FreezeLock>,
    ) -> Result<TransactWriteItem, StoreError> {
        self.table
            .check(lock_key(scope))
            .key(SORT, text(LOCK))
            .condition_expression(lock_condition(seen))
            .set_expression_attribute_values(lock_value(seen))
            .build()
            .map(transaction::check)
            .map_err(StoreError::during(READING))
    }

    /// Records a frozen draw, and releases the lock. Returns false if the name is taken or the lock was changed.
    pub async fn create(
        &self,
        scope: &Scope,
        draw: &Draw,
        lock: &FreezeLock,
    ) -> Result<bool, StoreError> {
        let put = self
            .table
            .put(item(scope.to_string(), draw_key(&draw.name), draw)?)
            .condition_expression("attribute_not_exists(#scope)")
            .expression_attribute_names("#scope", KEY);
        let release = self
            .table
            .update(lock_key(scope))
            .key(SORT, text(LOCK))
            .update_expression("REMOVE expires_at, commitment")
            .condition_expression(lock_condition(Some(lock)))
            .set_expression_attribute_values(lock_value(Some(lock)));
        self.write(vec![
            transaction::put(put.build().map_err(StoreError::during(WRITING))?),
            transaction::update(release.build().map_err(StoreError::during(WRITING))?),
        ])
        .await
    }

    /// Records when all evidence was in its bucket. Returns false if a time is recorded.
    pub async fn publish(
        &self,
        scope: &Scope,
        name: &DrawName,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let update = self
            .table
            .update_item(scope.to_string())
            .key(SORT, text(draw_key(name)))
            .update_expression("SET published_at = :at")
            .condition_expression(
                "attribute_exists(commitment) AND attribute_not_exists(published_at)",
            )
            .expression_attribute_values(":at", number(at.as_millis()));
        condition_held(update.send().await, WRITING)
    }

    /// Records the outcome of a published draw. Returns false if it has one.
    pub async fn finish(
        &self,
        scope: &Scope,
        name: &DrawName,
        outcome: &DrawOutcome,
    ) -> Result<bool, StoreError> {
        let outcome = to_attribute_value(outcome).map_err(StoreError::during(WRITING))?;
        let update = self
            .updated(scope, name)
            .update_expression("SET outcome = :outcome")
            .condition_expression(
                "attribute_exists(published_at) AND attribute_not_exists(outcome)",
            )
            .expression_attribute_values(":outcome", outcome);
        self.write(vec![transaction::update(
            update.build().map_err(StoreError::during(WRITING))?,
        )])
        .await
    }

    /// Adds contacts, at most [`MAX_ADDED`]. Returns false if contacts of the draw were changed since [`Draw::contact_changes`]
    /// was read, since the next winners depend on all others; or if one of `conditions` fails.
    pub async fn add_contacts(
        &self,
        scope: &Scope,
        name: &DrawName,
        changes: u64,
        contacts: &[Contact],
        conditions: Vec<TransactWriteItem>,
    ) -> Result<bool, StoreError> {
        let count = self
            .updated(scope, name)
            .update_expression("SET contact_changes = :next")
            .condition_expression("contact_changes = :seen")
            .expression_attribute_values(":seen", number(changes))
            .expression_attribute_values(":next", number(changes.saturating_add(1)));
        let mut items = conditions;
        items.push(transaction::update(
            count.build().map_err(StoreError::during(WRITING))?,
        ));
        for contact in contacts {
            let put = self
                .table
                .put(item(scope.to_string(), contact_key(contact), contact)?)
                .condition_expression("attribute_not_exists(#scope)")
                .expression_attribute_names("#scope", KEY);
            items.push(transaction::put(
                put.build().map_err(StoreError::during(WRITING))?,
            ));
        }
        self.write(items).await
    }

    /// Writes a changed contact. Returns false if it was changed since `before` was read.
    pub async fn change_contact(
        &self,
        scope: &Scope,
        before: &Contact,
        after: &Contact,
    ) -> Result<bool, StoreError> {
        let put = self
            .table
            .put(item(scope.to_string(), contact_key(after), after)?)
            .condition_expression("revision = :before")
            .expression_attribute_values(":before", number(before.revision));
        let count = self
            .updated(scope, &before.draw)
            .update_expression("ADD contact_changes :one")
            .expression_attribute_values(":one", number(1));
        self.write(vec![
            transaction::put(put.build().map_err(StoreError::during(WRITING))?),
            transaction::update(count.build().map_err(StoreError::during(WRITING))?),
        ])
        .await
    }

    async fn write(&self, items: Vec<TransactWriteItem>) -> Result<bool, StoreError> {
        transaction::write(self.table.client(), items)
            .await?
            .condition_held(WRITING)
    }

    fn updated(&self, scope: &Scope, name: &DrawName) -> UpdateBuilder {
        self.table
            .update(scope.to_string())
            .key(SORT, text(draw_key(name)))
    }

    /// The records of a partition whose sort keys have this prefix.
    async fn read<T: DeserializeOwned>(
        &self,
        partition: String,
        prefix: &str,
    ) -> Result<Vec<T>, StoreError> {
        let query = self
            .table
            .query_items()
            .consistent_read(true)
            .key_condition_expression("#scope = :scope AND begins_with(#record, :prefix)")
            .expression_attribute_names("#scope", KEY)
            .expression_attribute_names("#record", SORT)
            .expression_attribute_values(":scope", text(partition))
            .expression_attribute_values(":prefix", text(prefix));
        let mut items = query.into_paginator().items().send();
        let mut found = Vec::new();
        while let Some(item) = items.next().await {
            let item = item.map_err(StoreError::during(READING))?;
            FIRST.check(&item, READING)?;
            found.push(from_item(item).map_err(StoreError::during(READING))?);
        }
        Ok(found)
    }
}

fn item(partition: String, record: String, value: &impl Serialize) -> Result<Item, StoreError> {
    let mut item: Item = FIRST.mark(to_item(value).map_err(StoreError::during(WRITING))?);
    item.insert(KEY.to_owned(), text(partition));
    item.insert(SORT.to_owned(), text(record));
    Ok(item)
}

fn draw_key(name: &DrawName) -> String {
    format!("draw#{name}")
}

/// The partition of the lock of freezes.
fn lock_key(scope: &Scope) -> String {
    format!("freezing#{scope}")
}

fn lock_condition(seen: Option<&FreezeLock>) -> &'static str {
    match seen {
        Some(_) => "id = :id",
        None => "attribute_not_exists(id)",
    }
}

fn lock_value(seen: Option<&FreezeLock>) -> Option<HashMap<String, AttributeValue>> {
    seen.map(|lock| HashMap::from([(":id".to_owned(), text(&lock.id))]))
}

fn contact_key(contact: &Contact) -> String {
    let Contact {
        draw, tier, place, ..
    } = contact;
    // Padded, so that keys sort by number.
    format!("contact#{draw}#{tier:010}#{place:020}")
}
