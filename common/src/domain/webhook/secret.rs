//! As Standard Webhooks defines them.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair};

use super::EventId;
use crate::domain::Invalid;
use crate::domain::cipher::SecretKey;

const SECRET_PREFIX: &str = "whsec_";
const PUBLIC_KEY_PREFIX: &str = "whpk_";

text_enum! {
    pub enum SignatureKind {
        /// HMAC-SHA256, under a secret that the brand has too.
        V1 = "v1",
        /// Ed25519: the brand needs only a public key.
        V1a = "v1a",
    }
}

/// 32 random bytes: the key of `v1`, the seed of `v1a`.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(SecretKey);

masked_debug!(WebhookSecret);

impl WebhookSecret {
    pub fn new(key: SecretKey) -> Self {
        Self(key)
    }

    pub fn key(&self) -> &SecretKey {
        &self.0
    }

    /// `whsec_` and base64, to be shown once.
    pub fn expose(&self) -> String {
        format!("{SECRET_PREFIX}{}", STANDARD.encode(self.0.expose()))
    }

    /// `whpk_` and base64, which verifies `v1a`. Never `None` for a seed's fixed length.
    pub fn public_key(&self) -> Option<String> {
        let pair = self.key_pair()?;
        let key = STANDARD.encode(pair.public_key().as_ref());
        Some(format!("{PUBLIC_KEY_PREFIX}{key}"))
    }

    fn key_pair(&self) -> Option<Ed25519KeyPair> {
        Ed25519KeyPair::from_seed_unchecked(self.0.expose()).ok()
    }

    fn sign(&self, kind: SignatureKind, content: &[u8]) -> Option<String> {
        let signature = match kind {
            SignatureKind::V1 => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose());
                STANDARD.encode(hmac::sign(&key, content))
            }
            SignatureKind::V1a => STANDARD.encode(self.key_pair()?.sign(content)),
        };
        Some(format!("{kind},{signature}"))
    }
}

impl FromStr for WebhookSecret {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text
            .strip_prefix(SECRET_PREFIX)
            .and_then(|key| STANDARD.decode(key).ok())
            .and_then(|key| key.try_into().ok());
        let key = bytes.ok_or(Invalid("`whsec_` and 32 bytes in base64"))?;
        Ok(Self(SecretKey::from_random(key)))
    }
}

/// Value of the header `webhook-signature`: one signature for each secret.
pub fn signature_header(
    secrets: &[WebhookSecret],
    kind: SignatureKind,
    id: &EventId,
    seconds: i64,
    body: &str,
) -> String {
    let content = format!("{id}.{seconds}.{body}");
    let signatures: Vec<_> = secrets
        .iter()
        .filter_map(|secret| secret.sign(kind, content.as_bytes()))
        .collect();
    signatures.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"type":"submission.accepted","timestamp":"2026-12-24T09:15:30.123Z","data":{"id":"0198c9a2-7b1e-7c3a-9d55-1f2e3a4b5c6d","ref":"K7M2-Q9XD","campaign":"chai-bora-2026","livemode":true,"revision":3,"state":"accepted","review_status":"verified","display_status":"entered","message_key":"instant_win","entries":2}}"#;
    const SECRET: &str = "whsec_23TuE0JDfiG8TzVOLAMmJFPtI4oQIjYqUxD8IZAtPII=";
    const NEXT: &str = "whsec_hdTy6G5F/tYXIWIFL1SSRt6YaVL061MG2QZVDm+ICcE=";
    const V1: &str = "v1,Wm8EC1mFvIJkB0dXWBMcgC8GC1I6DL6Byk3RIuG2Vi4=";
    const NEXT_V1: &str = "v1,HOy/2BVmPv+qaMjWK/r0ZV83NyxVCpK5RPsRlCkQz7g=";

    fn header(secrets: &[WebhookSecret], kind: SignatureKind) -> String {
        let id = "evt_s4fkv7yfdfyhgxhnecjfwc67km".parse().expect("an id");
        signature_header(secrets, kind, &id, 1_798_103_731, BODY)
    }

    #[test]
    fn signatures_are_those_of_the_vectors() {
        let [secret, next]: [WebhookSecret; 2] =
            [SECRET, NEXT].map(|text| text.parse().expect("a secret"));
        assert_eq!(header(std::slice::from_ref(&secret), SignatureKind::V1), V1);
        let both = header(&[next, secret], SignatureKind::V1);
        assert_eq!(both, format!("{NEXT_V1} {V1}"));
    }

    #[test]
    fn ed25519_signature_is_that_of_the_vector() {
        let seed = "8e5dc3e38212a533150fc0495009d12098ac095e3499ddaa3552040acccb8f70";
        let seed = hex::decode(seed)
            .expect("hexadecimal")
            .try_into()
            .expect("32 bytes");
        let secret = WebhookSecret::new(SecretKey::from_random(seed));
        let public_key = "whpk_HkrEjdnHQPGAeXEe5DExIcCaBDiqN9Dtmsu7cPeze/g=";
        assert_eq!(secret.public_key().as_deref(), Some(public_key));
        let expected = "v1a,9PFQPVucEeXIBy42TCQn5axGdxYaoUG2K5gv+D3v4oNEC5Nyux0Tgx/0IR6VwOGy1GRICfkCaESOzU4kfQY2Cg==";
        assert_eq!(header(&[secret], SignatureKind::V1a), expected);
    }

    #[test]
    fn secret_has_one_spelling_and_does_not_print() {
        let secret: WebhookSecret = SECRET.parse().expect("a secret");
        assert_eq!(secret.expose(), SECRET);
        assert_eq!(format!("{secret:?}"), "***");
        for bad in [
            "",
            "whsec_",
            "23TuE0JDfiG8TzVOLAMmJFPtI4oQIjYqUxD8IZAtPII=",
            "whsec_AAAA",
        ] {
            assert!(bad.parse::<WebhookSecret>().is_err(), "{bad}");
        }
    }
}
