use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Invalid;
use super::unicode::{is_dash, is_format};

/// E.164, such as `+255712345678`.
///
/// A wide rule: number blocks are added and move between operators, and a list would refuse people.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Phone(String);

impl Phone {
    pub const TYPED_CHARS: std::ops::RangeInclusive<usize> = 9..=16;

    pub fn expose_e164(&self) -> &str {
        &self.0
    }

    /// Form for operators' screens: `+2557•••••678`.
    pub fn masked(&self) -> String {
        const SHOWN_FIRST: usize = 5;
        /// The consumer reads these digits out to prove ownership.
        const SHOWN_LAST: usize = 3;
        let hidden = self.0.len().saturating_sub(SHOWN_FIRST + SHOWN_LAST);
        let first = self.0.chars().take(SHOWN_FIRST);
        let last = self.0.chars().skip(SHOWN_FIRST + hidden);
        first
            .chain(std::iter::repeat_n('•', hidden))
            .chain(last)
            .collect()
    }
}

impl FromStr for Phone {
    type Err = Invalid;

    /// `+255…`, `255…` or `0…`, then nine digits that begin with 61–69 or 70–79. Separators and
    /// format characters are ignored.
    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let is_between = |c: char| {
            c.is_whitespace()
                || is_dash(c)
                || is_format(c)
                || matches!(c, '.' | '(' | ')' | '[' | ']')
        };
        let bare: String = typed.chars().filter(|c| !is_between(*c)).collect();
        let national = bare
            .strip_prefix("+255")
            .or_else(|| bare.strip_prefix("255"))
            .or_else(|| bare.strip_prefix('0'))
            .ok_or(Invalid("a Tanzanian mobile number"))?;
        match national.as_bytes() {
            [b'6', b'1'..=b'9', rest @ ..] | [b'7', b'0'..=b'9', rest @ ..]
                if rest.len() == 7 && rest.iter().all(u8::is_ascii_digit) =>
            {
                Ok(Self(format!("+255{national}")))
            }
            _ => Err(Invalid("a Tanzanian mobile number")),
        }
    }
}

stored_as_text!(Phone, |phone| phone.0);

masked_debug!(Phone);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_usual_way_of_typing_is_one_number() {
        for typed in [
            "+255712345678",
            "255712345678",
            "0712345678",
            "0712 345 678",
            "(0712) 345-678",
            "+255 71 234.5678",
            "\u{202a}0712\u{a0}345\u{2011}678\u{202c}\n",
            "[0712]\t345\u{2212}678",
        ] {
            assert_eq!(
                typed.parse::<Phone>().expect(typed).expose_e164(),
                "+255712345678",
                "{typed}"
            );
        }
    }

    #[test]
    fn other_numbers_are_refused() {
        for typed in [
            "712345678",
            "+254712345678",
            "0812345678",
            "0602345678",
            "07123456789",
            "071234567",
            "+2550712345678",
            "0712E45678",
            "٠٧١٢٣٤٥٦٧٨",
            "0712\u{0}345678",
            "0712_345678",
            "",
        ] {
            assert_eq!(
                typed.parse::<Phone>(),
                Err(Invalid("a Tanzanian mobile number")),
                "{typed}"
            );
        }
    }

    #[test]
    fn a_phone_is_stored_in_its_international_form() {
        let phone: Phone = "0712345678".parse().expect("a phone");
        assert_eq!(serde_json::to_value(&phone).expect("JSON"), "+255712345678");
    }

    #[test]
    fn a_masked_phone_shows_its_ends() {
        assert_eq!(
            "0712345678".parse::<Phone>().expect("a phone").masked(),
            "+2557•••••678"
        );
    }

    #[test]
    fn a_phone_does_not_print() {
        assert_eq!(format!("{:?}", "0712345678".parse::<Phone>()), "Ok(***)");
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_is_stable(typed in ".{0,24}") {
            if let Ok(phone) = typed.parse::<Phone>() {
                prop_assert_eq!(phone.expose_e164().parse::<Phone>(), Ok(phone.clone()));
                prop_assert_eq!(phone.expose_e164().len(), 13);
            }
        }

        #[test]
        fn what_stands_around_and_between_digits_changes_nothing(
            start in prop::sample::select(vec!["+255", "255", "0"]), rest in 0u32..100_000_000,
            paddings in prop::collection::vec("[\\s\\p{Cf}\\p{Pd}\u{2212}.()\\[\\]]{0,2}", 14),
        ) {
            let plain = format!("{start}7{rest:08}");
            let typed: String = plain.chars().zip(&paddings).map(|(c, padding)| format!("{padding}{c}")).collect();
            let end = paddings.last().expect("some");
            prop_assert_eq!(format!("{typed}{end}").parse::<Phone>(), plain.parse::<Phone>());
            prop_assert!(plain.parse::<Phone>().is_ok());
        }

        #[test]
        fn every_mobile_prefix_is_taken(prefix in prop_oneof![61u8..=69, 70u8..=79], rest in 0u32..10_000_000) {
            let typed = format!("0{prefix}{rest:07}");
            prop_assert!(typed.parse::<Phone>().is_ok());
        }
    }
}
