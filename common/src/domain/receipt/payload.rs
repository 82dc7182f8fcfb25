//! A payload is never fetched.

use std::str::FromStr;

use chrono::NaiveTime;
use serde::{Deserialize, Serialize};

use crate::domain::Invalid;
use crate::domain::unicode::{folded, is_dash};

const HOST: &str = "verify.tra.go.tz";
const CODE_PARAMETER: &str = "rctvcode";
/// The longest valid link has about 90 bytes.
const MAX_PAYLOAD_BYTES: usize = 200;

/// 6 to 40 upper-case letters and digits, unique worldwide: six for the fiscal device, then the
/// receipt's number.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VerificationCode(String);

impl VerificationCode {
    pub const CHARS: std::ops::RangeInclusive<usize> = 6..=40;
    const DEVICE_CHARS: usize = 6;

    /// Folded like any code.
    pub fn parse_typed(typed: &str) -> Option<Self> {
        folded(typed, |c| (!is_dash(c)).then_some(c)).parse().ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn receipt_number(&self) -> &str {
        self.0.get(Self::DEVICE_CHARS..).unwrap_or_default()
    }
}

impl FromStr for VerificationCode {
    type Err = Invalid;

    /// Ignores case and surrounding spaces.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.trim();
        if !Self::CHARS.contains(&bare.len())
            || !bare.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err(Invalid("a receipt verification code"));
        }
        Ok(Self(bare.to_ascii_uppercase()))
    }
}

stored_as_text!(VerificationCode, |code| code.0);

masked_debug!(VerificationCode);

/// The only secret of a look-up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReceiptTime(NaiveTime);

impl ReceiptTime {
    pub fn new(hour: u8, minute: u8, second: u8) -> Option<Self> {
        NaiveTime::from_hms_opt(hour.into(), minute.into(), second.into()).map(Self)
    }

    /// `h:mm` or `hh:mm`, with or without `:ss`.
    pub fn from_typed(typed: &str) -> Result<Self, Invalid> {
        let mut parts = typed.split(':');
        let hour = parts.next().and_then(|text| number(text, 1..=2));
        let minute = parts.next().and_then(|text| number(text, 2..=2));
        let second = parts.next().map_or(Some(0), |text| number(text, 2..=2));
        match (hour, minute, second, parts.next()) {
            (Some(hour), Some(minute), Some(second), None) => {
                Self::new(hour, minute, second).ok_or(Invalid("a time of day"))
            }
            _ => Err(Invalid("a time of day")),
        }
    }

    fn from_link(text: &str) -> Option<Self> {
        if text.len() != 6 {
            return None;
        }
        let part = |range| text.get(range).and_then(|text| number(text, 2..=2));
        Self::new(part(0..2)?, part(2..4)?, part(4..6)?)
    }

    /// `HHMMSS`.
    pub fn expose_compact(self) -> String {
        self.0.format("%H%M%S").to_string()
    }

    /// `HH:MM:SS`.
    pub fn expose(self) -> String {
        self.0.format("%H:%M:%S").to_string()
    }
}

fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u8> {
    let plain = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

impl From<ReceiptTime> for NaiveTime {
    fn from(time: ReceiptTime) -> Self {
        time.0
    }
}

impl TryFrom<String> for ReceiptTime {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::from_typed(&text)
    }
}

impl From<ReceiptTime> for String {
    fn from(time: ReceiptTime) -> Self {
        time.expose()
    }
}

masked_debug!(ReceiptTime);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptKey {
    pub code: VerificationCode,
    pub time: Option<ReceiptTime>,
}

impl ReceiptKey {
    /// Takes `https://verify.tra.go.tz/<CODE>_<HHMMSS>`; also `http` or no scheme, a trailing `/`,
    /// lower case, no time, the code in `rctvcode`, or just the code.
    pub fn from_payload(payload: &str) -> Option<Self> {
        let payload = payload.trim();
        if payload.len() > MAX_PAYLOAD_BYTES {
            return None;
        }
        let (bare, has_scheme) = match payload.split_once("://") {
            Some((scheme, rest)) if is_http(scheme) => (rest, true),
            Some(_) => return None,
            None => (payload, false),
        };
        let host_end = bare.find(['/', '?']).unwrap_or(bare.len());
        let (host, rest) = bare.split_at_checked(host_end)?;
        if host.eq_ignore_ascii_case(HOST) {
            return Self::from_link(rest);
        }
        if has_scheme {
            return None;
        }
        Self::from_token(payload.strip_suffix('/').unwrap_or(payload))
    }

