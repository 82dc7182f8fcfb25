//! The `api_keys` table: permissions by the SHA-256 of a key. The key itself is not stored.

use aws_sdk_dynamodb::Client;
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};
use sha2::{Digest, Sha256};

use super::batch::{BatchGet, BatchItems};
use super::record_version::FIRST;
use super::table::Table;
use super::transaction::{CancellationCause, TransactionResult};
use super::{Item, StoreError, condition_held, number, transaction};
use crate::config::{ConfigError, Env};
use crate::domain::scope::{CampaignSlug, Scope};
use crate::domain::timestamp::Timestamp;

/// The partition key.
pub const KEY: &str = "key_hash";
/// The environment variable that names the table.
pub const VARIABLE: &str = "API_KEYS_TABLE";

/// The digest of an API key: SHA-256 in hexadecimal. Keys are random enough to need no salt or slow hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyHash(String);

impl KeyHash {
    /// The digest of a key.
    pub fn digest(key: &str) -> Self {
        Self(hex::encode(Sha256::digest(key.as_bytes())))
    }

    /// The key's public id: the digest's first 12 digits.
    pub fn key_id(&self) -> &str {
        const ID_DIGITS: usize = 12;
        self.0.get(..ID_DIGITS).unwrap_or(&self.0)
    }
}

/// The permissions of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiKeyRecord {
    /// The key's public id, safe to show and to log.
    pub key_id: String,
    /// The campaign and environment that the key selects.
    pub scope: Scope,
    /// The operator's note about its holder.
    pub label: Option<String>,
    /// The rate limit, in requests a minute.
    pub per_minute: u32,
    /// The time of issue.
    pub created_at: Timestamp,
    /// The end of its validity, if it was issued with one or another key has replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// The time of its revocation. Absent, not null, before that: revoking checks that the attribute does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl ApiKeyRecord {
    /// Whether it is no longer valid.
    pub fn is_revoked(&self, now: Timestamp) -> bool {
        self.revoked_at.is_some() || self.valid_until.is_some_and(|until| until <= now)
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    key_hash: KeyHash,
    #[serde(flatten)]
    record: ApiKeyRecord,
}

/// Changes need a key that is not revoked.
const NOT_REVOKED: &str = "attribute_exists(key_hash) AND attribute_not_exists(revoked_at)";

/// Replacing needs a key that has no end either.
const NOT_ROLLED: &str = "attribute_exists(key_hash) AND attribute_not_exists(revoked_at) AND attribute_not_exists(valid_until)";

/// The API keys.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    table: Table,
}

impl ApiKeys {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// Adds a key's record to a batch.
    pub(crate) fn add_to(&self, batch: &mut BatchGet, hash: &KeyHash) {
        self.table.add_to(batch, &hash.0);
    }

    /// A key's record among the items of a batch; `None` if the key is unknown.
    pub(crate) fn find_in(
        &self,
        items: &BatchItems,
        hash: &KeyHash,
    ) -> Result<Option<ApiKeyRecord>, StoreError> {
        let item = self.table.find_in(items, &hash.0).item().cloned();
        Ok(item
            .map(|item| read(item, "reading an API key"))
            .transpose()?
            .map(|stored| stored.record))
    }

    /// Writes a new key.
    pub async fn put(&self, key_hash: KeyHash, record: ApiKeyRecord) -> Result<(), StoreError> {
        const ACTION: &str = "writing an API key";
        let item = written(key_hash, record, ACTION)?;
        self.table
            .put_item(item)
            .condition_expression("attribute_not_exists(key_hash)")
            .send()
            .await
            .map_err(StoreError::during(ACTION))?;
        Ok(())
    }

    /// The keys of a campaign, oldest first. For operators: reads the whole, small table.
    pub async fn list(&self, campaign: &CampaignSlug) -> Result<Vec<ApiKeyRecord>, StoreError> {
        let mut keys: Vec<_> = self
            .scan()
            .await?
            .into_iter()
            .map(|stored| stored.record)
            .collect();
        keys.retain(|key| key.scope.campaign == *campaign);
        keys.sort_by_key(|key| key.created_at);
        Ok(keys)
    }

