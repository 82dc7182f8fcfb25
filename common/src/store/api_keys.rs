//! The `api_keys` table: whom a key lets in, by the SHA-256 of the key. The key itself is nowhere.

use aws_sdk_dynamodb::Client;
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};
use sha2::{Digest, Sha256};

use super::{StoreError, number, text};
use crate::config::{ConfigError, Env};
use crate::domain::hex::hex;
use crate::domain::moment::Moment;
use crate::domain::scope::{CampaignSlug, Scope};

/// The partition key.
pub const KEY: &str = "key_hash";
/// The environment variable that names the table.
pub const VARIABLE: &str = "API_KEYS_TABLE";

/// The digest of an API key: SHA-256 in hexadecimal. Keys carry enough randomness of their own that
/// no salt or slow hash is needed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyHash(String);

impl KeyHash {
    /// The digest of a key.
    pub fn of(key: &str) -> Self {
        Self(hex(&Sha256::digest(key.as_bytes())))
    }

    /// The key's public id: the digest's first 12 digits.
    pub fn key_id(&self) -> &str {
        const ID_DIGITS: usize = 12;
        self.0.get(..ID_DIGITS).unwrap_or(&self.0)
    }
}

/// What a key lets in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiKeyRecord {
    /// The key's public id, safe to show and to log.
    pub key_id: String,
    /// The campaign and environment that the key selects.
    pub scope: Scope,
    /// The operator's note on who has it.
    pub label: Option<String>,
    /// Requests a minute.
    pub per_minute: u32,
    /// When it was issued.
    pub created_at: Moment,
    /// When it was revoked; absent while it works, so that revoking finds no null in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Moment>,
}

/// A record with the digest it is found under.
#[derive(Serialize, Deserialize)]
struct Stored {
    key_hash: KeyHash,
    #[serde(flatten)]
    record: ApiKeyRecord,
}

/// The table.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    client: Client,
    table: String,
}

impl ApiKeys {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self { client: client.clone(), table: env.required(VARIABLE)? })
    }

    /// What a key lets in, or `None` when it is not known.
    ///
    /// # Errors
    /// When the table does not answer, or the record cannot be read.
    pub async fn get(&self, hash: &KeyHash) -> Result<Option<ApiKeyRecord>, StoreError> {
        const ACTION: &str = "reading an API key";
        let reply = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(KEY, text(&hash.0))
            .consistent_read(true)
            .send()
            .await
            .map_err(StoreError::during(ACTION))?;
        reply.item.map(from_item).transpose().map_err(StoreError::during(ACTION))
    }

    /// Records a new key.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn put(&self, key_hash: KeyHash, record: ApiKeyRecord) -> Result<(), StoreError> {
        const ACTION: &str = "writing an API key";
        let item = to_item(Stored { key_hash, record }).map_err(StoreError::during(ACTION))?;
        self.client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(key_hash)")
            .send()
            .await
            .map_err(StoreError::during(ACTION))?;
        Ok(())
    }

    /// The keys of a campaign, oldest first. For operators: it reads the whole, small, table.
    ///
    /// # Errors
    /// When the table does not answer, or a record cannot be read.
    pub async fn list(&self, campaign: &CampaignSlug) -> Result<Vec<ApiKeyRecord>, StoreError> {
        let mut keys: Vec<_> = self.scan().await?.into_iter().map(|stored| stored.record).collect();
        keys.retain(|key| key.scope.campaign == *campaign);
        keys.sort_by_key(|key| key.created_at);
        Ok(keys)
    }

    /// Revokes the key with this public id. A key revoked before keeps its first date. `None` when
    /// there is no such key.
    ///
    /// # Errors
    /// When the table does not answer, or a record cannot be read.
    pub async fn revoke(&self, key_id: &str, now: Moment) -> Result<Option<ApiKeyRecord>, StoreError> {
        let Some(stored) = self.scan().await?.into_iter().find(|stored| stored.record.key_id == key_id)
        else {
            return Ok(None);
        };
        self.client
            .update_item()
            .table_name(&self.table)
            .key(KEY, text(stored.key_hash.0))
            .update_expression("SET revoked_at = if_not_exists(revoked_at, :now)")
            .expression_attribute_values(":now", number(now.as_millis()))
            .send()
            .await
            .map_err(StoreError::during("revoking an API key"))?;
        let revoked_at = stored.record.revoked_at.or(Some(now));
        Ok(Some(ApiKeyRecord { revoked_at, ..stored.record }))
    }

    async fn scan(&self) -> Result<Vec<Stored>, StoreError> {
        const ACTION: &str = "listing API keys";
        let mut pages = self.client.scan().table_name(&self.table).into_paginator().items().send();
        let mut keys = Vec::new();
        while let Some(item) = pages.next().await {
            let item = item.map_err(StoreError::during(ACTION))?;
            keys.push(from_item(item).map_err(StoreError::during(ACTION))?);
        }
        Ok(keys)
    }
}
