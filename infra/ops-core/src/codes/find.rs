//! Finds the record of a code and its state.

use common::domain::code_record::CodeHold;
use common::domain::codebook::BookMatch;

use super::book;
use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Unused,
    Held,
    Redeemed,
    /// Voided, and no submission has the code.
    Void,
    /// Being minted, or interrupted.
    Reserved,
}

impl State {
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

#[derive(Clone, Debug)]
pub struct CodeOfScope {
    pub batch: Option<Batch>,
    pub state: State,
    /// True if the batch was voided, even after a submission got the code.
    pub is_void: bool,
    pub hold: Option<CodeHold>,
    pub submission: Option<Submission>,
}

/// `normal` is normalized; `None` if it is not the scope's.
pub async fn lookup(tables: &Tables, scope: &Scope, normal: &str) -> Result<Option<CodeOfScope>> {
    let book = book::read(&tables.code_books, scope).await?;
    let found = match book.verify(normal) {
        BookMatch::Minted { serial, .. } | BookMatch::Withdrawn { serial } => {
            let record = tables.codes().get(scope, &CodeKey::Minted(serial)).await?;
            Some((record.unwrap_or_default(), book.batch_of(serial)))
        }
        BookMatch::PerhapsImported => {
            // Any batch; keys do not include it.
            let key = CodeKey::Imported {
                digest: book.digest(normal),
                batch: String::new(),
            };
            let record = tables.codes().get(scope, &key).await?;
            record.map(|record| {
                let batch = record.batch.as_deref().and_then(|name| book.batch(name));
                (record, batch)
            })
        }
        BookMatch::Unknown => None,
    };
    let Some((CodeRecord { hold, .. }, batch)) = found else {
        return Ok(None);
    };
    // A missing batch is void.
    let status = batch.map_or(BatchStatus::Void, |batch| batch.status);
    let state = match (&hold, status) {
        (Some(hold), _) if hold.redeemed => State::Redeemed,
        (Some(_), _) => State::Held,
        (None, BatchStatus::Void) => State::Void,
        (None, BatchStatus::Active) => State::Unused,
        (None, BatchStatus::Reserved) => State::Reserved,
    };
    let submission = match &hold {
        Some(hold) => {
            let submissions = tables.submissions();
            submissions.get(scope, hold.submission_id).await?
        }
        None => None,
    };
    Ok(Some(CodeOfScope {
        batch: batch.cloned(),
        state,
        is_void: status == BatchStatus::Void,
        hold,
        submission,
    }))
}
