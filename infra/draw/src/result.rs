//! `result.json`: the round, and the order of each tier.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::order::Place;

/// A round's signature as the relay sends it: a point of 48 bytes. It has one text, lower-case hexadecimal: another text or
/// length with another digest would give other winners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoundSignature([u8; 48]);

/// The text is not a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature is not 48 bytes in lower-case hexadecimal")]
pub struct NotASignature;

impl RoundSignature {
    pub fn as_bytes(&self) -> &[u8; 48] {
        &self.0
    }
}

impl From<[u8; 48]> for RoundSignature {
    fn from(bytes: [u8; 48]) -> Self {
        Self(bytes)
    }
}

impl TryFrom<String> for RoundSignature {
    type Error = NotASignature;

    fn try_from(text: String) -> Result<Self, NotASignature> {
        let mut bytes = [0; 48];
        hex::decode_to_slice(&text, &mut bytes).map_err(|_| NotASignature)?;
        Some(Self(bytes))
            .filter(|signature| String::from(*signature) == text)
            .ok_or(NotASignature)
    }
}

impl From<RoundSignature> for String {
    fn from(signature: RoundSignature) -> Self {
        hex::encode(signature.0)
    }
}

/// What follows from a commitment and a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawResult {
    pub round: NonZeroU64,
    pub signature: RoundSignature,
    /// SHA-256 of the signature.
    pub randomness: Digest,
    /// As the prizes of the header.
    pub tiers: Vec<TierResult>,
}

/// Who wins the prizes of a tier, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierResult {
    pub name: String,
    pub prizes: NonZeroU64,
    /// Winners, then alternates.
    pub order: Vec<Place>,
}