    /// The key with this public id, and its digest.
    pub async fn find(&self, key_id: &str) -> Result<Option<(KeyHash, ApiKeyRecord)>, StoreError> {
        let found = self
            .scan()
            .await?
            .into_iter()
            .find(|stored| stored.record.key_id == key_id);
        Ok(found.map(|stored| (stored.key_hash, stored.record)))
    }

    /// Changes the rate limit of a key. False if the key was revoked.
    pub async fn set_per_minute(
        &self,
        hash: &KeyHash,
        per_minute: u32,
    ) -> Result<bool, StoreError> {
        let sent = self
            .table
            .update_item(&hash.0)
            .update_expression("SET per_minute = :per_minute")
            .condition_expression(NOT_REVOKED)
            .expression_attribute_values(":per_minute", number(per_minute))
            .send()
            .await;
        condition_held(sent, "changing an API key's limit")
    }

    /// Writes a new key and sets the end of the old one, in one transaction. False if the old one was revoked or
    /// has an end already.
    pub async fn roll(
        &self,
        old: &KeyHash,
        until: Timestamp,
        key_hash: KeyHash,
        record: ApiKeyRecord,
    ) -> Result<bool, StoreError> {
        const ACTION: &str = "rolling an API key";
        let end = self
            .table
            .update(&old.0)
            .update_expression("SET valid_until = :until")
            .condition_expression(NOT_ROLLED)
            .expression_attribute_values(":until", number(until.as_millis()));
        let item = written(key_hash, record, ACTION)?;
        let new = self.table.put(item);
        let items = vec![
            transaction::update(end.build().map_err(StoreError::during(ACTION))?),
            transaction::put(new.build().map_err(StoreError::during(ACTION))?),
        ];
        match transaction::write(self.table.client(), items).await? {
            TransactionResult::Committed => Ok(true),
            TransactionResult::Cancelled(reasons) => match reasons.first() {
                Some(CancellationCause::ConditionFailed(_)) => Ok(false),
                Some(
                    CancellationCause::Conflict
                    | CancellationCause::Throttled
                    | CancellationCause::None,
                )
                | None => Err(StoreError::new(
                    ACTION,
                    "others kept changing the same record",
                )),
            },
        }
    }

    /// Revokes the key with this public id. A revoked key keeps its first date. `None` if there is no such key.
    pub async fn revoke(
        &self,
        key_id: &str,
        now: Timestamp,
    ) -> Result<Option<ApiKeyRecord>, StoreError> {
        let Some((hash, record)) = self.find(key_id).await? else {
            return Ok(None);
        };
        self.table
            .update_item(hash.0)
            .update_expression("SET revoked_at = if_not_exists(revoked_at, :now)")
            .expression_attribute_values(":now", number(now.as_millis()))
            .send()
            .await
            .map_err(StoreError::during("revoking an API key"))?;
        let revoked_at = record.revoked_at.or(Some(now));
        Ok(Some(ApiKeyRecord {
            revoked_at,
            ..record
        }))
    }

    async fn scan(&self) -> Result<Vec<Stored>, StoreError> {
        const ACTION: &str = "listing API keys";
        let mut pages = self.table.scan().into_paginator().items().send();
        let mut keys = Vec::new();
        while let Some(item) = pages.next().await {
            let item = item.map_err(StoreError::during(ACTION))?;
            keys.push(read(item, ACTION)?);
        }
        Ok(keys)
    }
}

fn read(item: Item, action: &'static str) -> Result<Stored, StoreError> {
    FIRST.check(&item, action)?;
    from_item(item).map_err(StoreError::during(action))
}

fn written(
    key_hash: KeyHash,
    record: ApiKeyRecord,
    action: &'static str,
) -> Result<Item, StoreError> {
    Ok(FIRST.mark(to_item(Stored { key_hash, record }).map_err(StoreError::during(action))?))
}
