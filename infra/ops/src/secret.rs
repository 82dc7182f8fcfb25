//! The deployment's secret: a new one, and all code books under it.

use std::sync::Arc;

use common::aws::deployment_secret::SecretVersion;
use common::domain::hex::hex;
use common::random;
use common::store::code_books::{CodeBooks, SaveError};
use common::store::transaction::backoff;

use crate::failure::Failure;

/// Tries of one book before giving up on others who keep changing it.
const MAX_TRIES: u32 = 10;

/// What rotating did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// Secrets Manager's id of the version that all books are under now.
    pub version: String,
    /// Whether it was made now; else an earlier rotation was finished.
    pub is_new: bool,
    /// How many books were encrypted anew.
    pub books: usize,
}

/// Makes a new version of the deployment's secret and encrypts every code book under it. When an earlier rotation was
/// cut short, that one is finished first, and no other version is made.
///
/// # Errors
/// When a table or Secrets Manager does not answer; running it again finishes the rest.
pub async fn rotate(books: &CodeBooks) -> Result<Rotated, Failure> {
    let current = books.secrets().current().await?;
    let unfinished = encrypt_all(books, &current).await?;
    if unfinished > 0 {
        return Ok(Rotated { version: current.id.clone(), is_new: false, books: unfinished });
    }
    let new = books.secrets().replace(hex(&random::bytes::<32>())).await?;
    let books = encrypt_all(books, &new).await?;
    Ok(Rotated { version: new.id.clone(), is_new: true, books })
}

/// Encrypts all books that are under another version; how many there were.
async fn encrypt_all(books: &CodeBooks, secret: &Arc<SecretVersion>) -> Result<usize, Failure> {
    let mut encrypted = 0;
    for scope in books.scopes().await? {
        let mut tries = 1;
        let was_under_another = loop {
            match books.reencrypt(&scope, secret).await {
                Ok(done) => break done,
                Err(SaveError::Store(error)) => return Err(error.into()),
                Err(SaveError::Changed) if tries < MAX_TRIES => {
                    backoff(tries).await;
                    tries += 1;
                }
                Err(SaveError::Changed) => {
                    let message = "others keep minting or importing codes; run this again in a moment";
                    return Err(Failure::new("code_book_busy", message));
                }
            }
        };
        encrypted += usize::from(was_under_another);
    }
    Ok(encrypted)
}
