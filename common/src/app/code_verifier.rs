use std::sync::Arc;
use std::time::Duration;

use crate::cache::{self, Cache};
use crate::domain::codebook::CodeBook;
use crate::domain::phone_protection::Consumer;
use crate::domain::resolved_code::{AcceptanceTiming, NamedCode, ResolvedCode};
use crate::domain::{Code, CodeKey, CodeLookup, CodePolicy, CodeStatus, Scope, Timestamp};
use crate::error::{StoreError, StoreResult};
use crate::store::batch::{BatchGet, BatchItems};
use crate::store::code_books::{CodeBooks, NoCodeBook, PrefetchedBook};
use crate::store::codes::Codes;

/// Maximum age of a book that rejects a code or promises a prize. Wrong codes make each environment
/// read the book at most this often.
pub const FRESH_BOOK_MAX_AGE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// Enough to accept a code without a prize.
    Cached,
    BeforeRejecting,
}

impl Staleness {
    /// The order in which books decide.
    pub const ALL: [Self; 2] = [Self::Cached, Self::BeforeRejecting];

    fn max_age(self) -> Duration {
        match self {
            Self::Cached => cache::MAX_AGE,
            Self::BeforeRejecting => FRESH_BOOK_MAX_AGE,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct CodeQuery<'a> {
    pub scope: &'a Scope,
    pub policy: CodePolicy,
    pub code: &'a Code,
    pub consumer: Option<&'a Consumer>,
}

#[derive(Clone, Debug)]
pub struct VerifiedCode {
    pub resolved: ResolvedCode,
    pub status: CodeStatus,
}

impl VerifiedCode {
    pub fn not_needed() -> Self {
        Self {
            resolved: ResolvedCode::NotNeeded,
            status: CodeStatus::NotNeeded,
        }
    }
}

#[derive(Debug)]
pub struct CodeVerifier {
    codes: Codes,
    books: CodeBooks,
    cache: Cache<Scope, CodeBook>,
}

impl CodeVerifier {
    pub fn new(codes: Codes, books: CodeBooks) -> Self {
        Self {
            codes,
            books,
            cache: Cache::default(),
        }
    }

    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    pub fn add_to(&self, batch: &mut BatchGet, scope: &Scope) {
        self.books.add_to(batch, scope);
    }

    /// Needs a book in the batch, and its secret in memory.
    pub fn cache_prefetched(
        &self,
        items: &BatchItems,
        scope: &Scope,
        now: Timestamp,
    ) -> StoreResult<()> {
        let book = match self.books.find_in(items, scope)? {
            PrefetchedBook::NotRead => return Ok(()),
            PrefetchedBook::Absent => None,
            PrefetchedBook::Found(stored) => Some(stored.book),
        };
        self.cache.set(scope, now, book);
        Ok(())
    }

    pub fn batch_of(&self, scope: &Scope, key: &CodeKey) -> Option<String> {
        match key {
            CodeKey::Minted(serial) => {
                Some(self.cache.peek_any(scope)?.batch_of(*serial)?.name.clone())
            }
            CodeKey::Imported { batch, .. } => Some(batch.clone()),
            CodeKey::Partner(_) | CodeKey::Sentinel(_) => None,
        }
    }

    /// For prefetching only: the book may be old.
    pub fn key_by_cached_book(&self, query: CodeQuery<'_>) -> Option<CodeKey> {
        let CodeQuery {
            scope,
            policy,
            code,
            consumer,
        } = query;
        let book = self.cache.peek_any(scope);
        match (policy, code.sentinel(), book) {
            (CodePolicy::None, _, _) => None,
            (_, Some(sentinel), _) => ResolvedCode::from_sentinel(&sentinel, consumer)
                .key()
                .cloned(),
            (_, None, None) => None,
            (_, None, Some(book)) => ResolvedCode::key_from_book(policy, scope, code, &book),
        }
    }

    /// A cached book never decides [`CodeStatus::Invalid`].
    pub async fn judge(
        &self,
        query: CodeQuery<'_>,
        resolved: ResolvedCode,
        record: &CodeLookup,
        staleness: Staleness,
        now: Timestamp,
    ) -> StoreResult<VerifiedCode> {
        let resolved = match record.imported_batch() {
            Some(batch) => self.resolve(query, Some(batch), staleness, now).await?,
            None => resolved,
        };
        let status = resolved.status(record, query.consumer);
        Ok(VerifiedCode { resolved, status })
    }

    /// `imported_batch` is that of the code's record, if read. Reads the book again if it lacks
    /// that batch, or promises a prize and is older than [`FRESH_BOOK_MAX_AGE`].
    pub async fn resolve(
        &self,
        query: CodeQuery<'_>,
        imported_batch: Option<&str>,
        staleness: Staleness,
        now: Timestamp,
    ) -> StoreResult<ResolvedCode> {
        let CodeQuery {
            scope,
            policy,
            code,
            consumer,
        } = query;
        if let Some(sentinel) = code.sentinel() {
            return Ok(ResolvedCode::from_sentinel(&sentinel, consumer));
        }
        match policy {
            CodePolicy::None => return Ok(ResolvedCode::NotNeeded),
            CodePolicy::Partner => return self.resolve_partner_code(scope, code, now).await,
            CodePolicy::Service => {}
        }
        let book = self
            .book_with_batch(scope, imported_batch, staleness, now)
            .await?;
        let resolved = ResolvedCode::from_book(code, &book, imported_batch);
        if resolved.prize().is_none() {
            return Ok(resolved);
        }
        let book = self.book(scope, now, FRESH_BOOK_MAX_AGE).await?;
        Ok(ResolvedCode::from_book(code, &book, imported_batch))
    }

    /// The record keeps phones from using a code at the same time. Codes of test keys are unknown.
    async fn resolve_partner_code(
        &self,
        scope: &Scope,
        code: &Code,
        now: Timestamp,
    ) -> StoreResult<ResolvedCode> {
        if !scope.environment.is_live() {
            return Ok(ResolvedCode::Unknown);
        }
        let book = self.book(scope, now, cache::MAX_AGE).await?;
        let key = CodeKey::Partner(book.digest(code.expose()));
        Ok(ResolvedCode::Named(NamedCode {
            key,
            prize: None,
            is_redeemable: true,
            acceptance: AcceptanceTiming::ByPartner,
        }))
    }

    async fn book_with_batch(
        &self,
        scope: &Scope,
        batch: Option<&str>,
        staleness: Staleness,
        now: Timestamp,
    ) -> StoreResult<Arc<CodeBook>> {
        let book = self.book(scope, now, staleness.max_age()).await?;
        if batch.is_none_or(|batch| book.batch(batch).is_some()) {
            return Ok(book);
        }
        self.book(scope, now, Duration::ZERO).await
    }

    /// Applying a campaign creates its book: a missing one makes no code wrong.
    async fn book(
        &self,
        scope: &Scope,
        now: Timestamp,
        max_age: Duration,
    ) -> StoreResult<Arc<CodeBook>> {
        let read = async { Ok(self.books.get(scope).await?.map(|stored| stored.book)) };
        // Boxed: a rare read would enlarge every caller's future.
        let book = self.cache.get(scope, now, max_age, Box::pin(read)).await?;
        book.ok_or_else(|| StoreError::temporary("reading a code book", NoCodeBook))
    }
}
