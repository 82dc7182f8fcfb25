//! `result.json`: the round, and the order of each tier.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::order::Place;

/// A round's signature as the relay sends it: hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoundSignature(Vec<u8>);

/// The text is not hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature is not hexadecimal")]
pub struct NotHexadecimal;

impl RoundSignature {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for RoundSignature {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl TryFrom<String> for RoundSignature {
    type Error = NotHexadecimal;

    fn try_from(text: String) -> Result<Self, NotHexadecimal> {
        hex::decode(text).map(Self).map_err(|_| NotHexadecimal)
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
