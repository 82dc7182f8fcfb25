//! Input that consumers type, and names of records and requests.

use common::aws::photos::{object_key, receipt_of};
use common::domain::code::{Code, CodeForm, InvalidCode};
use common::domain::ids::{IdempotencyKey, ReceiptId, Reference, SubmissionId};
use common::domain::phone::Phone;
use common::domain::scope::{CampaignSlug, Scope};
use common::domain::unicode::{has_control, is_dash, is_format, stripped};

use super::text;

/// A phone has one spelling, and printing it shows nothing.
pub(super) fn phone(input: &[u8]) {
    let typed = text(input);
    let Ok(phone) = typed.parse::<Phone>() else {
        let padded = format!("\u{202a} {typed}\u{2013}\n");
        assert!(
            padded.parse::<Phone>().is_err(),
            "spaces and dashes made a phone"
        );
        return;
    };
    let e164 = phone.expose_e164();
    assert!(e164.len() == 13 && e164.starts_with("+255"), "{e164}");
    assert!(
        e164.bytes().skip(1).all(|byte| byte.is_ascii_digit()),
        "{e164}"
    );
    for same in [
        e164,
        &e164[1..],
        &format!("0{}", &e164[4..]),
        &format!("({e164})"),
        &format!(" {typed}-"),
        &format!("\u{202a}\t{typed}\u{2212}\u{a0}"),
    ] {
        assert_eq!(same.parse::<Phone>().as_ref(), Ok(&phone), "{same}");
    }
    assert_eq!(format!("{phone:?}"), "***");
    let stored = serde_json::to_value(&phone).expect("JSON");
    assert_eq!(
        serde_json::from_value::<Phone>(stored).expect("a phone"),
        phone
    );
}

/// All spellings of a code lead to the same look-up, and printing it shows nothing.
pub(super) fn code(input: &[u8]) {
    let typed = text(input);
    let visible = stripped(&typed).chars().filter(|c| !is_format(*c)).count();
    let code = match typed.parse::<Code>() {
        Ok(code) => code,
        Err(InvalidCode::Length) => {
            return assert!(
                !Code::CHARS.contains(&visible),
                "{typed:?} has the length of a code"
            );
        }
        Err(InvalidCode::ControlCharacter) => return assert!(has_control(&typed), "{typed:?}"),
        Err(InvalidCode::Blank) => {
            return assert!(!typed.contains(char::is_alphanumeric), "{typed:?}");
        }
    };
    assert_eq!(format!("{code:?}"), "***");
    assert_eq!(code.expose(), stripped(&typed));
    let normal = code.normal();
    assert!(
        !normal.contains(|c: char| c.is_whitespace() || is_dash(c) || is_format(c)),
        "{normal:?}"
    );
    if let Ok(again) = normal.parse::<Code>() {
        assert_eq!(again.normal(), normal);
    }
    for same in [
        typed.to_ascii_lowercase(),
        typed.to_ascii_uppercase(),
        format!(" \n{typed}"),
        format!("{typed}-"),
        format!("\u{feff}{typed}\u{200b}"),
    ] {
        if let Ok(same) = same.parse::<Code>() {
            assert_eq!(same.normal(), normal);
        }
    }
    let exact = code.clone().in_form(CodeForm::Exact);
    assert_eq!(exact.normal(), normal);
    assert_eq!(exact.clone().in_form(CodeForm::Exact), exact);
    let Some(sentinel) = code.sentinel() else {
        return assert_eq!(code.in_form(CodeForm::Folded).expose(), normal);
    };
    assert_eq!(
        code.in_form(CodeForm::Folded).sentinel().as_ref(),
        Some(&sentinel),
        "a sentinel stays one"
    );
    assert!(normal.starts_with("TEST0"), "{normal:?}");
    if let Ok(again) = sentinel.identity.parse::<Code>() {
        assert_eq!(again.sentinel(), Some(sentinel));
    }
}

/// A parsed name is written the same, and stays in its scope.
pub(super) fn name(input: &[u8]) {
    let typed = text(input);
    if let Ok(id) = typed.parse::<SubmissionId>() {
        assert_eq!(id.to_string(), typed.to_ascii_lowercase());
        assert_eq!(
            typed
                .parse::<ReceiptId>()
                .expect("as good an id")
                .to_string(),
            id.to_string()
        );
    }
    if let Ok(reference) = typed.parse::<Reference>() {
        let shown = reference.to_string();
        assert!(shown.len() == 9 && shown.is_ascii(), "{shown}");
        assert_eq!(shown.parse::<Reference>(), Ok(reference));
    }
    if let Ok(key) = typed.parse::<IdempotencyKey>() {
        assert!(IdempotencyKey::CHARS.contains(&key.as_str().len()) && !key.as_str().contains(','));
        assert_eq!(
            format!("\"{}\"", key.as_str())
                .parse::<IdempotencyKey>()
                .as_ref(),
            Ok(&key)
        );
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
