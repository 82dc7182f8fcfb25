use crate::digest::Digest;

/// Commits to the exact bytes of a header, and to a root.
pub fn commitment(header: &[u8], root: Digest) -> Digest {
    Digest::from_parts(&[b"svc-draw-v1\n", header, b"\n", root.as_bytes()])
}

pub fn randomness(signature: &[u8]) -> Digest {
    Digest::from_parts(&[signature])
}

/// The seed of a tier's order.
pub fn seed(commitment: Digest, randomness: Digest, tier: &str) -> Digest {
    Digest::from_parts(&[
        b"svc-draw-seed-v1\n",
        commitment.as_bytes(),
        randomness.as_bytes(),
        tier.as_bytes(),
    ])
}
