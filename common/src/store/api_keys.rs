//! Permissions by the SHA-256 of a key, which is not stored.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::batch::{BatchGet, BatchItems};
use super::table::list;
use super::write::Write;
use super::{Item, StoreError, StoreResult, from_record, number, read_text, required, transaction};
use crate::domain::{CampaignSlug, Scope, Timestamp};

pub const KEY: &str = "key_hash";
pub const VARIABLE: &str = "API_KEYS_TABLE";

/// SHA-256 in hexadecimal. Random keys need no salt or slow hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyHash(String);

impl KeyHash {
    pub fn digest(key: &str) -> Self {
        Self(hex::encode(Sha256::digest(key.as_bytes())))
    }

    pub fn key_id(&self) -> &str {
        const ID_DIGITS: usize = 12;
        self.0.get(..ID_DIGITS).unwrap_or(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiKeyRecord {
    pub key_id: String,
    pub scope: Scope,
    pub label: Option<String>,
    pub per_minute: u32,
    pub created_at: Timestamp,
    /// Set at issue, or when another key replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// Absent, not null, before that: a condition checks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl ApiKeyRecord {
    pub fn is_revoked(&self, now: Timestamp) -> bool {
        self.revoked_at.is_some() || self.valid_until.is_some_and(|until| until <= now)
    }
}

const REVOKED_AT: &str = "revoked_at";
const VALID_UNTIL: &str = "valid_until";

store! {
    ApiKeys
}

impl ApiKeys {
    pub(crate) fn add_to(&self, batch: &mut BatchGet, hash: &KeyHash) {
        batch.add(&self.table.place(&hash.0));
    }

    pub(crate) fn find_in(
        &self,
        items: &BatchItems,
        hash: &KeyHash,
    ) -> StoreResult<Option<ApiKeyRecord>> {
        let item = items.find(&self.table.place(&hash.0)).item();
        item.map(|item| from_record(item.clone(), "reading an API key"))
            .transpose()
    }

    pub async fn put(&self, key_hash: KeyHash, record: ApiKeyRecord) -> StoreResult<()> {
        const ACTION: &str = "writing an API key";
        let put = self.table.put(key_hash.0, &record).when_absent(KEY);
        if put.send(ACTION).await? {
            Ok(())
        } else {
            Err(StoreError::new(ACTION, "the key exists"))
        }
    }

    /// Oldest first. Reads the whole, small table.
    pub async fn list(&self, campaign: &CampaignSlug) -> StoreResult<Vec<ApiKeyRecord>> {
        let records = self.scan().await?.into_iter().map(|(_, record)| record);
        let mut keys: Vec<_> = records
            .filter(|key| key.scope.campaign == *campaign)
            .collect();
        keys.sort_by_key(|key| key.created_at);
        Ok(keys)
    }

    pub async fn find(&self, key_id: &str) -> StoreResult<Option<(KeyHash, ApiKeyRecord)>> {
        let keys = self.scan().await?;
        Ok(keys.into_iter().find(|(_, key)| key.key_id == key_id))
    }

    pub async fn set_per_minute(&self, hash: &KeyHash, per_minute: u32) -> StoreResult<bool> {
        self.unrevoked(hash)
            .set("per_minute", per_minute)
            .send("changing an API key's limit")
            .await
    }

    /// False if the old key was revoked or has an end.
    pub async fn roll(
        &self,
        old: &KeyHash,
        until: Timestamp,
        key_hash: KeyHash,
        record: ApiKeyRecord,
    ) -> StoreResult<bool> {
        let end = self.unrevoked(old).when_absent(VALID_UNTIL);
        let new = self.table.put(key_hash.0, &record);
        let items = vec![end.set(VALID_UNTIL, until), new];
        transaction::write_all(items, "rolling an API key").await
    }

    fn unrevoked(&self, hash: &KeyHash) -> Write {
        let update = self.table.update(&hash.0);
        update.when_present(KEY).when_absent(REVOKED_AT)
    }

    /// Keeps the first date. `None` for an unknown key.
    pub async fn revoke(&self, key_id: &str, now: Timestamp) -> StoreResult<Option<ApiKeyRecord>> {
        let Some((hash, record)) = self.find(key_id).await? else {
            return Ok(None);
        };
        self.table
            .update(hash.0)
            .set_if_absent(REVOKED_AT, number(now.as_millis()))
            .send("revoking an API key")
            .await?;
        let revoked_at = record.revoked_at.or(Some(now));
        Ok(Some(ApiKeyRecord {
            revoked_at,
            ..record
        }))
    }

    async fn scan(&self) -> StoreResult<Vec<(KeyHash, ApiKeyRecord)>> {
        const ACTION: &str = "listing API keys";
        let read = |item: Item| {
            let hash = KeyHash(required(read_text(&item, KEY), ACTION)?.to_owned());
            Ok((hash, from_record(item, ACTION)?))
        };
        list(self.table.scan(), ACTION, read).await
    }
}
