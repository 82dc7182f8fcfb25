use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Invalid;
use super::code::SYMBOLS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReceiptId(Uuid);

impl ReceiptId {
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl fmt::Display for ReceiptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for ReceiptId {
    type Err = Invalid;

    /// Parses the hyphenated form only: an id has one spelling.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_hyphenated(text).map(Self)
    }
}

/// UUID of version 8. The last 40 bits are the number of its reference, the others random: a
/// reference names the record, and only the id opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SubmissionId(Uuid);

impl SubmissionId {
    pub fn from_random(bytes: [u8; 24]) -> Self {
        let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
        let reference = Reference::from_random([a, b, c, d, e, f, g, h]);
        let random = u128::from_be_bytes(rest) >> Reference::BITS << Reference::BITS;
        let bits = random | u128::from(reference.0);
        Self(uuid::Builder::from_custom_bytes(bits.to_be_bytes()).into_uuid())
    }

    pub fn reference(self) -> Reference {
        let [.., a, b, c, d, e] = self.0.into_bytes();
        Reference(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    pub fn first_byte(self) -> u8 {
        let [first, ..] = self.0.into_bytes();
        first
    }
}

impl fmt::Display for SubmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for SubmissionId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = Self(parse_hyphenated(text)?);
        let is_ours = id.0.get_version() == Some(uuid::Version::Custom)
            && id.0.get_variant() == uuid::Variant::RFC4122
            && id.reference().0 < Reference::COUNT;
        if is_ours {
            Ok(id)
        } else {
            Err(Invalid("an id"))
        }
    }
}

stored_as_text!(SubmissionId, |id| id.to_string());

fn parse_hyphenated(text: &str) -> Result<Uuid, Invalid> {
    const HYPHENATED_CHARS: usize = 36;
    if text.len() != HYPHENATED_CHARS {
        return Err(Invalid("an id"));
    }
    Uuid::try_parse(text).map_err(|_| Invalid("an id"))
}

/// Short reference that a consumer can quote, unique in its scope: a number below 31^8, as 8 code
/// symbols, shown as `K7M2-Q9XD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reference(u64);

impl Reference {
    pub const SYMBOLS: usize = 8;
    const BASE: u64 = 31;
    /// 31^8, which is below 2^40.
    const COUNT: u64 = 852_891_037_441;
    const BITS: u32 = 40;

    /// Equally likely, to one part in twenty million.
    fn from_random(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes) % Self::COUNT)
    }

    pub fn symbols(self) -> String {
        let digits = (0..)
            .take(Self::SYMBOLS)
            .map(|place| self.0 / Self::BASE.pow(place) % Self::BASE);
        let symbols: Vec<char> = digits
            .filter_map(|digit| SYMBOLS.get(usize::try_from(digit).ok()?))
            .map(|symbol| char::from(*symbol))
            .collect();
        symbols.into_iter().rev().collect()
    }
}

impl FromStr for Reference {
    type Err = String;

    /// Accepts any case, with or without the dash.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let typed = text
            .chars()
            .filter(|c| *c != '-' && *c != ' ')
            .map(|c| c.to_ascii_uppercase());
        let digits = typed.map(|c| SYMBOLS.iter().position(|symbol| char::from(*symbol) == c));
        let digits: Option<Vec<u64>> = digits.map(|digit| u64::try_from(digit?).ok()).collect();
        match digits {
            Some(digits) if digits.len() == Self::SYMBOLS => Ok(Self(
                digits
                    .into_iter()
                    .fold(0, |number, digit| number * Self::BASE + digit),
            )),
            Some(_) | None => {
                Err("a reference is 8 letters and digits, such as K7M2-Q9XD".to_owned())
            }
        }
    }
}

stored_as_text!(Reference, |reference| reference.symbols());

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbols = self.symbols();
        match symbols.split_at_checked(Self::SYMBOLS / 2) {
            Some((left, right)) => write!(f, "{left}-{right}"),
            None => f.write_str(&symbols),
        }
    }
}

/// A consumer in one scope: 32 hexadecimal digits of the phone's HMAC-SHA256, random once erased.
#[derive(Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntrantId(String);

impl EntrantId {
    /// 128 bits rule out collisions.
    pub(super) const BYTES: usize = 16;

