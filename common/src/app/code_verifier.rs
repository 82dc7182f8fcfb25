//! Judging a code: what it is by arithmetic, and what the table says of it.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::{self, Cache};
use crate::domain::admission::CodeStatus;
use crate::domain::campaign::CodePolicy;
use crate::domain::code::{Code, SentinelOutcome};
use crate::domain::codebook::{BatchStatus, BookMatch, CodeBook};
use crate::domain::message::MessageKey;
use crate::domain::phone::Phone;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;
use crate::store::StoreError;
use crate::store::batch::{BatchGet, BatchItems};
use crate::store::code_books::CodeBooks;
use crate::store::codes::{CodeKey, CodeRecord, Codes};
use crate::store::submission_writes::CodeLookup;

/// A refusal, and a yes to a code with a prize, rest on a book no older than this. A code minted or
/// imported is good, and a voided prize is lost, this long after the book changed; guesses cost each
/// environment at most one read of the book in it.
pub const FRESH_BOOK_MAX_AGE: Duration = Duration::from_secs(1);

/// The prize of the sentinel that wins one.
pub const SENTINEL_PRIZE: &str = "Test prize";

/// How fresh a book has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// As fresh as anything in the cache: enough to find a code without a prize good.
    Cached,
    /// Fresh enough to find a code wrong: no older than [`FRESH_BOOK_MAX_AGE`].
    BeforeRejecting,
}

impl Staleness {
    fn max_age(self) -> Duration {
        match self {
            Self::Cached => cache::MAX_AGE,
            Self::BeforeRejecting => FRESH_BOOK_MAX_AGE,
        }
    }
}

/// Judges codes by their scope's book, which is cached.
#[derive(Debug)]
pub struct CodeVerifier {
    codes: Codes,
    books: CodeBooks,
    cache: Cache<Scope, CodeBook>,
}

impl CodeVerifier {
    /// Judges codes of these tables.
    pub fn new(codes: Codes, books: CodeBooks) -> Self {
        Self { codes, books, cache: Cache::default() }
    }

    /// The codes' table.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Fetches what judging needs besides the tables, before the first event.
    pub async fn prepare(&self) {
        self.books.prepare().await;
    }

    /// Adds a scope's book to what a batch reads.
    pub fn add_to(&self, batch: &mut BatchGet, scope: &Scope) {
        self.books.add_to(batch, scope);
    }

