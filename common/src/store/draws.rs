//! Draws and their winners. A scope's partition has draws, `draw#week-03`, and contacts,
//! `contact#week-03#0#17` with padded numbers. The freeze lock has its own.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::table::all;
use super::write::Write;
use super::{StoreResult, from_record, number, text, transaction};
use crate::domain::draw::contact::Contact;
use crate::domain::draw::{Draw, DrawName, DrawOutcome, FreezeLock};
use crate::domain::{OperatorDecision, Scope, Timestamp};

pub const KEY: &str = "scope";
pub const SORT: &str = "record";
pub const VARIABLE: &str = "DRAWS_TABLE";

/// Time after a winner's last step in which an interrupted skip can be repeated.
const NEXT_WINNER_TIMEOUT: Duration = Duration::from_hours(24);
/// Two items of a transaction each, beside the draw.
pub const MAX_ADDED: usize = 49;

const LOCK: &str = "lock";

const PUBLISHED_AT: &str = "published_at";
const OUTCOME: &str = "outcome";
const CONTACT_CHANGES: &str = "contact_changes";
const ABANDONMENT: &str = "abandonment";
const NOT_ABANDONED: &str = "attribute_not_exists(abandonment.confirmed)";

const READING: &str = "reading draws";
const WRITING: &str = "writing a draw";

store! {
    Draws
}

impl Draws {
    pub async fn get(&self, scope: &Scope, name: &DrawName) -> StoreResult<Option<Draw>> {
        let draws: Vec<Draw> = self.read(scope.to_string(), &draw_key(name)).await?;
        Ok(draws.into_iter().find(|draw| draw.name == *name))
    }

    pub async fn list(&self, scope: &Scope) -> StoreResult<Vec<Draw>> {
        self.read(scope.to_string(), "draw#").await
    }

    pub async fn contacts(&self, scope: &Scope, name: &DrawName) -> StoreResult<Vec<Contact>> {
        self.read(scope.to_string(), &format!("contact#{name}#"))
            .await
    }

    pub async fn all_contacts(&self, scope: &Scope) -> StoreResult<Vec<Contact>> {
        self.read(scope.to_string(), "contact#").await
    }

    /// Draws whose entries still decide about prizes.
    pub async fn unfinished(&self, scope: &Scope, now: Timestamp) -> StoreResult<Vec<Draw>> {
        // First: a draw has all its winners before its outcome.
        let mut draws = self.list(scope).await?;
        let contacts = self.all_contacts(scope).await?;
        let is_recent = |at: Timestamp| now < at.after(NEXT_WINNER_TIMEOUT);
        let is_uncollected =
            |contact: &Contact| contact.is_open() || contact.changed_at().is_some_and(is_recent);
        draws.retain(|draw| {
            let mut own = contacts.iter().filter(|contact| contact.draw == draw.name);
            draw.can_be_drawn(now) || own.any(is_uncollected)
        });
        Ok(draws)
    }

    pub async fn freeze_lock(&self, scope: &Scope) -> StoreResult<Option<FreezeLock>> {
        let locks: Vec<FreezeLock> = self.read(lock_key(scope), LOCK).await?;
        Ok(locks.into_iter().next())
    }

    /// False if changed since `before` was read.
    pub async fn change_freeze_lock(
        &self,
        scope: &Scope,
        before: Option<&FreezeLock>,
        after: &FreezeLock,
    ) -> StoreResult<bool> {
        let update = self.table.update(lock_key(scope)).sort(SORT, LOCK);
        let update = update.change(before, after);
        // True also if the answer was lost and the call repeated.
        Ok(when_seen(update, before).send(WRITING).await?
            || self.freeze_lock(scope).await?.as_ref() == Some(after))
    }

    /// Transaction item: no freeze has begun since the lock was read.
    ///
    /// A timeline of an operator who revokes an entry, and a freeze: the operator sees no draw with
    /// the entry; the freeze begins and reads the entry as accepted; the operator's write fails,
    /// because the lock has changed.
    pub fn no_freeze_check(&self, scope: &Scope, seen: Option<&FreezeLock>) -> Write {
        let check = self.table.check(lock_key(scope)).sort(SORT, LOCK);
        when_seen(check, seen)
    }

    /// Releases the lock; false if the name is taken or the lock was changed.
    pub async fn create(&self, scope: &Scope, draw: &Draw, lock: &FreezeLock) -> StoreResult<bool> {
        let put = self.table.put(scope.to_string(), draw);
        let put = put.sort(SORT, draw_key(&draw.name)).when_absent(KEY);
        let release = self.table.update(lock_key(scope)).sort(SORT, LOCK);
        let release = release.remove(["expires_at", "commitment"]);
        transaction::write_all(vec![put, when_seen(release, Some(lock))], WRITING).await
    }

