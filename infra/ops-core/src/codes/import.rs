//! Imports codes that were printed elsewhere. The whole file is checked before anything is written; running an
//! interrupted import again finishes it.

use common::domain::code_record::{CodeKey, CodeRecord};
use common::domain::codebook::{BatchStatus, CodeBook, LengthSource, Origin};
use common::domain::scope::Scope;
use common::error::StoreError;
use common::store::code_books::CodeBooks;
use common::store::codes::Codes;
use futures_util::{StreamExt, stream};

use super::check::{Checked, CodesOfLength};
use super::{MAX_CONCURRENCY, PART, book};
use crate::column::Column;
use crate::failure::Failure;
use crate::format::grouped;
use crate::tables::Tables;

/// A request to import codes.
#[derive(Clone, Copy, Debug)]
pub struct ImportRequest<'a> {
    /// The column of a file that has the codes.
    pub codes: Column<'a, String>,
    /// The instant prize of each.
    pub prize: Option<&'a str>,
    /// The batch's name. Codes are added to an imported batch of this name; `None` picks a free name.
    pub batch: Option<&'a str>,
    /// Import even if the odds of a guess exceed `ACCEPTABLE_ODDS`.
    pub allow_weak: bool,
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The batch's name.
    pub batch: String,
    /// Number of new codes.
    pub imported: u64,
    /// Number of codes that were imported before, or are in the file twice.
    pub duplicates: u64,
    /// How many of the duplicates are void; they stay void.
    pub void: u64,
}

/// Imports a file that was checked; calls `progress` with the number of lines done.
///
/// # Errors
/// When codes cannot be added to the batch, the file changed, or the table does not answer.
pub async fn import(
    tables: &Tables,
    scope: &Scope,
    request: ImportRequest<'_>,
    checked: &Checked,
    mut progress: impl FnMut(u64),
) -> Result<Imported, Failure> {
    let file = checked.digest.as_str();
    let (batch, book) = book::change(&tables.code_books, scope, |book| {
        refuse_minted_lengths(book, &checked.lengths)?;
        let batch = batch_to_fill(book, request, file)?;
        let (lengths, new) = (checked.list.lengths(), checked.new_codes());
        book::batch_mut(book, &batch)?
            .origin
            .begin_import(file, lengths, new);
        Ok((batch, book.clone()))
    })
    .await?;
    let mut done = Imported {
        batch,
        imported: 0,
        duplicates: 0,
        void: 0,
    };
    let mut lines = request.codes.open()?;
    loop {
        let part = lines.next_values(PART)?;
        if part.is_empty() {
            let end = |book: &mut CodeBook| {
                book::batch_mut(book, &done.batch)?.origin.end_import(file);
                Ok(())
            };
            book::change(&tables.code_books, scope, end).await?;
            return Ok(done);
        }
        let stored = import_part(tables.codes(), scope, &book, &done.batch, part.into_iter()).await;
        count_more(&tables.code_books, scope, &done.batch, file, stored.fresh).await?;
        done.imported += stored.fresh;
        done.duplicates += stored.known;
        done.void += stored.void;
        if let Some(error) = stored.failed {
            return Err(interrupted(&done.batch, error));
        }
        progress(done.imported + done.duplicates);
    }
}

/// Refuses codes of the length that minted codes have: such a code could be two codes at once.
pub(super) fn refuse_minted_lengths(
    book: &CodeBook,
    lengths: &[CodesOfLength],
) -> Result<(), Failure> {
    let is_minted =
        |of_length: &&CodesOfLength| book.source_of(of_length.length) == Some(LengthSource::Minted);
    let Some(CodesOfLength { length, count, .. }) = lengths.iter().find(is_minted) else {
        return Ok(());
    };
    let message = format!(
        "{} of these codes have {length} characters, the length of the codes minted in this environment, and a length is \
         either minted or imported; import them into another campaign",
        grouped(*count)
    );
    Err(Failure::new("length_minted", message))
}

