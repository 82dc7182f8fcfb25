//! Openings: whose entries a row of a draw stands for. They are secret, and a person's can be erased; the row stays.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufWriter, Lines, Write};

use chrono::DateTime;
use common::config::Env;
use common::domain::draw::{Draw, DrawName};
use common::domain::ids::Reference;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use draw::Opening;
use tempfile::NamedTempFile;

use super::files::{DrawFiles, Upload, temporary};
use crate::failure::Failure;
use crate::people::Held;
use crate::tables::Tables;

/// Tries to rewrite openings while others do too.
const MAX_TRIES: u32 = 10;

/// The draws that a submission of this time can be in: it is accepted after it is made.
pub(crate) async fn draws_since(
    tables: &Tables,
    scope: &Scope,
    made_at: Timestamp,
) -> Result<Vec<Draw>, Failure> {
    let mut draws = tables.draws.list(scope).await?;
    draws.retain(|draw| {
        super::header(draw).map_or(true, |header| header.period.to > DateTime::from(made_at).fixed_offset())
    });
    Ok(draws)
}

/// The openings of these rows. Those of erased people are missing.
pub(crate) fn of_rows(file: impl BufRead, rows: &HashSet<u64>) -> Result<HashMap<u64, Opening>, Failure> {
    let openings = Openings { lines: file.lines() };
    openings.filter(|read| read.as_ref().map_or(true, |(row, _)| rows.contains(row))).collect()
}

/// The row with a reference, and its opening.
pub(crate) fn of_reference(
    file: impl BufRead,
    reference: &Reference,
) -> Result<Option<(u64, Opening)>, Failure> {
    let wanted = reference.to_string();
    let mut openings = Openings { lines: file.lines() };
    let has_it = |opening: &Opening| opening.references().contains(&wanted);
    openings.find(|read| read.as_ref().map_or(true, |(_, opening)| has_it(opening))).transpose()
}

/// Erases a person from the draws of a scope: openings, and phone and region of contacts. Rows stay, and every proof holds.
pub(crate) async fn erase_person(tables: &Tables, env: &Env, held: &Held) -> Result<(), Failure> {
    let made_at = held.submissions.iter().map(|(submission, _)| submission.created_at).min();
    let Some(made_at) = made_at else { return Ok(()) };
    for contact in &held.contacts {
        if !tables.draws.change_contact(&held.scope, contact, &contact.erased()).await? {
            return Err(busy(&contact.draw));
        }
    }
    let references =
        held.submissions.iter().map(|(submission, _)| submission.reference.to_string()).collect();
    for draw in draws_since(tables, &held.scope, made_at).await? {
        erase(tables, env, &held.scope, &draw, &references).await?;
    }
    Ok(())
}

/// Erases the openings with any of these references from a draw.
async fn erase(
    tables: &Tables,
    env: &Env,
    scope: &Scope,
    draw: &Draw,
    references: &HashSet<String>,
) -> Result<(), Failure> {
    let files = DrawFiles::new(tables, env, scope, &draw.name, &draw.commitment)?;
    for _ in 0..MAX_TRIES {
        let (openings, etag) = files.read_openings().await?;
        let Some(kept) = without(openings, references).map_err(|error| temporary(&error))? else {
            return Ok(());
        };
        if files.replace_openings(kept.path(), &etag).await? == Upload::Done {
            return Ok(());
        }
    }
    Err(busy(&draw.name))
}

fn busy(draw: &DrawName) -> Failure {
    Failure::new("draw_busy", format!("somebody else is changing the draw {draw}; run this again"))
}

/// The lines without those of these references; `None` if all stay.
fn without(file: impl BufRead, references: &HashSet<String>) -> io::Result<Option<NamedTempFile>> {
    let mut kept = BufWriter::new(NamedTempFile::new()?);
    let mut erased = false;
    for line in file.lines() {
        let line = line?;
        let is_theirs = Opening::from_csv_line(&line)
            .is_some_and(|(_, opening)| opening.references().iter().any(|one| references.contains(one)));
        if is_theirs {
            erased = true;
        } else {
            writeln!(kept, "{line}")?;
        }
    }
    let kept = kept.into_inner()?;
    Ok(erased.then_some(kept))
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
                    // The header line is none.
                    if let Some(read) = Opening::from_csv_line(&line) {
                        return Some(Ok(read));
                    }
                }
                Err(error) => return Some(Err(temporary(&error))),
            }
        }
    }
}
