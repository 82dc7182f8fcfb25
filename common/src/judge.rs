//! Judging a code: what it is by arithmetic, and what the table says of it.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::{self, Cache};
use crate::domain::campaign::CodePolicy;
use crate::domain::code::{Code, SentinelOutcome};
use crate::domain::codebook::{BatchStatus, CodeBook, Judgement};
use crate::domain::entry::CodeFinding;
use crate::domain::message::MessageKey;
use crate::domain::moment::Moment;
use crate::domain::phone::Phone;
use crate::domain::scope::Scope;
use crate::store::StoreError;
use crate::store::batch::{BatchGet, BatchItems};
use crate::store::code_books::CodeBooks;
use crate::store::codes::{CodeName, CodeRecord, Codes};
use crate::store::ledger::CodeStanding;

/// A refusal, and a yes to a code with a prize, rest on a book no older than this. A code minted or
/// imported is good, and a voided prize is lost, this long after the book changed; guesses cost each
/// environment at most one read of the book in it.
pub const FRESH_BOOK_MAX_AGE: Duration = Duration::from_secs(1);

/// The prize of the sentinel that wins one.
pub const SENTINEL_PRIZE: &str = "Test prize";

/// How fresh a book has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// As fresh as anything in the cache: enough to find a code without a prize good.
    Usual,
    /// Fresh enough to find a code wrong: no older than [`FRESH_BOOK_MAX_AGE`].
    ForANo,
}

impl Freshness {
    fn max_age(self) -> Duration {
        match self {
            Self::Usual => cache::MAX_AGE,
            Self::ForANo => FRESH_BOOK_MAX_AGE,
        }
    }
}

/// Judges codes by their scope's book, which is cached.
#[derive(Debug)]
pub struct CodeJudge {
    codes: Codes,
    books: CodeBooks,
    cache: Cache<Scope, CodeBook>,
}

impl CodeJudge {
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
    pub fn take_over(&self, items: &BatchItems, scope: &Scope, now: Moment) -> Result<(), StoreError> {
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
    ) -> Option<CodeName> {
        let book = self.cache.peek_any(scope);
        match policy {
            CodePolicy::None => None,
            CodePolicy::Partner if scope.environment.is_live() && code.sentinel().is_none() => {
                Some(CodeName::Partner(book?.digest(code.expose())))
            }
            CodePolicy::Service | CodePolicy::Partner => {
                Candidate::of(code, Some(phone), book.as_deref(), None).name().cloned()
            }
        }
    }

