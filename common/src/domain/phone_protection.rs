//! Phones in records: a keyed digest for comparing, an encrypted copy for calling winners. Keys
//! come from the secret's oldest word: others would give every phone new records.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::hmac;
use serde::{Deserialize, Serialize};

use super::key_encryption::{DeploymentSecret, open, seal};
use super::{EntrantId, Phone, Scope, SubmissionId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    pub phone: Phone,
    pub id: EntrantId,
}

/// Nonce and output of AES-256-GCM, in base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoredPhone(String);

#[derive(Debug, thiserror::Error)]
#[error("its phone is not encrypted")]
pub struct PhoneNotEncrypted;

impl TryFrom<String> for StoredPhone {
    type Error = PhoneNotEncrypted;

    /// Checks length and form; decryption needs the secret.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = URL_SAFE_NO_PAD
            .decode(&text)
            .map_err(|_| PhoneNotEncrypted)?;
        let is_long_enough = bytes.len() > DeploymentSecret::NONCE_BYTES + AES_256_GCM.tag_len();
        if is_long_enough {
            Ok(Self(text))
        } else {
            Err(PhoneNotEncrypted)
        }
    }
}

impl From<StoredPhone> for String {
    fn from(phone: StoredPhone) -> Self {
        phone.0
    }
}

masked_debug!(StoredPhone);

impl DeploymentSecret {
    /// Digests of a phone differ between campaigns.
    pub fn consumer(&self, scope: &Scope, phone: Phone) -> Consumer {
        let digest = self.hmac(&["entrant", &scope.to_string(), phone.expose_e164()]);
        let id = hex::encode(digest.as_ref().get(..EntrantId::BYTES).unwrap_or_default());
        Consumer {
            phone,
            id: EntrantId::from_record(id),
        }
    }

    /// Keyed because a plain digest allows trying all phones.
    pub fn keyed_digest(&self, scope: &Scope, body_digest: &str) -> String {
        hex::encode(
            self.hmac(&["body", &scope.to_string(), body_digest])
                .as_ref(),
        )
    }

    /// 16 hexadecimal digits, equal for equal keys.
    pub fn people_check(&self) -> String {
        hex::encode(self.hmac(&["check"]).as_ref().get(..8).unwrap_or_default())
    }

