//! Issues, changes, rolls and revokes API keys.

use std::time::Duration;

use chrono_tz::Tz;
use common::app::auth::key_prefix;

use common::domain::scope::{Environment, Scope};
use common::domain::timestamp::Timestamp;
use common::random;
use common::store::api_keys::{ApiKeyRecord, KeyHash};
use serde_json::json;

use crate::audit::Action;
use crate::failure::Failure;
use crate::tables::Tables;

/// Random characters after a key's prefix: about 190 bits.
const RANDOM_CHARS: usize = 32;

const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A key just issued. Only its digest is stored, so it cannot be read again.
pub struct IssuedKey {
    /// The secret that callers send.
    pub key: String,
    /// The stored record.
    pub record: ApiKeyRecord,
    /// The campaign's time zone. Read before anything is written: nothing may fail between writing a key and showing it.
    pub zone: Tz,
}

/// Issues a key for a campaign's environment, which works until it is revoked, or only for some time.
///
/// # Errors
/// When there is no such campaign, or a table does not answer.
pub async fn issue(
    tables: &Tables,
    scope: &Scope,
    label: Option<&str>,
    per_minute: u32,
    valid_for: Option<Duration>,
    now: Timestamp,
) -> Result<IssuedKey, Failure> {
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let (hash, mut issued) = new(scope, label, per_minute, zone, now);
    issued.record.valid_until = valid_for.map(|valid_for| now.after(valid_for));
    let valid_until = issued.record.valid_until.map(|until| until.to_string());
    let details = json!({ "label": label, "per_minute": per_minute, "valid_until": valid_until });
    tables
        .audit
        .append(action("key.issue", &issued.record).with(details), now)
        .await?;
    tables.api_keys.put(hash, issued.record.clone()).await?;
    Ok(issued)
}

fn action(name: &'static str, key: &ApiKeyRecord) -> Action {
    Action::new(name).in_scope(&key.scope).on(&key.key_id)
}

