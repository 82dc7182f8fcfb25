//! Finds the records of a code, and tells its state.

use common::domain::codebook::{Batch, BatchStatus, BookMatch, CodeBook};
use common::domain::scope::Scope;
use common::domain::submission::Submission;
use common::store::codes::{Claim, CodeKey, CodeRecord, Codes};

use super::book;
use crate::failure::Failure;
use crate::tables::Tables;

/// A code's record, with its batch.
#[derive(Clone, Debug)]
pub(super) struct FoundCode<'a> {
    pub(super) key: CodeKey,
    pub(super) record: CodeRecord,
    /// `None` only if the book no longer has it.
    pub(super) batch: Option<&'a Batch>,
}

impl FoundCode<'_> {
    pub(super) fn is_redeemable(&self) -> bool {
        self.batch.is_some_and(|batch| batch.status == BatchStatus::Active)
    }
}

/// Finds a normalized code: nothing if it is not in the scope, two records if it was both minted and imported.
pub(super) async fn find<'a>(
    codes: &Codes,
    scope: &Scope,
    book: &'a CodeBook,
    normal: &str,
) -> Result<Vec<FoundCode<'a>>, Failure> {
    let mut found = Vec::new();
    if let BookMatch::Minted { serial, .. } | BookMatch::Withdrawn { serial } = book.verify(normal) {
        let key = CodeKey::Minted(serial);
        let record = codes.get(scope, &key).await?.unwrap_or_default();
        found.push(FoundCode { key, record, batch: book.batch_of(serial) });
    }
    if book.likely_imported_batch().is_some() {
        // Any batch: it is not part of the record's key.
        let key = CodeKey::Imported { digest: book.digest(normal), batch: String::new() };
        if let Some(record) = codes.get(scope, &key).await?.filter(|record| record.batch.is_some()) {
            let batch = record.batch.as_deref().and_then(|name| book.batch(name));
            found.push(FoundCode { key, record, batch });
        }
    }
    Ok(found)
}

/// The state of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can be entered.
    Unused,
    /// A submission that is not settled has it.
    Held,
    /// An accepted submission has it.
    Redeemed,
    /// It, or its batch, was voided, and no submission has it.
    Void,
    /// Its batch is still being minted, or its minting was interrupted.
    Reserved,
}

impl State {
    /// The state's name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unused => "unused",
            Self::Held => "held",
            Self::Redeemed => "redeemed",
            Self::Void => "void",
            Self::Reserved => "reserved",
        }
    }
}

/// A code of a scope.
#[derive(Clone, Debug)]
pub struct CodeOfScope {
    /// Its batch.
    pub batch: Option<Batch>,
    /// Its state.
    pub state: State,
    /// Whether it, or its batch, was voided, also after a submission got it.
    pub is_void: bool,
    /// Who has it.
    pub claim: Option<Claim>,
    /// The submission of the claim.
    pub submission: Option<Submission>,
}

/// Looks a normalized code up. The result is empty if it is not a code of the scope.
pub async fn look_up(tables: &Tables, scope: &Scope, normal: &str) -> Result<Vec<CodeOfScope>, Failure> {
    let book = book::read(&tables.code_books, scope).await?;
    let mut codes = Vec::new();
    for found in find(tables.codes(), scope, &book, normal).await? {
        let is_void =
            found.record.voided || found.batch.is_none_or(|batch| batch.status == BatchStatus::Void);
        let claim = found.record.claim.clone();
        let state = match &claim {
            Some(claim) if claim.redeemed => State::Redeemed,
            Some(_) => State::Held,
            None if is_void => State::Void,
            None if found.is_redeemable() => State::Unused,
            None => State::Reserved,
        };
        let submission = match &claim {
            Some(claim) => tables.store.submissions().get(scope, claim.submission_id).await?,
            None => None,
        };
        codes.push(CodeOfScope { batch: found.batch.cloned(), state, is_void, claim, submission });
    }
    Ok(codes)
}
