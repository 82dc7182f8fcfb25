//! Rotates the deployment's secret.

use std::sync::Arc;

use common::aws::deployment_secret::SecretVersion;
use common::random;
use common::store::code_books::{CodeBooks, SaveError};
use common::store::transaction::backoff;

use crate::failure::Failure;

/// Attempts for one book before giving up because others keep changing it.
const MAX_ATTEMPTS: u32 = 10;

/// The result of a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// Secrets Manager's id of the version that all books are now encrypted under.
    pub version: String,
    /// True if this run created the version; `false` if it finished an earlier rotation.
    pub is_new: bool,
    /// Number of books that were re-encrypted.
    pub books: usize,
}

/// Creates a new version of the deployment's secret and encrypts every code book under it. If an earlier rotation was
/// interrupted, it finishes that one instead.
///
/// # Errors
/// When a table or Secrets Manager does not answer; running it again finishes the rotation.
pub async fn rotate(books: &CodeBooks) -> Result<Rotated, Failure> {
    let current = books.secrets().current().await?;
    let unfinished = encrypt_all(books, &current).await?;
    if unfinished > 0 {
        return Ok(Rotated {
            version: current.id.clone(),
            is_new: false,
            books: unfinished,
        });
    }
    let new = books
        .secrets()
        .rotate(&hex::encode(random::bytes::<32>()))
        .await?;
    let books = encrypt_all(books, &new).await?;
    Ok(Rotated {
        version: new.id.clone(),
        is_new: true,
        books,
    })
}

/// Re-encrypts all books that are under another version; returns their number.
async fn encrypt_all(books: &CodeBooks, secret: &Arc<SecretVersion>) -> Result<usize, Failure> {
    let mut encrypted = 0;
    for scope in books.scopes().await? {
        let mut attempt = 1;
        let was_under_another = loop {
            match books.reencrypt(&scope, secret).await {
                Ok(done) => break done,
                Err(SaveError::Store(error)) => return Err(error.into()),
                Err(SaveError::Changed) if attempt < MAX_ATTEMPTS => {
                    backoff(attempt).await;
                    attempt += 1;
                }
                Err(SaveError::Changed) => {
                    let message =
                        "others keep minting or importing codes; run this again in a moment";
                    return Err(Failure::new("code_book_busy", message));
                }
            }
        };
        encrypted += usize::from(was_under_another);
    }
    Ok(encrypted)
}
