//! Openings: whose entries a row of a draw stands for. They are secret, and a person's can be erased; the row stays.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufWriter, Lines, Write};
use std::time::Duration;

use chrono::DateTime;
use common::config::Env;
use common::domain::draw::contact::Contact;
use common::domain::draw::{Draw, DrawName, FreezeAttempt};
use common::domain::ids::Reference;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use draw::Opening;
use tempfile::NamedTempFile;

use super::files::{DrawFiles, Upload, temporary};
use crate::failure::Failure;
use crate::format::scope_in_words;
use crate::people::PersonRecords;
use crate::tables::Tables;

/// As in the lifecycle of their bucket, which deletes them later.
const OPENINGS_KEPT: Duration = Duration::from_hours(1827 * 24);
/// Tries to rewrite openings while other operators do too.
const MAX_TRIES: u32 = 10;
/// Time from the start of a freeze, or of its upload, until it counts as interrupted: longer than two uploads can take. A freeze
/// that takes longer is refused at its end.
pub(super) const FREEZE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The draws whose openings may name a submission created at this time. It can only have been accepted later.
pub(crate) async fn draws_since(
    tables: &Tables,
    scope: &Scope,
    made_at: Timestamp,
    now: Timestamp,
) -> Result<Vec<Draw>, Failure> {
    let mut draws = with_openings(tables, scope, now).await?;
    draws.retain(|draw| {
        super::header(draw).map_or(true, |header| {
            header.period.to > DateTime::from(made_at).fixed_offset()
        })
    });
    Ok(draws)
}

/// The draws whose openings are not past their retention.
pub(crate) async fn with_openings(
    tables: &Tables,
    scope: &Scope,
    now: Timestamp,
) -> Result<Vec<Draw>, Failure> {
    let mut draws = tables.draws.list(scope).await?;
    draws.retain(|draw| now < draw.frozen_at.after(OPENINGS_KEPT));
    Ok(draws)
}

/// The openings of these rows. Those of erased people are missing.
pub(crate) fn of_rows(
    file: impl BufRead,
    rows: &HashSet<u64>,
) -> Result<HashMap<u64, Opening>, Failure> {
    let openings = Openings {
        lines: file.lines(),
    };
    openings
        .filter(|read| read.as_ref().map_or(true, |(row, _)| rows.contains(row)))
        .collect()
}

/// The row with a reference, and its opening.
pub(crate) fn of_reference(
    file: impl BufRead,
    reference: &Reference,
) -> Result<Option<(u64, Opening)>, Failure> {
    let wanted = reference.to_string();
    let mut openings = Openings {
        lines: file.lines(),
    };
    let has_it = |opening: &Opening| opening.references().contains(&wanted);
    openings
        .find(|read| read.as_ref().map_or(true, |(_, opening)| has_it(opening)))
        .transpose()
}

/// A freeze that may be running.
pub(crate) async fn freezing(
    tables: &Tables,
    scope: &Scope,
    now: Timestamp,
) -> Result<Option<FreezeAttempt>, Failure> {
    let attempts = tables.draws.attempts(scope).await?;
    Ok(attempts
        .into_iter()
        .find(|attempt| now < attempt.at.after(FREEZE_TIMEOUT)))
}

/// # Errors
/// When a freeze may be running.
pub(crate) async fn check_not_freezing(
    tables: &Tables,
    scope: &Scope,
    now: Timestamp,
) -> Result<(), Failure> {
    if let Some(FreezeAttempt { draw, at, .. }) = freezing(tables, scope, now).await? {
        let message = format!(
            "a freeze of the draw {draw} of {} began at {at} and can be running; run this again once it has ended, or, if it was interrupted, at {} or later",
            scope_in_words(scope),
            at.after(FREEZE_TIMEOUT)
        );
        return Err(Failure::new("draw_busy", message));
    }
    Ok(())
}

/// Abandons all freezes that are not recorded. Those that are running are refused at their end.
async fn end_freezes(tables: &Tables, env: &Env, scope: &Scope) -> Result<(), Failure> {
    for attempt in tables.draws.attempts(scope).await? {
        tables.draws.abandon_attempt(scope, &attempt).await?;
    }
    // Read again, because one may have begun to upload before it was abandoned.
    for attempt in tables
        .draws
        .attempts(scope)
        .await?
        .iter()
        .filter(|attempt| attempt.is_abandoned)
    {
        end_freeze(tables, env, scope, attempt).await?;
    }
    Ok(())
}