    /// What a code is by its scope's book. `imported_batch` is the batch that the code's own record
    /// names, once it has been read; a book from before that batch is read anew, and so is one older than
    /// [`FRESH_BOOK_MAX_AGE`] before a prize is promised.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn candidate(
        &self,
        scope: &Scope,
        code: &Code,
        phone: Option<&Phone>,
        imported_batch: Option<&str>,
        freshness: Freshness,
        now: Moment,
    ) -> Result<Candidate, StoreError> {
        if code.sentinel().is_some() {
            return Ok(Candidate::of(code, phone, None, None));
        }
        let mut book = self.book(scope, now, freshness.max_age()).await?;
        let knows = |book: &CodeBook| imported_batch.is_none_or(|name| book.batch(name).is_some());
        if !book.as_deref().is_some_and(knows) {
            book = self.book(scope, now, Duration::ZERO).await?;
        }
        let mut candidate = Candidate::of(code, phone, book.as_deref(), imported_batch);
        if candidate.prize().is_some() {
            book = self.book(scope, now, FRESH_BOOK_MAX_AGE).await?;
            candidate = Candidate::of(code, phone, book.as_deref(), imported_batch);
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
        candidate: Candidate,
    ) -> Result<Candidate, StoreError> {
        let Candidate::Named { name: minted @ CodeName::Minted(_), says_yes, .. } = &candidate else {
            return Ok(candidate);
        };
        if book.likely_imported_batch().is_none() {
            return Ok(candidate);
        }
        let normal = code.normal();
        let twin = CodeName::Imported { digest: book.digest(&normal), batch: String::new() };
        let Some(CodeRecord { claim, batch: Some(batch), .. }) = self.codes.get(scope, &twin).await? else {
            return Ok(candidate);
        };
        let taken = self.codes.get(scope, minted).await?.and_then(|record| record.claim);
        if let (Some(taken), None) = (taken, claim) {
            let (name, says_yes) = (minted.clone(), *says_yes);
            // A held one may be freed at any moment, and must not be taken again then.
            return Ok(Candidate::Named { name, prize: None, counts: taken.redeemed, says_yes });
        }
        Ok(Candidate::imported(book, &normal, Some(&batch)))
    }

    /// A code that only the campaign's partner can judge, in the form in which the partner compares it: named by
    /// its digest, so that phones do not compete for it unnoticed. A test key never reaches a partner, so to it no such code is good.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn of_partner(
        &self,
        scope: &Scope,
        code: &Code,
        phone: &Phone,
        now: Moment,
    ) -> Result<Candidate, StoreError> {
        if code.sentinel().is_some() || !scope.environment.is_live() {
            return Ok(Candidate::of(code, Some(phone), None, None));
        }
        let Some(book) = self.book(scope, now, cache::MAX_AGE).await? else { return Ok(Candidate::Unknown) };
        let name = CodeName::Partner(book.digest(code.expose()));
        Ok(Candidate::Named { name, prize: None, counts: true, says_yes: SaysYes::AskPartner })
    }

    async fn book(
        &self,
        scope: &Scope,
        now: Moment,
        max_age: Duration,
    ) -> Result<Option<Arc<CodeBook>>, StoreError> {
        let read = async { Ok(self.books.get(scope).await?.map(|stored| stored.book)) };
        self.cache.get(scope, now, max_age, read).await
    }
}

/// A code as far as it is known without the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// The campaign takes none.
    NotNeeded,
    /// Good, and nobody's: a sentinel of no phone yet.
    Unclaimed,
    /// It has a record, or can have one.
    Named {
        /// What names the record.
        name: CodeName,
        /// The instant prize it carries.
        prize: Option<String>,
        /// Whether it counts; one that was withdrawn only speaks for a submission made before.
        counts: bool,
        /// How soon it says yes.
        says_yes: SaysYes,
    },
    /// A sentinel that asks to be refused.
    Asked(MessageKey),
    /// No code of this campaign.
    Unknown,
}

/// How soon a good code says so: any but a sentinel's at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaysYes {
    /// At once.
    AtOnce,
    /// Some seconds later.
    Later,
    /// When its partner says so.
    AskPartner,
    /// Never: the submission stays open, with this key.
    Never(MessageKey),
}

impl Candidate {
    /// Judges a code by the code book alone. `imported_batch` is the batch that an imported code is
    /// known to be of; until that is known, it is taken to be of the likely one.
    pub fn of(
        code: &Code,
        phone: Option<&Phone>,
        book: Option<&CodeBook>,
        imported_batch: Option<&str>,
    ) -> Self {
        if let Some(sentinel) = code.sentinel() {
            let (prize, says_yes) = match sentinel.outcome {
                SentinelOutcome::Enters => (None, SaysYes::AtOnce),
                SentinelOutcome::Wins => (Some(SENTINEL_PRIZE.to_owned()), SaysYes::AtOnce),
                SentinelOutcome::Slow => (None, SaysYes::Later),
                SentinelOutcome::Stays(key) => (None, SaysYes::Never(key)),
                SentinelOutcome::Refused(key) => return Self::Asked(key),
            };
            let Some(phone) = phone else { return Self::Unclaimed };
            let name = CodeName::sentinel(&sentinel.identity, phone);
            return Self::Named { name, prize, counts: true, says_yes };
        }
        let Some(book) = book else { return Self::Unknown };
        let normal = code.normal();
        match book.judge(&normal) {
            Judgement::Minted { serial, prize } => {
                Self::Named { name: CodeName::Minted(serial), prize, counts: true, says_yes: SaysYes::AtOnce }
            }
            Judgement::Withdrawn { serial } => {
                let (name, says_yes) = (CodeName::Minted(serial), SaysYes::AtOnce);
                Self::Named { name, prize: None, counts: false, says_yes }
            }
            Judgement::PerhapsImported => Self::imported(book, &normal, imported_batch),
            Judgement::Unknown => Self::Unknown,
        }
    }

