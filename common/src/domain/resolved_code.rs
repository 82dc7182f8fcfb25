use super::code::{Sentinel, SentinelOutcome};
use super::code_record::CodeRecord;
use super::codebook::{BatchStatus, BookMatch, CodeBook};
use super::phone_protection::Consumer;
use super::{Code, CodeKey, CodeLookup, CodePolicy, CodeStatus, MessageKey, Scope};

pub const SENTINEL_PRIZE: &str = "Test prize";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedCode {
    NotNeeded,
    SentinelWithoutPhone,
    Named(NamedCode),
    ForcedRejection(MessageKey),
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCode {
    pub key: CodeKey,
    pub prize: Option<String>,
    /// False for a withdrawn code, which only replays an earlier submission.
    pub is_redeemable: bool,
    pub acceptance: AcceptanceTiming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptanceTiming {
    Immediate,
    Delayed,
    ByPartner,
    StaysPending(MessageKey),
}

impl ResolvedCode {
    pub fn from_sentinel(sentinel: &Sentinel, consumer: Option<&Consumer>) -> Self {
        let (prize, acceptance) = match sentinel.outcome {
            SentinelOutcome::Enters => (None, AcceptanceTiming::Immediate),
            SentinelOutcome::Wins => (Some(SENTINEL_PRIZE.to_owned()), AcceptanceTiming::Immediate),
            SentinelOutcome::Slow => (None, AcceptanceTiming::Delayed),
            SentinelOutcome::Stays(key) => (None, AcceptanceTiming::StaysPending(key)),
            SentinelOutcome::Rejected(key) => return Self::ForcedRejection(key),
        };
        let Some(consumer) = consumer else {
            return Self::SentinelWithoutPhone;
        };
        Self::Named(NamedCode {
            key: CodeKey::sentinel(&sentinel.identity, &consumer.id),
            prize,
            is_redeemable: true,
            acceptance,
        })
    }

    /// Assumes the likeliest batch without `imported_batch`.
    pub fn from_book(code: &Code, book: &CodeBook, imported_batch: Option<&str>) -> Self {
        let normal = code.normal();
        let (serial, prize, is_redeemable) = match book.verify(&normal) {
            BookMatch::Minted { serial, prize } => (serial, prize, true),
            BookMatch::Withdrawn { serial } => (serial, None, false),
            BookMatch::PerhapsImported => return Self::imported(book, &normal, imported_batch),
            BookMatch::Unknown => return Self::Unknown,
        };
        Self::Named(NamedCode {
            key: CodeKey::Minted(serial),
            prize,
            is_redeemable,
            acceptance: AcceptanceTiming::Immediate,
        })
    }

    /// Test keys never reach a partner: their codes have none.
    pub fn key_from_book(
        policy: CodePolicy,
        scope: &Scope,
        code: &Code,
        book: &CodeBook,
    ) -> Option<CodeKey> {
        match policy {
            CodePolicy::None => None,
            CodePolicy::Partner => {
                let is_live = scope.environment.is_live();
                is_live.then(|| CodeKey::Partner(book.digest(code.expose())))
            }
            CodePolicy::Service => Self::from_book(code, book, None).key().cloned(),
        }
    }

    fn imported(book: &CodeBook, normal: &str, known_batch: Option<&str>) -> Self {
        let likely = || {
            book.likely_imported_batch()
                .map(|batch| batch.name.as_str())
        };
        let Some(name) = known_batch.or_else(likely) else {
            return Self::Unknown;
        };
        let batch = book.batch(name).filter(|batch| batch.origin.is_imported());
        Self::Named(NamedCode {
            key: CodeKey::Imported {
                digest: book.digest(normal),
                batch: name.to_owned(),
            },
            prize: batch.and_then(|batch| batch.prize.clone()),
            is_redeemable: batch.is_some_and(|batch| batch.status == BatchStatus::Active),
            acceptance: AcceptanceTiming::Immediate,
        })
    }

    fn named(&self) -> Option<&NamedCode> {
        match self {
            Self::Named(named) => Some(named),
            Self::NotNeeded
            | Self::SentinelWithoutPhone
            | Self::ForcedRejection(_)
            | Self::Unknown => None,
        }
    }

    pub fn key(&self) -> Option<&CodeKey> {
        self.named().map(|named| &named.key)
    }

    pub fn prize(&self) -> Option<&str> {
        self.named()?.prize.as_deref()
    }

    pub fn acceptance(&self) -> AcceptanceTiming {
        self.named()
            .map_or(AcceptanceTiming::Immediate, |named| named.acceptance)
    }

    pub fn status(&self, record: &CodeLookup, consumer: Option<&Consumer>) -> CodeStatus {
        let is_redeemable = match self {
            Self::NotNeeded => return CodeStatus::NotNeeded,
            Self::SentinelWithoutPhone => return CodeStatus::Free,
            Self::ForcedRejection(key) => return CodeStatus::Forced(*key),
            Self::Unknown => return CodeStatus::Invalid,
            Self::Named(named) => named.is_redeemable,
        };
        match record {
            CodeLookup::RecordMissing => CodeStatus::Invalid,
            CodeLookup::NoRecord if is_redeemable => CodeStatus::Free,
            CodeLookup::NoRecord => CodeStatus::Invalid,
            CodeLookup::Found(record) => status_of(record, is_redeemable, consumer),
        }
    }
}

fn status_of(record: &CodeRecord, is_redeemable: bool, consumer: Option<&Consumer>) -> CodeStatus {
    match &record.hold {
        Some(hold) if consumer.is_some_and(|consumer| consumer.id == hold.entrant) => {
            CodeStatus::OwnedBySamePhone(hold.submission_id)
        }
        Some(_) | None if !is_redeemable => CodeStatus::Invalid,
        Some(hold) if hold.redeemed => CodeStatus::Redeemed(hold.submission_id),
        Some(hold) => CodeStatus::HeldByOther(hold.submission_id),
        None => CodeStatus::Free,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cipher::{SecretKey, printed};
    use crate::domain::code::Alphabet;
    use crate::domain::code_record::CodeHold;
    use crate::domain::codebook::{Batch, DEFAULT_CODE_SYMBOLS, Origin};
    use crate::domain::ids::{EntrantId, SubmissionId};

    /// Serial numbers 0 to 9 are redeemable, 10 to 19 withdrawn; two batches are imported.
    fn book() -> CodeBook {
        let batch = |name: &str, origin, status, prize: Option<&str>| Batch {
            name: name.to_owned(),
            origin,
            prize: prize.map(str::to_owned),
            status,
        };
        let imported = Origin::Imported {
            count: 1,
            lengths: [8].into(),
            unfinished: Vec::new(),
        };
        CodeBook {
            minting_key: SecretKey::from_random([7; 32]),
            digest_key: SecretKey::from_random([9; 32]),
            alphabet: Alphabet::Mixed,
            minted_length: Some(DEFAULT_CODE_SYMBOLS),
            minted: 20,
            batches: vec![
                batch(
                    "first",
                    Origin::Minted {
                        first: 0,
                        count: 10,
                    },
                    BatchStatus::Active,
                    Some("A kettle"),
                ),
                batch(
                    "void",
                    Origin::Minted {
                        first: 10,
                        count: 10,
                    },
                    BatchStatus::Void,
                    Some("A kettle"),
                ),
                batch("lost", imported.clone(), BatchStatus::Void, None),
                batch("printed", imported, BatchStatus::Active, Some("A cup")),
            ],
        }
    }

    fn consumer(last: u8) -> Consumer {
        let phone = format!("+25571234567{last}").parse().expect("a phone");
        Consumer {
            phone,
            id: EntrantId::from_record(format!("digest {last}")),
        }
    }

    fn code(typed: &str) -> Code {
        typed.parse().expect("a code")
    }

    fn minted(serial: u64) -> Code {
        code(&printed(
            &book()
                .cipher()
                .expect("a length")
                .encipher(serial)
                .expect("in range"),
        ))
    }

    fn resolved(code: &Code, batch: Option<&str>) -> ResolvedCode {
        ResolvedCode::from_book(code, &book(), batch)
    }

    fn sentinel(typed: &str, consumer: Option<&Consumer>) -> ResolvedCode {
        ResolvedCode::from_sentinel(&code(typed).sentinel().expect("a sentinel"), consumer)
    }

    #[test]
    fn a_withdrawn_code_has_a_record_but_no_prize() {
        let named = |serial, prize: Option<&str>, is_redeemable| {
            ResolvedCode::Named(NamedCode {
                key: CodeKey::Minted(serial),
                prize: prize.map(str::to_owned),
                is_redeemable,
                acceptance: AcceptanceTiming::Immediate,
            })
        };
        assert_eq!(resolved(&minted(9), None), named(9, Some("A kettle"), true));
        assert_eq!(resolved(&minted(10), None), named(10, None, false));
    }

    #[test]
    fn imported_code_is_of_the_likely_batch_until_its_own_is_known() {
        let imported = code("CHAI-2026");
        let batch_of = |known| match resolved(&imported, known) {
            ResolvedCode::Named(NamedCode {
                key: CodeKey::Imported { batch, .. },
                prize,
                is_redeemable,
                ..
            }) => Some((batch, prize, is_redeemable)),
            _ => None,
        };
        let printed = Some(("printed".to_owned(), Some("A cup".to_owned()), true));
        assert_eq!(batch_of(None), printed);
        assert_eq!(batch_of(Some("printed")), printed);
        assert_eq!(
            batch_of(Some("lost")),
            Some(("lost".to_owned(), None, false))
        );
        let withdrawn = |batch: &str| Some((batch.to_owned(), None, false));
        assert_eq!(
            batch_of(Some("first")),
            withdrawn("first"),
            "a batch of minted codes"
        );
        assert_eq!(
            batch_of(Some("none")),
            withdrawn("none"),
            "the record is found, and is not redeemable"
        );
    }

    #[test]
    fn a_sentinel_is_each_phones_own() {
        let key =
            |typed, sender: &Consumer| sentinel(typed, Some(sender)).key().cloned().expect("a key");
        assert_eq!(
            key("TEST-0-VALID", &consumer(1)),
            key("test-0-valid", &consumer(1))
        );
        assert_ne!(
            key("TEST-0-VALID", &consumer(1)),
            key("TEST-0-VALID", &consumer(2))
        );
        assert_ne!(
            key("TEST-0-VALID.1", &consumer(1)),
            key("TEST-0-VALID.2", &consumer(1))
        );
        assert_eq!(
            sentinel("TEST-0-INSTANT-WIN", Some(&consumer(1))).prize(),
            Some(SENTINEL_PRIZE)
        );
        let nobodys = sentinel("TEST-0-VALID", None);
        assert_eq!(
            nobodys.status(&CodeLookup::NoRecord, None),
            CodeStatus::Free
        );
        let rejected = sentinel("TEST-0-BLOCKED", None);
        assert_eq!(rejected, ResolvedCode::ForcedRejection(MessageKey::Blocked));
    }

    #[test]
    fn campaigns_policy_says_which_key_a_code_has() {
        let bought = minted(9);
        let key = |policy, scope: &str| {
            let scope = scope.parse().expect("a scope");
            ResolvedCode::key_from_book(policy, &scope, &bought, &book())
        };
        assert_eq!(key(CodePolicy::None, "demo#live"), None);
        assert_eq!(
            key(CodePolicy::Service, "demo#test"),
            Some(CodeKey::Minted(9))
        );
        assert_eq!(key(CodePolicy::Partner, "demo#test"), None);
        let digest = book().digest(bought.expose());
        assert_eq!(
            key(CodePolicy::Partner, "demo#live"),
            Some(CodeKey::Partner(digest))
        );
    }

    #[test]
    fn a_code_that_needs_a_record_and_has_none_is_wrong() {
        let imported = resolved(&code("CHAI-2026"), None);
        assert_eq!(
            imported.status(&CodeLookup::RecordMissing, None),
            CodeStatus::Invalid
        );
        assert_eq!(
            resolved(&minted(9), None).status(&CodeLookup::NoRecord, None),
            CodeStatus::Free
        );
        assert_eq!(
            resolved(&minted(10), None).status(&CodeLookup::NoRecord, None),
            CodeStatus::Invalid
        );
    }

    proptest! {
        #[test]
        fn only_the_owner_hears_of_a_code_that_is_not_redeemable(
            serial in 0u64..20, owner in prop::option::of(1u8..=2), redeemed in any::<bool>()
        ) {
            let submission_id = SubmissionId::from_random([3; 24]);
            let hold = owner.map(|owner| CodeHold { entrant: consumer(owner).id, submission_id, redeemed });
            let record = CodeRecord { hold, batch: None };
            let status = resolved(&minted(serial), None).status(&CodeLookup::Found(record), Some(&consumer(1)));
            let expected = match owner {
                Some(1) => CodeStatus::OwnedBySamePhone(submission_id),
                _ if serial >= 10 => CodeStatus::Invalid,
                Some(_) if redeemed => CodeStatus::Redeemed(submission_id),
                Some(_) => CodeStatus::HeldByOther(submission_id),
                None => CodeStatus::Free,
            };
            prop_assert_eq!(status, expected);
        }

        #[test]
        fn nothing_typed_is_taken_for_a_minted_code_but_one(typed in "[2-9A-Za-z -]{0,15}[2-9A-Za-z]") {
            let resolved = resolved(&code(&typed), None);
            if let Some(CodeKey::Minted(serial)) = resolved.key() {
                prop_assert_eq!(minted(*serial).normal(), code(&typed).normal());
            }
        }

        #[test]
        fn a_minted_code_is_itself_however_it_is_typed(serial in 0u64..20, lower in any::<bool>(), gap in "[ -]{0,3}") {
            let normal = minted(serial).normal();
            let spread: String = normal.chars().flat_map(|symbol| [symbol.to_string(), gap.clone()]).collect();
            let typed = if lower { spread.to_lowercase() } else { spread };
            prop_assert_eq!(resolved(&code(&typed), None), resolved(&minted(serial), None));
        }
    }
}
