use std::num::{NonZeroU32, NonZeroU64};

use blst::BLST_ERROR;
use blst::min_sig::{PublicKey, Signature};
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use crate::digest::{Digest, RoundSignature};

/// Domain of the scheme `bls-unchained-g1-rfc9380`.
pub(super) const DOMAIN: &[u8] = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";

const QUICKNET: &str = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";

#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    hash: Digest,
    public_key: PublicKey,
    genesis: DateTime<Utc>,
    period_seconds: NonZeroU32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidChain {
    #[error(
        "the chain's public key is not a point of G2 in 192 hexadecimal digits; copy it from the beacon's /info"
    )]
    PublicKey,
    #[error(
        "the chain has the hash of drand's quicknet, but another key, genesis or period; leave it out, quicknet is known"
    )]
    NotQuicknet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRound {
    #[error("is not a relay's reply")]
    Unreadable,
    #[error("is of round {found}")]
    OtherRound { found: u64 },
    #[error("has a signature that is not of this chain and round")]
    Forged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedRound {
    number: NonZeroU64,
    signature: RoundSignature,
}

impl VerifiedRound {
    pub fn number(&self) -> NonZeroU64 {
        self.number
    }

    /// Its SHA-256 is the randomness.
    pub fn signature(&self) -> RoundSignature {
        self.signature
    }
}

/// A relay's reply. Its randomness is computed, not believed.
#[derive(Deserialize)]
struct RelayReply {
    round: u64,
    signature: RoundSignature,
}

impl Chain {
    /// drand's chain quicknet: a round every three seconds since August 2023.
    #[expect(clippy::expect_used, reason = "the constants are tested")]
    pub fn quicknet() -> Self {
        let public_key = "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451\
                          0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a";
        let genesis = DateTime::from_timestamp_secs(1_692_803_367).expect("a time");
        let period_seconds = NonZeroU32::MIN.saturating_add(2);
        let hash = QUICKNET.parse().expect("a digest");
        Self::with_key(hash, public_key, genesis, period_seconds).expect("a key")
    }

    /// True for the public chain. Another chain's key gives its rounds in advance.
    pub fn is_quicknet(&self) -> bool {
        self.hash.to_string() == QUICKNET
    }

    /// `public_key` is hexadecimal. With quicknet's hash, the other constants must be quicknet's.
    pub fn new(
        hash: Digest,
        public_key: &str,
        genesis: DateTime<Utc>,
        period_seconds: NonZeroU32,
    ) -> Result<Self, InvalidChain> {
        let chain = Self::with_key(hash, public_key, genesis, period_seconds)?;
        if chain.is_quicknet() && chain != Self::quicknet() {
            return Err(InvalidChain::NotQuicknet);
        }
        Ok(chain)
    }

    fn with_key(
        hash: Digest,
        public_key: &str,
        genesis: DateTime<Utc>,
        period_seconds: NonZeroU32,
    ) -> Result<Self, InvalidChain> {
        let key = hex::decode(public_key).map_err(|_| InvalidChain::PublicKey)?;
        let public_key = PublicKey::key_validate(&key).map_err(|_| InvalidChain::PublicKey)?;
        Ok(Self {
            hash,
            public_key,
            genesis,
            period_seconds,
        })
    }

    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// 192 lower-case hexadecimal digits.
    pub fn public_key(&self) -> String {
        hex::encode(self.public_key.compress())
    }

    pub fn genesis(&self) -> DateTime<Utc> {
        self.genesis
    }

    pub fn period_seconds(&self) -> NonZeroU32 {
        self.period_seconds
    }

    /// `None` on overflow.
    pub fn first_round_from(&self, time: DateTime<Utc>) -> Option<NonZeroU64> {
        let since_genesis = time.signed_duration_since(self.genesis);
        let has_begun = since_genesis.subsec_nanos() > 0;
        let seconds = since_genesis
            .num_seconds()
            .checked_add(i64::from(has_begun))?;
        let periods = u64::try_from(seconds)
            .unwrap_or(0)
            .div_ceil(u64::from(self.period_seconds.get()));
        NonZeroU64::MIN.checked_add(periods)
    }

    /// `None` on overflow.
    pub fn time_of(&self, round: NonZeroU64) -> Option<DateTime<Utc>> {
        let seconds = (round.get() - 1).checked_mul(u64::from(self.period_seconds.get()))?;
        self.genesis
            .checked_add_signed(TimeDelta::try_seconds(i64::try_from(seconds).ok()?)?)
    }

    pub fn verify(
        &self,
        number: NonZeroU64,
        signature: RoundSignature,
    ) -> Result<VerifiedRound, InvalidRound> {
        // Compressed only: other forms have other digests.
        let point = Signature::uncompress(signature.as_bytes());
        let point = point.map_err(|_| InvalidRound::Forged)?;
        let message = message(number);
        // The key was checked by `new`.
        match point.verify(
            true,
            message.as_bytes(),
            DOMAIN,
            &[],
            &self.public_key,
            false,
        ) {
            BLST_ERROR::BLST_SUCCESS => Ok(VerifiedRound { number, signature }),
            _ => Err(InvalidRound::Forged),
        }
    }

    pub fn verify_reply(
        &self,
        round: NonZeroU64,
        reply: &[u8],
    ) -> Result<VerifiedRound, InvalidRound> {
        let reply: RelayReply =
            serde_json::from_slice(reply).map_err(|_| InvalidRound::Unreadable)?;
        if reply.round != round.get() {
            return Err(InvalidRound::OtherRound { found: reply.round });
        }
        self.verify(round, reply.signature)
    }
}

/// Rounds are unchained: no earlier signature.
pub(super) fn message(round: NonZeroU64) -> Digest {
    Digest::from_parts(&[&round.get().to_be_bytes()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::beacon::SimulatedChain;

    /// Quicknet's rounds with signature and randomness.
    const ROUNDS: [(u64, &str, &str); 3] = [
        (
            42,
            "95a9f9f5b231b7714de1553105d8ffdf3dcda24cfdb1e689319bccf79a9c8ce430a91b811fbfaf763900bc998b5d686a",
            "8ada64bae5c6c0f5540a6a13af56e663240edfbd2c76ac6a8f27671eb7259ce3",
        ),
        (
            123,
            "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc92",
            "fb8f7bc29bf24db51871ec8c79f3a1e4bd0557bc0dfcee9ed1d924e69d1c60dc",
        ),
        (
            657_413,
            "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b",
            "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587",
        ),
    ];

    fn round(number: u64) -> NonZeroU64 {
        NonZeroU64::new(number).expect("not zero")
    }

    fn time(text: &str) -> DateTime<Utc> {
        text.parse().expect(text)
    }

    fn verified(chain: &Chain, number: u64, reply: &str) -> Result<VerifiedRound, InvalidRound> {
        chain.verify_reply(round(number), reply.as_bytes())
    }

    #[test]
    fn rounds_of_the_public_chain_are_verified() {
        let chain = Chain::quicknet();
        for (number, signature, randomness) in ROUNDS {
            let reply = format!(
                r#" {{"round":{number},"randomness":"{randomness}","signature":"{signature}"}} "#
            );
            let verified = verified(&chain, number, &reply).expect("the chain's own");
            assert_eq!(verified.number(), round(number));
            let digest = crate::randomness(verified.signature().as_bytes());
            assert_eq!(digest.to_string(), randomness);
        }
    }

    #[test]
    fn signature_of_another_round_is_refused() {
        let chain = Chain::quicknet();
        let [_, (_, signature, _), _] = ROUNDS;
        let reply = |number| format!(r#"{{"round":{number},"signature":"{signature}"}}"#);
        assert_eq!(
            verified(&chain, 124, &reply(123)),
            Err(InvalidRound::OtherRound { found: 123 })
        );
        assert_eq!(
            verified(&chain, 124, &reply(124)),
            Err(InvalidRound::Forged)
        );
    }

    #[test]
    fn signature_of_another_chain_is_refused() {
        let seconds = NonZeroU32::MIN;
        let chains = [[1; 32], [2; 32]]
            .map(|seed| SimulatedChain::new(&seed, time("2026-01-01T00:00:00Z"), seconds));
        let signature = chains[0].sign(round(7));
        assert!(chains[0].chain().verify(round(7), signature).is_ok());
        assert_eq!(
            chains[1].chain().verify(round(7), signature),
            Err(InvalidRound::Forged)
        );
        assert_eq!(
            Chain::quicknet().verify(round(7), signature),
            Err(InvalidRound::Forged)
        );
    }

    #[test]
    fn invalid_signature_is_refused() {
        let chain = Chain::quicknet();
        let infinity = format!("c0{}", "00".repeat(47));
        let reply = |signature: &str| format!(r#"{{"round":42,"signature":"{signature}"}}"#);
        for text in [&infinity, &"ff".repeat(48), &"00".repeat(48)] {
            assert_eq!(
                verified(&chain, 42, &reply(text)),
                Err(InvalidRound::Forged),
                "{text}"
            );
        }
        let [(_, signature, _), ..] = ROUNDS;
        for text in [
            "",
            "{}",
            "{\"round\":42}",
            signature,
            &reply(&signature[2..]),
            &reply(&format!("{signature}00")),
            &reply(&format!("0x{signature}")),
        ] {
            assert_eq!(
                verified(&chain, 42, text),
                Err(InvalidRound::Unreadable),
                "{text}"
            );
        }
        // Another form of the point has another digest.
        let point =
            Signature::uncompress(&hex::decode(signature).expect("hexadecimal")).expect("a point");
        let other_form = reply(&hex::encode(point.serialize()));
        assert_eq!(
            verified(&chain, 42, &other_form),
            Err(InvalidRound::Unreadable)
        );
    }

    #[test]
    fn chain_needs_a_key() {
        let chain = Chain::quicknet();
        let new = |key: &str| {
            Chain::new(chain.hash(), key, chain.genesis(), chain.period_seconds()).map(drop)
        };
        assert_eq!(new(&chain.public_key()), Ok(()));
        for key in [
            "",
            "zz",
            &format!("c0{}", "00".repeat(95)),
            &"11".repeat(96),
        ] {
            assert_eq!(new(key), Err(InvalidChain::PublicKey), "{key}");
        }
    }

    #[test]
    fn quicknet_is_its_constants() {
        let quicknet = Chain::quicknet();
        let (hash, key) = (quicknet.hash(), quicknet.public_key());
        let other = SimulatedChain::new(&[1; 32], quicknet.genesis(), quicknet.period_seconds());
        let (genesis, period) = (quicknet.genesis(), quicknet.period_seconds());
        assert!(Chain::new(hash, &key, genesis, period).is_ok_and(|chain| chain.is_quicknet()));
        for (key, genesis, period) in [
            (other.chain().public_key(), genesis, period),
            (key.clone(), genesis + TimeDelta::seconds(1), period),
            (key.clone(), genesis, NonZeroU32::MIN),
        ] {
            let refused = Chain::new(hash, &key, genesis, period).map(drop);
            assert_eq!(refused, Err(InvalidChain::NotQuicknet));
        }
        assert!(!other.chain().is_quicknet());
    }

    #[test]
    fn rounds_have_their_times() {
        let chain = Chain::quicknet();
        assert_eq!(chain.time_of(round(1)), Some(time("2023-08-23T15:09:27Z")));
        for (at, number) in [
            ("2000-01-01T00:00:00Z", 1),
            ("2023-08-23T15:09:27Z", 1),
            ("2023-08-23T15:09:27.001Z", 2),
            ("2023-08-23T15:09:30Z", 2),
            ("2023-08-23T15:09:30.000000001Z", 3),
        ] {
            assert_eq!(
                chain.first_round_from(time(at)),
                Some(round(number)),
                "{at}"
            );
        }
        assert_eq!(chain.time_of(NonZeroU64::MAX), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn first_round_from_its_time_is_the_round(number in 1..1_u64 << 40) {
            let chain = Chain::quicknet();
            let at = chain.time_of(round(number)).expect("within all years");
            prop_assert_eq!(chain.first_round_from(at), Some(round(number)));
        }

        #[test]
        fn signature_with_another_bit_is_refused(bit in 0_usize..48 * 8) {
            let [(number, signature, _), ..] = ROUNDS;
            let mut bytes = [0; 48];
            hex::decode_to_slice(signature, &mut bytes).expect("hexadecimal");
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Chain::quicknet().verify(round(number), bytes.into()), Err(InvalidRound::Forged));
        }
    }
}
