//! The whole file is checked before anything is written; an interrupted import is finished by
//! running it again.

use common::domain::codebook::LengthSource;

use super::check::{Checked, CodesOfLength};
use super::{MAX_CONCURRENCY, PART, book, lines};
use crate::prelude::*;

// The doc comments are the help of `ops code import`.
#[derive(Args, Clone, Debug, Default)]
pub struct ImportRequest {
    /// CSV file with one code per line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Heading of the column with the codes [default: one such as code, or the only column]
    #[arg(long, value_name = "HEADING")]
    pub column: Option<String>,
    /// Instant prize of each of these codes, in words
    #[arg(long, value_name = "TEXT")]
    pub prize: Option<String>,
    /// Name of the batch; if it is an imported batch, the codes are added to it [default: batch-N]
    #[arg(long, value_name = "NAME")]
    pub batch: Option<String>,
    /// Import even if the list is short, or more than one guess in a million would be right
    #[arg(long)]
    pub allow_weak: bool,
}

impl ImportRequest {
    pub(super) fn codes(&self) -> Column<'_, String> {
        lines::codes(&self.file, self.column.as_deref())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub batch: Option<String>,
    pub imported: u64,
    /// Imported before, or twice in the file.
    pub duplicates: u64,
    /// Duplicates that are void and stay so.
    pub void: u64,
}

pub async fn record_and_import(
    tables: &Tables,
    scope: &Scope,
    request: &ImportRequest,
    checked: &Checked,
    now: Timestamp,
    progress: impl FnMut(u64),
) -> Result<Imported> {
    let details = json!({
        "batch": request.batch,
        "count": checked.count,
        "known": checked.known + checked.repeated,
        "prize": request.prize,
        "allow_weak": request.allow_weak,
    });
    let action = Action::new("code.import").in_scope(scope).with(details);
    tables.audit.append(action, now).await?;
    import(tables, scope, request, checked, progress).await
}

/// `progress` gets the number of lines done.
pub async fn import(
    tables: &Tables,
    scope: &Scope,
    request: &ImportRequest,
    checked: &Checked,
    mut progress: impl FnMut(u64),
) -> Result<Imported> {
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
    let mut done = Imported::default();
    let codes = request.codes();
    let mut lines = codes.open()?;
    loop {
        let part = lines.next_values(PART)?;
        if part.is_empty() {
            let end = |book: &mut CodeBook| {
                book::batch_mut(book, &batch)?.origin.end_import(file);
                Ok(())
            };
            book::change(&tables.code_books, scope, end).await?;
            done.batch = Some(batch);
            return Ok(done);
        }
        let stored = part
            .into_iter()
            .map(|code| import_one(tables.codes(), scope, &book, &batch, code));
        let mut stored = stream::iter(stored).buffer_unordered(MAX_CONCURRENCY);
        let (mut new, mut failed) = (0, None);
        while let Some(one) = stored.next().await {
            match one {
                Ok(None) => new += 1,
                Ok(Some(is_void)) => {
                    done.duplicates += 1;
                    done.void += u64::from(is_void);
                }
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        // The stored part counts even if the rest fails.
        if new > 0 {
            count_more(tables, scope, &batch, file, new).await?;
        }
        if let Some(error) = failed {
            let mut failure = Failure::from(error);
            failure.message.push_str(&format!(
                " with --batch {batch}: what is stored stays, the rest is added"
            ));
            return Err(failure);
        }
        done.imported += new;
        progress(done.imported + done.duplicates);
    }
}

/// Such a code could be two codes at once.
pub(super) fn refuse_minted_lengths(book: &CodeBook, lengths: &[CodesOfLength]) -> Result<()> {
    let is_minted =
        |of_length: &&CodesOfLength| book.source_of(of_length.length) == Some(LengthSource::Minted);
    let Some(CodesOfLength { length, count, .. }) = lengths.iter().find(is_minted) else {
        return Ok(());
    };
    bail!(
        "length_minted",
        "{} of these codes have {length} characters, the length of the codes minted in this environment, and a length is \
         either minted or imported; import them into another campaign",
        grouped(*count)
    )
}

/// The named imported batch, that of an interrupted import of the same file, or a new one.
pub(super) fn batch_to_fill(
    book: &mut CodeBook,
    request: &ImportRequest,
    file: &str,
) -> Result<String> {
    let prize = request.prize.as_deref();
    let begun = book.begun_import(file).map(|batch| batch.name.clone());
    let refusal = |code, message: &str| Err(Failure::new(code, message));
    if let (Some(begun), Some(name)) = (&begun, &request.batch)
        && begun != name
    {
        let message = format!(
            "an import of this file into batch {begun} was cut short, or is running; finish it first with --batch {begun}"
        );
        return refusal("import_unfinished", &message);
    }
    let name = request.batch.as_deref().or(begun.as_deref());
    let Some(batch) = name.and_then(|name| book.batch(name)) else {
        let origin = Origin::NOTHING_IMPORTED;
        return Ok(book::add_batch(book, name, origin, prize, BatchStatus::Active)?.name);
    };
    if !batch.origin.is_imported() {
        refusal(
            "batch_exists",
            "there is a minted batch of this name; choose another --batch",
        )
    } else if batch.status != BatchStatus::Active {
        refusal(
            "batch_void",
            "the batch of this name is void; choose another --batch",
        )
    } else if prize.is_some() && prize != batch.prize.as_deref() {
        refusal(
            "prize_differs",
            "the batch of this name has another prize; leave --prize out, or choose another --batch",
        )
    } else {
        Ok(batch.name.clone())
    }
}

/// Of a code that was there: true if it is void.
async fn import_one(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    batch: &str,
    code: String,
) -> Result<Option<bool>, StoreError> {
    let key = CodeKey::Imported {
        digest: book.digest(&code),
        batch: batch.to_owned(),
    };
    if codes.import(scope, &key, batch).await? {
        return Ok(None);
    }
    let record = codes.get(scope, &key).await?.unwrap_or_default();
    Ok(Some(is_void(book, &record)))
}

pub(super) fn is_void(book: &CodeBook, record: &CodeRecord) -> bool {
    let batch = record.batch.as_deref().and_then(|name| book.batch(name));
    batch.is_none_or(|batch| batch.status != BatchStatus::Active)
}

async fn count_more(
    tables: &Tables,
    scope: &Scope,
    batch: &str,
    file: &str,
    more: u64,
) -> Result<()> {
    let status = book::change(&tables.code_books, scope, |book| {
        let batch = book::batch_mut(book, batch)?;
        batch.origin.count_import(file, more);
        Ok(batch.status)
    })
    .await?;
    if status == BatchStatus::Active {
        return Ok(());
    }
    bail!(
        "batch_void",
        "batch {batch} was voided while this imported into it: what is stored of the file counts nowhere and will \
         stay void; the rest was not imported"
    )
}
