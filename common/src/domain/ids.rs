//! Identifiers of submissions, receipts and requests.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::code::SYMBOLS;

/// The text is not a hyphenated UUID.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a UUID")]
pub struct NotAUuid;

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(Uuid);

        impl $name {
            /// An id from 16 random bytes.
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NotAUuid;

            /// Parses the hyphenated form only, in either case: an id has one spelling.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse_hyphenated(text).map(Self)
            }
        }
    )*};
}

uuid_ids! {
    /// A submission's id: a random (version 4) UUID in its hyphenated form.
    SubmissionId
    /// A receipt's id: a random (version 4) UUID in its hyphenated form.
    ReceiptId
}

impl SubmissionId {
    /// One of its random bytes, for spreading submissions evenly.
    pub fn first_byte(self) -> u8 {
        let [first, ..] = self.0.into_bytes();
        first
    }
}

/// Parses the 36-character form; braces, `urn:` and the form without hyphens are refused.
fn parse_hyphenated(text: &str) -> Result<Uuid, NotAUuid> {
    const HYPHENATED_CHARS: usize = 36;
    if text.len() != HYPHENATED_CHARS {
        return Err(NotAUuid);
    }
    Uuid::try_parse(text).map_err(|_| NotAUuid)
}

/// The short reference that a consumer can quote: 8 code symbols, shown as `K7M2-Q9XD`. It is not guaranteed to be
/// unique: an operator's search can find two.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reference(String);

impl Reference {
    /// Symbols in a reference, without the dash.
    pub const SYMBOLS: usize = 8;

    /// A reference from random bytes. Each byte gives `byte mod 32`; the one value in 32 without a symbol is skipped,
    /// so that every symbol is equally likely. `None` if the bytes run out: with 32 bytes, less than once in 10^15
    /// times.
    pub fn from_random(bytes: &[u8]) -> Option<Self> {
        let text: String = bytes
            .iter()
            .filter_map(|byte| SYMBOLS.get(usize::from(byte % 32)))
            .take(Self::SYMBOLS)
            .map(|symbol| char::from(*symbol))
            .collect();
        text.parse().ok()
    }
}

impl FromStr for Reference {
    type Err = String;

    /// Parses a reference as a person types it: any case, with or without the dash.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let symbols: String =
            text.chars().filter(|c| *c != '-' && *c != ' ').map(|c| c.to_ascii_uppercase()).collect();
        let known = |c: char| u8::try_from(c).is_ok_and(|byte| SYMBOLS.contains(&byte));
        if symbols.chars().count() == Self::SYMBOLS && symbols.chars().all(known) {
            Ok(Self(symbols))
        } else {
            Err("a reference is 8 letters and digits, such as K7M2-Q9XD".to_owned())
        }
    }
}

impl TryFrom<String> for Reference {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.0
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_at_checked(Self::SYMBOLS / 2) {
            Some((left, right)) => write!(f, "{left}-{right}"),
            None => f.write_str(&self.0),
        }
    }
}

/// A caller's Idempotency-Key: 16 to 128 printable ASCII characters without a comma or surrounding quotes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// The header's value is not a valid Idempotency-Key.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an Idempotency-Key is 16 to 128 printable ASCII characters without a comma")]
pub struct MalformedIdempotencyKey;

impl IdempotencyKey {
    /// The length of a key, in characters.
    pub const CHARS: std::ops::RangeInclusive<usize> = 16..=128;

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = MalformedIdempotencyKey;

    /// Double quotes around a value (a structured-field string) are removed. Commas are refused: API Gateway joins the
    /// values of a repeated header with them.
    fn from_str(value: &str) -> Result<Self, Self::Err> {
        let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        let printable = bare.bytes().all(|byte| (0x20..=0x7e).contains(&byte) && byte != b',');
        if printable && Self::CHARS.contains(&bare.len()) {
            Ok(Self(bare.to_owned()))
        } else {
            Err(MalformedIdempotencyKey)
        }
    }
}

/// Not printed: with the key, anyone could get the stored reply.
impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        let id = SubmissionId::from_random([7; 16]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        let bare = id.to_string().replace('-', "");
        for bad in [format!("{{{id}}}"), format!("urn:uuid:{id}"), bare, String::new()] {
            assert_eq!(bad.parse::<SubmissionId>(), Err(NotAUuid), "{bad}");
        }
    }

    #[test]
    fn an_ids_first_byte_is_that_of_its_spelling() {
        let id: SubmissionId = "c0ffee00-0000-4000-8000-000000000000".parse().expect("an id");
        assert_eq!(id.first_byte(), 0xc0);
    }

    #[test]
    fn a_reference_is_shown_in_two_halves_and_read_in_any_case() {
        let reference = Reference::from_random(&[31, 0, 1, 2, 3, 4, 5, 6, 7]).expect("eight symbols");
        assert_eq!(reference.to_string(), "2345-6789");
        assert_eq!("k7m2 q9xd".parse::<Reference>().expect("well formed").to_string(), "K7M2-Q9XD");
        assert!("K7M2-Q9X0".parse::<Reference>().is_err(), "0 is not a symbol");
        assert!(Reference::from_random(&[31; 32]).is_none());
    }

    #[test]
    fn a_reference_is_stored_without_its_dash() {
        let reference: Reference = "K7M2-Q9XD".parse().expect("well formed");
        let stored = serde_json::to_value(&reference).expect("JSON");
        assert_eq!(stored, "K7M2Q9XD");
        assert_eq!(serde_json::from_value::<Reference>(stored).expect("a reference"), reference);
    }

    #[test]
    fn a_quoted_key_is_the_bare_key() {
        let bare: IdempotencyKey = "abcdefghijklmnop".parse().expect("16 characters");
        assert_eq!("\"abcdefghijklmnop\"".parse(), Ok(bare.clone()));
        assert_eq!(bare.as_str(), "abcdefghijklmnop");
        assert_eq!(format!("{bare:?}"), "***");
        for bad in [
            "short",
            "\"fourteen chars\"",
            "sixteen chars \u{e9}",
            "tab\tsixteen chars",
            "abcdefghijklmnop,abcdefghijklmnop",
            "\"abcdefghijklmnop\", \"abcdefghijklmnop\"",
            &"x".repeat(129),
        ] {
            assert_eq!(bad.parse::<IdempotencyKey>(), Err(MalformedIdempotencyKey), "{bad:?}");
        }
    }
}
