//! Verification of codes, by the scope's code book and by the code's record.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::{self, Cache};
use crate::domain::admission::CodeStatus;
use crate::domain::campaign::CodePolicy;
use crate::domain::code::{Code, Sentinel, SentinelOutcome};
use crate::domain::codebook::{BatchStatus, BookMatch, CodeBook};
use crate::domain::entrant_id::Consumer;
use crate::domain::message::MessageKey;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;
use crate::store::StoreError;
use crate::store::batch::{BatchGet, BatchItems};
use crate::store::code_books::{CodeBooks, NoCodeBook};
use crate::store::codes::{CodeKey, CodeLookup, CodeRecord, Codes};

/// The maximum age of a code book that rejects a code or promises a prize. So a code works this soon after it is minted
/// or imported, and a voided prize stops this soon. Because of wrong codes, each environment reads the book up to once
/// in this time.
pub const FRESH_BOOK_MAX_AGE: Duration = Duration::from_secs(1);

/// The prize of the sentinel that wins one.
pub const SENTINEL_PRIZE: &str = "Test prize";

/// The maximum age of a code book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// Any age that the cache allows: enough to accept a code without a prize.
    Cached,
    /// At most [`FRESH_BOOK_MAX_AGE`]: enough to reject a code.
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

/// A code to verify.
#[derive(Clone, Copy, Debug)]
pub struct CodeQuery<'a> {
    /// The campaign and environment that receive the code.
    pub scope: &'a Scope,
    /// Who verifies the campaign's codes.
    pub policy: CodePolicy,
    /// The code, in the form in which the campaign compares it.
    pub code: &'a Code,
    /// The consumer who sends the code, if known.
    pub consumer: Option<&'a Consumer>,
}

/// The source of codes' records.
pub trait CodeRecords: Send {
    /// Looks up the record of a key. A code without a key has no record.
    fn look_up(
        &mut self,
        key: Option<&CodeKey>,
    ) -> impl Future<Output = Result<CodeLookup, StoreError>> + Send;
}

/// A code and the verdict of its book and record.
#[derive(Clone, Debug)]
pub struct VerifiedCode {
    /// The code by its book alone.
    pub resolved: ResolvedCode,
    /// The status by both book and record.
    pub status: CodeStatus,
}

impl VerifiedCode {
    /// The result for a campaign that takes no codes.
    pub fn not_needed() -> Self {
        Self { resolved: ResolvedCode::NotNeeded, status: CodeStatus::NotNeeded }
    }
}

/// Verifies codes, with a cache of code books.
#[derive(Debug)]
pub struct CodeVerifier {
    codes: Codes,
    books: CodeBooks,
    cache: Cache<Scope, CodeBook>,
}

impl CodeVerifier {
    /// Creates a verifier of the codes in these tables.
    pub fn new(codes: Codes, books: CodeBooks) -> Self {
        Self { codes, books, cache: Cache::default() }
    }

    /// The codes' table.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Fetches the deployment's secret before the first event.
    pub async fn prepare(&self) {
        self.books.prepare().await;
    }

    /// Adds a scope's book to a batch.
    pub fn add_to(&self, batch: &mut BatchGet, scope: &Scope) {
        self.books.add_to(batch, scope);
    }

    /// Caches a scope's book if the batch has read it and the secret that encrypts it is in memory. Otherwise the book
    /// is read when it is needed.
    pub fn cache_prefetched(
        &self,
        items: &BatchItems,
        scope: &Scope,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if let Some(book) = self.books.find_in(items, scope)? {
            self.cache.set(scope, now, book.map(|stored| stored.book));
        }
        Ok(())
    }

    /// The batch of a code that was just verified, by the cached book; `None` if no batch has it, as when a partner judges it.
    pub fn batch_of(&self, scope: &Scope, key: &CodeKey) -> Option<String> {
        match key {
            CodeKey::Minted(serial) => Some(self.cache.peek_any(scope)?.batch_of(*serial)?.name.clone()),
            CodeKey::Imported { batch, .. } => Some(batch.clone()),
            CodeKey::Partner(_) | CodeKey::Sentinel(_) => None,
        }
    }

