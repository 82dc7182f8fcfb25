//! The `requests` table: which record an Idempotency-Key led to. 30 days, then forgotten.

use std::collections::HashMap;
use std::fmt::Display;
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValuesOnConditionCheckFailure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};

use super::batch::{BatchGet, BatchItems, Found};
use super::record_version::FIRST;
use super::{Item, StoreError, number};
use crate::config::{ConfigError, Env};
use crate::domain::ids::{IdempotencyKey, ReceiptId, SubmissionId};
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// The partition key: scope, operation and Idempotency-Key.
pub const KEY: &str = "request";
/// The attribute of the table's expiry: seconds since the epoch.
pub const EXPIRY: &str = "expires_at";
/// The environment variable that names the table.
pub const VARIABLE: &str = "REQUESTS_TABLE";

/// How long an Idempotency-Key is remembered.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A remembered key is free again once it has expired, deleted or not.
///
/// A timeline of two tries with one key: the first finds nothing and writes; the second's condition
/// fails and brings the record back; 30 days later the condition holds again.
const FREE: &str = "attribute_not_exists(#request) OR expires_at <= :now_seconds";

/// What a request can lead to. Each kind has keys of its own: one Idempotency-Key may be used for a
/// receipt and for the submission after it.
pub trait IdempotentRecordId: Copy + Display + Serialize + DeserializeOwned {
    /// The operation, as it stands in the key.
    const OPERATION: &str;
}

impl IdempotentRecordId for SubmissionId {
    const OPERATION: &str = "submissions";
}

impl IdempotentRecordId for ReceiptId {
    const OPERATION: &str = "receipts";
}

/// What a request led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord<Id> {
    /// The digest of the body that came with the key.
    pub body_hash: String,
    /// The record it was answered with.
    pub record_id: Id,
    /// Whether that was an earlier submission of the same code and phone.
    pub replayed: bool,
}

#[derive(Serialize, Deserialize)]
struct Stored<Id> {
    request: String,
    expires_at: i64,
    #[serde(flatten)]
    record: IdempotencyRecord<Id>,
}

/// The table.
#[derive(Clone, Debug)]
pub struct IdempotencyKeys {
    table: String,
}

impl IdempotencyKeys {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env) -> Result<Self, ConfigError> {
        Ok(Self { table: env.required(VARIABLE)? })
    }

    /// The piece of a transaction that remembers a request, unless it is remembered already.
    pub(crate) fn remember<Id: IdempotentRecordId>(
        &self,
        scope: &Scope,
        key: &IdempotencyKey,
        record: &IdempotencyRecord<Id>,
        now: Timestamp,
    ) -> Result<Put, StoreError> {
        const ACTION: &str = "remembering a request";
        Put::builder()
            .table_name(&self.table)
            .set_item(Some(stored(scope, key, record, now)?))
            .condition_expression(FREE)
            .expression_attribute_names("#request", KEY)
            .expression_attribute_values(":now_seconds", number(now.as_seconds()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(StoreError::during(ACTION))
    }

    /// Adds a request's record to what a batch reads.
    pub(crate) fn add_to<Id: IdempotentRecordId>(
        &self,
        batch: &mut BatchGet,
        scope: &Scope,
        key: &IdempotencyKey,
    ) {
        batch.add(&self.table, KEY, item_key::<Id>(scope, key));
    }

    /// A request's record among the items of a batch.
    pub(crate) fn find_in<'a, Id: IdempotentRecordId>(
        &self,
        items: &'a BatchItems,
        scope: &Scope,
        key: &IdempotencyKey,
    ) -> Found<'a> {
        items.find(&self.table, KEY, &item_key::<Id>(scope, key))
    }
}

/// Reads an item back, expired or not.
pub(crate) fn read<Id: IdempotentRecordId>(item: &Item) -> Result<IdempotencyRecord<Id>, StoreError> {
    read_stored(item).map(|stored| stored.record)
}

/// Reads an item back; an expired one is forgotten even where it has not been deleted.
pub(crate) fn read_unexpired<Id: IdempotentRecordId>(
    item: &Item,
    now: Timestamp,
) -> Result<Option<IdempotencyRecord<Id>>, StoreError> {
    let stored: Stored<Id> = read_stored(item)?;
    Ok((stored.expires_at > now.as_seconds()).then_some(stored.record))
}

fn read_stored<Id: IdempotentRecordId>(item: &Item) -> Result<Stored<Id>, StoreError> {
    const ACTION: &str = "reading a request";
    FIRST.check(item, ACTION)?;
    from_item(item.clone()).map_err(StoreError::during(ACTION))
}

fn stored<Id: IdempotentRecordId>(
    scope: &Scope,
    key: &IdempotencyKey,
    record: &IdempotencyRecord<Id>,
    now: Timestamp,
) -> Result<HashMap<String, AttributeValue>, StoreError> {
    let stored = Stored {
        request: item_key::<Id>(scope, key),
        expires_at: now.after(RETENTION).as_seconds(),
        record: record.clone(),
    };
    to_item(stored).map(|item| FIRST.mark(item)).map_err(StoreError::during("writing a request"))
}

fn item_key<Id: IdempotentRecordId>(scope: &Scope, key: &IdempotencyKey) -> String {
    scope.key(format_args!("{}#{}", Id::OPERATION, key.as_str()))
}
