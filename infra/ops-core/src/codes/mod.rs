//! Mints, imports and voids codes, in batches.

pub mod atomic_file;
pub mod book;
pub mod check;
pub mod find;
pub mod import;
pub mod lines;
pub mod mint;
pub mod usage;
pub mod void;

use common::domain::campaign::CodePolicy;
use common::domain::scope::Scope;

use crate::failure::Failure;
use crate::tables::Tables;

/// Concurrent calls to the table while a file is imported.
const MAX_CONCURRENCY: usize = 32;

/// Lines of a file that are processed together.
const PART: usize = 10_000;

/// Checks that the campaign exists and that the service checks its codes.
///
/// # Errors
/// When there is no such campaign, its codes are checked by a partner or not at all, or the table does not answer.
pub async fn code_scope(tables: &Tables, scope: Scope) -> Result<Scope, Failure> {
    let slug = &scope.campaign;
    match tables.campaign(slug).await?.code {
        CodePolicy::Service => Ok(scope),
        CodePolicy::None => {
            let message = format!(
                "`{slug}` takes no codes; set code.checked_by to `service` in its file and apply it first"
            );
            Err(Failure::new("campaign_without_codes", message))
        }
        CodePolicy::Partner => {
            let message = format!(
                "the partner of `{slug}` checks its codes, so a code of the service would be refused: get the codes \
                 from the partner, or let the service check them: set code.checked_by to `service` in its file, \
                 remove the partner block, and apply it first"
            );
            Err(Failure::new("codes_checked_by_partner", message))
        }
    }
}
