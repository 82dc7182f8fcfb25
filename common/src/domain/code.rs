//! Codes as consumers type them, and test sentinels.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::MessageKey;
use super::unicode::{composed, folded, has_control, is_dash, is_format, stripped};

/// Symbols of minted codes and references, ordered by value: no 0, 1, I, L or O.
pub const SYMBOLS: &[u8; 31] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";

text_enum! {
    #[derive(Default)]
    pub enum Alphabet {
        #[default]
        Mixed = "mixed",
        /// For keypads of phones, as with USSD.
        Digits = "digits",
    }
}

impl Alphabet {
    pub(crate) fn symbols(self) -> &'static [u8] {
        match self {
            Self::Mixed => SYMBOLS,
            Self::Digits => b"0123456789",
        }
    }

    pub(crate) fn radix(self) -> u32 {
        match self {
            Self::Mixed => 31,
            Self::Digits => 10,
        }
    }

    /// Letters that look like a digit are that digit.
    pub(crate) fn value_of(self, typed: u8) -> Option<u64> {
        let symbol = match (self, typed) {
            (Self::Digits, b'O') => b'0',
            (Self::Digits, b'I' | b'L') => b'1',
            (Self::Mixed | Self::Digits, symbol) => symbol,
        };
        let place = self.symbols().iter().position(|known| *known == symbol)?;
        u64::try_from(place).ok()
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code {
    typed: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeForm {
    #[default]
    Folded,
    Exact,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCode {
    #[error("a code is 1 to 64 characters")]
    Length,
    #[error("a code has no control characters")]
    ControlCharacter,
    #[error("a code is more than spaces and dashes")]
    Blank,
}

impl Code {
    pub const CHARS: std::ops::RangeInclusive<usize> = 1..=64;

    pub fn expose(&self) -> &str {
        stripped(&self.typed)
    }

    /// The spelling for look-ups: NFKC, upper case, no white space, dashes, underscores or format
    /// characters.
    pub fn normal(&self) -> String {
        folded(&self.typed, |c| (!is_dash(c) && c != '_').then_some(c))
    }

    /// A sentinel stays as typed: no partner sees it.
    #[must_use]
    pub fn in_form(self, form: CodeForm) -> Self {
        let typed = match form {
            _ if self.sentinel().is_some() => return self,
            CodeForm::Folded => self.normal(),
            CodeForm::Exact => composed(self.expose()),
        };
        Self { typed }
    }

    pub fn sentinel(&self) -> Option<Sentinel> {
        Sentinel::parse(&self.typed)
    }
}

impl FromStr for Code {
    type Err = InvalidCode;

    /// Ignores white space at the ends and format characters.
    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let typed = stripped(typed);
        if has_control(typed) {
            return Err(InvalidCode::ControlCharacter);
        }
        if !Self::CHARS.contains(&typed.chars().filter(|c| !is_format(*c)).count()) {
            return Err(InvalidCode::Length);
        }
        let code = Self {
            typed: typed.to_owned(),
        };
        if code.normal().is_empty() {
            Err(InvalidCode::Blank)
        } else {
            Ok(code)
        }
    }
}

masked_debug!(Code);

/// A test code that names its outcome: `TEST-0-<MESSAGE KEY>`. A `.suffix` makes it another code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentinel {
    /// Folded with its dashes.
    pub identity: String,
    pub outcome: SentinelOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentinelOutcome {
    Enters,
    Wins,
    /// `unknown` first, accepted some seconds later.
    Slow,
    Stays(MessageKey),
    Rejected(MessageKey),
}

impl Sentinel {
    const PREFIX: &str = "TEST-0-";

    fn parse(typed: &str) -> Option<Self> {
        let identity = folded(typed, |c| Some(if is_dash(c) { '-' } else { c }));
        let asked = identity.strip_prefix(Self::PREFIX)?;
        let name = asked.split_once('.').map_or(asked, |(name, _suffix)| name);
        let outcome = match name {
            "VALID" => SentinelOutcome::Enters,
            "SLOW" => SentinelOutcome::Slow,
            _ => match name.replace('-', "_").to_lowercase().parse() {
                Ok(MessageKey::Entered) => SentinelOutcome::Enters,
                Ok(MessageKey::InstantWin) => SentinelOutcome::Wins,
                Ok(key) if key.rejects() => SentinelOutcome::Rejected(key),
                Ok(key) => SentinelOutcome::Stays(key),
                Err(_) => SentinelOutcome::Rejected(MessageKey::Invalid),
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
        typed
            .parse::<Code>()
            .expect("a code")
            .sentinel()
            .map(|sentinel| sentinel.outcome)
    }

    #[test]
    fn case_spaces_and_dashes_do_not_matter() {
        for typed in ["K7M2-Q9XD-ABCD", "k7m2q9xdabcd", " k7m2 q9xd\u{2011}abcd "] {
            assert_eq!(
                typed.parse::<Code>().expect("a code").normal(),
                "K7M2Q9XDABCD",
                "{typed}"
            );
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
        assert_eq!("é".repeat(65).parse::<Code>(), Err(InvalidCode::Length));
        for nothing in ["", " \n", "\u{feff}\u{200b}"] {
            assert_eq!(
                nothing.parse::<Code>(),
                Err(InvalidCode::Length),
                "{nothing:?}"
            );
        }
        assert!(
            format!("\n{}\u{200b}", "\u{ad}x".repeat(64))
                .parse::<Code>()
                .is_ok(),
            "what is invisible is free"
        );
        assert_eq!("- _\u{2014}".parse::<Code>(), Err(InvalidCode::Blank));
        assert_eq!(
            "A\u{0}1".parse::<Code>(),
            Err(InvalidCode::ControlCharacter)
        );
    }

    /// Folding before Unicode's compatibility forms.
    fn folded_before(typed: &str) -> String {
        let is_dash = |c: char| matches!(c, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}');
        typed
            .chars()
            .filter(|c| !c.is_whitespace() && !is_dash(*c))
            .flat_map(char::to_uppercase)
            .collect()
    }

    #[test]
    fn a_partners_code_is_folded_or_exact_and_a_sentinel_stays() {
        let form = |typed: &str, form| {
            typed
                .parse::<Code>()
                .expect("a code")
                .in_form(form)
                .expose()
                .to_owned()
        };
        let typed = "\u{feff} ab-e\u{301}\u{200d}_ 1\n";
        assert_eq!(form(typed, CodeForm::Folded), "ABÉ1");
        assert_eq!(form(typed, CodeForm::Exact), "ab-é\u{200d}_ 1");
        for any in [CodeForm::Folded, CodeForm::Exact] {
            assert!(
                form("Test-0-Valid.x", any)
                    .parse::<Code>()
                    .expect("a code")
                    .sentinel()
                    .is_some()
            );
        }
    }

    #[test]
    fn a_sentinel_names_its_outcome_in_any_case_with_a_suffix() {
        assert_eq!(sentinel("test-0-valid"), Some(SentinelOutcome::Enters));
        assert_eq!(
            sentinel(" TEST-0-Instant-Win.x "),
            Some(SentinelOutcome::Wins)
        );
        assert_eq!(
            sentinel("TEST-0-ALREADY-USED.7"),
            Some(SentinelOutcome::Rejected(MessageKey::AlreadyUsed))
        );
        assert_eq!(
            sentinel("TEST-0-NONSENSE"),
            Some(SentinelOutcome::Rejected(MessageKey::Invalid))
        );
        assert_eq!(sentinel("TEST-0-SLOW"), Some(SentinelOutcome::Slow));
        assert_eq!(
            sentinel("TEST-0-CHECKING"),
            Some(SentinelOutcome::Stays(MessageKey::Checking))
        );
        assert_eq!(
            sentinel("ＴＥＳＴ－０－ＶＡＬＩＤ"),
            Some(SentinelOutcome::Enters)
        );
        assert_eq!(
            sentinel("test\u{2011}0\u{2013} valid\u{200b}\n"),
            Some(SentinelOutcome::Enters)
        );
        assert_eq!(sentinel("TEST-1-VALID"), None);
        assert_eq!(sentinel("TEST0VALID"), None);
    }

    #[test]
    fn a_suffix_makes_another_code() {
        let identity = |typed: &str| {
            typed
                .parse::<Code>()
                .expect("a code")
                .sentinel()
                .expect("a sentinel")
                .identity
        };
        assert_eq!(identity("test-0-valid.a"), identity("TEST-0-VALID.A"));
        assert_ne!(identity("TEST-0-VALID.A"), identity("TEST-0-VALID.B"));
    }

    /// Characters around and between a code's symbols.
    fn padding() -> impl Strategy<Value = String> {
        "[\\s\\p{Cf}\\p{Pd}\u{2212}_]{0,3}"
    }

    proptest! {
        #[test]
        fn normalising_is_stable(typed in "\\PC{1,64}") {
            if let Ok(code) = typed.parse::<Code>() {
                let normal = code.normal();
                let again: Code = normal.parse().unwrap_or_else(|_| Code { typed: normal.clone() });
                prop_assert_eq!(again.normal(), normal.as_str());
                prop_assert_eq!(again.clone().in_form(CodeForm::Folded), again);
            }
        }

        #[test]
        fn ascii_codes_fold_to_what_they_always_did(typed in "[ -~]{1,64}") {
            if let Ok(code) = typed.parse::<Code>() {
                prop_assert_eq!(code.normal(), folded_before(&typed));
            }
        }

        #[test]
        fn what_stands_around_and_between_symbols_changes_nothing(
            symbols in prop::collection::vec(("[A-Za-z0-9]", padding(), any::<bool>()), 1..16), before in padding(),
        ) {
            let plain: String = symbols.iter().map(|(symbol, ..)| symbol.as_str()).collect();
            let full_width = |c: char| char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c);
            let typed: String = symbols.iter().map(|(symbol, padding, wide)| {
                let symbol: String = if *wide { symbol.chars().map(full_width).collect() } else { symbol.clone() };
                symbol + padding
            }).collect();
            let code = (before + &typed).parse::<Code>().expect("a code");
            prop_assert_eq!(code.normal(), plain.to_ascii_uppercase());
            let exact = code.clone().in_form(CodeForm::Exact);
            prop_assert_eq!(exact.normal(), code.normal());
            prop_assert_eq!(exact.clone().in_form(CodeForm::Exact), exact);
        }
    }
}