    fn imported(book: &CodeBook, normal: &str, known_batch: Option<&str>) -> Self {
        let likely = || book.likely_imported_batch().map(|batch| batch.name.as_str());
        let Some(name) = known_batch.or_else(likely) else { return Self::Unknown };
        let batch = book.batch(name).filter(|batch| batch.origin.is_imported());
        Self::Named {
            name: CodeName::Imported { digest: book.digest(normal), batch: name.to_owned() },
            prize: batch.and_then(|batch| batch.prize.clone()),
            counts: batch.is_some_and(|batch| batch.status == BatchStatus::Active),
            says_yes: SaysYes::AtOnce,
        }
    }

    /// What names the code's record.
    pub fn name(&self) -> Option<&CodeName> {
        match self {
            Self::Named { name, .. } => Some(name),
            Self::NotNeeded | Self::Unclaimed | Self::Asked(_) | Self::Unknown => None,
        }
    }

    /// The instant prize that an accepted submission wins.
    pub fn prize(&self) -> Option<&str> {
        match self {
            Self::Named { prize, .. } => prize.as_deref(),
            Self::NotNeeded | Self::Unclaimed | Self::Asked(_) | Self::Unknown => None,
        }
    }

    /// How soon it says yes.
    pub fn says_yes(&self) -> SaysYes {
        match self {
            Self::Named { says_yes, .. } => *says_yes,
            Self::NotNeeded | Self::Unclaimed | Self::Asked(_) | Self::Unknown => SaysYes::AtOnce,
        }
    }

    /// What is found of the code once the table has spoken.
    pub fn finding(&self, standing: &CodeStanding, phone: Option<&Phone>) -> CodeFinding {
        let counts = match self {
            Self::NotNeeded => return CodeFinding::NotNeeded,
            Self::Unclaimed => return CodeFinding::Free,
            Self::Asked(key) => return CodeFinding::Asked(*key),
            Self::Unknown => return CodeFinding::Wrong,
            Self::Named { counts, .. } => *counts,
        };
        match standing {
            CodeStanding::NotThere => CodeFinding::Wrong,
            CodeStanding::Free if counts => CodeFinding::Free,
            CodeStanding::Free => CodeFinding::Wrong,
            CodeStanding::There(record) => found(record, counts, phone),
        }
    }
}

