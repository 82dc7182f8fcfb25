//! Importing codes that were printed elsewhere. The whole file is checked before anything is written;
//! an import that is cut short is finished by running it again.

use std::path::Path;

use common::domain::codebook::{BatchStatus, CodeBook, Judgement, Origin};
use common::domain::scope::Scope;
use common::store::StoreError;
use common::store::codes::{CodeName, Codes};
use futures_util::{StreamExt, stream};

use super::{AT_ONCE, PART, book, lines};
use crate::failure::Failure;

/// What to import.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// One code a line.
    pub file: &'a Path,
    /// The instant prize of each.
    pub prize: Option<&'a str>,
    /// The batch's name: one that is there is added to; one is given when there is none.
    pub batch: Option<&'a str>,
}

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The batch.
    pub batch: String,
    /// Codes that are new.
    pub imported: u64,
    /// Codes that were imported before, or stand in the file twice.
    pub duplicates: u64,
}

/// Checks a file of codes; how many there are.
///
/// # Errors
/// Every line that cannot be imported.
pub async fn check(codes: &Codes, scope: &Scope, file: &Path) -> Result<u64, Failure> {
    let book = book::read(codes, scope).await?;
    lines::check_all(file, PART, async |part, problem| {
        for (line, code) in part {
            if is_minted(&book, &code) {
                problem(line, "this code was minted here and works already; remove it");
            }
        }
        Ok(())
    })
    .await
}

fn is_minted(book: &CodeBook, code: &str) -> bool {
    match book.judge(code) {
        Judgement::Minted { .. } | Judgement::Withdrawn { .. } => true,
        Judgement::PerhapsImported | Judgement::Unknown => false,
    }
}

/// Imports a file that was checked; `progress` is told how many lines are done.
///
/// # Errors
/// When the batch cannot be added to, the file changed, or the table does not answer.
pub async fn import(
    codes: &Codes,
    scope: &Scope,
    order: Order<'_>,
    mut progress: impl FnMut(u64),
) -> Result<Imported, Failure> {
    let (batch, book) = book::change(codes, scope, |book| {
        let batch = batch_to_fill(book, order)?;
        Ok((batch, book.clone()))
    })
    .await?;
    let mut done = Imported { batch, imported: 0, duplicates: 0 };
    let mut lines = lines::CodeLines::open(order.file)?;
    loop {
        let part = lines.next_lines(PART)?;
        if part.is_empty() {
            return Ok(done);
        }
        let normals = part.into_iter().filter_map(|(_, code)| code.ok());
        let (fresh, known, failed) = import_part(codes, scope, &book, &done.batch, normals).await;
        count_more(codes, scope, &done.batch, fresh).await?;
        done.imported += fresh;
        done.duplicates += known;
        if let Some(error) = failed {
            return Err(cut_short(&done.batch, error));
        }
        progress(done.imported + done.duplicates);
    }
}

/// The name of the batch that the codes go into: an imported one of that name, else a new one.
fn batch_to_fill(book: &mut CodeBook, order: Order<'_>) -> Result<String, Failure> {
    let Some(batch) = order.batch.and_then(|name| book.batch(name)) else {
        let origin = Origin::Imported { count: 0 };
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

/// Stores codes, several at once: how many are new, how many were known, and what stopped it.
async fn import_part(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    batch: &str,
    normals: impl Iterator<Item = String>,
) -> (u64, u64, Option<StoreError>) {
    let names =
        normals.map(|code| CodeName::Imported { digest: book.digest(&code), batch: batch.to_owned() });
    let imports = names.map(|name| async move { codes.import(scope, &name, batch).await });
    let mut results = stream::iter(imports).buffer_unordered(AT_ONCE);
    let (mut fresh, mut known) = (0, 0);
    while let Some(result) = results.next().await {
        match result {
            Ok(true) => fresh += 1,
            Ok(false) => known += 1,
            Err(error) => return (fresh, known, Some(error)),
        }
    }
    (fresh, known, None)
}

async fn count_more(codes: &Codes, scope: &Scope, batch: &str, more: u64) -> Result<(), Failure> {
    if more == 0 {
        return Ok(());
    }
    book::change(codes, scope, |book| {
        if let Origin::Imported { count } = &mut book::batch_mut(book, batch)?.origin {
            *count = count.saturating_add(more);
        }
        Ok(())
    })
    .await
}

fn cut_short(batch: &str, error: StoreError) -> Failure {
    let mut failure = Failure::from(error);
    failure.message.push_str(&format!(" with --batch {batch}: what is stored stays, the rest is added"));
    failure
}
