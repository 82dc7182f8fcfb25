//! The record names the version of the secret.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::record_version::FIRST;
use super::{Item, StoreError, StoreResult, read_text, required};
use crate::aws::deployment_secret::SecretVersion;
use crate::domain::cipher::SecretKey;
use crate::domain::key_encryption::KeyContext;
use crate::random;

pub(super) const SECRET_VERSION: &str = "secret_version";

pub(super) fn secret_version<'a>(item: &'a Item, action: &'static str) -> StoreResult<&'a str> {
    FIRST.check(item, action)?;
    required(read_text(item, SECRET_VERSION), action)
}

pub(super) fn encrypted(
    secret: &SecretVersion,
    context: KeyContext<'_>,
    key: &SecretKey,
    action: &'static str,
) -> StoreResult<AttributeValue> {
    let stored = secret.secret.encrypt(context, key, random::bytes());
    let stored = stored.ok_or_else(|| StoreError::new(action, "a key cannot be encrypted"))?;
    Ok(AttributeValue::B(Blob::new(stored)))
}

pub(super) fn decrypted(
    secret: &SecretVersion,
    context: KeyContext<'_>,
    stored: Option<&AttributeValue>,
    action: &'static str,
) -> StoreResult<SecretKey> {
    let stored = required(stored.and_then(|stored| stored.as_b().ok()), action)?;
    let key = secret.secret.decrypt(context, stored.as_ref());
    key.ok_or_else(|| {
        StoreError::new(
            action,
            "its keys are encrypted under another secret than the deployment's",
        )
    })
}