    /// The holder in a code's record, also of a revoked submission.
    pub fn from_record(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn parse(id: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (id.len() == 2 * Self::BYTES && id.bytes().all(is_digit)).then(|| Self(id.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn tombstone(random: [u8; Self::BYTES]) -> Self {
        Self(hex::encode(random))
    }
}

masked_debug!(EntrantId);

/// 16 to 128 printable ASCII characters without a comma or surrounding quotes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    pub const CHARS: std::ops::RangeInclusive<usize> = 16..=128;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = Invalid;

    /// Strips surrounding double quotes (a structured-field string). Refuses commas, with which API
    /// Gateway joins repeated headers.
    fn from_str(value: &str) -> Result<Self, Self::Err> {
        let bare = value
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(value);
        let printable = bare
            .bytes()
            .all(|byte| (0x20..=0x7e).contains(&byte) && byte != b',');
        if printable && Self::CHARS.contains(&bare.len()) {
            Ok(Self(bare.to_owned()))
        } else {
            Err(Invalid("an Idempotency-Key"))
        }
    }
}

masked_debug!(IdempotencyKey);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        let id = SubmissionId::from_random([7; 24]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        let bare = id.to_string().replace('-', "");
        for bad in [
            format!("{{{id}}}"),
            format!("urn:uuid:{id}"),
            bare,
            String::new(),
        ] {
            assert_eq!(bad.parse::<SubmissionId>(), Err(Invalid("an id")), "{bad}");
        }
    }

    #[test]
    fn receipt_id_reads_back_from_its_spelling() {
        let id = ReceiptId::from_random([7; 16]);
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn other_uuids_are_no_submission_ids() {
        assert!(
            "c0ffee00-0000-8000-8000-00c694446f00"
                .parse::<SubmissionId>()
                .is_ok(),
            "31^8 - 1"
        );
        for other in [
            "c0ffee00-0000-4000-8000-000000000000",
            "c0ffee00-0000-8000-c000-000000000000",
            "c0ffee00-0000-8000-8000-00c694446f01",
        ] {
            assert_eq!(
                other.parse::<SubmissionId>(),
                Err(Invalid("an id")),
                "{other}"
            );
            assert!(
                serde_json::from_value::<SubmissionId>(other.into()).is_err(),
                "{other}"
            );
        }
    }

    #[test]
    fn first_byte_is_that_of_the_spelling() {
        let id: SubmissionId = "c0ffee00-0000-8000-8000-000000000000"
            .parse()
            .expect("an id");
        assert_eq!(id.first_byte(), 0xc0);
    }

    #[test]
    fn a_reference_is_shown_in_two_halves_and_read_in_any_case() {
        let id: SubmissionId = "c0ffee00-0000-8000-8000-000000000001"
            .parse()
            .expect("an id");
        assert_eq!(id.reference().to_string(), "2222-2223");
        assert_eq!(
            "k7m2 q9xd"
                .parse::<Reference>()
                .expect("well formed")
                .to_string(),
            "K7M2-Q9XD"
        );
        for bad in ["K7M2-Q9X0", "K7M2-Q9X", "K7M2-Q9XDD", "", "K7M2-Q9X\u{e9}"] {
            assert!(bad.parse::<Reference>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_reference_is_stored_without_its_dash() {
        let reference: Reference = "K7M2-Q9XD".parse().expect("well formed");
        let stored = serde_json::to_value(reference).expect("JSON");
        assert_eq!(stored, "K7M2Q9XD");
        assert_eq!(
            serde_json::from_value::<Reference>(stored).expect("a reference"),
            reference
        );
    }

    proptest! {
        #[test]
        fn an_id_carries_its_reference(bytes: [u8; 24]) {
            let id = SubmissionId::from_random(bytes);
            let [first, second, third, fourth, fifth, sixth, seventh, eighth, ..] = bytes;
            let drawn = [first, second, third, fourth, fifth, sixth, seventh, eighth];
            prop_assert_eq!(id.reference(), Reference::from_random(drawn));
            prop_assert_eq!(id.reference().to_string().parse(), Ok(id.reference()));
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.first_byte(), bytes[8], "the first byte is a random one");
        }
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
            assert_eq!(
                bad.parse::<IdempotencyKey>(),
                Err(Invalid("an Idempotency-Key")),
                "{bad:?}"
            );
        }
    }
}
