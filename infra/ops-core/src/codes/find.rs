use common::domain::code_record::CodeHold;
use common::domain::resolved_code::ResolvedCode;

use super::book;
use crate::prelude::*;

common::text_enum! {
    pub enum State {
        Unused = "unused",
        Held = "held",
        Redeemed = "redeemed",
        /// Voided, and no submission has the code.
        Void = "void",
        /// Being minted, or interrupted.
        Reserved = "reserved",
    }
}

#[derive(Clone, Debug)]
pub struct CodeOfScope {
    pub batch: Option<Batch>,
    pub state: State,
    /// True even if a submission got the code before.
    pub is_void: bool,
    pub hold: Option<CodeHold>,
    pub submission: Option<Submission>,
}

/// `None` if the code is not the scope's.
pub async fn lookup(
    tables: &Tables,
    scope: &Scope,
    policy: CodePolicy,
    code: &Code,
) -> Result<Option<CodeOfScope>> {
    let book = book::read(&tables.code_books, scope).await?;
    let Some(key) = ResolvedCode::key_from_book(policy, scope, code, &book) else {
        return Ok(None);
    };
    let (record, batch) = by_key(tables, scope, &key, book.batches).await?;
    if record.is_none() && matches!(key, CodeKey::Imported { .. }) {
        return Ok(None);
    }
    let hold = record.and_then(|record| record.hold);
    // A missing batch is void.
    let status = batch
        .as_ref()
        .map_or(BatchStatus::Void, |batch| batch.status);
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
        batch,
        state,
        is_void: status == BatchStatus::Void,
        hold,
        submission,
    }))
}

pub(crate) async fn of_submission(
    tables: &Tables,
    submission: &Submission,
) -> Result<(Option<CodeRecord>, Option<Batch>)> {
    let Some(key) = submission.code_key() else {
        return Ok((None, None));
    };
    let scope = &submission.scope;
    let book = tables.code_books.overview(scope).await?;
    let batches = book.map(|book| book.batches).unwrap_or_default();
    by_key(tables, scope, &key, batches).await
}

async fn by_key(
    tables: &Tables,
    scope: &Scope,
    key: &CodeKey,
    batches: Vec<Batch>,
) -> Result<(Option<CodeRecord>, Option<Batch>)> {
    let record = tables.codes().get(scope, key).await?;
    let name = record.as_ref().and_then(|record| record.batch.as_deref());
    let is_batch = |batch: &Batch| match key {
        CodeKey::Minted(serial) => batch.origin.contains(*serial),
        CodeKey::Imported { .. } => Some(batch.name.as_str()) == name,
        CodeKey::Partner(_) | CodeKey::Sentinel(_) => false,
    };
    let batch = batches.into_iter().find(is_batch);
    Ok((record, batch))
}
