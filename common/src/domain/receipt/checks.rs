//! The first failure ends the checks.

use super::judgement::{Reason, Rule};
use crate::domain::MessageKey;

text_enum! {
    pub enum PhotoFault {
        Missing = "photo_missing",
        NotDecoded = "photo_not_decoded",
        Damaged = "photo_damaged",
        TooLarge = "photo_too_large",
        Animated = "photo_animated",
        TooSlow = "photo_too_slow",
        ReaderCrashed = "photo_reader_crashed",
        NoQrCode = "no_qr_code",
        NoReceipt = "no_receipt_in_qr_codes",
        SeveralReceipts = "several_receipts_in_photo",
        /// A look-up needs the time.
        NoTime = "no_time_in_qr_code",
        /// Nothing was read, and another submission sent the same file.
        SeenBefore = "photo_seen_before",
    }
}

impl PhotoFault {
    fn check(self) -> Check {
        match self {
            Self::Missing
            | Self::NotDecoded
            | Self::Damaged
            | Self::TooLarge
            | Self::Animated
            | Self::TooSlow
            | Self::ReaderCrashed => Check::Photo,
            Self::NoQrCode
            | Self::NoReceipt
            | Self::SeveralReceipts
            | Self::NoTime
            | Self::SeenBefore => Check::Code,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Photo,
    Code,
    Record,
    Rule(Rule),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    Passed,
    Failed(&'static str),
    /// An earlier check failed, or the reasons name no check.
    NotReached,
}

impl Check {
    pub fn all() -> impl Iterator<Item = Self> {
        let rules = Rule::ALL.into_iter().map(Self::Rule);
        [Self::Photo, Self::Code, Self::Record]
            .into_iter()
            .chain(rules)
    }

    fn from_reason(reason: &str) -> Option<(Self, &'static str)> {
        let faults = PhotoFault::ALL
            .into_iter()
            .map(|fault| (fault.check(), fault.as_str()));
        let rules = Reason::ALL
            .into_iter()
            .map(|reason| (Self::Rule(reason.rule()), reason.as_str()));
        let keys = [
            (Self::Code, MessageKey::ReceiptUnreadable.as_str()),
            (Self::Record, MessageKey::ReceiptNotFound.as_str()),
            (Self::Record, MessageKey::ReceiptTimeMismatch.as_str()),
        ];
        faults
            .chain(rules)
            .chain(keys)
            .find(|(_, name)| *name == reason)
    }
}

/// None counts as reached without a known reason.
pub fn checks(reasons: &[String]) -> Vec<(Check, CheckResult)> {
    // The last reason is the most precise.
    let failed = reasons
        .iter()
        .rev()
        .find_map(|reason| Check::from_reason(reason));
    let mut is_before = failed.is_some();
    let result = |check| match failed {
        Some((failed, reason)) if failed == check => {
            is_before = false;
            (check, CheckResult::Failed(reason))
        }
        Some(_) | None if is_before => (check, CheckResult::Passed),
        Some(_) | None => (check, CheckResult::NotReached),
    };
    Check::all().map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(reasons: &[&str]) -> Vec<CheckResult> {
        let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
        checks(&reasons)
            .into_iter()
            .map(|(_, result)| result)
            .collect()
    }

    #[test]
    fn what_was_checked_before_the_check_that_failed_has_passed() {
        use CheckResult::{Failed, NotReached, Passed};
        let no_product = results(&["no_product_matched"]);
        let expected = [Passed; 7]
            .into_iter()
            .chain([Failed("no_product_matched"), NotReached]);
        assert_eq!(no_product, expected.collect::<Vec<_>>());
        let no_code = results(&["no_qr_code"]);
        let expected = [Passed, Failed("no_qr_code")]
            .into_iter()
            .chain([NotReached; 7]);
        assert_eq!(no_code, expected.collect::<Vec<_>>());
    }

    #[test]
    fn the_more_precise_of_two_reasons_tells_the_check() {
        assert_eq!(
            checks(&[
                "receipt_wrong_store".to_owned(),
                "trader_unknown".to_owned()
            ])
            .get(5),
            Some(&(
                Check::Rule(Rule::Shop),
                CheckResult::Failed("trader_unknown")
            ))
        );
        let cancelled = results(&["receipt_not_found", "receipt_cancelled"]);
        assert_eq!(
            cancelled.get(3),
            Some(&CheckResult::Failed("receipt_cancelled"))
        );
    }

    #[test]
    fn nothing_is_claimed_about_a_reason_that_no_check_gives() {
        for reasons in [
            &[][..],
            &["reopened"],
            &["step_never_finished"],
            &["operator_decision"],
        ] {
            assert!(
                results(reasons)
                    .iter()
                    .all(|result| *result == CheckResult::NotReached),
                "{reasons:?}"
            );
        }
    }

    #[test]
    fn every_reason_belongs_to_one_check() {
        let names = PhotoFault::ALL.map(PhotoFault::as_str).into_iter();
        for name in names.chain(Reason::ALL.map(Reason::as_str)) {
            let failed = results(&[name])
                .into_iter()
                .filter(|result| *result == CheckResult::Failed(name));
            assert_eq!(failed.count(), 1, "{name}");
        }
    }
}
