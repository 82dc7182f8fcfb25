//! What consumers type, and what names records and requests.

use common::domain::code::Code;
use common::domain::ids::{IdempotencyKey, ReceiptId, Reference, SubmissionId};
use common::domain::phone::Phone;
use common::domain::scope::{CampaignSlug, Scope};
use common::photos::{object_key, receipt_of};

use super::text;

/// A phone has one spelling, and does not print.
pub(super) fn phone(input: &[u8]) {
    let typed = text(input);
    let Ok(phone) = typed.parse::<Phone>() else {
        assert!(format!(" {typed}-").parse::<Phone>().is_err(), "spaces and dashes made a phone");
        return;
    };
    let e164 = phone.expose_e164();
    assert!(e164.len() == 13 && e164.starts_with("+255"), "{e164}");
    assert!(e164.bytes().skip(1).all(|byte| byte.is_ascii_digit()), "{e164}");
    for same in [e164, &e164[1..], &format!("0{}", &e164[4..]), &format!("({e164})"), &format!(" {typed}-")] {
        assert_eq!(same.parse::<Phone>().as_ref(), Ok(&phone), "{same}");
    }
    assert_eq!(format!("{phone:?}"), "***");
    let stored = serde_json::to_value(&phone).expect("JSON");
    assert_eq!(serde_json::from_value::<Phone>(stored).expect("a phone"), phone);
}

/// However a code is written, it is looked up under one spelling; it does not print.
pub(super) fn code(input: &[u8]) {
    let typed = text(input);
    let Ok(code) = typed.parse::<Code>() else {
        assert!(!Code::CHARS.contains(&typed.chars().count()), "{typed:?} has the length of a code");
        return;
    };
    assert_eq!(format!("{code:?}"), "***");
    assert_eq!(code.expose(), typed.trim());
    let normal = code.normal();
    assert!(!normal.contains(|c: char| c.is_whitespace() || c == '-'), "{normal:?}");
    if let Ok(again) = normal.parse::<Code>() {
        assert_eq!(again.normal(), normal);
    }
    for same in
        [typed.to_ascii_lowercase(), typed.to_ascii_uppercase(), format!(" {typed}"), format!("{typed}-")]
    {
        if let Ok(same) = same.parse::<Code>() {
            assert_eq!(same.normal(), normal);
        }
    }
    let Some(sentinel) = code.sentinel() else { return };
    assert!(normal.starts_with("TEST0"), "{normal:?}");
    if let Ok(again) = sentinel.identity.parse::<Code>() {
        assert_eq!(again.sentinel(), Some(sentinel));
    }
}

/// A name that is read is written the same, and takes nobody out of their scope.
pub(super) fn name(input: &[u8]) {
    let typed = text(input);
    if let Ok(id) = typed.parse::<SubmissionId>() {
        assert_eq!(id.to_string(), typed.to_ascii_lowercase());
        assert_eq!(typed.parse::<ReceiptId>().expect("as good an id").to_string(), id.to_string());
    }
    if let Ok(reference) = typed.parse::<Reference>() {
        let shown = reference.to_string();
        assert!(shown.len() == 9 && shown.is_ascii(), "{shown}");
        assert_eq!(shown.parse::<Reference>(), Ok(reference));
    }
    if let Ok(key) = typed.parse::<IdempotencyKey>() {
        assert!(IdempotencyKey::CHARS.contains(&key.as_str().len()));
        assert_eq!(format!("\"{}\"", key.as_str()).parse::<IdempotencyKey>().as_ref(), Ok(&key));
        assert_eq!(format!("{key:?}"), "***");
    }
    if let Ok(slug) = typed.parse::<CampaignSlug>() {
        assert_eq!(slug.as_str(), typed);
        assert!(!typed.contains(['#', '/', '.', ' ']));
    }
    if let Some((scope, rest)) = Scope::split_key(&typed) {
        assert_eq!(scope.key(rest), typed);
    }
    if let Some((scope, id)) = receipt_of(&typed) {
        assert_eq!(object_key(&scope, id), typed.to_ascii_lowercase());
    }
}
