//! Migrates records of earlier releases: the first kept code books in the table of codes with their keys unencrypted, and
//! phones in clear.

use common::domain::codebook::CodeBook;
use common::domain::scope::{Environment, Scope};
use common::store::code_books::SaveError;

use crate::failure::Failure;
use crate::tables::Tables;

/// The records that were brought into the form of this release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Code books that stood in the table of codes.
    pub code_books: usize,
    /// Submissions, entrants and codes with a phone in clear.
    pub phones: u64,
}

/// Brings all records into the form of this release. Run again, it finds none.
///
/// # Errors
/// When a table or Secrets Manager does not answer, or a record cannot be moved; the records moved before stay moved.
pub async fn run(tables: &Tables) -> Result<Migrated, Failure> {
    let code_books = move_books(tables).await?;
    let secret = &tables.secrets().people_keys().await?.secret;
    // Submissions first: settling one that still names its phone would make that phone's record in clear again.
    let phones = tables.ledger.submissions().encrypt_phones(secret).await?
        + tables.entrants.replace_phones(secret).await?
        + tables.codes().replace_phones(secret).await?;
    Ok(Migrated { code_books, phones })
}

/// Moves every code book of the first release into the table of code books, encrypted, and deletes the old one; how
/// many there were. Run again, it finds none.
///
/// # Errors
/// When a table or Secrets Manager does not answer, or a campaign has codes in both places; what was moved before stays.
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
            "{scope} has codes of the first release and codes of this one, under different keys; void the batches of \
             one of them"
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
    Failure::new("code_book_busy", format!("others changed the code book of {scope}; run this again"))
}
