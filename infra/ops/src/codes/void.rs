//! Voids codes: a whole batch, or those in a file. Submissions that were made with them stay valid.

use std::path::Path;

use common::domain::codebook::{Batch, BatchStatus, BookMatch, CodeBook};
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use common::store::code_books::CodeBooks;
use common::store::codes::{CodeKey, CodeRecord, Codes};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{AT_ONCE, PART, book, lines};
use crate::failure::Failure;
use crate::tables::Tables;

/// The result of voiding the codes in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Voided {
    /// Number of codes that were voided.
    pub voided: u64,
    /// Number of codes that were void before.
    pub already_void: u64,
    /// How many of all these belong to a submission, which keeps its code.
    pub in_use: u64,
}

/// Voids a batch; does nothing if it is void already.
///
/// # Errors
/// When there is no such batch, or the table does not answer.
pub async fn void_batch(books: &CodeBooks, scope: &Scope, name: &str) -> Result<Batch, Failure> {
    book::change(books, scope, |book| {
        let batch = book::batch_mut(book, name)?;
        batch.status = BatchStatus::Void;
        Ok(batch.clone())
    })
    .await
}

/// Voids the codes of a file that was checked; calls `progress` with the number of codes done.
///
/// # Errors
/// When the file changed, or the table does not answer.
pub async fn void_file(
    tables: &Tables,
    scope: &Scope,
    file: &Path,
    now: Timestamp,
    mut progress: impl FnMut(u64),
) -> Result<Voided, Failure> {
    let book = book::read(&tables.code_books, scope).await?;
    let mut done = Voided::default();
    let mut lines = lines::CodeLines::open(file)?;
    loop {
        let part = lines.next_lines(PART)?;
        if part.is_empty() {
            return Ok(done);
        }
        let normals = part.into_iter().filter_map(|(_, code)| code.ok());
        let voids = normals.map(|code| void_one(tables.codes(), scope, &book, code, now));
        let voids = stream::iter(voids).buffer_unordered(AT_ONCE);
        done = voids.try_fold(done, async |sum, one| Ok(sum.and(one))).await?;
        progress(done.voided + done.already_void);
    }
}

/// Checks a file of codes to void, and returns their number.
///
/// # Errors
/// Lists every line that is not a code of the scope; or the table does not answer.
pub async fn check(tables: &Tables, scope: &Scope, file: &Path) -> Result<u64, Failure> {
    let book = &book::read(&tables.code_books, scope).await?;
    lines::check_all(file, PART, async |part, problem| {
        let looks = part.into_iter().map(|(line, code)| async move {
            Ok::<_, Failure>((line, !find(tables.codes(), scope, book, &code).await?.is_empty()))
        });
        let mut found = stream::iter(looks).buffer_unordered(AT_ONCE);
        while let Some((line, known)) = found.try_next().await? {
            if !known {
                problem(line, "this is no code of the campaign's environment; remove it");
            }
        }
        Ok(())
    })
    .await
}

struct Found {
    key: CodeKey,
    record: CodeRecord,
    /// Whether its batch is active.
    is_redeemable: bool,
}

/// A code's records: none when the scope has no such code, two when it was both minted and imported.
async fn find(codes: &Codes, scope: &Scope, book: &CodeBook, normal: &str) -> Result<Vec<Found>, Failure> {
    let mut found = Vec::new();
    if let BookMatch::Minted { serial, .. } | BookMatch::Withdrawn { serial } = book.verify(normal) {
        let is_redeemable = book.batch_of(serial).is_some_and(|batch| batch.status == BatchStatus::Active);
        let key = CodeKey::Minted(serial);
        let record = codes.get(scope, &key).await?.unwrap_or_default();
        found.push(Found { key, record, is_redeemable });
    }
    if book.likely_imported_batch().is_some() {
        // The record is found by the digest alone.
        let key = CodeKey::Imported { digest: book.digest(normal), batch: String::new() };
        if let Some(record) = codes.get(scope, &key).await?.filter(|record| record.batch.is_some()) {
            let batch = record.batch.as_deref().and_then(|name| book.batch(name));
            let is_redeemable = batch.is_some_and(|batch| batch.status == BatchStatus::Active);
            found.push(Found { key, record, is_redeemable });
        }
    }
    Ok(found)
}

async fn void_one(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    normal: String,
    now: Timestamp,
) -> Result<Voided, Failure> {
    let found = find(codes, scope, book, &normal).await?;
    if found.is_empty() {
        return Ok(Voided::default());
    }
    for Found { key, .. } in found.iter().filter(|found| !found.record.voided) {
        codes.void(scope, key, now).await?;
    }
    let already = found.iter().all(|found| found.record.voided || !found.is_redeemable);
    let in_use = u64::from(found.iter().any(|found| found.record.claim.is_some()));
    Ok(Voided { voided: u64::from(!already), already_void: u64::from(already), in_use })
}

impl Voided {
    fn and(self, other: Self) -> Self {
        Self {
            voided: self.voided + other.voided,
            already_void: self.already_void + other.already_void,
            in_use: self.in_use + other.in_use,
        }
    }
}