    fn from_link(path_and_query: &str) -> Option<Self> {
        let Some((_, query)) = path_and_query.split_once('?') else {
            let token = path_and_query.strip_prefix('/')?;
            return Self::from_token(token.strip_suffix('/').unwrap_or(token));
        };
        let mut codes = query.split('&').filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            name.eq_ignore_ascii_case(CODE_PARAMETER).then_some(value)
        });
        match (codes.next(), codes.next()) {
            (Some(token), None) => Self::from_token(token.strip_suffix('/').unwrap_or(token)),
            _ => None,
        }
    }

    /// `<CODE>` or `<CODE>_<HHMMSS>`.
    pub(crate) fn from_token(token: &str) -> Option<Self> {
        // Only a typed code may have spaces around it.
        if token.contains(char::is_whitespace) {
            return None;
        }
        let (code, time) = match token.split_once('_') {
            Some((code, time)) => (code, Some(ReceiptTime::from_link(time)?)),
            None => (token, None),
        };
        Some(Self {
            code: code.parse().ok()?,
            time,
        })
    }
}

fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(payload: &str) -> Option<(String, Option<String>)> {
        ReceiptKey::from_payload(payload).map(|claim| {
            (
                claim.code.as_str().to_owned(),
                claim.time.map(ReceiptTime::expose),
            )
        })
    }

    #[test]
    fn the_receipts_number_follows_its_device() {
        let number = |code: &str| {
            code.parse::<VerificationCode>()
                .expect(code)
                .receipt_number()
                .to_owned()
        };
        assert_eq!(number("AB12CD3456"), "3456");
        assert_eq!(number("AB12CD"), "");
    }

    #[test]
    fn code_and_time_are_stored_in_one_spelling() {
        let claim = ReceiptKey::from_payload("ab12cd3456_090807").expect("a claim");
        assert_eq!(
            serde_json::to_value(&claim.code).expect("JSON"),
            "AB12CD3456"
        );
        assert_eq!(serde_json::to_value(claim.time).expect("JSON"), "09:08:07");
    }

    #[test]
    fn a_payload_longer_than_any_receipts_is_not_read() {
        let link = |bytes: usize| {
            let link = "https://verify.tra.go.tz/?rctvcode=AB12CD3456&x=";
            format!("{link}{}", "x".repeat(bytes - link.len()))
        };
        assert!(claim(&link(200)).is_some());
        assert!(claim(&link(201)).is_none());
        assert!(claim(&link(300)).is_none());
    }

    #[test]
    fn every_known_form_of_a_payload_is_read() {
        let with_time = Some(("AB12CD3456".to_owned(), Some("09:08:07".to_owned())));
        let without = Some(("AB12CD3456".to_owned(), None));
        for (payload, expected) in [
            ("https://verify.tra.go.tz/AB12CD3456_090807", &with_time),
            ("HTTPS://VERIFY.TRA.GO.TZ/ab12cd3456_090807", &with_time),
            ("http://verify.tra.go.tz/AB12CD3456_090807/", &with_time),
            ("verify.tra.go.tz/AB12CD3456_090807", &with_time),
            ("AB12CD3456_090807", &with_time),
            (
                "https://verify.tra.go.tz/?rctvcode=AB12CD3456_090807",
                &with_time,
            ),
            ("https://verify.tra.go.tz/AB12CD3456", &without),
            ("https://verify.tra.go.tz/?rctvcode=AB12CD3456", &without),
            (
                "https://verify.tra.go.tz?x=1&RCTVCODE=ab12cd3456/",
                &without,
            ),
            (" ab12cd3456\n", &without),
        ] {
            assert_eq!(&claim(payload), expected, "{payload}");
        }
    }

    #[test]
    fn anything_else_is_no_receipt() {
        for payload in [
            "",
            "AB12C",
            "AB12CD3456_",
            "AB12CD3456_0908",
            "AB12CD3456_246000",
            "AB12CD3456_090807_1",
            "AB12-CD3456",
            "AB12CD 3456",
            "https://AB12CD3456_090807",
            "https://www.verify.tra.go.tz/AB12CD3456_090807",
            "https://verify.tra.go.tz.example.com/AB12CD3456_090807",
            "https://verify.tra.go.tz@example.com/AB12CD3456_090807",
            "https://example.com/verify.tra.go.tz/AB12CD3456_090807",
            "https://example.com/?rctvcode=AB12CD3456",
            "https://verify.tra.go.tz:8443/AB12CD3456_090807",
            "https://verify.tra.go.tz/",
            "https://verify.tra.go.tz",
            "https://verify.tra.go.tz/Home/AB12CD3456",
            "https://verify.tra.go.tz/AB12CD3456_090807?x=1",
            "https://verify.tra.go.tz/AB12CD3456_090807#x",
            "https://verify.tra.go.tz/?rctvcode=AB12CD3456&rctvcode=ZZ12CD3456",
            "ftp://verify.tra.go.tz/AB12CD3456",
            "?rctvcode=AB12CD3456",
            "АB12CD3456",
        ] {
            assert_eq!(claim(payload), None, "{payload}");
        }
    }

    #[test]
    fn typed_times_may_leave_out_a_zero_and_the_seconds() {
        for (typed, expected) in [
            ("9:05", "09:05:00"),
            ("09:05", "09:05:00"),
            ("23:59:59", "23:59:59"),
            ("0:00:01", "00:00:01"),
        ] {
            assert_eq!(
                ReceiptTime::from_typed(typed).expect(typed).expose(),
                expected
            );
        }
        for typed in [
            "",
            "9",
            "24:00",
            "9:60",
            "9:5",
            "9:05:60",
            "9:05:1",
            "+9:05",
            "9:05:00:00",
            "109:05",
            " 9:05",
            "9:05 ",
        ] {
            assert_eq!(
                ReceiptTime::from_typed(typed),
                Err(Invalid("a time of day")),
                "{typed}"
            );
        }
    }

    #[test]
    fn a_receipt_key_does_not_print() {
        let claim = ReceiptKey::from_payload("AB12CD3456_090807").expect("a claim");
        assert_eq!(
            format!("{claim:?}"),
            "ReceiptKey { code: ***, time: Some(***) }"
        );
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_yields_only_codes(payload in ".{0,120}") {
            if let Some(claim) = ReceiptKey::from_payload(&payload) {
                prop_assert_eq!(claim.code.as_str().parse::<VerificationCode>(), Ok(claim.code.clone()));
            }
            let _ = ReceiptTime::from_typed(&payload);
        }

        #[test]
        fn what_stands_around_and_between_typed_symbols_changes_nothing(
            symbols in prop::collection::vec(("[A-Za-z0-9]", "[\\s\\p{Cf}\\p{Pd}\u{2212}]{0,2}"), 6..=40),
        ) {
            let plain: String = symbols.iter().map(|(symbol, _)| symbol.as_str()).collect();
            let typed: String = symbols.iter().map(|(symbol, padding)| format!("{padding}{symbol}")).collect();
            prop_assert_eq!(VerificationCode::parse_typed(&typed), plain.parse().ok());
        }

        #[test]
        fn every_code_and_time_survives_its_link(
            code in "[A-Za-z0-9]{6,40}", hour in 0u8..24, minute in 0u8..60, second in 0u8..60,
            scheme in prop::sample::select(vec!["https://verify.tra.go.tz/", "verify.tra.go.tz/", ""]),
        ) {
            let time = ReceiptTime::new(hour, minute, second).expect("a time");
            let payload = format!("{scheme}{code}_{}", time.expose_compact());
            let claim = ReceiptKey::from_payload(&payload).expect("a claim");
            prop_assert_eq!(claim.code.as_str(), code.to_ascii_uppercase());
            prop_assert_eq!(claim.time, Some(time));
            prop_assert_eq!(ReceiptTime::from_typed(&time.expose()), Ok(time));
        }
    }
}
