//! Rotates a scope's minting key: new batches use the new version.

use common::domain::cipher::SecretKey;
use common::domain::codebook::CodeBook;
use common::domain::scope::Scope;
use common::random;
use common::store::code_books::CodeBooks;

use super::book;
use crate::failure::Failure;

/// Each version with codes costs another deciphering, a microsecond, for each code that is verified or minted. With
/// eight, ten million codes are still minted in under a minute on two cores.
const MAX_KEY_VERSIONS: usize = 8;

/// Adds a version and returns the changed book.
///
/// # Errors
/// When the scope has no code book or too many versions, or the table does not answer.
pub async fn rotate(books: &CodeBooks, scope: &Scope) -> Result<CodeBook, Failure> {
    book::change(books, scope, |book| {
        if book.minting_keys.len() >= MAX_KEY_VERSIONS {
            let message = format!(
                "this campaign's environment has {MAX_KEY_VERSIONS} versions of its minting key already; start \
                 another campaign for codes under a new key"
            );
            return Err(Failure::new("too_many_key_versions", message));
        }
        book.minting_keys.push(SecretKey::from_random(random::bytes()));
        Ok(book.clone())
    })
    .await
}
