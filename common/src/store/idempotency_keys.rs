//! Records are kept for 30 days.

use std::fmt::Display;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::batch::Place;
use super::write::Write;
use super::{Item, StoreResult, from_record};
use crate::domain::{IdempotencyKey, ReceiptId, Scope, SubmissionId, Timestamp};

pub const KEY: &str = "request";
pub const VARIABLE: &str = "IDEMPOTENCY_KEYS_TABLE";

const RETENTION: Duration = Duration::from_hours(720);

/// An expired key is free, deleted or not.
///
/// A timeline of two attempts with one key: the first finds nothing and writes; the second's
/// condition fails and returns the record; 30 days later the condition holds again.
const FREE: &str = "attribute_not_exists(#request) OR expires_at <= :now";

/// A receipt and its submission may share a key.
pub trait IdempotentRecordId: Copy + Display + Serialize + DeserializeOwned {
    const OPERATION: &str;
}

impl IdempotentRecordId for SubmissionId {
    const OPERATION: &str = "submissions";
}

impl IdempotentRecordId for ReceiptId {
    const OPERATION: &str = "receipts";
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord<Id> {
    pub body_hash: String,
    pub record_id: Id,
    /// True for an earlier submission of this code and phone.
    pub replayed: bool,
}

#[derive(Deserialize)]
struct Stored<Id> {
    expires_at: i64,
    #[serde(flatten)]
    record: IdempotencyRecord<Id>,
}

store! {
    IdempotencyKeys
}

impl IdempotencyKeys {
    pub(crate) fn put<Id: IdempotentRecordId>(
        &self,
        scope: &Scope,
        key: &IdempotencyKey,
        record: &IdempotencyRecord<Id>,
        now: Timestamp,
    ) -> Write {
        self.table
            .put(item_key::<Id>(scope, key), record)
            .expires(now.after(RETENTION))
            .when(FREE)
            .bind(":now", now.as_seconds())
    }

    pub(crate) fn place<Id: IdempotentRecordId>(
        &self,
        scope: &Scope,
        key: &IdempotencyKey,
    ) -> Place {
        self.table.place(item_key::<Id>(scope, key))
    }

    /// Reads the whole table.
    pub async fn clear(&self, scope: &Scope) -> StoreResult<u64> {
        self.table.clear(scope, "forgetting idempotency keys").await
    }
}

pub(crate) fn read<Id: IdempotentRecordId>(item: &Item) -> StoreResult<IdempotencyRecord<Id>> {
    read_stored(item).map(|stored| stored.record)
}

/// `None` if expired but not yet deleted.
pub(crate) fn read_unexpired<Id: IdempotentRecordId>(
    item: &Item,
    now: Timestamp,
) -> StoreResult<Option<IdempotencyRecord<Id>>> {
    let stored: Stored<Id> = read_stored(item)?;
    Ok((stored.expires_at > now.as_seconds()).then_some(stored.record))
}

fn read_stored<Id: IdempotentRecordId>(item: &Item) -> StoreResult<Stored<Id>> {
    from_record(item.clone(), "reading an Idempotency-Key")
}

fn item_key<Id: IdempotentRecordId>(scope: &Scope, key: &IdempotencyKey) -> String {
    scope.key(format_args!("{}#{}", Id::OPERATION, key.as_str()))
}
