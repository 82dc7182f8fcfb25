//! Openings tell whose entries a row has. They are secret, and a person's can be erased; the row
//! stays.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufWriter, Write};
use std::time::Duration;

use chrono::DateTime;
use common::domain::draw::contact::Contact;
use common::domain::draw::{Draw, DrawName};
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use draw::{Difference, Opening};
use tempfile::NamedTempFile;

use super::files::{DrawFiles, OPENINGS, Version, temporary, unreadable};
use super::freeze_lock;
use crate::failure::Failure;
use crate::people::PersonRecords;
use crate::tables::Tables;

/// The lifecycle of their bucket deletes them later.
const OPENINGS_KEPT: Duration = Duration::from_hours(1827 * 24);
const MAX_TRIES: u32 = 10;

/// The draws whose openings may name a submission that was created then.
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

pub(crate) async fn with_openings(
    tables: &Tables,
    scope: &Scope,
    now: Timestamp,
) -> Result<Vec<Draw>, Failure> {
    let mut draws = tables.draws.list(scope).await?;
    draws.retain(|draw| now < draw.frozen_at.after(OPENINGS_KEPT));
    Ok(draws)
}

/// The chosen openings, by row.
pub(crate) fn read(
    draw: &Draw,
    file: impl BufRead,
    is_chosen: impl Fn(u64, &Opening) -> bool,
) -> Result<HashMap<u64, Opening>, Failure> {
    let read = || -> Result<_, Difference> {
        draw::openings(file)?
            .filter(|read| {
                read.as_ref()
                    .map_or(true, |(row, opening)| is_chosen(*row, opening))
            })
            .collect()
    };
    read().map_err(|difference| unreadable(draw, &difference))
}

/// Erases a person's openings, and phone and region of their contacts. Every proof holds.
pub(crate) async fn erase_person(
    tables: &Tables,
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
    freeze_lock::give_up_all(tables, &held.scope).await?;
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
        erase(tables, &held.scope, &draw, is_theirs).await?;
    }
    Ok(())
}

/// Erases every entrant, also those who have not collected their prize. Returns the number of
/// openings.
pub(crate) async fn erase_everyone(
    tables: &Tables,
    scope: &Scope,
    now: Timestamp,
) -> Result<u64, Failure> {
    freeze_lock::check_released(tables, scope, now).await?;
    freeze_lock::give_up_all(tables, scope).await?;
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
        gone += erase(tables, scope, &draw, |_| true).await?;
    }
    Ok(gone)
}

async fn erase(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    is_erased: impl Fn(&Opening) -> bool,
) -> Result<u64, Failure> {
    let files = DrawFiles::new(tables, scope, &draw.name, &draw.commitment)?;
    for _ in 0..MAX_TRIES {
        let Version { file, etag, .. } = files.read_version(OPENINGS).await?;
        let (kept, erased) = without(file, &is_erased).map_err(|error| temporary(&error))?;
        if erased == 0 || files.upload(OPENINGS, kept.path(), Some(&etag)).await? {
            return Ok(erased);
        }
    }
    Err(busy(&draw.name))
}

pub(super) fn busy(draw: &DrawName) -> Failure {
    Failure::new(
        "draw_busy",
        format!("another operator is changing the draw {draw}; run this again"),
    )
}

/// The other lines, and the number of erased ones.
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
