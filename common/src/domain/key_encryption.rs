//! Encryption of stored keys: AES-256-GCM, each under its own key, derived from the deployment's
//! secret by HKDF-SHA256.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use ring::hmac;

use super::Scope;
use super::cipher::SecretKey;
use super::webhook::EndpointId;

const CODE_BOOK_SALT: &[u8] = b"campaign-entry-service/code-book";
const PEOPLE_SALT: &[u8] = b"campaign-entry-service/people";

/// Source of a deployment's keys.
///
/// Rotating puts a new word before the secret, and code books and webhooks' secrets under a key
/// from the whole text. Digests of phones find records, so their key comes from the last word,
/// which never changes.
#[derive(Clone)]
pub struct DeploymentSecret {
    code_books: Prk,
    people: hmac::Key,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the deployment's secret has fewer than {} characters",
    DeploymentSecret::MIN_CHARS
)]
pub struct TooShort;

/// Prevents using one key in place of another.
#[derive(Clone, Copy, Debug)]
pub enum KeyContext<'a> {
    Minting(&'a Scope),
    Digests(&'a Scope),
    Webhook(&'a Scope, &'a EndpointId),
}

impl fmt::Display for KeyContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minting(scope) => write!(f, "{scope}#minting#1"),
            Self::Digests(scope) => write!(f, "{scope}#digests#1"),
            Self::Webhook(scope, endpoint) => write!(f, "{scope}#webhook#{endpoint}#1"),
        }
    }
}

impl DeploymentSecret {
    /// The template makes 64 letters and digits.
    pub const MIN_CHARS: usize = 32;
    pub const NONCE_BYTES: usize = NONCE_LEN;

    /// Ignores surrounding white space, as in a restored file.
    pub fn new(text: &str) -> Result<Self, TooShort> {
        let text = text.trim();
        let oldest = oldest_word(text);
        if oldest.chars().count() < Self::MIN_CHARS {
            return Err(TooShort);
        }
        let salt = hmac::Key::new(hmac::HMAC_SHA256, PEOPLE_SALT);
        let people = hmac::sign(&salt, oldest.as_bytes());
        Ok(Self {
            code_books: Salt::new(HKDF_SHA256, CODE_BOOK_SALT).extract(text.as_bytes()),
            people: hmac::Key::new(hmac::HMAC_SHA256, people.as_ref()),
        })
    }

    pub fn rotated(text: &str, word: &str) -> String {
        format!("{word} {}", oldest_word(text))
    }

    pub(super) fn people_key(&self) -> &hmac::Key {
        &self.people
    }

    /// Nonce (must be random), encrypted key, tag. Never `None` for a key's fixed length.
    pub fn encrypt(
        &self,
        context: KeyContext<'_>,
        key: &SecretKey,
        nonce: [u8; Self::NONCE_BYTES],
    ) -> Option<Vec<u8>> {
        seal(&self.cipher(context)?, nonce, "", key.expose())
    }

    /// `None` under another context or secret.
    pub fn decrypt(&self, context: KeyContext<'_>, stored: &[u8]) -> Option<SecretKey> {
        let key = open(&self.cipher(context)?, "", stored)?;
        key.try_into().ok().map(SecretKey::from_random)
    }

    /// The key depends on the context, so no additional data is authenticated.
    fn cipher(&self, context: KeyContext<'_>) -> Option<LessSafeKey> {
        let info = context.to_string();
        let info = [info.as_bytes()];
        let derived = self.code_books.expand(&info, &AES_256_GCM).ok()?;
        Some(LessSafeKey::new(UnboundKey::from(derived)))
    }
}

/// Nonce, encrypted bytes, tag. `None` only for more bytes than a cipher takes.
pub(super) fn seal(
    cipher: &LessSafeKey,
    nonce: [u8; NONCE_LEN],
    context: &str,
    plain: &[u8],
) -> Option<Vec<u8>> {
    let (mut sealed, unique) = (plain.to_vec(), Nonce::assume_unique_for_key(nonce));
    cipher
        .seal_in_place_append_tag(unique, Aad::from(context), &mut sealed)
        .ok()?;
    Some([nonce.as_slice(), &sealed].concat())
}

pub(super) fn open(cipher: &LessSafeKey, context: &str, stored: &[u8]) -> Option<Vec<u8>> {
    let (nonce, sealed) = stored.split_at_checked(NONCE_LEN)?;
    let (mut opened, nonce) = (
        sealed.to_vec(),
        Nonce::try_assume_unique_for_key(nonce).ok()?,
    );
    let plain = cipher.open_in_place(nonce, Aad::from(context), &mut opened);
    plain.ok().map(|plain| plain.to_vec())
}

fn oldest_word(text: &str) -> &str {
    text.split_whitespace().next_back().unwrap_or_default()
}

masked_debug!(DeploymentSecret);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scope::Environment;

    const NONCE: [u8; 12] = [5; 12];

    fn secret(text: &str) -> DeploymentSecret {
        DeploymentSecret::new(text).expect("long enough")
    }

    fn scope(environment: Environment) -> Scope {
        Scope {
            campaign: "demo".parse().expect("a slug"),
            environment,
        }
    }

    /// Computed by Python's `cryptography`. A change loses code books.
    #[test]
    fn an_encrypted_key_never_changes() {
        let scope = scope(Environment::Live);
        let stored = secret(&"s".repeat(64)).encrypt(
            KeyContext::Minting(&scope),
            &SecretKey::from_random([7; 32]),
            NONCE,
        );
        assert_eq!(
            hex::encode(stored.expect("a key")),
            "050505050505050505050505cd02110d4fe02b6d3ea9e420bc8a78e182bf1f4c0d29b78a4c37bdc5da700628fa98679700bd7f1e6b7b5b88fccbd4c7"
        );
    }

    #[test]
    fn key_is_read_back_in_its_own_context_and_secret_alone() {
        let (live, test) = (scope(Environment::Live), scope(Environment::Test));
        let (ours, key) = (secret(&"s".repeat(64)), SecretKey::from_random([7; 32]));
        let mut stored = ours
            .encrypt(KeyContext::Minting(&live), &key, NONCE)
            .expect("a key");
        assert_eq!(ours.decrypt(KeyContext::Minting(&live), &stored), Some(key));
        for other in [KeyContext::Minting(&test), KeyContext::Digests(&live)] {
            assert_eq!(ours.decrypt(other, &stored), None, "{other:?}");
        }
        assert_eq!(
            secret(&"t".repeat(64)).decrypt(KeyContext::Minting(&live), &stored),
            None
        );
        assert_eq!(
            ours.decrypt(KeyContext::Minting(&live), &stored[..11]),
            None
        );
        stored[20] ^= 1;
        assert_eq!(ours.decrypt(KeyContext::Minting(&live), &stored), None);
    }

    #[test]
    fn a_secret_is_long_and_does_not_print() {
        assert_eq!(
            DeploymentSecret::new(&"s".repeat(31)).map(drop),
            Err(TooShort)
        );
        assert_eq!(
            DeploymentSecret::new(&format!("{}\n", "s".repeat(31))).map(drop),
            Err(TooShort)
        );
        assert_eq!(format!("{:?}", secret(&"s".repeat(32))), "***");
    }
}
