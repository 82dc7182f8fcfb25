//! Receipts: QR codes, typed codes and times, amounts.

use chrono::NaiveTime;
use common::domain::receipt::payload::{ReceiptKey, ReceiptTime, VerificationCode};
use common::domain::receipt::photo::PhotoType;
use common::domain::receipt::record::{Quantity, parse_cents, same_identifier};
use common::domain::receipt::sentinel::ReceiptSentinel;
use common::domain::receipt::{LookupSource, Source};

use super::text as text_of;

/// Codes and times survive a round trip, and printing them shows nothing.
pub(super) fn text(input: &[u8]) {
    let text = text_of(input);
    let typed = VerificationCode::parse_typed(&text);
    if let Some(code) = &typed {
        check(code);
        assert_eq!(
            VerificationCode::parse_typed(&format!(" {}- ", text.to_ascii_lowercase())).as_ref(),
            Some(code)
        );
    }
    let time = ReceiptTime::from_typed(&text);
    if let Ok(time) = time {
        assert_eq!(NaiveTime::from(time).to_string(), time.expose());
        assert_eq!(ReceiptTime::from_typed(&time.expose()), Ok(time));
        assert_eq!(format!("{time:?}"), "***");
    }
    let claim = ReceiptKey::from_payload(&text);
    if let Some(claim) = &claim {
        check(&claim.code);
        assert!(!format!("{claim:?}").contains(claim.code.as_str()));
        let time = claim
            .time
            .map(|time| format!("_{}", time.expose_compact()))
            .unwrap_or_default();
        let link = format!("https://verify.tra.go.tz/{}{time}", claim.code.as_str());
        assert_eq!(ReceiptKey::from_payload(&link).as_ref(), Some(claim));
    }
    let sentinel = ReceiptSentinel::parse(&text);
    assert_eq!(
        ReceiptSentinel::parse(&format!(" {} ", text.to_ascii_uppercase())),
        sentinel
    );

    let photo = Source::Photo {
        content_type: PhotoType::Jpeg,
        size_bytes: 1,
        qr_payload: Some(text.to_string()),
    };
    let with_time = claim.filter(|claim| claim.time.is_some());
    match photo.lookup_source() {
        LookupSource::Sentinel(found) => assert_eq!(Some(found), sentinel),
        LookupSource::Known(found) => assert_eq!(Some(found), with_time),
        LookupSource::Photo => assert!(with_time.is_none()),
        LookupSource::Malformed => panic!("a photo can always be read"),
    }
    let noon = ReceiptTime::new(12, 0, 0).expect("a time");
    match (Source::Typed {
        code: text.to_string(),
        time: noon,
    })
    .lookup_source()
    {
        LookupSource::Sentinel(found) => assert_eq!(Some(found), sentinel),
        LookupSource::Known(found) => assert_eq!(Some(found.code), typed),
        LookupSource::Malformed => assert_eq!(typed, None),
        LookupSource::Photo => panic!("a typed receipt has no photo"),
    }
}

/// Properties of parsed codes.
pub(super) fn check(code: &VerificationCode) {
    let shown = code.as_str();
    assert!(VerificationCode::CHARS.contains(&shown.len()), "{shown}");
    assert!(
        shown
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
        "{shown}"
    );
    assert_eq!(shown.parse().as_ref(), Ok(code));
    assert_eq!(format!("{code:?}"), "***");
    let stored = serde_json::to_value(code).expect("JSON");
    assert_eq!(
        &serde_json::from_value::<VerificationCode>(stored).expect("a code"),
        code
    );
}

/// Amounts and quantities are exact, never more than written.
pub(super) fn amount(input: &[u8]) {
    let text = text_of(input);
    if let Some(cents) = parse_cents(&text) {
        assert_eq!(parse_cents(&decimal(cents, 2)), Some(cents), "{text:?}");
    }
    if let Some(quantity) = Quantity::parse(&text) {
        let thousandths = quantity.as_thousandths();
        assert_eq!(
            Quantity::parse(&decimal(thousandths, 3)),
            Some(quantity),
            "{text:?}"
        );
        if let Some(cents) = parse_cents(&text) {
            assert_eq!(Some(thousandths), cents.checked_mul(10), "{text:?}");
        }
    }
    assert_eq!(
        same_identifier(&text, &text),
        text.contains(|c: char| c.is_ascii_alphanumeric())
    );
    assert!(!same_identifier(&text, "") && !same_identifier("", &text));
}

/// A number with this many decimals.
fn decimal(scaled: i64, places: usize) -> String {
    let digits = format!("{:0>width$}", scaled.unsigned_abs(), width = places + 1);
    let (whole, decimals) = digits.split_at(digits.len() - places);
    format!("{}{whole}.{decimals}", if scaled < 0 { "-" } else { "" })
}