    /// Takes a scope's book over into the cache, where a batch has read it and the secret that it is encrypted under is
    /// known. Otherwise it is read when it is needed.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn take_over(&self, items: &BatchItems, scope: &Scope, now: Timestamp) -> Result<(), StoreError> {
        if let Some(book) = self.books.find_in(items, scope)? {
            self.cache.set(scope, now, book.map(|stored| stored.book));
        }
        Ok(())
    }

    /// What names a code's record, by the book as it was when it was last seen here.
    pub fn name_by_cached_book(
        &self,
        scope: &Scope,
        code: &Code,
        phone: &Phone,
        policy: CodePolicy,
    ) -> Option<CodeKey> {
        let book = self.cache.peek_any(scope);
        match policy {
            CodePolicy::None => None,
            CodePolicy::Partner if scope.environment.is_live() && code.sentinel().is_none() => {
                Some(CodeKey::Partner(book?.digest(code.expose())))
            }
            CodePolicy::Service | CodePolicy::Partner => {
                ResolvedCode::new(code, Some(phone), book.as_deref(), None).name().cloned()
            }
        }
    }

    /// What a code is by its scope's book. `imported_batch` is the batch that the code's own record
    /// names, once it has been read; a book from before that batch is read anew, and so is one older than
    /// [`FRESH_BOOK_MAX_AGE`] before a prize is promised.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn resolve(
        &self,
        scope: &Scope,
        code: &Code,
        phone: Option<&Phone>,
        imported_batch: Option<&str>,
        staleness: Staleness,
        now: Timestamp,
    ) -> Result<ResolvedCode, StoreError> {
        if code.sentinel().is_some() {
            return Ok(ResolvedCode::new(code, phone, None, None));
        }
        let mut book = self.book(scope, now, staleness.max_age()).await?;
        let knows = |book: &CodeBook| imported_batch.is_none_or(|name| book.batch(name).is_some());
        if !book.as_deref().is_some_and(knows) {
            book = self.book(scope, now, Duration::ZERO).await?;
        }
        let mut candidate = ResolvedCode::new(code, phone, book.as_deref(), imported_batch);
        if candidate.prize().is_some() {
            book = self.book(scope, now, FRESH_BOOK_MAX_AGE).await?;
            candidate = ResolvedCode::new(code, phone, book.as_deref(), imported_batch);
        }
        match book {
            Some(book) => self.without_twin(scope, code, &book, candidate).await,
            None => Ok(candidate),
        }
    }

    /// A code that was both minted and imported has two records, and only one of them may be redeemed: the
    /// imported one, unless the minted one was taken first. Importing refuses codes of the minted shape, so a
    /// twin is older than that rule, or than the scope's choice of a length; none appears later, so reading
    /// it outside of the transaction is safe. It costs a read only where a scope has codes of both kinds.
    async fn without_twin(
        &self,
        scope: &Scope,
        code: &Code,
        book: &CodeBook,
        candidate: ResolvedCode,
    ) -> Result<ResolvedCode, StoreError> {
        let ResolvedCode::Named { name: minted @ CodeKey::Minted(_), acceptance, .. } = &candidate else {
            return Ok(candidate);
        };
        if book.likely_imported_batch().is_none() {
            return Ok(candidate);
        }
        let normal = code.normal();
        let twin = CodeKey::Imported { digest: book.digest(&normal), batch: String::new() };
        let Some(CodeRecord { claim, batch: Some(batch), .. }) = self.codes.get(scope, &twin).await? else {
            return Ok(candidate);
        };
        let taken = self.codes.get(scope, minted).await?.and_then(|record| record.claim);
        if let (Some(taken), None) = (taken, claim) {
            let (name, acceptance) = (minted.clone(), *acceptance);
            // A held one may be freed at any moment, and must not be taken again then.
            return Ok(ResolvedCode::Named { name, prize: None, counts: taken.redeemed, acceptance });
        }
        Ok(ResolvedCode::imported(book, &normal, Some(&batch)))
    }

    /// A code that only the campaign's partner can judge, in the form in which the partner compares it: named by
    /// its digest, so that phones do not compete for it unnoticed. A test key never reaches a partner, so to it no such code is good.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn resolve_partner_code(
        &self,
        scope: &Scope,
        code: &Code,
        phone: &Phone,
        now: Timestamp,
    ) -> Result<ResolvedCode, StoreError> {
        if code.sentinel().is_some() || !scope.environment.is_live() {
            return Ok(ResolvedCode::new(code, Some(phone), None, None));
        }
        let Some(book) = self.book(scope, now, cache::MAX_AGE).await? else {
            return Ok(ResolvedCode::Unknown);
        };
        let name = CodeKey::Partner(book.digest(code.expose()));
        Ok(ResolvedCode::Named { name, prize: None, counts: true, acceptance: Acceptance::ByPartner })
    }

    async fn book(
        &self,
        scope: &Scope,
        now: Timestamp,
        max_age: Duration,
    ) -> Result<Option<Arc<CodeBook>>, StoreError> {
        let read = async { Ok(self.books.get(scope).await?.map(|stored| stored.book)) };
        self.cache.get(scope, now, max_age, read).await
    }
}

/// A code as far as it is known without the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedCode {
    /// The campaign takes none.
    NotNeeded,
    /// Good, and nobody's: a sentinel of no phone yet.
    SentinelWithoutPhone,
    /// It has a record, or can have one.
    Named {
        /// What names the record.
        name: CodeKey,
        /// The instant prize it carries.
        prize: Option<String>,
        /// Whether it counts; one that was withdrawn only speaks for a submission made before.
        counts: bool,
        /// How soon it says yes.
        acceptance: Acceptance,
    },
    /// A sentinel that asks to be refused.
    ForcedRefusal(MessageKey),
    /// No code of this campaign.
    Unknown,
}

