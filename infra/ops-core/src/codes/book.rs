//! Changes a scope's code book: read, change, write back if unchanged since.

use common::domain::code::Alphabet;
use common::store::code_books::SaveError;
use common::store::transaction::backoff;

use crate::prelude::*;

/// Others may keep changing the book.
const MAX_ATTEMPTS: u32 = 10;

/// Verifying a code may check every batch, and one record holds all.
const MAX_BATCHES: usize = 500;

const NAME_CHARS: std::ops::RangeInclusive<usize> = 1..=64;

pub async fn read(books: &CodeBooks, scope: &Scope) -> Result<CodeBook> {
    Ok(books.get(scope).await?.ok_or_else(|| no_book(scope))?.book)
}

pub fn odds_line(book: &CodeBook) -> String {
    let Some(length) = book.minted_length else {
        return "No codes are minted.".to_owned();
    };
    let symbols = match book.alphabet {
        Alphabet::Mixed => "characters",
        Alphabet::Digits => "digits",
    };
    format!(
        "{} would be right: {} good minted codes of {length} {symbols}.",
        one_guess_in(book.odds_of_a_guess()),
        grouped(book.good_codes()),
    )
}

/// May apply `change` several times; if it fails, the book stays.
pub(super) async fn change<T>(
    books: &CodeBooks,
    scope: &Scope,
    change: impl Fn(&mut CodeBook) -> Result<T>,
) -> Result<T> {
    let change = &change;
    until_saved(|| async move {
        let mut stored = books.get(scope).await?.ok_or_else(|| no_book(scope))?;
        let changed = change(&mut stored.book)?;
        Ok(books.save(scope, &stored).await.map(|()| changed))
    })
    .await
}

pub(crate) async fn until_saved<T, F: Future<Output = Result<Result<T, SaveError>>>>(
    save: impl Fn() -> F,
) -> Result<T> {
    let mut tries = 1;
    loop {
        match save().await? {
            Ok(saved) => return Ok(saved),
            Err(SaveError::Changed) if tries < MAX_ATTEMPTS => backoff(tries).await,
            Err(SaveError::Changed) => bail!(
                "code_book_busy",
                "others keep minting or importing codes; run this again in a moment"
            ),
            Err(SaveError::Store(error)) => return Err(error.into()),
        }
        tries += 1;
    }
}

fn no_book(scope: &Scope) -> Failure {
    failure!(
        "campaign_unknown",
        "`{}` has no code book; run `ops campaign apply` with its file first",
        scope.campaign
    )
}

/// `None` takes the next free `batch-N`.
pub(super) fn add_batch(
    book: &mut CodeBook,
    name: Option<&str>,
    origin: Origin,
    prize: Option<&str>,
    status: BatchStatus,
) -> Result<Batch> {
    if book.batches.len() >= MAX_BATCHES {
        bail!(
            "too_many_batches",
            "this campaign has {MAX_BATCHES} batches already; mint or import more codes at a time"
        );
    }
    let name = match name {
        Some(name) if book.batch(name).is_some() => {
            bail!(
                "batch_exists",
                "there is a batch `{name}` already; choose another name, or leave --batch out to be given one"
            );
        }
        Some(name) => batch_name(name)?,
        None => free_name(book),
    };
    let batch = Batch {
        name,
        origin,
        prize: prize.map(prize_words).transpose()?,
        status,
    };
    book.batches.push(batch.clone());
    Ok(batch)
}

fn free_name(book: &CodeBook) -> String {
    let names = (book.batches.len() + 1..).map(|number| format!("batch-{number}"));
    let mut free = names.filter(|name| book.batch(name).is_none());
    free.next().unwrap_or_default()
}

fn batch_name(name: &str) -> Result<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if NAME_CHARS.contains(&name.len()) && name.chars().all(allowed) {
        Ok(name.to_owned())
    } else {
        bail!(
            "batch_name_invalid",
            "a batch's name is 1 to 64 letters, digits, dots, dashes and underscores; choose such a --batch"
        )
    }
}

fn prize_words(prize: &str) -> Result<String> {
    let message = "a prize is 1 to 120 characters on one line; shorten --prize";
    let prize = one_line(prize, 120).map(str::to_owned);
    prize.ok_or_else(|| Failure::new("prize_invalid", message))
}

pub(super) fn batch_mut<'a>(book: &'a mut CodeBook, name: &str) -> Result<&'a mut Batch> {
    book.batches
        .iter_mut()
        .find(|batch| batch.name == name)
        .ok_or_else(unknown_batch)
}

/// Entries made with its codes stay valid.
pub async fn void_batch(
    tables: &Tables,
    scope: &Scope,
    name: &str,
    now: Timestamp,
) -> Result<Batch> {
    tables
        .audit
        .append(Action::new("code.void").in_scope(scope).on(name), now)
        .await?;
    change(&tables.code_books, scope, |book| {
        let batch = batch_mut(book, name)?;
        batch.status = BatchStatus::Void;
        Ok(batch.clone())
    })
    .await
}

pub fn existing_batch<'a>(book: &'a CodeBook, name: &str) -> Result<&'a Batch> {
    book.batch(name).ok_or_else(unknown_batch)
}

fn unknown_batch() -> Failure {
    failure!(
        "batch_unknown",
        "there is no batch of this name; `ops code batches` shows those there are"
    )
}
