//! Migrates records of earlier releases, which kept phones in clear.

use crate::failure::Failure;
use crate::tables::Tables;

/// Encrypts or digests the phone of every submission, entrant and code, and returns how many were in clear. A second run
/// finds none.
///
/// # Errors
/// When a table or Secrets Manager does not answer, or a record cannot be migrated. Records migrated before that stay
/// migrated.
pub async fn run(tables: &Tables) -> Result<u64, Failure> {
    let secret = &tables.secrets().version_for_phones().await?.secret;
    // Submissions first: settling one with a clear phone would create that phone's clear record again.
    Ok(tables.store.submissions().encrypt_phones(secret).await?
        + tables.entrants.replace_phones(secret).await?
        + tables.codes().replace_phones(secret).await?)
}