/// How soon a good code says so: any but a sentinel's at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// At once.
    Immediate,
    /// Some seconds later.
    Delayed,
    /// When its partner says so.
    ByPartner,
    /// Never: the submission stays open, with this key.
    StaysPending(MessageKey),
}

impl ResolvedCode {
    /// Judges a code by the code book alone. `imported_batch` is the batch that an imported code is
    /// known to be of; until that is known, it is taken to be of the likely one.
    pub fn new(
        code: &Code,
        phone: Option<&Phone>,
        book: Option<&CodeBook>,
        imported_batch: Option<&str>,
    ) -> Self {
        if let Some(sentinel) = code.sentinel() {
            let (prize, acceptance) = match sentinel.outcome {
                SentinelOutcome::Enters => (None, Acceptance::Immediate),
                SentinelOutcome::Wins => (Some(SENTINEL_PRIZE.to_owned()), Acceptance::Immediate),
                SentinelOutcome::Slow => (None, Acceptance::Delayed),
                SentinelOutcome::Stays(key) => (None, Acceptance::StaysPending(key)),
                SentinelOutcome::Refused(key) => return Self::ForcedRefusal(key),
            };
            let Some(phone) = phone else { return Self::SentinelWithoutPhone };
            let name = CodeKey::sentinel(&sentinel.identity, phone);
            return Self::Named { name, prize, counts: true, acceptance };
        }
        let Some(book) = book else { return Self::Unknown };
        let normal = code.normal();
        match book.verify(&normal) {
            BookMatch::Minted { serial, prize } => Self::Named {
                name: CodeKey::Minted(serial),
                prize,
                counts: true,
                acceptance: Acceptance::Immediate,
            },
            BookMatch::Withdrawn { serial } => {
                let (name, acceptance) = (CodeKey::Minted(serial), Acceptance::Immediate);
                Self::Named { name, prize: None, counts: false, acceptance }
            }
            BookMatch::PerhapsImported => Self::imported(book, &normal, imported_batch),
            BookMatch::Unknown => Self::Unknown,
        }
    }

    fn imported(book: &CodeBook, normal: &str, known_batch: Option<&str>) -> Self {
        let likely = || book.likely_imported_batch().map(|batch| batch.name.as_str());
        let Some(name) = known_batch.or_else(likely) else { return Self::Unknown };
        let batch = book.batch(name).filter(|batch| batch.origin.is_imported());
        Self::Named {
            name: CodeKey::Imported { digest: book.digest(normal), batch: name.to_owned() },
            prize: batch.and_then(|batch| batch.prize.clone()),
            counts: batch.is_some_and(|batch| batch.status == BatchStatus::Active),
            acceptance: Acceptance::Immediate,
        }
    }

    /// What names the code's record.
    pub fn name(&self) -> Option<&CodeKey> {
        match self {
            Self::Named { name, .. } => Some(name),
            Self::NotNeeded | Self::SentinelWithoutPhone | Self::ForcedRefusal(_) | Self::Unknown => None,
        }
    }

    /// The instant prize that an accepted submission wins.
    pub fn prize(&self) -> Option<&str> {
        match self {
            Self::Named { prize, .. } => prize.as_deref(),
            Self::NotNeeded | Self::SentinelWithoutPhone | Self::ForcedRefusal(_) | Self::Unknown => None,
        }
    }

    /// How soon it says yes.
    pub fn acceptance(&self) -> Acceptance {
        match self {
            Self::Named { acceptance, .. } => *acceptance,
            Self::NotNeeded | Self::SentinelWithoutPhone | Self::ForcedRefusal(_) | Self::Unknown => {
                Acceptance::Immediate
            }
        }
    }

