use std::ops::RangeInclusive;

use common::app::auth::key_prefix;
use common::cache;
use common::store::api_keys::{ApiKeyRecord, KeyHash};

use crate::prelude::*;

/// 192 bits, which cannot be guessed.
const KEY_BYTES: usize = 24;

pub const PER_MINUTE: RangeInclusive<i64> = 1..=1_000_000;
/// Hours; at most those of a year.
pub const VALID_HOURS: RangeInclusive<i64> = 1..=366 * 24;
/// Hours that a replaced key may still work.
pub const OLD_KEY_HOURS: RangeInclusive<i64> = 0..=720;

pub const USELESS_ON_STAGING: &str = "This stack is for staging, where live keys are refused (`key_wrong_environment`): issue a test key.";

pub fn validate_label(label: &str) -> Result<&str> {
    let message = "a label is 1 to 100 characters on one line; shorten it";
    one_line(label, 100).ok_or_else(|| Failure::new("label_invalid", message))
}

pub fn limit_in_words(changed: &ApiKeyRecord) -> String {
    format!(
        "{} may make {} requests a minute; functions follow within {}. In the minute of the change, at most the larger of the two \
         applies",
        changed.key_id,
        changed.per_minute,
        span_in_words(cache::MAX_AGE)
    )
}

/// A new key. It cannot be read again, since only its digest is stored.
pub struct IssuedKey {
    pub key: String,
    pub record: ApiKeyRecord,
    /// Read before writing: nothing may fail between writing a key and showing it.
    pub zone: Tz,
}

pub async fn issue(
    tables: &Tables,
    scope: &Scope,
    label: Option<&str>,
    per_minute: u32,
    valid_for: Option<Duration>,
    now: Timestamp,
) -> Result<IssuedKey> {
    let zone = tables.zone(scope).await?;
    let (hash, mut issued) = new(scope, label, per_minute, zone, now);
    issued.record.valid_until = valid_for.map(|valid_for| now.after(valid_for));
    let valid_until = issued.record.valid_until.map(|until| until.to_string());
    let details = json!({ "label": label, "per_minute": per_minute, "valid_until": valid_until });
    record(tables, "key.issue", &issued.record, details, now).await?;
    tables.api_keys.put(hash, issued.record.clone()).await?;
    Ok(issued)
}

async fn record(
    tables: &Tables,
    action: &'static str,
    key: &ApiKeyRecord,
    details: Value,
    now: Timestamp,
) -> Result<()> {
    let action = Action::new(action).in_scope(&key.scope).on(&key.key_id);
    tables.audit.append(action.with(details), now).await?;
    Ok(())
}

fn new(
    scope: &Scope,
    label: Option<&str>,
    per_minute: u32,
    zone: Tz,
    now: Timestamp,
) -> (KeyHash, IssuedKey) {
    let secret = hex::encode(random::bytes::<KEY_BYTES>());
    let key = format!("{}{secret}", key_prefix(scope.environment));
    let hash = KeyHash::digest(&key);
    let record = ApiKeyRecord {
        key_id: hash.key_id().to_owned(),
        scope: scope.clone(),
        label: label.map(str::to_owned),
        per_minute,
        created_at: now,
        valid_until: None,
        revoked_at: None,
    };
    (hash, IssuedKey { key, record, zone })
}

pub async fn set_per_minute(
    tables: &Tables,
    key_id: &str,
    per_minute: u32,
    now: Timestamp,
) -> Result<ApiKeyRecord> {
    let (hash, key) = valid(tables, key_id, now).await?;
    let details = json!({ "per_minute": { "before": key.per_minute, "after": per_minute } });
    record(tables, "key.set", &key, details, now).await?;
    if tables.api_keys.set_per_minute(&hash, per_minute).await? {
        Ok(ApiKeyRecord { per_minute, ..key })
    } else {
        Err(revoked())
    }
}

pub struct RolledKey {
    pub new: IssuedKey,
    /// The replaced key; `valid_until` is its end.
    pub old: ApiKeyRecord,
}

pub async fn roll(
    tables: &Tables,
    key_id: &str,
    old_valid_for: Duration,
    now: Timestamp,
) -> Result<RolledKey> {
    let (old_hash, old) = valid(tables, key_id, now).await?;
    let zone = tables.zone(&old.scope).await?;
    let (hash, new) = new(&old.scope, old.label.as_deref(), old.per_minute, zone, now);
    let until = now.after(old_valid_for);
    let details = json!({ "new_key_id": new.record.key_id, "old_valid_until": until.to_string() });
    record(tables, "key.roll", &old, details, now).await?;
    let replacement = new.record.clone();
    let rolled = tables.api_keys.roll(&old_hash, until, hash, replacement);
    if rolled.await? {
        Ok(RolledKey {
            new,
            old: ApiKeyRecord {
                valid_until: Some(until),
                ..old
            },
        })
    } else {
        bail!(
            "key_rolled",
            "this key has an end already, because it was rolled or issued with --valid-for, or it was revoked \
                       just now; `ops key list --campaign SLUG` shows the keys, `ops key issue` issues another one"
        )
    }
}

pub async fn find(tables: &Tables, key_id: &str) -> Result<ApiKeyRecord> {
    Ok(tables.api_keys.find(key_id).await?.ok_or_else(unknown)?.1)
}

async fn valid(tables: &Tables, key_id: &str, now: Timestamp) -> Result<(KeyHash, ApiKeyRecord)> {
    let (hash, record) = tables.api_keys.find(key_id).await?.ok_or_else(unknown)?;
    if record.is_revoked(now) {
        Err(revoked())
    } else {
        Ok((hash, record))
    }
}

fn unknown() -> Failure {
    failure!(
        "key_unknown",
        "there is no key with this id; `ops key list --campaign SLUG` shows the ids, which are not the keys \
                   themselves"
    )
}

fn revoked() -> Failure {
    failure!(
        "key_revoked",
        "this key is no longer valid; `ops key issue` issues a new one"
    )
}

pub async fn revoke(tables: &Tables, key_id: &str, now: Timestamp) -> Result<ApiKeyRecord> {
    let key = find(tables, key_id).await?;
    record(
        tables,
        "key.revoke",
        &key,
        json!({ "label": key.label }),
        now,
    )
    .await?;
    let revoked = tables.api_keys.revoke(key_id, now).await?;
    revoked.ok_or_else(unknown)
}