    /// The key of a code's record by the cached book, however old. Good enough for a prefetch only.
    pub fn key_by_cached_book(&self, query: CodeQuery<'_>) -> Option<CodeKey> {
        let CodeQuery { scope, policy, code, consumer } = query;
        let book = self.cache.peek_any(scope);
        match (policy, code.sentinel(), book) {
            (CodePolicy::None, _, _) => None,
            (_, Some(sentinel), _) => ResolvedCode::from_sentinel(&sentinel, consumer).key().cloned(),
            (_, None, None) => None,
            (CodePolicy::Partner, None, Some(book)) => {
                scope.environment.is_live().then(|| CodeKey::Partner(book.digest(code.expose())))
            }
            (CodePolicy::Service, None, Some(book)) => {
                ResolvedCode::from_book(code, &book, None).key().cloned()
            }
        }
    }

    /// Verifies a code by its book and its record. If a cached book makes the code invalid, a fresh book decides; it
    /// may lead to another record.
    ///
    /// # Errors
    /// When a table does not answer, or the scope has no code book.
    pub async fn resolve_code(
        &self,
        query: CodeQuery<'_>,
        records: &mut impl CodeRecords,
        now: Timestamp,
    ) -> Result<VerifiedCode, StoreError> {
        let verified = self.resolve_with_record(query, Staleness::Cached, records, now).await?;
        if verified.status != CodeStatus::Invalid {
            return Ok(verified);
        }
        self.resolve_with_record(query, Staleness::BeforeRejecting, records, now).await
    }

    async fn resolve_with_record(
        &self,
        query: CodeQuery<'_>,
        staleness: Staleness,
        records: &mut impl CodeRecords,
        now: Timestamp,
    ) -> Result<VerifiedCode, StoreError> {
        let by_book = self.resolve(query, None, staleness, now).await?;
        let record = records.look_up(by_book.key()).await?;
        let resolved = match record.imported_batch() {
            // An imported code's record names its batch, which decides whether the code is redeemable.
            Some(batch) => self.resolve(query, Some(batch), staleness, now).await?,
            None => by_book,
        };
        let status = resolved.status(&record, query.consumer);
        Ok(VerifiedCode { resolved, status })
    }

    /// Resolves a code by its scope's book. `imported_batch` is the batch in the code's record, if that was read. The
    /// book is read again if it lacks that batch, or if it promises a prize and is older than [`FRESH_BOOK_MAX_AGE`].
    ///
    /// # Errors
    /// When the table does not answer, or the scope has no code book.
    pub async fn resolve(
        &self,
        query: CodeQuery<'_>,
        imported_batch: Option<&str>,
        staleness: Staleness,
        now: Timestamp,
    ) -> Result<ResolvedCode, StoreError> {
        let CodeQuery { scope, policy, code, consumer } = query;
        if let Some(sentinel) = code.sentinel() {
            return Ok(ResolvedCode::from_sentinel(&sentinel, consumer));
        }
        match policy {
            CodePolicy::None => return Ok(ResolvedCode::NotNeeded),
            CodePolicy::Partner => return self.resolve_partner_code(scope, code, now).await,
            CodePolicy::Service => {}
        }
        let book = self.book_with_batch(scope, imported_batch, staleness, now).await?;
        let resolved = ResolvedCode::from_book(code, &book, imported_batch);
        if resolved.prize().is_none() {
            return self.without_twin(scope, code, &book, resolved).await;
        }
        let book = self.book(scope, now, FRESH_BOOK_MAX_AGE).await?;
        let resolved = ResolvedCode::from_book(code, &book, imported_batch);
        self.without_twin(scope, code, &book, resolved).await
    }

