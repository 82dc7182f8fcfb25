//! Commitment and seeds.

use crate::digest::Digest;

/// Commits to a header, by its exact bytes, and to the root of the lines of `entries.csv`.
pub fn commitment(header: &[u8], root: Digest) -> Digest {
    Digest::from_parts(&[b"svc-draw-v1\n", header, b"\n", root.as_bytes()])
}

/// The beacon's randomness: the digest of a round's signature.
pub fn randomness(signature: &[u8]) -> Digest {
    Digest::from_parts(&[signature])
}

/// What the order of a prize tier follows from.
pub fn seed(commitment: Digest, randomness: Digest, tier: &str) -> Digest {
    Digest::from_parts(&[
        b"svc-draw-seed-v1\n",
        commitment.as_bytes(),
        randomness.as_bytes(),
        tier.as_bytes(),
    ])
}
