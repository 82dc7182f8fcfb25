use std::num::{NonZeroU32, NonZeroU64};

use blst::min_sig::SecretKey;
use chrono::{DateTime, Utc};
use serde_json::json;

use super::chain::{Chain, DOMAIN, message};
use crate::commitment::randomness;
use crate::digest::{Digest, RoundSignature};

/// A chain for rehearsals: the seed's owner knows every round.
pub struct SimulatedChain {
    key: SecretKey,
    chain: Chain,
}

impl SimulatedChain {
    #[expect(
        clippy::expect_used,
        reason = "a seed of 32 bytes gives a key, and a key has a public key"
    )]
    pub fn new(seed: &[u8; 32], genesis: DateTime<Utc>, period_seconds: NonZeroU32) -> Self {
        let key = SecretKey::key_gen(seed, &[]).expect("32 bytes are enough");
        let public_key = key.sk_to_pk().compress();
        // Another genesis or period is another chain.
        let hash = Digest::from_parts(&[
            b"simulated chain\n",
            &public_key,
            &genesis.timestamp().to_be_bytes(),
            &period_seconds.get().to_be_bytes(),
        ]);
        let chain = Chain::new(hash, &hex::encode(public_key), genesis, period_seconds);
        Self {
            key,
            chain: chain.expect("a public key"),
        }
    }

    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    pub fn sign(&self, round: NonZeroU64) -> RoundSignature {
        let signature = self.key.sign(message(round).as_bytes(), DOMAIN, &[]);
        signature.compress().into()
    }

    /// The reply to `GET /{chain hash}/public/{round}`.
    pub fn reply(&self, round: NonZeroU64) -> String {
        let signature = self.sign(round);
        let randomness = randomness(signature.as_bytes());
        json!({ "round": round, "randomness": randomness, "signature": signature }).to_string()
    }
}