    /// Chooses the record of a code that was both minted and imported. Such a code has two records, and only one of
    /// them may be redeemed: the imported one, unless the minted one was taken first.
    ///
    /// Imports refuse codes of the minted shape, so a twin is older than that rule, or than the scope's choice of a
    /// length. No twin appears later, so reading it outside the transaction is safe. It costs reads only in scopes with
    /// codes of both kinds.
    async fn without_twin(
        &self,
        scope: &Scope,
        code: &Code,
        book: &CodeBook,
        resolved: ResolvedCode,
    ) -> Result<ResolvedCode, StoreError> {
        let ResolvedCode::Named { key: minted @ CodeKey::Minted(_), acceptance, .. } = &resolved else {
            return Ok(resolved);
        };
        if book.likely_imported_batch().is_none() {
            return Ok(resolved);
        }
        let normal = code.normal();
        let twin = CodeKey::Imported { digest: book.digest(&normal), batch: String::new() };
        let Some(CodeRecord { claim, batch: Some(batch), .. }) = self.codes.get(scope, &twin).await? else {
            return Ok(resolved);
        };
        let taken = self.codes.get(scope, minted).await?.and_then(|record| record.claim);
        if let (Some(taken), None) = (taken, claim) {
            let (key, acceptance) = (minted.clone(), *acceptance);
            // A held code may be freed at any moment, and then must not be taken again.
            let is_redeemable = taken.redeemed;
            return Ok(ResolvedCode::Named { key, prize: None, is_redeemable, acceptance });
        }
        Ok(ResolvedCode::imported(book, &normal, Some(&batch)))
    }

    /// Resolves a code that the campaign's partner verifies. Its record keeps phones from using it at the same time.
    /// Test keys never reach a partner, so with them every such code is unknown.
    async fn resolve_partner_code(
        &self,
        scope: &Scope,
        code: &Code,
        now: Timestamp,
    ) -> Result<ResolvedCode, StoreError> {
        if !scope.environment.is_live() {
            return Ok(ResolvedCode::Unknown);
        }
        let book = self.book(scope, now, cache::MAX_AGE).await?;
        let key = CodeKey::Partner(book.digest(code.expose()));
        Ok(ResolvedCode::Named { key, prize: None, is_redeemable: true, acceptance: Acceptance::ByPartner })
    }

    async fn book_with_batch(
        &self,
        scope: &Scope,
        batch: Option<&str>,
        staleness: Staleness,
        now: Timestamp,
    ) -> Result<Arc<CodeBook>, StoreError> {
        let book = self.book(scope, now, staleness.max_age()).await?;
        if batch.is_none_or(|batch| book.batch(batch).is_some()) {
            return Ok(book);
        }
        self.book(scope, now, Duration::ZERO).await
    }

    /// Reads a scope's code book. Applying a campaign creates its book, so a missing book never makes a code wrong.
    async fn book(
        &self,
        scope: &Scope,
        now: Timestamp,
        max_age: Duration,
    ) -> Result<Arc<CodeBook>, StoreError> {
        let read = async {
            match self.books.get(scope).await? {
                Some(stored) => Ok(Some(stored.book)),
                // The book is still here until `ops migrate` runs after the deployment.
                None => self.codes.book_of_first_release(scope).await,
            }
        };
        // Boxed: reads are rare and deep, and would enlarge every future that may read.
        let book = self.cache.get(scope, now, max_age, Box::pin(read)).await?;
        book.ok_or_else(|| StoreError::new("reading a code book", NoCodeBook))
    }
}

/// A code as far as it is known without its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedCode {
    /// The campaign takes no codes.
    NotNeeded,
    /// A valid sentinel, sent without a phone.
    SentinelWithoutPhone,
    /// The code has a record, or can have one.
    Named {
        /// The key of the record.
        key: CodeKey,
        /// The instant prize.
        prize: Option<String>,
        /// Whether the code can be redeemed. A withdrawn code only replays an earlier submission.
        is_redeemable: bool,
        /// How a submission with the code is accepted.
        acceptance: Acceptance,
    },
    /// A sentinel that asks for a refusal.
    ForcedRefusal(MessageKey),
    /// Not a code of this campaign.
    Unknown,
}

/// How a submission with a valid code is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// At once.
    Immediate,
    /// Some seconds later, for a sentinel.
    Delayed,
    /// When the partner accepts it.
    ByPartner,
    /// Never: a sentinel that keeps its submission open, with this message key.
    StaysPending(MessageKey),
}

