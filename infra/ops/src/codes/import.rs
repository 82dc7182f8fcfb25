//! Imports codes that were printed elsewhere. The whole file is checked before anything is written; running an
//! interrupted import again finishes it.

use std::path::Path;

use common::domain::code_list::{CodeList, WeakestLength};
use common::domain::codebook::{ACCEPTABLE_ODDS, BatchStatus, CodeBook, LengthCount, Origin};
use common::domain::scope::Scope;
use common::store::StoreError;
use common::store::code_books::CodeBooks;
use common::store::codes::{CodeKey, CodeRecord, Codes};
use futures_util::{StreamExt, stream};

use super::{AT_ONCE, PART, book, lines};
use crate::failure::Failure;
use crate::tables::Tables;
use crate::words::{grouped, odds};

/// A request to import codes.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// Has one code per line.
    pub file: &'a Path,
    /// The instant prize of each.
    pub prize: Option<&'a str>,
    /// The batch's name. Codes are added to an imported batch of this name; `None` picks a free name.
    pub batch: Option<&'a str>,
    /// Import even if the odds of a guess exceed [`ACCEPTABLE_ODDS`].
    pub allow_weak: bool,
}

/// The result of checking a file that can be imported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    /// Number of codes in the file.
    pub count: u64,
    /// Those of them that were imported before.
    pub known: Known,
    /// The code length, among those in the file, whose codes are easiest to guess.
    pub weakest: Option<WeakestLength>,
}

/// Codes of a file that were imported before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Number of such codes.
    pub count: u64,
    /// How many of them are void.
    pub void: u64,
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

/// Checks a file of codes.
///
/// # Errors
/// Lists every line that cannot be imported, or says that the codes are too easy to guess.
pub async fn check(tables: &Tables, scope: &Scope, order: Order<'_>) -> Result<Checked, Failure> {
    let book = book::read(&tables.code_books, scope).await?;
    let mut list = CodeList::default();
    let count = lines::check_all(order.file, PART, async |part, problem| {
        for (line, code) in part {
            if !code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                problem(line, "this code has other characters than the letters A to Z and digits; remove it");
            } else if book.has_minted_shape(&code) {
                problem(
                    line,
                    "this code looks like one that is minted here, so it could be two codes at once; remove it, \
                     or print it with another length",
                );
            }
            list.add(&code);
        }
        Ok(())
    })
    .await?;
    batch_to_fill(&mut book.clone(), order)?;
    // The book counts them already.
    let known = leave_out_known(tables.codes(), scope, &book, order.file, &mut list).await?;
    let weakest = list.weakest_in(&book);
    match weakest.filter(|weakest| !order.allow_weak && weakest.odds > ACCEPTABLE_ODDS) {
        Some(weakest) => Err(too_weak(weakest)),
        None => Ok(Checked { count, known, weakest }),
    }
}

/// Removes from the list the codes of the file that were imported before, and counts them.
async fn leave_out_known(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    file: &Path,
    list: &mut CodeList,
) -> Result<Known, Failure> {
    let mut all = Known::default();
    if book.likely_imported_batch().is_none() {
        return Ok(all);
    }
    let mut lines = lines::CodeLines::open(file)?;
    loop {
        let part = lines.next_lines(PART)?;
        if part.is_empty() {
            return Ok(all);
        }
        let looks = part.into_iter().filter_map(|(_, code)| code.ok()).map(|code| async move {
            let key = CodeKey::Imported { digest: book.digest(&code), batch: String::new() };
            let record = codes.get(scope, &key).await?.filter(|record| record.batch.is_some());
            Ok::<_, StoreError>(record.map(|record| (code, is_void(book, &record))))
        });
        let mut looks = stream::iter(looks).buffer_unordered(AT_ONCE);
        while let Some(look) = looks.next().await {
            let Some((code, is_void)) = look? else { continue };
            list.leave_out(&code);
            all.count += 1;
            all.void += u64::from(is_void);
        }
    }
}

fn too_weak(weakest: WeakestLength) -> Failure {
    let WeakestLength { length, codes, alphabet, odds: chance } = weakest;
    let message = format!(
        "a guess would be right with odds of {}, above the accepted {}: there would be {} codes of {length} \
         characters, each one of {alphabet}; print longer codes, or say --allow-weak",
        odds(chance),
        odds(ACCEPTABLE_ODDS),
        grouped(codes),
    );
    Failure::new("codes_too_weak", message)
}

