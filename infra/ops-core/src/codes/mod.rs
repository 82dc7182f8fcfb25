pub mod book;
pub mod check;
pub mod find;
pub mod import;
pub mod lines;
pub mod mint;

use crate::prelude::*;

const MAX_CONCURRENCY: usize = 32;

const PART: usize = 10_000;

/// Also of the code that it was refused.
pub async fn batch_of(tables: &Tables, submission: &Submission) -> Result<Option<Batch>> {
    let refused = submission.code_refusal.as_ref();
    let refused = refused.and_then(|refused| refused.batch.as_ref());
    let Some(name) = submission.batch.as_ref().or(refused) else {
        return Ok(None);
    };
    let book = tables.code_books.overview(&submission.scope).await?;
    Ok(book.and_then(|book| book.batches.into_iter().find(|batch| batch.name == *name)))
}

pub async fn code_scope(tables: &Tables, scope: Scope) -> Result<Scope> {
    let slug = &scope.campaign;
    match tables.campaign(slug).await?.code {
        CodePolicy::Service => Ok(scope),
        CodePolicy::None => {
            bail!(
                "campaign_without_codes",
                "`{slug}` takes no codes; set code.checked_by to `service` in its file and apply it first"
            )
        }
        CodePolicy::Partner => {
            bail!(
                "codes_checked_by_partner",
                "the partner of `{slug}` checks its codes, so a code of the service would be refused: get the codes \
                 from the partner, or let the service check them: set code.checked_by to `service` in its file, \
                 remove the partner block, and apply it first"
            )
        }
    }
}
