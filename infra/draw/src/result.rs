//! `result.json`: the round, and each tier's order.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::digest::{Digest, RoundSignature};
use crate::order::Place;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawResult {
    pub round: NonZeroU64,
    pub signature: RoundSignature,
    /// SHA-256 of the signature.
    pub randomness: Digest,
    pub tiers: Vec<TierResult>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierResult {
    pub name: String,
    pub prizes: NonZeroU64,
    /// Winners, then alternates.
    pub order: Vec<Place>,
}