/// Imports a file that was checked; calls `progress` with the number of lines done.
///
/// # Errors
/// When codes cannot be added to the batch, the file changed, or the table does not answer.
pub async fn import(
    tables: &Tables,
    scope: &Scope,
    order: Order<'_>,
    mut progress: impl FnMut(u64),
) -> Result<Imported, Failure> {
    let (batch, book) = book::change(&tables.code_books, scope, |book| {
        let batch = batch_to_fill(book, order)?;
        Ok((batch, book.clone()))
    })
    .await?;
    let mut done = Imported { batch, imported: 0, duplicates: 0, void: 0 };
    let mut lines = lines::CodeLines::open(order.file)?;
    loop {
        let part = lines.next_lines(PART)?;
        if part.is_empty() {
            return Ok(done);
        }
        let normals = part.into_iter().filter_map(|(_, code)| code.ok());
        let stored = import_part(tables.codes(), scope, &book, &done.batch, normals).await;
        let fresh: Vec<_> = stored.fresh.lengths().collect();
        count_more(&tables.code_books, scope, &done.batch, &fresh).await?;
        done.imported += fresh.iter().map(|more| more.count).sum::<u64>();
        done.duplicates += stored.known;
        done.void += stored.void;
        if let Some(error) = stored.failed {
            return Err(cut_short(&done.batch, error));
        }
        progress(done.imported + done.duplicates);
    }
}

/// The name of the batch to add codes to: the imported batch of the given name, or a new one.
fn batch_to_fill(book: &mut CodeBook, order: Order<'_>) -> Result<String, Failure> {
    let Some(batch) = order.batch.and_then(|name| book.batch(name)) else {
        let origin = Origin::NOTHING_IMPORTED;
        let added = book::add_batch(book, order.batch, origin, order.prize, BatchStatus::Active)?;
        return Ok(added.name);
    };
    let refusal = if !batch.origin.is_imported() {
        Some(("batch_exists", "there is a minted batch of this name; choose another --batch"))
    } else if batch.status != BatchStatus::Active {
        Some(("batch_void", "the batch of this name is void; choose another --batch"))
    } else if order.prize.is_some() && order.prize != batch.prize.as_deref() {
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
    fresh: CodeList,
    /// Imported before.
    known: u64,
    /// Those of `known` that are void.
    void: u64,
    /// The error that stopped it, if any.
    failed: Option<StoreError>,
}

enum Stored {
    Fresh(String),
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
    let mut results = stream::iter(imports).buffer_unordered(AT_ONCE);
    let mut part = StoredPart::default();
    while let Some(result) = results.next().await {
        match result {
            Ok(Stored::Fresh(code)) => part.fresh.add(&code),
            Ok(Stored::Known { is_void }) => {
                part.known += 1;
                part.void += u64::from(is_void);
            }
            Err(error) => return StoredPart { failed: Some(error), ..part },
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
    let key = CodeKey::Imported { digest: book.digest(&code), batch: batch.to_owned() };
    if codes.import(scope, &key, batch).await? {
        return Ok(Stored::Fresh(code));
    }
    let record = codes.get(scope, &key).await?.unwrap_or_default();
    Ok(Stored::Known { is_void: is_void(book, &record) })
}

/// Whether an imported code, or its batch, was voided.
fn is_void(book: &CodeBook, record: &CodeRecord) -> bool {
    let batch = record.batch.as_deref().and_then(|name| book.batch(name));
    record.voided || batch.is_none_or(|batch| batch.status != BatchStatus::Active)
}

async fn count_more(
    books: &CodeBooks,
    scope: &Scope,
    batch: &str,
    more: &[LengthCount],
) -> Result<(), Failure> {
    if more.is_empty() {
        return Ok(());
    }
    book::change(books, scope, |book| {
        let origin = &mut book::batch_mut(book, batch)?.origin;
        more.iter().for_each(|more| origin.add_imported(*more));
        Ok(())
    })
    .await
}

fn cut_short(batch: &str, error: StoreError) -> Failure {
    let mut failure = Failure::from(error);
    failure.message.push_str(&format!(" with --batch {batch}: what is stored stays, the rest is added"));
    failure
}