/// The name of the batch to add the codes of a file to: the imported batch of the given name, the one to which an import of
/// the same file was cut short, or a new one.
pub(super) fn batch_to_fill(
    book: &mut CodeBook,
    request: ImportRequest<'_>,
    file: &str,
) -> Result<String, Failure> {
    let begun = book.begun_import(file).map(|batch| batch.name.clone());
    if let Some(begun) = begun
        .as_deref()
        .filter(|begun| request.batch.is_some_and(|name| name != *begun))
    {
        let message = format!(
            "an import of this file into batch {begun} was cut short, or is running; finish it first with --batch {begun}"
        );
        return Err(Failure::new("import_unfinished", message));
    }
    let request = ImportRequest {
        batch: request.batch.or(begun.as_deref()),
        ..request
    };
    let Some(batch) = request.batch.and_then(|name| book.batch(name)) else {
        let origin = Origin::NOTHING_IMPORTED;
        let added = book::add_batch(
            book,
            request.batch,
            origin,
            request.prize,
            BatchStatus::Active,
        )?;
        return Ok(added.name);
    };
    let refusal = if !batch.origin.is_imported() {
        Some((
            "batch_exists",
            "there is a minted batch of this name; choose another --batch",
        ))
    } else if batch.status != BatchStatus::Active {
        Some((
            "batch_void",
            "the batch of this name is void; choose another --batch",
        ))
    } else if request.prize.is_some() && request.prize != batch.prize.as_deref() {
        Some((
            "prize_differs",
            "the batch of this name has another prize; leave --prize out, or choose another --batch",
        ))
    } else {
        None
    };
    match refusal {
        None => Ok(batch.name.clone()),
        Some((code, message)) => Err(Failure::new(code, message)),
    }
}

/// The result of storing one part of a file.
#[derive(Default)]
struct StoredPart {
    fresh: u64,
    /// Imported before.
    known: u64,
    /// Those of `known` that are void.
    void: u64,
    /// The error that stopped it, if any.
    failed: Option<StoreError>,
}

enum Stored {
    Fresh,
    Known { is_void: bool },
}

/// Stores codes concurrently.
async fn import_part(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    batch: &str,
    normals: impl Iterator<Item = String>,
) -> StoredPart {
    let imports = normals.map(|code| import_one(codes, scope, book, batch, code));
    let mut results = stream::iter(imports).buffer_unordered(MAX_CONCURRENCY);
    let mut part = StoredPart::default();
    while let Some(result) = results.next().await {
        match result {
            Ok(Stored::Fresh) => part.fresh += 1,
            Ok(Stored::Known { is_void }) => {
                part.known += 1;
                part.void += u64::from(is_void);
            }
            Err(error) => {
                return StoredPart {
                    failed: Some(error),
                    ..part
                };
            }
        }
    }
    part
}

async fn import_one(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    batch: &str,
    code: String,
) -> Result<Stored, StoreError> {
    let key = CodeKey::Imported {
        digest: book.digest(&code),
        batch: batch.to_owned(),
    };
    if codes.import(scope, &key, batch).await? {
        return Ok(Stored::Fresh);
    }
    let record = codes.get(scope, &key).await?.unwrap_or_default();
    Ok(Stored::Known {
        is_void: is_void(book, &record),
    })
}

/// True if the batch of an imported code was voided.
pub(super) fn is_void(book: &CodeBook, record: &CodeRecord) -> bool {
    let batch = record.batch.as_deref().and_then(|name| book.batch(name));
    batch.is_none_or(|batch| batch.status != BatchStatus::Active)
}

async fn count_more(
    books: &CodeBooks,
    scope: &Scope,
    batch: &str,
    file: &str,
    more: u64,
) -> Result<(), Failure> {
    if more == 0 {
        return Ok(());
    }
    let status = book::change(books, scope, |book| {
        let batch = book::batch_mut(book, batch)?;
        batch.origin.count_import(file, more);
        Ok(batch.status)
    })
    .await?;
    if status == BatchStatus::Active {
        return Ok(());
    }
    let message = format!(
        "batch {batch} was voided while this imported into it: what is stored of the file counts nowhere and will \
         stay void; the rest was not imported"
    );
    Err(Failure::new("batch_void", message))
}

fn interrupted(batch: &str, error: StoreError) -> Failure {
    let mut failure = Failure::from(error);
    failure.message.push_str(&format!(
        " with --batch {batch}: what is stored stays, the rest is added"
    ));
    failure
}
