use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Bytes with one text, in lower case: another would have another digest, and other winners.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex<const N: usize>([u8; N]);

pub type Digest = Hex<32>;

/// A compressed point of G1.
pub type RoundSignature = Hex<48>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not {0} lower-case hexadecimal digits")]
pub struct InvalidHex(usize);

impl Digest {
    pub fn from_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Groups of four digits, for copying by hand.
    pub fn in_groups(&self) -> String {
        let groups: Vec<_> = self.0.chunks(2).map(hex::encode).collect();
        groups.join(" ")
    }
}

impl<const N: usize> Hex<N> {
    pub fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> From<[u8; N]> for Hex<N> {
    fn from(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = InvalidHex;

    fn from_str(text: &str) -> Result<Self, InvalidHex> {
        let mut bytes = [0; N];
        // The library accepts capitals.
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) if hex::encode(bytes) == text => Ok(Self(bytes)),
            Ok(()) | Err(_) => Err(InvalidHex(N * 2)),
        }
    }
}

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = InvalidHex;

    fn try_from(text: String) -> Result<Self, InvalidHex> {
        text.parse()
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(hex: Hex<N>) -> Self {
        hex.to_string()
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_has_one_text() {
        let digest = Digest::from_parts(&[b"a", b"bc"]);
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        assert_eq!(format!("{digest:?}"), text);
        assert_eq!(text.parse(), Ok(digest));
        for other in [
            text.to_uppercase(),
            format!("{text}0"),
            text.replace('b', "g"),
            String::new(),
        ] {
            assert_eq!(other.parse::<Digest>(), Err(InvalidHex(64)), "{other}");
        }
        assert!(digest.in_groups().starts_with("ba78 16bf 8f01 "));
        assert_eq!(digest.in_groups().replace(' ', ""), text);
    }
}