fn new(
    scope: &Scope,
    label: Option<&str>,
    per_minute: u32,
    zone: Tz,
    now: Timestamp,
) -> (KeyHash, IssuedKey) {
    let key = new_key(scope.environment);
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

/// Changes a key's limit of requests per minute; functions follow within seconds.
///
/// # Errors
/// When there is no such key, it was revoked, or the table does not answer.
pub async fn set_per_minute(
    tables: &Tables,
    key_id: &str,
    per_minute: u32,
    now: Timestamp,
) -> Result<ApiKeyRecord, Failure> {
    let (hash, record) = valid(tables, key_id, now).await?;
    let details = json!({ "per_minute": { "before": record.per_minute, "after": per_minute } });
    tables
        .audit
        .append(action("key.set", &record).with(details), now)
        .await?;
    if tables.api_keys.set_per_minute(&hash, per_minute).await? {
        Ok(ApiKeyRecord {
            per_minute,
            ..record
        })
    } else {
        Err(revoked())
    }
}

/// The result of rolling a key.
pub struct RolledKey {
    /// The replacement.
    pub new: IssuedKey,
    /// The key that was replaced; `valid_until` says when it stops working.
    pub old: ApiKeyRecord,
}

/// Replaces a key by a new one with the same campaign, environment, label and limit. The old key works for some time
/// more.
///
/// # Errors
/// When there is no such key, it was revoked, it has an end already, its campaign cannot be read, or a table does not
/// answer.
pub async fn roll(
    tables: &Tables,
    key_id: &str,
    old_valid_for: Duration,
    now: Timestamp,
) -> Result<RolledKey, Failure> {
    let (old_hash, old) = valid(tables, key_id, now).await?;
    let zone = tables.campaign(&old.scope.campaign).await?.timezone;
    let (hash, new) = new(&old.scope, old.label.as_deref(), old.per_minute, zone, now);
    let until = now.after(old_valid_for);
    let details = json!({ "new_key_id": new.record.key_id, "old_valid_until": until.to_string() });
    tables
        .audit
        .append(action("key.roll", &old).with(details), now)
        .await?;
    if tables
        .api_keys
        .roll(&old_hash, until, hash, new.record.clone())
        .await?
    {
        Ok(RolledKey {
            new,
            old: ApiKeyRecord {
                valid_until: Some(until),
                ..old
            },
        })
    } else {
        let message = "this key has an end already, because it was rolled or issued with --valid-for, or it was revoked \
                       just now; `ops key list --campaign SLUG` shows the keys, `ops key issue` issues another one";
        Err(Failure::new("key_rolled", message))
    }
}

/// Finds a key, also one that was revoked.
///
/// # Errors
/// When there is no such key, or the table does not answer.
pub async fn find(tables: &Tables, key_id: &str) -> Result<ApiKeyRecord, Failure> {
    Ok(tables.api_keys.find(key_id).await?.ok_or_else(unknown)?.1)
}

/// Finds a key that still works.
async fn valid(
    tables: &Tables,
    key_id: &str,
    now: Timestamp,
) -> Result<(KeyHash, ApiKeyRecord), Failure> {
    let (hash, record) = tables.api_keys.find(key_id).await?.ok_or_else(unknown)?;
    if record.is_revoked(now) {
        Err(revoked())
    } else {
        Ok((hash, record))
    }
}

fn unknown() -> Failure {
    let message = "there is no key with this id; `ops key list --campaign SLUG` shows the ids, which are not the keys \
                   themselves";
    Failure::new("key_unknown", message)
}

fn revoked() -> Failure {
    Failure::new(
        "key_revoked",
        "this key is no longer valid; `ops key issue` issues a new one",
    )
}

/// Revokes a key; functions follow within seconds.
///
/// # Errors
/// When there is no such key, or the table does not answer.
pub async fn revoke(
    tables: &Tables,
    key_id: &str,
    now: Timestamp,
) -> Result<ApiKeyRecord, Failure> {
    let key = find(tables, key_id).await?;
    tables
        .audit
        .append(
            action("key.revoke", &key).with(json!({ "label": key.label })),
            now,
        )
        .await?;
    tables
        .api_keys
        .revoke(key_id, now)
        .await?
        .ok_or_else(unknown)
}

fn new_key(environment: Environment) -> String {
    let mut key = key_prefix(environment).to_owned();
    let whole = key.len() + RANDOM_CHARS;
    while key.len() < whole {
        let symbols = random::bytes::<RANDOM_CHARS>()
            .into_iter()
            .filter_map(symbol);
        key.extend(symbols.take(whole - key.len()));
    }
    key
}

/// The symbol that a random byte picks. Bytes from 248 on pick none: with exactly four bytes for each of the 62
/// symbols, all symbols are equally likely.
fn symbol(byte: u8) -> Option<char> {
    const EVEN: usize = 256 - 256 % ALPHABET.len();
    let byte = usize::from(byte);
    if byte >= EVEN {
        return None;
    }
    ALPHABET.get(byte % ALPHABET.len()).copied().map(char::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_environments_prefix_and_32_letters_and_digits() {
        for environment in Environment::ALL {
            let key = new_key(environment);
            let random = key
                .strip_prefix(key_prefix(environment))
                .expect("the prefix");
            assert_eq!(random.len(), 32);
            assert!(
                random.chars().all(|c| c.is_ascii_alphanumeric()),
                "{random}"
            );
        }
        assert_ne!(new_key(Environment::Test), new_key(Environment::Test));
    }

    #[test]
    fn every_symbol_is_equally_likely() {
        let mut picked = std::collections::BTreeMap::new();
        for symbol in (0..=255).filter_map(symbol) {
            *picked.entry(symbol).or_insert(0) += 1;
        }
        assert_eq!(picked.len(), 62);
        assert!(picked.values().all(|times| *times == 4), "{picked:?}");
    }
}
