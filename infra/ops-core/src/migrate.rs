//! Migrates records of earlier releases: the first kept code books in the table of codes with their keys unencrypted, and
//! phones in clear.

use common::domain::codebook::CodeBook;
use common::domain::scope::{Environment, Scope};
use common::store::code_books::SaveError;

use crate::failure::Failure;
use crate::format::scope_in_words;
use crate::tables::Tables;

/// How many records were migrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Code books that stood in the table of codes.
    pub code_books: usize,
    /// Submissions, entrants and codes with a phone in clear.
    pub phones: u64,
}

/// Migrates all records to the form of this release. A second run finds none.
///
/// # Errors
/// When a table or Secrets Manager does not answer, or a record cannot be migrated. Records migrated before that stay
/// migrated.
pub async fn run(tables: &Tables) -> Result<Migrated, Failure> {
    let code_books = move_books(tables).await?;
    let secret = &tables.secrets().version_for_phones().await?.secret;
    // Submissions first: settling one with a clear phone would create that phone's clear record again.
    let phones = tables.store.submissions().encrypt_phones(secret).await?
        + tables.entrants.replace_phones(secret).await?
        + tables.codes().replace_phones(secret).await?;
    Ok(Migrated { code_books, phones })
}

/// Moves every code book of the first release into the table of code books, encrypted, and deletes the old one. Returns
/// how many it moved; a second run finds none.
///
/// # Errors
/// When a table or Secrets Manager does not answer, or a campaign has codes in both places. Books moved before that
/// stay moved.
async fn move_books(tables: &Tables) -> Result<usize, Failure> {
    let mut moved = 0;
    for campaign in tables.campaigns.list().await? {
        for environment in Environment::ALL {
            let scope = Scope { campaign: campaign.slug.clone(), environment };
            let Some(old) = tables.codes().book_of_first_release(&scope).await? else { continue };
            move_book(tables, &scope, old).await?;
            tables.codes().delete_book_of_first_release(&scope).await?;
            moved += 1;
        }
    }
    Ok(moved)
}

async fn move_book(tables: &Tables, scope: &Scope, old: CodeBook) -> Result<(), Failure> {
    tables.code_books.start(scope, old.clone()).await?;
    let mut there = tables.code_books.get(scope).await?.ok_or_else(|| changed(scope))?;
    if there.book.digest_key == old.digest_key {
        return Ok(());
    }
    // Someone applied the campaign before migrating, which created a book without codes.
    if !there.book.batches.is_empty() {
        let message = format!(
            "{} has codes of the first release and codes of this one, under different keys; void the batches of one \
             of them",
            scope_in_words(scope)
        );
        return Err(Failure::new("code_books_differ", message));
    }
    there.book = old;
    tables.code_books.save(scope, &there).await.map_err(|error| match error {
        SaveError::Changed => changed(scope),
        SaveError::Store(error) => error.into(),
    })
}

fn changed(scope: &Scope) -> Failure {
    let scope = scope_in_words(scope);
    Failure::new("code_book_busy", format!("others changed the code book of {scope}; run this again"))
}
