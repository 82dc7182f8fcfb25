//! Voids a batch of codes. Submissions made with them stay valid.

use super::book;
use crate::prelude::*;

/// Does nothing if it is void already.
pub async fn void_batch(
    tables: &Tables,
    scope: &Scope,
    name: &str,
    now: Timestamp,
) -> Result<Batch> {
    tables
        .audit
        .append(Action::new("code.void").in_scope(scope).on(name), now)
        .await?;
    book::change(&tables.code_books, scope, |book| {
        let batch = book::batch_mut(book, name)?;
        batch.status = BatchStatus::Void;
        Ok(batch.clone())
    })
    .await
}
