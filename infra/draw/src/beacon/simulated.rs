//! A chain with its own key: rounds on demand, without a network.

use std::num::{NonZeroU32, NonZeroU64};

use blst::min_sig::SecretKey;
use chrono::{DateTime, Utc};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::chain::{Chain, DOMAIN, message};

/// The owner of the seed knows every round: for rehearsals only.
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
        let hash = Sha256::new()
            .chain_update(b"simulated chain\n")
            .chain_update(public_key);
        let hash = hash.chain_update(genesis.timestamp().to_be_bytes());
        let hash = hash
            .chain_update(period_seconds.get().to_be_bytes())
            .finalize();
        let chain = Chain::new(
            &hex::encode(hash),
            &hex::encode(public_key),
            genesis,
            period_seconds,
        );
        Self {
            key,
            chain: chain.expect("a public key"),
        }
    }

    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    pub fn sign(&self, round: NonZeroU64) -> [u8; 48] {
        self.key.sign(&message(round), DOMAIN, &[]).compress()
    }

    /// The reply to `GET /{chain hash}/public/{round}`.
    pub fn reply(&self, round: NonZeroU64) -> String {
        let signature = self.sign(round);
        let randomness = hex::encode(Sha256::digest(signature));
        json!({ "round": round, "randomness": randomness, "signature": hex::encode(signature) })
            .to_string()
    }
}
