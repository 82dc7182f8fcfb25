//! Changes a scope's code book: read, change, write back if unchanged since.

use common::domain::codebook::{Batch, BatchStatus, CodeBook, Origin};
use common::domain::scope::Scope;
use common::store::code_books::{CodeBooks, SaveError};
use common::store::transaction::backoff;

use crate::failure::Failure;
use crate::format::{grouped, one_guess_in, one_line};

/// Attempts, since others may keep changing the book.
const MAX_ATTEMPTS: u32 = 10;

/// Verifying a code may check every batch, and one record holds all.
const MAX_BATCHES: usize = 500;

const NAME_CHARS: std::ops::RangeInclusive<usize> = 1..=64;

pub async fn read(books: &CodeBooks, scope: &Scope) -> Result<CodeBook, Failure> {
    Ok(books.get(scope).await?.ok_or_else(|| no_book(scope))?.book)
}

pub fn odds_line(book: &CodeBook) -> String {
    let Some(length) = book.minted_length else {
        return "No codes are minted.".to_owned();
    };
    format!(
        "{} would be right: {} good minted codes of {length} characters.",
        one_guess_in(book.odds_of_a_guess()),
        grouped(book.good_codes()),
    )
}

/// May apply `change` several times; if it fails, the book stays unchanged.
pub(super) async fn change<T>(
    books: &CodeBooks,
    scope: &Scope,
    change: impl Fn(&mut CodeBook) -> Result<T, Failure>,
) -> Result<T, Failure> {
    for tries in 1..=MAX_ATTEMPTS {
        let mut stored = books.get(scope).await?.ok_or_else(|| no_book(scope))?;
        let changed = change(&mut stored.book)?;
        match books.save(scope, &stored).await {
            Ok(()) => return Ok(changed),
            Err(SaveError::Changed) => backoff(tries).await,
            Err(SaveError::Store(error)) => return Err(error.into()),
        }
    }
    let message =
        "others keep minting or importing codes of this campaign; run this again in a moment";
    Err(Failure::new("code_book_busy", message))
}

fn no_book(scope: &Scope) -> Failure {
    let message = format!(
        "`{}` has no code book; run `ops campaign apply` with its file first",
        scope.campaign
    );
    Failure::new("campaign_unknown", message)
}

/// `None` takes the next free `batch-N`.
pub(super) fn add_batch(
    book: &mut CodeBook,
    name: Option<&str>,
    origin: Origin,
    prize: Option<&str>,
    status: BatchStatus,
) -> Result<Batch, Failure> {
    if book.batches.len() >= MAX_BATCHES {
        let message = format!(
            "this campaign has {MAX_BATCHES} batches already; mint or import more codes at a time"
        );
        return Err(Failure::new("too_many_batches", message));
    }
    let name = match name {
        Some(name) if book.batch(name).is_some() => {
            let message = format!(
                "there is a batch `{name}` already; choose another name, or leave --batch out to be given one"
            );
            return Err(Failure::new("batch_exists", message));
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

fn batch_name(name: &str) -> Result<String, Failure> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if NAME_CHARS.contains(&name.len()) && name.chars().all(allowed) {
        Ok(name.to_owned())
    } else {
        let message = "a batch's name is 1 to 64 letters, digits, dots, dashes and underscores; choose such a --batch";
        Err(Failure::new("batch_name_invalid", message))
    }
}

fn prize_words(prize: &str) -> Result<String, Failure> {
    let message = "a prize is 1 to 120 characters on one line; shorten --prize";
    let prize = one_line(prize, 120).map(str::to_owned);
    prize.ok_or_else(|| Failure::new("prize_invalid", message))
}

pub(super) fn batch_mut<'a>(book: &'a mut CodeBook, name: &str) -> Result<&'a mut Batch, Failure> {
    book.batches
        .iter_mut()
        .find(|batch| batch.name == name)
        .ok_or_else(unknown_batch)
}

pub fn existing_batch<'a>(book: &'a CodeBook, name: &str) -> Result<&'a Batch, Failure> {
    book.batch(name).ok_or_else(unknown_batch)
}

fn unknown_batch() -> Failure {
    Failure::new(
        "batch_unknown",
        "there is no batch of this name; `ops code batches` shows those there are",
    )
}