impl ResolvedCode {
    /// Resolves a sentinel.
    pub fn from_sentinel(sentinel: &Sentinel, consumer: Option<&Consumer>) -> Self {
        let (prize, acceptance) = match sentinel.outcome {
            SentinelOutcome::Enters => (None, Acceptance::Immediate),
            SentinelOutcome::Wins => (Some(SENTINEL_PRIZE.to_owned()), Acceptance::Immediate),
            SentinelOutcome::Slow => (None, Acceptance::Delayed),
            SentinelOutcome::Stays(key) => (None, Acceptance::StaysPending(key)),
            SentinelOutcome::Refused(key) => return Self::ForcedRefusal(key),
        };
        let Some(consumer) = consumer else { return Self::SentinelWithoutPhone };
        let key = CodeKey::sentinel(&sentinel.identity, &consumer.id);
        Self::Named { key, prize, is_redeemable: true, acceptance }
    }

    /// Resolves a code by a code book alone. `imported_batch` is the batch of an imported code, if known; otherwise the
    /// most likely batch is assumed.
    pub fn from_book(code: &Code, book: &CodeBook, imported_batch: Option<&str>) -> Self {
        let normal = code.normal();
        let acceptance = Acceptance::Immediate;
        match book.verify(&normal) {
            BookMatch::Minted { serial, prize } => {
                Self::Named { key: CodeKey::Minted(serial), prize, is_redeemable: true, acceptance }
            }
            BookMatch::Withdrawn { serial } => {
                let key = CodeKey::Minted(serial);
                Self::Named { key, prize: None, is_redeemable: false, acceptance }
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
            key: CodeKey::Imported { digest: book.digest(normal), batch: name.to_owned() },
            prize: batch.and_then(|batch| batch.prize.clone()),
            is_redeemable: batch.is_some_and(|batch| batch.status == BatchStatus::Active),
            acceptance: Acceptance::Immediate,
        }
    }

    /// The key of the code's record.
    pub fn key(&self) -> Option<&CodeKey> {
        match self {
            Self::Named { key, .. } => Some(key),
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

    /// How a submission with the code is accepted.
    pub fn acceptance(&self) -> Acceptance {
        match self {
            Self::Named { acceptance, .. } => *acceptance,
            Self::NotNeeded | Self::SentinelWithoutPhone | Self::ForcedRefusal(_) | Self::Unknown => {
                Acceptance::Immediate
            }
        }
    }

    /// The status of the code for a consumer, given its record.
    pub fn status(&self, record: &CodeLookup, consumer: Option<&Consumer>) -> CodeStatus {
        let is_redeemable = match self {
            Self::NotNeeded => return CodeStatus::NotNeeded,
            Self::SentinelWithoutPhone => return CodeStatus::Free,
            Self::ForcedRefusal(key) => return CodeStatus::Forced(*key),
            Self::Unknown => return CodeStatus::Invalid,
            Self::Named { is_redeemable, .. } => *is_redeemable,
        };
        match record {
            CodeLookup::Missing => CodeStatus::Invalid,
            CodeLookup::NoRecordNeeded if is_redeemable => CodeStatus::Free,
            CodeLookup::NoRecordNeeded => CodeStatus::Invalid,
            CodeLookup::Found(record) => status_of(record, is_redeemable, consumer),
        }
    }
}

fn status_of(record: &CodeRecord, is_redeemable: bool, consumer: Option<&Consumer>) -> CodeStatus {
    match &record.claim {
        Some(claim) if consumer.is_some_and(|consumer| consumer.is(&claim.entrant)) => {
            CodeStatus::OwnedByCaller(claim.submission_id)
        }
        Some(_) | None if record.voided || !is_redeemable => CodeStatus::Invalid,
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
    use crate::domain::entrant_id::EntrantId;
    use crate::domain::ids::SubmissionId;
    use crate::store::codes::Claim;

    /// Serial numbers 0 to 9 are redeemable, 10 to 19 are withdrawn; two batches are imported.
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

    fn consumer(last: u8) -> Consumer {
        let phone = format!("+25571234567{last}").parse().expect("a phone");
        Consumer { phone, id: EntrantId::from_record(format!("digest {last}")) }
    }

    fn code(typed: &str) -> Code {
        typed.parse().expect("a code")
    }

    fn minted(serial: u64) -> Code {
        code(&printed(&book().cipher().expect("a length").encipher(serial).expect("in range")))
    }

    fn resolved(code: &Code, batch: Option<&str>) -> ResolvedCode {
        ResolvedCode::from_book(code, &book(), batch)
    }

    fn sentinel(typed: &str, consumer: Option<&Consumer>) -> ResolvedCode {
        ResolvedCode::from_sentinel(&code(typed).sentinel().expect("a sentinel"), consumer)
    }

    #[test]
    fn a_withdrawn_code_has_a_record_but_no_prize() {
        let named = |serial, prize: Option<&str>, is_redeemable| ResolvedCode::Named {
            key: CodeKey::Minted(serial),
            prize: prize.map(str::to_owned),
            is_redeemable,
            acceptance: Acceptance::Immediate,
        };
        assert_eq!(resolved(&minted(9), None), named(9, Some("A kettle"), true));
        assert_eq!(resolved(&minted(10), None), named(10, None, false));
    }

    #[test]
    fn an_imported_code_is_taken_for_one_of_the_likely_batch_until_its_own_is_known() {
        let imported = code("CHAI-2026");
        let batch_of = |known| match resolved(&imported, known) {
            ResolvedCode::Named { key: CodeKey::Imported { batch, .. }, prize, is_redeemable, .. } => {
                Some((batch, prize, is_redeemable))
            }
            _ => None,
        };
        let printed = Some(("printed".to_owned(), Some("A cup".to_owned()), true));
        assert_eq!(batch_of(None), printed);
        assert_eq!(batch_of(Some("printed")), printed);
        assert_eq!(batch_of(Some("lost")), Some(("lost".to_owned(), None, false)));
        let withdrawn = |batch: &str| Some((batch.to_owned(), None, false));
        assert_eq!(batch_of(Some("first")), withdrawn("first"), "a batch of minted codes");
        assert_eq!(batch_of(Some("none")), withdrawn("none"), "the record is found, and is not redeemable");
    }

    #[test]
    fn a_sentinel_is_each_phones_own() {
        let key = |typed, sender: &Consumer| sentinel(typed, Some(sender)).key().cloned().expect("a key");
        assert_eq!(key("TEST-0-VALID", &consumer(1)), key("test-0-valid", &consumer(1)));
        assert_ne!(key("TEST-0-VALID", &consumer(1)), key("TEST-0-VALID", &consumer(2)));
        assert_ne!(key("TEST-0-VALID.1", &consumer(1)), key("TEST-0-VALID.2", &consumer(1)));
        assert_eq!(sentinel("TEST-0-INSTANT-WIN", Some(&consumer(1))).prize(), Some(SENTINEL_PRIZE));
        let nobodys = sentinel("TEST-0-VALID", None);
        assert_eq!(nobodys.status(&CodeLookup::NoRecordNeeded, None), CodeStatus::Free);
        let refused = sentinel("TEST-0-BLOCKED", None);
        assert_eq!(refused, ResolvedCode::ForcedRefusal(MessageKey::Blocked));
    }

    #[test]
    fn a_code_that_needs_a_record_and_has_none_is_wrong() {
        let imported = resolved(&code("CHAI-2026"), None);
        assert_eq!(imported.status(&CodeLookup::Missing, None), CodeStatus::Invalid);
        assert_eq!(resolved(&minted(9), None).status(&CodeLookup::NoRecordNeeded, None), CodeStatus::Free);
        assert_eq!(
            resolved(&minted(10), None).status(&CodeLookup::NoRecordNeeded, None),
            CodeStatus::Invalid
        );
    }

    proptest! {
        #[test]
        fn only_the_owner_hears_of_a_code_that_is_not_redeemable(
            serial in 0u64..20, owner in prop::option::of(1u8..=2), redeemed in any::<bool>(), voided in any::<bool>()
        ) {
            let submission_id = SubmissionId::from_random([3; 16]);
            let claim = owner.map(|owner| Claim { entrant: consumer(owner).id, submission_id, redeemed });
            let record = CodeRecord { claim, batch: None, voided };
            let status = resolved(&minted(serial), None).status(&CodeLookup::Found(record), Some(&consumer(1)));
            let expected = match owner {
                Some(1) => CodeStatus::OwnedByCaller(submission_id),
                _ if voided || serial >= 10 => CodeStatus::Invalid,
                Some(_) if redeemed => CodeStatus::Redeemed,
                Some(_) => CodeStatus::HeldByOther,
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