    /// Bound to the submission. The nonce must be random. Never `None` for a phone's length.
    pub fn encrypt_phone(
        &self,
        scope: &Scope,
        id: SubmissionId,
        phone: &Phone,
        nonce: [u8; Self::NONCE_BYTES],
    ) -> Option<StoredPhone> {
        let (cipher, context) = (self.phone_cipher(scope)?, id.to_string());
        let sealed = seal(&cipher, nonce, &context, phone.expose_e164().as_bytes())?;
        Some(StoredPhone(URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// `None` under another secret or submission.
    pub fn decrypt_phone(
        &self,
        scope: &Scope,
        id: SubmissionId,
        stored: &StoredPhone,
    ) -> Option<Phone> {
        let sealed = URL_SAFE_NO_PAD.decode(&stored.0).ok()?;
        let number = open(&self.phone_cipher(scope)?, &id.to_string(), &sealed)?;
        String::from_utf8(number).ok()?.parse().ok()
    }

    fn phone_cipher(&self, scope: &Scope) -> Option<LessSafeKey> {
        let key = self.hmac(&["phone", &scope.to_string()]);
        UnboundKey::new(&AES_256_GCM, key.as_ref())
            .ok()
            .map(LessSafeKey::new)
    }

    /// No part has a zero byte, so the encoding is unambiguous.
    fn hmac(&self, parts: &[&str]) -> hmac::Tag {
        hmac::sign(self.people_key(), parts.join("\0").as_bytes())
    }
}

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

    fn phone() -> Phone {
        "0712345678".parse().expect("a phone")
    }

    fn id(byte: u8) -> SubmissionId {
        SubmissionId::from_random([byte; 24])
    }

    /// Computed by Python's `hmac` and `cryptography`. A change loses phones and counts.
    #[test]
    fn digests_and_encrypted_phones_never_change() {
        let (secret, scope) = (secret(&"s".repeat(64)), scope(Environment::Live));
        assert_eq!(
            secret.consumer(&scope, phone()).id.as_str(),
            "19eeae973307c4e7b42ba297b851017e"
        );
        assert_eq!(
            secret.keyed_digest(&scope, "00"),
            "82705e7e19481d513093aad7ba58f1640916318e974bcaed2a96fec215f2cb71"
        );
        let stored = secret
            .encrypt_phone(&scope, id(1), &phone(), NONCE)
            .expect("a phone");
        assert_eq!(
            stored.0,
            "BQUFBQUFBQUFBQUFHzbWUwHWPts8N1g69EkxoY8oCWjP7j-WAakoGss"
        );
    }

    #[test]
    fn a_new_version_of_the_secret_keeps_the_phones_of_the_first() {
        let first = "s".repeat(64);
        let next = DeploymentSecret::rotated(&first, &"t".repeat(64));
        assert_eq!(
            DeploymentSecret::rotated(&next, "u"),
            format!("u {first}"),
            "the first word stays last"
        );
        let scope = scope(Environment::Live);
        let (first, next) = (secret(&first), secret(&next));
        assert_eq!(
            first.consumer(&scope, phone()),
            next.consumer(&scope, phone())
        );
        assert_eq!(first.people_check(), next.people_check());
        assert_ne!(first.people_check(), secret(&"t".repeat(64)).people_check());
    }

    #[test]
    fn phone_has_another_digest_in_each_scope_and_secret() {
        let (live, test) = (scope(Environment::Live), scope(Environment::Test));
        let ours = secret(&"s".repeat(64));
        let digest = |secret: &DeploymentSecret, scope| secret.consumer(scope, phone()).id;
        assert_ne!(digest(&ours, &live), digest(&ours, &test));
        assert_ne!(
            digest(&ours, &live),
            digest(&secret(&"t".repeat(64)), &live)
        );
    }

    #[test]
    fn a_phone_is_read_back_for_its_own_submission_alone() {
        let (live, ours) = (scope(Environment::Live), secret(&"s".repeat(64)));
        let stored = ours
            .encrypt_phone(&live, id(1), &phone(), NONCE)
            .expect("a phone");
        assert_eq!(ours.decrypt_phone(&live, id(1), &stored), Some(phone()));
        assert_eq!(ours.decrypt_phone(&live, id(2), &stored), None);
        assert_eq!(
            ours.decrypt_phone(&scope(Environment::Test), id(1), &stored),
            None
        );
        assert_eq!(
            secret(&"t".repeat(64)).decrypt_phone(&live, id(1), &stored),
            None
        );
        assert_eq!(
            ours.decrypt_phone(&live, id(1), &StoredPhone("AAAA".to_owned())),
            None
        );
    }

    #[test]
    fn clear_phone_is_refused() {
        for clear in [
            "+255712345678",
            "255712345678",
            "0712345678",
            "",
            "AAAA",
            "not base64!",
        ] {
            assert!(
                StoredPhone::try_from(clear.to_owned()).is_err(),
                "{clear:?}"
            );
        }
        let sealed = secret(&"s".repeat(64)).encrypt_phone(
            &scope(Environment::Live),
            id(1),
            &phone(),
            NONCE,
        );
        let sealed = String::from(sealed.expect("a phone"));
        assert!(StoredPhone::try_from(sealed).is_ok());
        // A nonce and a tag, of an empty text.
        assert!(StoredPhone::try_from(URL_SAFE_NO_PAD.encode([0; 12 + 16])).is_err());
        for (id, is_one) in [
            ("ab".repeat(16), true),
            ("+255712345678".to_owned(), false),
            ("AB".repeat(16), false),
        ] {
            assert_eq!(EntrantId::parse(&id).is_some(), is_one, "{id}");
        }
    }

    #[test]
    fn an_erased_person_has_an_id_of_the_same_form_as_everyone_else() {
        let tombstone = EntrantId::tombstone([171; EntrantId::BYTES]);
        assert_eq!(tombstone.as_str(), "ab".repeat(16));
        let consumer = secret(&"s".repeat(64)).consumer(&scope(Environment::Live), phone());
        assert_eq!(consumer.id.as_str().len(), tombstone.as_str().len());
    }

    #[test]
    fn neither_a_digest_nor_a_stored_phone_prints() {
        let (live, ours) = (scope(Environment::Live), secret(&"s".repeat(64)));
        let stored = ours.encrypt_phone(&live, id(1), &phone(), NONCE);
        let printed = format!("{:?} {stored:?}", ours.consumer(&live, phone()));
        assert_eq!(printed, "Consumer { phone: ***, id: *** } Some(***)");
    }
}