    /// What is found of the code once the table has spoken.
    pub fn finding(&self, lookup: &CodeLookup, phone: Option<&Phone>) -> CodeStatus {
        let counts = match self {
            Self::NotNeeded => return CodeStatus::NotNeeded,
            Self::SentinelWithoutPhone => return CodeStatus::Free,
            Self::ForcedRefusal(key) => return CodeStatus::Forced(*key),
            Self::Unknown => return CodeStatus::Invalid,
            Self::Named { counts, .. } => *counts,
        };
        match lookup {
            CodeLookup::Missing => CodeStatus::Invalid,
            CodeLookup::NoRecordNeeded if counts => CodeStatus::Free,
            CodeLookup::NoRecordNeeded => CodeStatus::Invalid,
            CodeLookup::Found(record) => found(record, counts, phone),
        }
    }
}

fn found(record: &CodeRecord, counts: bool, phone: Option<&Phone>) -> CodeStatus {
    match &record.claim {
        Some(claim) if Some(&claim.phone) == phone => CodeStatus::OwnedByCaller(claim.submission_id),
        Some(_) | None if record.voided || !counts => CodeStatus::Invalid,
        Some(claim) if claim.redeemed => CodeStatus::Redeemed,
        Some(_) => CodeStatus::HeldByOther,
        None => CodeStatus::Free,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cipher::{SecretKey, printed};
    use crate::domain::codebook::{Batch, DEFAULT_CODE_SYMBOLS, Origin};
    use crate::domain::ids::SubmissionId;
    use crate::store::codes::Claim;

    /// Serial numbers 0 to 9 count, 10 to 19 are withdrawn; two batches are imported.
    fn book() -> CodeBook {
        let batch = |name: &str, origin, status, prize: Option<&str>| Batch {
            name: name.to_owned(),
            origin,
            prize: prize.map(str::to_owned),
            status,
        };
        let imported = Origin::Imported { count: 1, lengths: Vec::new() };
        CodeBook {
            minting_keys: vec![SecretKey::from_random([7; 32])],
            digest_key: SecretKey::from_random([9; 32]),
            symbols: DEFAULT_CODE_SYMBOLS,
            minted: 20,
            batches: vec![
                batch(
                    "first",
                    Origin::Minted { first: 0, count: 10, key_version: 1 },
                    BatchStatus::Active,
                    Some("A kettle"),
                ),
                batch(
                    "void",
                    Origin::Minted { first: 10, count: 10, key_version: 1 },
                    BatchStatus::Void,
                    Some("A kettle"),
                ),
                batch("lost", imported.clone(), BatchStatus::Void, None),
                batch("printed", imported, BatchStatus::Active, Some("A cup")),
            ],
        }
    }

    fn phone(last: u8) -> Phone {
        format!("+25571234567{last}").parse().expect("a phone")
    }

    fn code(typed: &str) -> Code {
        typed.parse().expect("a code")
    }

    fn minted(serial: u64) -> Code {
        code(&printed(&book().cipher().expect("a length").encipher(serial).expect("in range")))
    }

    fn resolved(code: &Code, batch: Option<&str>) -> ResolvedCode {
        ResolvedCode::new(code, Some(&phone(1)), Some(&book()), batch)
    }

    #[test]
    fn a_withdrawn_code_has_a_name_but_no_prize() {
        let named = |serial, prize: Option<&str>, counts| ResolvedCode::Named {
            name: CodeKey::Minted(serial),
            prize: prize.map(str::to_owned),
            counts,
            acceptance: Acceptance::Immediate,
        };
        assert_eq!(resolved(&minted(9), None), named(9, Some("A kettle"), true));
        assert_eq!(resolved(&minted(10), None), named(10, None, false));
        assert_eq!(ResolvedCode::new(&minted(9), None, None, None), ResolvedCode::Unknown, "without a book");
    }

    #[test]
    fn an_imported_code_is_taken_for_one_of_the_likely_batch_until_its_own_is_known() {
        let imported = code("CHAI-2026");
        let batch_of = |known| match resolved(&imported, known) {
            ResolvedCode::Named { name: CodeKey::Imported { batch, .. }, prize, counts, .. } => {
                Some((batch, prize, counts))
            }
            _ => None,
        };
        let printed = Some(("printed".to_owned(), Some("A cup".to_owned()), true));
        assert_eq!(batch_of(None), printed);
        assert_eq!(batch_of(Some("printed")), printed);
        assert_eq!(batch_of(Some("lost")), Some(("lost".to_owned(), None, false)));
        let withdrawn = |batch: &str| Some((batch.to_owned(), None, false));
        assert_eq!(batch_of(Some("first")), withdrawn("first"), "a batch of minted codes");
        assert_eq!(
            batch_of(Some("none")),
            withdrawn("none"),
            "the record is found again, and counts for nothing"
        );
    }

    #[test]
    fn a_sentinel_is_each_phones_own() {
        let name = |typed: &str, phone: &Phone| {
            ResolvedCode::new(&code(typed), Some(phone), None, None).name().cloned().expect("a name")
        };
        assert_eq!(name("TEST-0-VALID", &phone(1)), name("test-0-valid", &phone(1)));
        assert_ne!(name("TEST-0-VALID", &phone(1)), name("TEST-0-VALID", &phone(2)));
        assert_ne!(name("TEST-0-VALID.1", &phone(1)), name("TEST-0-VALID.2", &phone(1)));
        let win = ResolvedCode::new(&code("TEST-0-INSTANT-WIN"), Some(&phone(1)), None, None);
        assert_eq!(win.prize(), Some(SENTINEL_PRIZE));
        let nobodys = ResolvedCode::new(&code("TEST-0-VALID"), None, Some(&book()), None);
        assert_eq!(nobodys.finding(&CodeLookup::NoRecordNeeded, None), CodeStatus::Free);
        let refused = ResolvedCode::new(&code("TEST-0-BLOCKED"), None, None, None);
        assert_eq!(refused, ResolvedCode::ForcedRefusal(MessageKey::Blocked));
    }

    #[test]
    fn a_code_that_would_have_to_have_a_record_and_has_none_is_wrong() {
        let imported = resolved(&code("CHAI-2026"), None);
        assert_eq!(imported.finding(&CodeLookup::Missing, None), CodeStatus::Invalid);
        assert_eq!(resolved(&minted(9), None).finding(&CodeLookup::NoRecordNeeded, None), CodeStatus::Free);
        assert_eq!(
            resolved(&minted(10), None).finding(&CodeLookup::NoRecordNeeded, None),
            CodeStatus::Invalid
        );
    }

    proptest! {
        #[test]
        fn only_the_owner_hears_of_a_code_that_does_not_count(
            serial in 0u64..20, owner in prop::option::of(1u8..=2), redeemed in any::<bool>(), voided in any::<bool>()
        ) {
            let submission_id = SubmissionId::from_random([3; 16]);
            let claim = owner.map(|owner| Claim { phone: phone(owner), submission_id, redeemed });
            let record = CodeRecord { claim, batch: None, voided };
            let finding = resolved(&minted(serial), None).finding(&CodeLookup::Found(record), Some(&phone(1)));
            let expected = match owner {
                Some(1) => CodeStatus::OwnedByCaller(submission_id),
                _ if voided || serial >= 10 => CodeStatus::Invalid,
                Some(_) if redeemed => CodeStatus::Redeemed,
                Some(_) => CodeStatus::HeldByOther,
                None => CodeStatus::Free,
            };
            prop_assert_eq!(finding, expected);
        }

        #[test]
        fn nothing_typed_is_taken_for_a_minted_code_but_one(typed in "[2-9A-Za-z -]{0,15}[2-9A-Za-z]") {
            let candidate = resolved(&code(&typed), None);
            if let Some(CodeKey::Minted(serial)) = candidate.name() {
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
