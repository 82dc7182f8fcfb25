use super::judgement::ReceiptSummary;
use super::rules::ReceiptRules;
use crate::domain::MessageKey;
use crate::domain::unicode::folded;

/// Code `TEST0` and the outcome without underscores, in any case; a `.suffix` makes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptSentinel {
    Verified,
    Wins,
    /// `unknown` first, verified some seconds later.
    Slow,
    Review,
    Stays(MessageKey),
    Declined(MessageKey),
}

impl ReceiptSentinel {
    const PREFIX: &str = "TEST0";

    pub fn parse(text: &str) -> Option<Self> {
        let upper = folded(text, Some);
        let asked = upper.strip_prefix(Self::PREFIX)?;
        let name = asked.split_once('.').map_or(asked, |(name, _suffix)| name);
        Some(match name {
            "VERIFIED" | "VALID" => Self::Verified,
            "REVIEW" => Self::Review,
            "SLOW" => Self::Slow,
            _ => match key_named(name) {
                Some(MessageKey::Entered) => Self::Verified,
                Some(MessageKey::InstantWin) => Self::Wins,
                Some(key) if key.rejects() => Self::Declined(key),
                Some(key) => Self::Stays(key),
                None => Self::Declined(MessageKey::ReceiptNotFound),
            },
        })
    }
}

impl ReceiptSummary {
    /// One piece of the campaign's first product from its first branch.
    pub fn made_up(rules: Option<&ReceiptRules>) -> Self {
        let product = rules.and_then(|rules| rules.products.first());
        let branch = rules.and_then(|rules| rules.branches.first());
        Self {
            date: Some("2026-01-31".to_owned()),
            branch: branch.map(|branch| branch.key.clone()),
            items_summary: product.map(|product| format!("1 x {}", product.name)),
            counted_entries: None,
        }
    }
}

/// Ignores underscores. Receipts' own keys come first, with or without `RECEIPT`: `ALREADYUSED` is
/// a used receipt.
fn key_named(name: &str) -> Option<MessageKey> {
    let bare = |key: &MessageKey| key.as_str().replace('_', "").to_uppercase();
    let find = |is_named: &dyn Fn(&str) -> bool| {
        MessageKey::ALL.into_iter().find(|key| is_named(&bare(key)))
    };
    find(&|bare| bare.strip_prefix("RECEIPT") == Some(name)).or_else(|| find(&|bare| bare == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_key_has_a_test_receipt() {
        for key in MessageKey::ALL {
            let text = format!("test0{}.7", key.as_str().replace('_', ""));
            let expected = match key {
                MessageKey::Entered => ReceiptSentinel::Verified,
                MessageKey::InstantWin => ReceiptSentinel::Wins,
                MessageKey::AlreadyUsed => {
                    ReceiptSentinel::Declined(MessageKey::ReceiptAlreadyUsed)
                }
                key if key.rejects() => ReceiptSentinel::Declined(key),
                key => ReceiptSentinel::Stays(key),
            };
            assert_eq!(ReceiptSentinel::parse(&text), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_word_receipt_may_be_left_out() {
        let asked = |text| ReceiptSentinel::parse(text);
        assert_eq!(
            asked(" TEST0WRONGSTORE "),
            Some(ReceiptSentinel::Declined(MessageKey::ReceiptWrongStore))
        );
        assert_eq!(asked("Test0Verified"), Some(ReceiptSentinel::Verified));
        assert_eq!(asked("TEST0REVIEW.a"), Some(ReceiptSentinel::Review));
        assert_eq!(asked("TEST0SLOW"), Some(ReceiptSentinel::Slow));
        assert_eq!(
            asked("TEST0NONSENSE"),
            Some(ReceiptSentinel::Declined(MessageKey::ReceiptNotFound))
        );
        assert_eq!(
            asked("ｔｅｓｔ０Ｒｅｖｉｅｗ\n"),
            Some(ReceiptSentinel::Review)
        );
        assert_eq!(asked("TEST-0-VALID"), None);
        assert_eq!(asked("ATEST0VALID"), None);
    }
}
