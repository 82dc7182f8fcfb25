//! Without the customer's data.

use std::fmt;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::payload::{ReceiptTime, VerificationCode};

/// Longer texts are cut.
pub const MAX_TEXT_CHARS: usize = 200;
/// More are refused: a part would be a guess.
pub const MAX_ITEMS: usize = 500;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiscalRecord {
    pub code: VerificationCode,
    pub trader: Option<String>,
    /// Printed form; compare with [`same_identifier`].
    pub tin: String,
    pub vrn: Option<String>,
    /// Printed form; identifies the branch together with the TIN.
    pub serial: String,
    /// Ends with TIN and serial number.
    pub uin: Option<String>,
    pub tax_office: Option<String>,
    pub receipt_number: String,
    /// The day's closing report that includes the receipt.
    pub z_number: Option<String>,
    /// Tanzanian, like the time.
    pub date: NaiveDate,
    pub time: Option<ReceiptTime>,
    pub items: Vec<FiscalItem>,
    /// Cents of a shilling, without tax.
    pub total_excl_cents: Option<i64>,
    pub total_tax_cents: Option<i64>,
    pub total_incl_cents: Option<i64>,
    pub void: Option<VoidMark>,
}

impl fmt::Debug for FiscalRecord {
    /// Code, number and time suffice to look the receipt up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FiscalRecord")
            .field("tin", &self.tin)
            .field("serial", &self.serial)
            .field("date", &self.date)
            .field("items", &self.items)
            .field("total_incl_cents", &self.total_incl_cents)
            .field("void", &self.void)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiscalItem {
    pub description: String,
    pub quantity: Option<Quantity>,
    /// Cents of a shilling, with tax.
    pub amount_cents: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoidMark {
    Cancelled,
    Test,
}

/// Thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quantity(i64);

impl Quantity {
    pub const fn from_thousandths(thousandths: i64) -> Self {
        Self(thousandths)
    }

    pub const fn as_thousandths(self) -> i64 {
        self.0
    }

    /// Finer decimals are cut, never rounded up.
    pub fn parse(text: &str) -> Option<Self> {
        let number = Number::split(text)?;
        let (kept, _) = number
            .decimals
            .split_at_checked(3)
            .unwrap_or((number.decimals, ""));
        number.scaled(kept, 3).map(Self)
    }
}

/// Amount in cents, from text with two decimals at most: `1,234.56`.
pub fn parse_cents(text: &str) -> Option<i64> {
    let number = Number::split(text)?;
    if number.decimals.len() > 2 {
        return None;
    }
    number.scaled(number.decimals, 2)
}

struct Number<'a> {
    negative: bool,
    whole: String,
    decimals: &'a str,
}

impl<'a> Number<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, decimals) = match text.split_once('.') {
            Some((_, "")) => return None,
            Some((whole, decimals)) => (whole, decimals),
            None => (text, ""),
        };
        if !is_grouped(whole) || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Self {
            negative,
            whole: whole.replace(',', ""),
            decimals,
        })
    }

    /// Multiplied by 10^`places`; `decimals` has at most `places` digits.
    fn scaled(&self, decimals: &str, places: usize) -> Option<i64> {
        let digits = format!("{}{decimals:0<places$}", self.whole);
        let value: i64 = digits.parse().ok()?;
        Some(if self.negative {
            value.checked_neg()?
        } else {
            value
        })
    }
}

fn is_grouped(whole: &str) -> bool {
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let is_alone = first.len() == whole.len();
    !first.is_empty()
        && digits(first)
        && (is_alone || first.len() <= 3)
        && groups.all(|group| group.len() == 3 && digits(group))
}

/// Compares letters and digits in any case; a blank equals nothing.
pub fn same_identifier(one: &str, other: &str) -> bool {
    let (one, other) = (bare_identifier(one), bare_identifier(other));
    !one.is_empty() && one == other
}

pub(crate) fn bare_identifier(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

#[cfg(test)]
impl FiscalRecord {
    pub(crate) fn example() -> Self {
        Self {
            code: "AB12CD3456".parse().expect("a code"),
            trader: None,
            tin: "100-147-181".to_owned(),
            vrn: None,
            serial: "03TZ1".to_owned(),
            uin: None,
            tax_office: None,
            receipt_number: "3456".to_owned(),
            z_number: None,
            date: NaiveDate::from_ymd_opt(2026, 3, 1).expect("a day"),
            time: ReceiptTime::new(0, 30, 0),
            items: Vec::new(),
            total_excl_cents: None,
            total_tax_cents: None,
            total_incl_cents: None,
            void: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_read_without_floats() {
        for (text, cents) in [
            ("1,234.56", 123_456),
            ("0.10", 10),
            ("7", 700),
            ("7.5", 750),
            ("1234567.00", 123_456_700),
            ("12,345,678.90", 1_234_567_890),
            ("-50.00", -5_000),
        ] {
            assert_eq!(parse_cents(text), Some(cents), "{text}");
        }
        for text in [
            "",
            "-",
            "n/a",
            ".",
            ".5",
            "5.",
            "1,23.45",
            "1234,567.00",
            ",100",
            "1.234",
            "1,234.567",
            "1 000",
            "TZS 5",
            "1e3",
            "٣",
            "--1",
            "99999999999999999999",
            "1.2.3",
            "+1",
        ] {
            assert_eq!(parse_cents(text), None, "{text}");
        }
    }

    #[test]
    fn nothing_prints_that_lets_anybody_look_a_record_up() {
        let record = FiscalRecord {
            trader: Some("Duka Kuu".to_owned()),
            tin: "100200300".to_owned(),
            time: ReceiptTime::new(9, 8, 7),
            total_incl_cents: Some(4_200),
            ..FiscalRecord::example()
        };
        let printed = format!("{record:?}");
        assert!(
            printed.contains("100200300") && printed.contains("4200"),
            "{printed}"
        );
        assert!(
            !printed.contains("3456") && !printed.contains("09:08"),
            "{printed}"
        );
    }

    #[test]
    fn quantities_are_never_rounded_up() {
        for (text, thousandths) in [
            ("1", 1_000),
            ("0.750", 750),
            ("2.5", 2_500),
            ("1.99999", 1_999),
            ("1,000", 1_000_000),
        ] {
            assert_eq!(
                Quantity::parse(text).map(Quantity::as_thousandths),
                Some(thousandths),
                "{text}"
            );
        }
        assert_eq!(Quantity::parse("two"), None);
    }

    #[test]
    fn identifiers_are_compared_by_letters_and_digits() {
        assert!(same_identifier("100-200-300", "100200300"));
        assert!(same_identifier("03tz 1", "03TZ1"));
        assert!(!same_identifier("100200300", "100200301"));
        assert!(!same_identifier("-", ""));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".{0,40}") {
            let _ = (parse_cents(&text), Quantity::parse(&text), same_identifier(&text, "1"));
        }

        #[test]
        fn every_amount_survives_its_text(cents in 0i64..=99_999_999_999) {
            let plain = format!("{}.{:02}", cents / 100, cents % 100);
            prop_assert_eq!(parse_cents(&plain), Some(cents));
            let digits = (cents / 100).to_string();
            let grouped: Vec<_> = digits.as_bytes().rchunks(3).rev()
                .map(|group| String::from_utf8_lossy(group).into_owned()).collect();
            prop_assert_eq!(parse_cents(&format!("{}.{:02}", grouped.join(","), cents % 100)), Some(cents));
        }
    }
}
