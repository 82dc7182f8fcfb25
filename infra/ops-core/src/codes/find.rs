//! Finds the record of a code, and tells its state.

use common::domain::code_record::{CodeHold, CodeKey, CodeRecord};
use common::domain::codebook::{Batch, BatchStatus, BookMatch, CodeBook};
use common::domain::scope::Scope;
use common::domain::submission::Submission;
use common::store::codes::Codes;

use super::book;
use crate::failure::Failure;
use crate::tables::Tables;

/// A code's record, with its batch.
struct FoundCode<'a> {
    record: CodeRecord,
    /// `None` only if the book no longer has it.
    batch: Option<&'a Batch>,
}

/// Finds a normalized code; `None` if it is not in the scope.
async fn find<'a>(
    codes: &Codes,
    scope: &Scope,
    book: &'a CodeBook,
    normal: &str,
) -> Result<Option<FoundCode<'a>>, Failure> {
    match book.verify(normal) {
        BookMatch::Minted { serial, .. } | BookMatch::Withdrawn { serial } => {
            let record = codes
                .get(scope, &CodeKey::Minted(serial))
                .await?
                .unwrap_or_default();
            Ok(Some(FoundCode {
                record,
                batch: book.batch_of(serial),
            }))
        }
        BookMatch::PerhapsImported => {
            // Any batch: it is not part of the record's key.
            let key = CodeKey::Imported {
                digest: book.digest(normal),
                batch: String::new(),
            };
            let Some(record) = codes.get(scope, &key).await? else {
                return Ok(None);
            };
            let batch = record.batch.as_deref().and_then(|name| book.batch(name));
            Ok(Some(FoundCode { record, batch }))
        }
        BookMatch::Unknown => Ok(None),
    }
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
    /// Its batch was voided, and no submission has it.
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
    pub batch: Option<Batch>,
    pub state: State,
    /// True if its batch was voided, also after a submission got it.
    pub is_void: bool,
    /// Who has it.
    pub hold: Option<CodeHold>,
    /// The submission that has the code.
    pub submission: Option<Submission>,
}

/// Looks a normalized code up; `None` if it is not a code of the scope.
pub async fn lookup(
    tables: &Tables,
    scope: &Scope,
    normal: &str,
) -> Result<Option<CodeOfScope>, Failure> {
    let book = book::read(&tables.code_books, scope).await?;
    let Some(FoundCode { record, batch }) = find(tables.codes(), scope, &book, normal).await?
    else {
        return Ok(None);
    };
    let is_void = batch.is_none_or(|batch| batch.status == BatchStatus::Void);
    let is_active = batch.is_some_and(|batch| batch.status == BatchStatus::Active);
    let state = match &record.hold {
        Some(hold) if hold.redeemed => State::Redeemed,
        Some(_) => State::Held,
        None if is_void => State::Void,
        None if is_active => State::Unused,
        None => State::Reserved,
    };
    let submission = match &record.hold {
        Some(hold) => {
            tables
                .store
                .submissions()
                .get(scope, hold.submission_id)
                .await?
        }
        None => None,
    };
    Ok(Some(CodeOfScope {
        batch: batch.cloned(),
        state,
        is_void,
        hold: record.hold,
        submission,
    }))
}
