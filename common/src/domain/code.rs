//! Codes as consumers type them: one spelling for every way of writing, and the test sentinels.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::message::MessageKey;

/// The symbols of minted codes and references, in the order of their values: no 0, 1, I, L or O.
pub const SYMBOLS: &[u8; 31] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";

/// A code as it came in. It prints as `***`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code {
    typed: String,
}

/// The text cannot be a code: it is empty or too long.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a code is 1 to 64 characters")]
pub struct NotACode;

impl Code {
    /// The shortest and longest code, in characters.
    pub const CHARS: std::ops::RangeInclusive<usize> = 1..=64;

    /// The code as it was typed, without the space around it: what a partner is asked about.
    pub fn expose(&self) -> &str {
        self.typed.trim()
    }

    /// The one spelling under which a code is looked up: upper case, without spaces and dashes.
    /// Empty when nothing else was typed.
    pub fn normal(&self) -> String {
        let is_dash = |c: char| matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}');
        self.typed
            .chars()
            .filter(|c| !c.is_whitespace() && !is_dash(*c))
            .flat_map(char::to_uppercase)
            .collect()
    }

    /// The sentinel this code is, when it begins like one.
    pub fn sentinel(&self) -> Option<Sentinel> {
        Sentinel::parse(&self.typed)
    }
}

impl FromStr for Code {
    type Err = NotACode;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        if Self::CHARS.contains(&typed.chars().count()) {
            Ok(Self { typed: typed.to_owned() })
        } else {
            Err(NotACode)
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A test code that says which outcome it wants: `TEST-0-<MESSAGE KEY>`, with an optional `.suffix`
/// that makes another code with the same outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentinel {
    /// The whole sentinel in upper case: what makes it the same code or another one.
    pub identity: String,
    /// What it asks for.
    pub outcome: SentinelOutcome,
}

/// What a sentinel asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentinelOutcome {
    /// Enters, as a genuine code does.
    Enters,
    /// Enters and wins an instant prize.
    Wins,
    /// Is `unknown` first, and enters some seconds later.
    Slow,
    /// Stays unsettled, with this key.
    Stays(MessageKey),
    /// Is refused with this key.
    Refused(MessageKey),
}

impl Sentinel {
    const PREFIX: &str = "TEST-0-";

    fn parse(typed: &str) -> Option<Self> {
        let identity = typed.trim().to_uppercase();
        let asked = identity.strip_prefix(Self::PREFIX)?;
        let name = asked.split_once('.').map_or(asked, |(name, _suffix)| name);
        let outcome = match name {
            "VALID" => SentinelOutcome::Enters,
            "SLOW" => SentinelOutcome::Slow,
            _ => match name.replace('-', "_").to_lowercase().parse() {
                Ok(MessageKey::Entered) => SentinelOutcome::Enters,
                Ok(MessageKey::InstantWin) => SentinelOutcome::Wins,
                Ok(key) if key.refuses() => SentinelOutcome::Refused(key),
                Ok(key) => SentinelOutcome::Stays(key),
                Err(_) => SentinelOutcome::Refused(MessageKey::Invalid),
            },
        };
        Some(Self { identity, outcome })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sentinel(typed: &str) -> Option<SentinelOutcome> {
        typed.parse::<Code>().expect("a code").sentinel().map(|sentinel| sentinel.outcome)
    }

    #[test]
    fn case_spaces_and_dashes_do_not_matter() {
        for typed in ["K7M2-Q9XD-ABCD", "k7m2q9xdabcd", " k7m2 q9xd\u{2011}abcd "] {
            assert_eq!(typed.parse::<Code>().expect("a code").normal(), "K7M2Q9XDABCD", "{typed}");
        }
    }

    #[test]
    fn a_code_is_kept_as_it_was_typed_and_does_not_print() {
        let code: Code = " k7m2-q9xd ".parse().expect("a code");
        assert_eq!(code.expose(), "k7m2-q9xd");
        assert_eq!(format!("{code:?}"), "***");
    }

    #[test]
    fn a_code_is_counted_in_characters_not_bytes() {
        assert!("é".repeat(64).parse::<Code>().is_ok());
        assert_eq!("é".repeat(65).parse::<Code>(), Err(NotACode));
        assert_eq!("".parse::<Code>(), Err(NotACode));
    }

    #[test]
    fn a_sentinel_names_its_outcome_in_any_case_with_a_suffix() {
        assert_eq!(sentinel("test-0-valid"), Some(SentinelOutcome::Enters));
        assert_eq!(sentinel(" TEST-0-Instant-Win.x "), Some(SentinelOutcome::Wins));
        assert_eq!(
            sentinel("TEST-0-ALREADY-USED.7"),
            Some(SentinelOutcome::Refused(MessageKey::AlreadyUsed))
        );
        assert_eq!(sentinel("TEST-0-NONSENSE"), Some(SentinelOutcome::Refused(MessageKey::Invalid)));
        assert_eq!(sentinel("TEST-0-SLOW"), Some(SentinelOutcome::Slow));
        assert_eq!(sentinel("TEST-0-CHECKING"), Some(SentinelOutcome::Stays(MessageKey::Checking)));
        assert_eq!(sentinel("TEST-1-VALID"), None);
    }

    #[test]
    fn a_suffix_makes_another_code() {
        let identity =
            |typed: &str| typed.parse::<Code>().expect("a code").sentinel().expect("a sentinel").identity;
        assert_eq!(identity("test-0-valid.a"), identity("TEST-0-VALID.A"));
        assert_ne!(identity("TEST-0-VALID.A"), identity("TEST-0-VALID.B"));
    }

    proptest! {
        #[test]
        fn normalising_is_stable(typed in ".{1,64}") {
            if let Ok(code) = typed.parse::<Code>() {
                let normal = code.normal();
                if let Ok(again) = normal.parse::<Code>() {
                    prop_assert_eq!(again.normal().to_uppercase(), normal.to_uppercase());
                }
            }
        }
    }
}