fn found(record: &CodeRecord, counts: bool, phone: Option<&Phone>) -> CodeFinding {
    match &record.claim {
        Some(claim) if Some(&claim.phone) == phone => CodeFinding::Yours(claim.submission_id),
        Some(_) | None if record.voided || !counts => CodeFinding::Wrong,
        Some(claim) if claim.redeemed => CodeFinding::Redeemed,
        Some(_) => CodeFinding::Held,
        None => CodeFinding::Free,
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

    fn of(code: &Code, batch: Option<&str>) -> Candidate {
        Candidate::of(code, Some(&phone(1)), Some(&book()), batch)
    }

    #[test]
    fn a_withdrawn_code_has_a_name_but_no_prize() {
        let named = |serial, prize: Option<&str>, counts| Candidate::Named {
            name: CodeName::Minted(serial),
            prize: prize.map(str::to_owned),
            counts,
            says_yes: SaysYes::AtOnce,
        };
        assert_eq!(of(&minted(9), None), named(9, Some("A kettle"), true));
        assert_eq!(of(&minted(10), None), named(10, None, false));
        assert_eq!(Candidate::of(&minted(9), None, None, None), Candidate::Unknown, "without a book");
    }

    #[test]
    fn an_imported_code_is_taken_for_one_of_the_likely_batch_until_its_own_is_known() {
        let imported = code("CHAI-2026");
        let batch_of = |known| match of(&imported, known) {
            Candidate::Named { name: CodeName::Imported { batch, .. }, prize, counts, .. } => {
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
            Candidate::of(&code(typed), Some(phone), None, None).name().cloned().expect("a name")
        };
        assert_eq!(name("TEST-0-VALID", &phone(1)), name("test-0-valid", &phone(1)));
        assert_ne!(name("TEST-0-VALID", &phone(1)), name("TEST-0-VALID", &phone(2)));
        assert_ne!(name("TEST-0-VALID.1", &phone(1)), name("TEST-0-VALID.2", &phone(1)));
        let win = Candidate::of(&code("TEST-0-INSTANT-WIN"), Some(&phone(1)), None, None);
        assert_eq!(win.prize(), Some(SENTINEL_PRIZE));
        let nobodys = Candidate::of(&code("TEST-0-VALID"), None, Some(&book()), None);
        assert_eq!(nobodys.finding(&CodeStanding::Free, None), CodeFinding::Free);
        let refused = Candidate::of(&code("TEST-0-BLOCKED"), None, None, None);
        assert_eq!(refused, Candidate::Asked(MessageKey::Blocked));
    }

    #[test]
    fn a_code_that_would_have_to_have_a_record_and_has_none_is_wrong() {
        let imported = of(&code("CHAI-2026"), None);
        assert_eq!(imported.finding(&CodeStanding::NotThere, None), CodeFinding::Wrong);
        assert_eq!(of(&minted(9), None).finding(&CodeStanding::Free, None), CodeFinding::Free);
        assert_eq!(of(&minted(10), None).finding(&CodeStanding::Free, None), CodeFinding::Wrong);
    }

    proptest! {
        #[test]
        fn only_the_owner_hears_of_a_code_that_does_not_count(
            serial in 0u64..20, owner in prop::option::of(1u8..=2), redeemed in any::<bool>(), voided in any::<bool>()
        ) {
            let submission_id = SubmissionId::from_random([3; 16]);
            let claim = owner.map(|owner| Claim { phone: phone(owner), submission_id, redeemed });
            let record = CodeRecord { claim, batch: None, voided };
            let finding = of(&minted(serial), None).finding(&CodeStanding::There(record), Some(&phone(1)));
            let expected = match owner {
                Some(1) => CodeFinding::Yours(submission_id),
                _ if voided || serial >= 10 => CodeFinding::Wrong,
                Some(_) if redeemed => CodeFinding::Redeemed,
                Some(_) => CodeFinding::Held,
                None => CodeFinding::Free,
            };
            prop_assert_eq!(finding, expected);
        }

        #[test]
        fn nothing_typed_is_taken_for_a_minted_code_but_one(typed in "[2-9A-Za-z -]{0,15}[2-9A-Za-z]") {
            let candidate = of(&code(&typed), None);
            if let Some(CodeName::Minted(serial)) = candidate.name() {
                prop_assert_eq!(minted(*serial).normal(), code(&typed).normal());
            }
        }

        #[test]
        fn a_minted_code_is_itself_however_it_is_typed(serial in 0u64..20, lower in any::<bool>(), gap in "[ -]{0,3}") {
            let normal = minted(serial).normal();
            let spread: String = normal.chars().flat_map(|symbol| [symbol.to_string(), gap.clone()]).collect();
            let typed = if lower { spread.to_lowercase() } else { spread };
            prop_assert_eq!(of(&code(&typed), None), of(&minted(serial), None));
        }
    }
}