    pub async fn publish(
        &self,
        scope: &Scope,
        name: &DrawName,
        at: Timestamp,
    ) -> StoreResult<bool> {
        self.update(scope, name)
            .set(PUBLISHED_AT, at)
            .when_present("commitment")
            .when_absent(PUBLISHED_AT)
            .send(WRITING)
            .await
    }

    pub async fn finish(
        &self,
        scope: &Scope,
        name: &DrawName,
        outcome: &DrawOutcome,
    ) -> StoreResult<bool> {
        let update = self.update(scope, name).set(OUTCOME, outcome);
        let update = update.when_present(PUBLISHED_AT).when_absent(OUTCOME);
        transaction::write_one(update.when(NOT_ABANDONED), WRITING).await
    }

    /// False if its run was finished, its contacts changed since `draw` was read, or it is
    /// abandoned.
    pub async fn abandon(
        &self,
        scope: &Scope,
        draw: &Draw,
        decision: &OperatorDecision,
    ) -> StoreResult<bool> {
        self.update(scope, &draw.name)
            .set(ABANDONMENT, decision)
            .when_equal(CONTACT_CHANGES, draw.contact_changes)
            .when_absent(OUTCOME)
            .when(NOT_ABANDONED)
            .send(WRITING)
            .await
    }

    /// False if it was confirmed or replaced.
    pub async fn keep(
        &self,
        scope: &Scope,
        name: &DrawName,
        request: &OperatorDecision,
    ) -> StoreResult<bool> {
        self.update(scope, name)
            .remove([ABANDONMENT])
            .when_equal(ABANDONMENT, request)
            .when(NOT_ABANDONED)
            .send(WRITING)
            .await
    }

    /// Adds at most [`MAX_ADDED`]; false if contacts changed since [`Draw::contact_changes`] was
    /// read, the draw was abandoned, or one of `conditions` fails.
    pub async fn add_contacts(
        &self,
        scope: &Scope,
        name: &DrawName,
        changes: u64,
        contacts: &[Contact],
        conditions: Vec<Write>,
    ) -> StoreResult<bool> {
        let count = self
            .update(scope, name)
            .set(CONTACT_CHANGES, changes.saturating_add(1))
            .when_equal(CONTACT_CHANGES, changes)
            .when(NOT_ABANDONED);
        let contacts = contacts.iter().map(|contact| {
            let put = self.table.put(scope.to_string(), contact);
            put.sort(SORT, contact_key(contact)).when_absent(KEY)
        });
        let items = conditions.into_iter().chain([count]).chain(contacts);
        transaction::write_all(items.collect(), WRITING).await
    }

    pub async fn change_contact(
        &self,
        scope: &Scope,
        before: &Contact,
        after: &Contact,
    ) -> StoreResult<bool> {
        let change = self.table.update(scope.to_string());
        let change = change
            .sort(SORT, contact_key(after))
            .change(Some(before), after)
            .when_equal("revision", before.revision);
        let count = self.update(scope, &before.draw);
        let count = count.add(CONTACT_CHANGES, number(1));
        transaction::write_all(vec![change, count], WRITING).await
    }

    fn update(&self, scope: &Scope, name: &DrawName) -> Write {
        self.table
            .update(scope.to_string())
            .sort(SORT, draw_key(name))
    }

    async fn read<T: DeserializeOwned>(
        &self,
        partition: String,
        prefix: &str,
    ) -> StoreResult<Vec<T>> {
        let condition = "#scope = :scope AND begins_with(#record, :prefix)";
        let values = [(":scope", text(partition)), (":prefix", text(prefix))];
        let query = self.table.query(condition, values).consistent_read(true);
        let items = all(query, READING).await?.into_iter();
        items.map(|item| from_record(item, READING)).collect()
    }
}

fn draw_key(name: &DrawName) -> String {
    format!("draw#{name}")
}

fn lock_key(scope: &Scope) -> String {
    format!("freezing#{scope}")
}

fn when_seen(write: Write, seen: Option<&FreezeLock>) -> Write {
    match seen {
        Some(lock) => write.when_equal("id", &lock.id),
        None => write.when_absent("id"),
    }
}

fn contact_key(contact: &Contact) -> String {
    let Contact {
        draw, tier, place, ..
    } = contact;
    format!("contact#{draw}#{tier:010}#{place:020}")
}
