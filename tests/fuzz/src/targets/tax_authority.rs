//! Pages of the tax authority.

use common::domain::receipt::payload::VerificationCode;
use common::domain::receipt::record::{FiscalRecord, MAX_ITEMS, MAX_TEXT_CHARS};
use common::upstream::tax_authority::answer::{LookupAnswer, UnexpectedPage};
use common::upstream::tax_authority::page;

use super::{first_line, receipt};

const ASKED: &str = "0A1B2C77";

/// A page is parsed the same twice, a receipt is the requested one, and operators' excerpts hold no
/// secrets. The first line is the final path and status, the rest the page.
pub(super) fn page(input: &[u8]) {
    let (head, body) = first_line(input);
    let (path, status) = head.rsplit_once(' ').unwrap_or((&head, "200"));
    let status = status.trim().parse().unwrap_or(200);
    let asked: VerificationCode = ASKED.parse().expect("a code");
    let answer = page::read(path, status, body, &asked);
    assert_eq!(page::read(path, status, body, &asked), answer);
    match &answer {
        LookupAnswer::Found(record) => found(record, &asked),
        LookupAnswer::Unexpected(page) => {
            let printed = format!("{answer:?}").to_ascii_uppercase();
            assert!(!printed.contains(ASKED), "{printed}");
            unexpected(page);
        }
        LookupAnswer::WrongTime
        | LookupAnswer::NotFoundYet
        | LookupAnswer::Throttled
        | LookupAnswer::RefererRefused
        | LookupAnswer::Unavailable(_) => {}
    }
}

fn found(record: &FiscalRecord, asked: &VerificationCode) {
    assert_eq!(&record.code, asked);
    receipt::check(&record.code);
    assert!((1..=MAX_ITEMS).contains(&record.items.len()));
    let descriptions = record.items.iter().map(|item| &item.description);
    let texts = [
        &record.trader,
        &record.vrn,
        &record.uin,
        &record.tax_office,
        &record.z_number,
    ];
    let texts =
        texts
            .into_iter()
            .flatten()
            .chain([&record.tin, &record.serial, &record.receipt_number]);
    for text in texts.chain(descriptions) {
        assert!(text.chars().count() <= MAX_TEXT_CHARS, "{text}");
    }
    let stored = serde_json::to_value(record).expect("JSON");
    assert_eq!(
        &serde_json::from_value::<FiscalRecord>(stored).expect("a record"),
        record
    );
}

fn unexpected(page: &UnexpectedPage) {
    let excerpt = page.excerpt.to_ascii_uppercase();
    assert!(excerpt.chars().count() <= UnexpectedPage::MAX_EXCERPT_CHARS);
    let is_cut = excerpt.chars().count() == UnexpectedPage::MAX_EXCERPT_CHARS;
    // The customer's name follows this word.
    for (_, after) in excerpt
        .match_indices("CUSTOMER")
        .map(|(at, word)| excerpt.split_at(at + word.len()))
    {
        assert!(after.starts_with(" ***") || is_cut, "{excerpt}");
    }
}
