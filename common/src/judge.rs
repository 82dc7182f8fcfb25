//! Judging a code: what it is by arithmetic, and what the table says of it.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::{self, Cache};
use crate::domain::code::{Code, SentinelOutcome};
use crate::domain::codebook::{BatchStatus, CodeBook, Judgement};
use crate::domain::entry::CodeFinding;
use crate::domain::message::MessageKey;
use crate::domain::moment::Moment;
use crate::domain::phone::Phone;
use crate::domain::scope::Scope;
use crate::store::StoreError;
use crate::store::codes::{CodeName, CodeRecord, Codes};
use crate::store::ledger::CodeStanding;

/// The prize of the sentinel that wins one.
const SENTINEL_PRIZE: &str = "Test prize";

/// A code that the book does not know is judged again by a book no older than this, so that codes just
/// minted work at once, and guesses cost at most a read a second.
const MAX_AGE_OF_A_NO: Duration = Duration::from_secs(1);

/// Judges codes by their scope's book, which is cached.
#[derive(Debug)]
pub struct CodeJudge {
    codes: Codes,
    books: Cache<Scope, CodeBook>,
}

impl CodeJudge {
    /// Judges codes of this table.
    pub fn new(codes: Codes) -> Self {
        Self { codes, books: Cache::default() }
    }

    /// The codes' table.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// The scope's book, fresh enough to judge this code; none when the code needs none, or the scope
    /// has none.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn book_for(
        &self,
        scope: &Scope,
        code: &Code,
        now: Moment,
    ) -> Result<Option<Arc<CodeBook>>, StoreError> {
        if code.sentinel().is_some() {
            return Ok(None);
        }
        let book = self.book(scope, now, cache::MAX_AGE).await?;
        match book.as_ref().map(|book| book.judge(&code.normal())) {
            None | Some(Judgement::Unknown) => self.book(scope, now, MAX_AGE_OF_A_NO).await,
            Some(Judgement::Minted { .. } | Judgement::Withdrawn { .. } | Judgement::PerhapsImported) => {
                Ok(book)
            }
        }
    }

    async fn book(
        &self,
        scope: &Scope,
        now: Moment,
        max_age: Duration,
    ) -> Result<Option<Arc<CodeBook>>, StoreError> {
        let read = async { Ok(self.codes.book(scope).await?.map(|stored| stored.book)) };
        self.books.get(scope, now, max_age, read).await
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
    },
    /// A sentinel that asks to be refused.
    Asked(MessageKey),
    /// No code of this campaign.
    Unknown,
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
            let prize = match sentinel.outcome {
                SentinelOutcome::Enters => None,
                SentinelOutcome::Wins => Some(SENTINEL_PRIZE.to_owned()),
                SentinelOutcome::Refused(key) => return Self::Asked(key),
            };
            let Some(phone) = phone else { return Self::Unclaimed };
            return Self::Named { name: CodeName::sentinel(&sentinel.identity, phone), prize, counts: true };
        }
        let Some(book) = book else { return Self::Unknown };
        let normal = code.normal();
        match book.judge(&normal) {
            Judgement::Minted { serial, prize } => {
                Self::Named { name: CodeName::Minted(serial), prize, counts: true }
            }
            Judgement::Withdrawn { serial } => {
                Self::Named { name: CodeName::Minted(serial), prize: None, counts: false }
            }
            Judgement::PerhapsImported => Self::imported(book, &normal, imported_batch),
            Judgement::Unknown => Self::Unknown,
        }
    }

    fn imported(book: &CodeBook, normal: &str, known_batch: Option<&str>) -> Self {
        let batch = match known_batch {
            Some(name) => book.batch(name).filter(|batch| batch.origin.is_imported()),
            None => book.likely_imported_batch(),
        };
        let Some(batch) = batch else { return Self::Unknown };
        let name = CodeName::Imported { digest: book.digest(normal), batch: batch.name.clone() };
        Self::Named { name, prize: batch.prize.clone(), counts: batch.status == BatchStatus::Active }
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