/// Abandons a freeze and deletes its openings, unless it is recorded.
pub(crate) async fn end_freeze(
    tables: &Tables,
    env: &Env,
    scope: &Scope,
    attempt: &FreezeAttempt,
) -> Result<(), Failure> {
    let attempts = tables.freeze_attempts(env)?;
    attempts.abandon_attempt(scope, attempt).await?;
    if let Some(commitment) = &attempt.commitment {
        // It was recorded if the answer to that was lost.
        let recorded = tables.draws.get(scope, &attempt.draw).await?;
        if recorded.is_none_or(|draw| draw.commitment != *commitment) {
            DrawFiles::new(tables, env, scope, &attempt.draw, commitment)?
                .delete_openings()
                .await?;
        }
    }
    Ok(attempts.forget_attempt(scope, attempt).await?)
}

/// Erases a person from the draws of a scope: openings, and phone and region of contacts. Rows stay, and every proof holds.
pub(crate) async fn erase_person(
    tables: &Tables,
    env: &Env,
    held: &PersonRecords,
    now: Timestamp,
) -> Result<(), Failure> {
    let made_at = held
        .submissions
        .iter()
        .map(|(submission, _)| submission.created_at)
        .min();
    let Some(made_at) = made_at else {
        return Ok(());
    };
    end_freezes(tables, env, &held.scope).await?;
    for contact in &held.contacts {
        if !tables
            .draws
            .change_contact(&held.scope, contact, &contact.erased())
            .await?
        {
            return Err(busy(&contact.draw));
        }
    }
    let references: HashSet<_> = held
        .submissions
        .iter()
        .map(|(submission, _)| submission.reference().to_string())
        .collect();
    let is_theirs = |opening: &Opening| {
        opening
            .references()
            .iter()
            .any(|one| references.contains(one))
    };
    for draw in draws_since(tables, &held.scope, made_at, now).await? {
        erase(tables, env, &held.scope, &draw, is_theirs).await?;
    }
    Ok(())
}

/// Erases every entrant from the draws of a scope, also those whose prize is being claimed. Returns how many openings are
/// gone.
pub(crate) async fn erase_everyone(
    tables: &Tables,
    env: &Env,
    scope: &Scope,
    now: Timestamp,
) -> Result<u64, Failure> {
    check_not_freezing(tables, scope, now).await?;
    end_freezes(tables, env, scope).await?;
    for contact in tables.draws.all_contacts(scope).await? {
        let erased = contact.erased();
        let is_done = Contact {
            revision: erased.revision,
            ..contact.clone()
        } == erased;
        if !is_done
            && !tables
                .draws
                .change_contact(scope, &contact, &erased)
                .await?
        {
            return Err(busy(&contact.draw));
        }
    }
    let mut gone = 0;
    for draw in with_openings(tables, scope, now).await? {
        gone += erase(tables, env, scope, &draw, |_| true).await?;
    }
    Ok(gone)
}

/// Erases openings from a draw. Returns how many.
async fn erase(
    tables: &Tables,
    env: &Env,
    scope: &Scope,
    draw: &Draw,
    is_erased: impl Fn(&Opening) -> bool,
) -> Result<u64, Failure> {
    let files = DrawFiles::new(tables, env, scope, &draw.name, &draw.commitment)?;
    for _ in 0..MAX_TRIES {
        let (openings, etag) = files.read_openings().await?;
        let (kept, erased) = without(openings, &is_erased).map_err(|error| temporary(&error))?;
        if erased == 0 || files.replace_openings(kept.path(), &etag).await? == Upload::Done {
            return Ok(erased);
        }
    }
    Err(busy(&draw.name))
}

fn busy(draw: &DrawName) -> Failure {
    Failure::new(
        "draw_busy",
        format!("another operator is changing the draw {draw}; run this again"),
    )
}

/// The lines without these openings, and how many those are.
fn without(
    file: impl BufRead,
    is_erased: impl Fn(&Opening) -> bool,
) -> io::Result<(NamedTempFile, u64)> {
    let mut kept = BufWriter::new(NamedTempFile::new()?);
    let mut erased = 0;
    for line in file.lines() {
        let line = line?;
        if Opening::from_csv_line(&line).is_some_and(|(_, opening)| is_erased(&opening)) {
            erased += 1;
        } else {
            writeln!(kept, "{line}")?;
        }
    }
    Ok((kept.into_inner()?, erased))
}

/// The openings of a file, with their rows.
struct Openings<R> {
    lines: Lines<R>,
}

impl<R: BufRead> Iterator for Openings<R> {
    type Item = Result<(u64, Opening), Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.lines.next()? {
                Ok(line) => {
                    // The header line has no opening.
                    if let Some(read) = Opening::from_csv_line(&line) {
                        return Some(Ok(read));
                    }
                }
                Err(error) => return Some(Err(temporary(&error))),
            }
        }
    }
}
