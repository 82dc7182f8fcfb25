//! Openings tell whose entries a row has. They are secret, and a person's can be erased; the row
//! stays. Each erasure first leaves a file in the locked evidence, which explains the missing line.

use std::io::{BufRead, BufWriter};

use tempfile::NamedTempFile;

use super::files::{Version, temporary};
use super::prelude::*;
use super::{logged, run_first};

/// The lifecycle of their bucket deletes them later.
const OPENINGS_KEPT: Duration = Duration::from_hours(1827 * 24);
const MAX_TRIES: u32 = 10;

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Erasure {
    pub(crate) row: u64,
    /// The number of its row [`ERASE`] in the audit log; `None` if the log has none, so that the
    /// file was written without `ops`.
    pub(crate) audit_row: Option<u64>,
}

const ERASE: &str = "draw.erase";
const ERASED: &str = "erased/";

fn erased_file(row: u64) -> String {
    format!("{ERASED}{row}.json")
}

fn erased_row(name: &str) -> Option<u64> {
    let row = name.strip_prefix(ERASED)?.strip_suffix(".json")?;
    // One name for a row: `+5` and `05` are none.
    row.parse().ok().filter(|row| name == erased_file(*row))
}

/// Openings of rows, and the erasures of others.
pub(super) struct Rows {
    pub(super) openings: HashMap<u64, Opening>,
    erasures: BTreeMap<u64, Erasure>,
    /// Rows that were erased before the round.
    early: HashSet<u64>,
    /// By the storage's clock.
    pub(super) published_at: Timestamp,
}

impl Rows {
    /// Reads and verifies the openings of these rows. A missing one needs its erasure.
    ///
    /// Timelines of an operator who wants the next in the order:
    /// - sees the round, and removes a winner's opening: no erasure explains that;
    /// - writes the file of an erasure, too: it is younger than the round, by the storage's clock;
    /// - writes such files before the round, for all who could win: they count, even if the
    ///   audit log and the openings say otherwise later, so there is no choice left;
    /// - writes one for an alternate after the run: it counts only with a row of the audit log.
    pub(super) async fn read(
        tables: &Tables,
        scope: &Scope,
        draw: &Draw,
        committed: &Committed,
        rows: &HashSet<u64>,
    ) -> Result<Self> {
        let files = DrawFiles::new(tables, scope, draw)?;
        let mut openings = files
            .openings(draw, committed, |row, _| rows.contains(&row))
            .await?;
        // After the openings, since an erasure writes its file before it removes one.
        let published = files.published().await?;
        let erased: BTreeMap<_, _> = published
            .iter()
            .filter_map(|(name, at)| Some((erased_row(name)?, *at)))
            .filter(|(row, _)| rows.contains(row))
            .collect();
        let early = |(row, at): (&u64, &Timestamp)| (*at < draw.round_at).then_some(*row);
        let early: HashSet<_> = erased.iter().filter_map(early).collect();
        openings.retain(|row, _| !early.contains(row));
        let logged = match erased.is_empty() {
            true => Vec::new(),
            false => logged(tables, scope, draw.frozen_at, &draw.commitment, ERASE).await?,
        };
        let audit_row = |row, is_late: bool| {
            let mut of_row = logged.iter().filter(|(_, details)| {
                let is_true = |name, value: Value| details.get(name) == Some(&value);
                is_true("row", json!(row)) && (!is_late || is_true("drawn", json!(true)))
            });
            of_row.next().map(|(logged, _)| logged.sequence)
        };
        let erasures = erased.into_keys().filter_map(|row| {
            let is_late = !early.contains(&row);
            let audit_row = audit_row(row, is_late);
            let counts = !is_late || (draw.outcome.is_some() && audit_row.is_some());
            counts.then_some((row, Erasure { row, audit_row }))
        });
        let read = Self {
            openings,
            erasures: erasures.collect(),
            early: early.clone(),
            published_at: *published.get(COMMITMENT).unwrap_or(&draw.frozen_at),
        };
        let is_missing =
            |row: &&u64| !read.openings.contains_key(row) && !read.erasures.contains_key(row);
        // Clearing test data erases all openings at once.
        match rows.iter().find(is_missing) {
            Some(row) if scope.environment.is_live() => Err(openings_changed(
                draw,
                *row,
                "no opening, and no erasure from before the round, or from after the run, explains that: put the file back as \
                 it was at the freeze",
            )),
            Some(_) | None => Ok(read),
        }
    }

    pub(super) fn erasure(&self, row: u64) -> Option<Erasure> {
        self.erasures.get(&row).copied()
    }

    pub(super) fn is_early(&self, row: u64) -> bool {
        self.early.contains(&row)
    }
}

pub(super) fn openings_changed(draw: &Draw, row: u64, what: &str) -> Failure {
    failure!(
        "openings_changed",
        "row {row} of the draw {} has {what}. No winner was drawn; ask the administrator of the stack who changed it{}",
        draw.name,
        if draw.outcome.is_none() {
            ", or give the draw up with `ops draw abandon`"
        } else {
            ""
        }
    )
}

/// The draws whose openings may name a submission that was created then.
pub(crate) async fn draws_since(
    tables: &Tables,
    scope: &Scope,
    made_at: Timestamp,
    now: Timestamp,
) -> Result<Vec<Draw>> {
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
) -> Result<Vec<Draw>> {
    let mut draws = tables.draws.list(scope).await?;
    draws.retain(|draw| now < draw.frozen_at.after(OPENINGS_KEPT));
    Ok(draws)
}

/// Erases a person's openings, and phone and region of their contacts. Every proof holds.
pub(crate) async fn erase_person(
    tables: &Tables,
    held: &PersonRecords,
    now: Timestamp,
) -> Result<()> {
    let submissions = || held.submissions_alone();
    let Some(made_at) = submissions().map(|one| one.created_at).min() else {
        return Ok(());
    };
    freeze_lock::give_up_all(tables, &held.scope).await?;
    for contact in &held.contacts {
        erase_contact(tables, &held.scope, contact).await?;
    }
    let references: HashSet<_> = submissions()
        .map(|submission| submission.reference().to_string())
        .collect();
    let is_theirs = |opening: &Opening| {
        let mut own = opening.references().iter();
        own.any(|one| references.contains(one))
    };
    for draw in draws_since(tables, &held.scope, made_at, now).await? {
        erase(tables, &held.scope, &draw, Some(now), is_theirs).await?;
    }
    Ok(())
}

/// Erases every entrant, also those who have not collected their prize. Returns the number of
/// openings.
pub(crate) async fn erase_everyone(tables: &Tables, scope: &Scope, now: Timestamp) -> Result<u64> {
    freeze_lock::check_released(tables, scope, now).await?;
    freeze_lock::give_up_all(tables, scope).await?;
    for contact in tables.draws.all_contacts(scope).await? {
        if contact.names_person() {
            erase_contact(tables, scope, &contact).await?;
        }
    }
    let mut gone = 0;
    for draw in with_openings(tables, scope, now).await? {
        gone += erase(tables, scope, &draw, None, |_| true).await?;
    }
    Ok(gone)
}

async fn erase_contact(tables: &Tables, scope: &Scope, contact: &Contact) -> Result<()> {
    let erased = contact.erased();
    match tables.draws.change_contact(scope, contact, &erased).await? {
        true => Ok(()),
        false => Err(busy(&contact.draw)),
    }
}

/// Returns the number of erased openings. Without a time for rows of the audit log, none is explained.
async fn erase(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    now: Option<Timestamp>,
    is_erased: impl Fn(&Opening) -> bool,
) -> Result<u64> {
    let files = DrawFiles::new(tables, scope, draw)?;
    for _ in 0..MAX_TRIES {
        let Version { file, etag, .. } = files.read_version(OPENINGS).await?;
        let (kept, rows) = without(file, &is_erased).map_err(temporary)?;
        if let Some(now) = now {
            explain(tables, scope, draw, &files, &rows, now).await?;
        }
        if rows.is_empty() || files.upload(OPENINGS, kept.path(), Some(&etag)).await? {
            return Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        }
    }
    Err(busy(&draw.name))
}

/// Leaves what explains the missing openings of these rows.
///
/// # Errors
/// When the round passed meanwhile, by the storage's clock: the openings are still there.
async fn explain(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    files: &DrawFiles,
    rows: &[u64],
    now: Timestamp,
) -> Result<()> {
    for row in rows {
        let is_drawn = draw.outcome.is_some();
        let details = json!({ "commitment": draw.commitment, "row": row, "drawn": is_drawn });
        let action = Action::new(ERASE).in_scope(scope).on(&draw.name);
        let logged = tables.audit.append(action.with(details), now).await?;
        let text = json!({ "row": row, "audit_row": logged.number() });
        files
            .offer_text(&erased_file(*row), &text.to_string())
            .await?;
    }
    if rows.is_empty() || draw.outcome.is_some() || draw.is_abandoned() {
        return Ok(());
    }
    let published = files.published().await?;
    let is_late = |(name, at): (&String, &Timestamp)| {
        let is_theirs = erased_row(name).is_some_and(|row| rows.contains(&row));
        is_theirs && draw.round_at <= *at
    };
    // A draw that was published late has no run to wait for.
    let is_in_time = published
        .get(COMMITMENT)
        .is_some_and(|at| *at < draw.round_at);
    match is_in_time && published.iter().any(is_late) {
        true => Err(run_first(draw, scope)),
        false => Ok(()),
    }
}

pub(super) fn busy(draw: &DrawName) -> Failure {
    failure!(
        "draw_busy",
        "another operator is changing the draw {draw}; run this again"
    )
}

/// The other lines, and the rows of erased ones.
fn without(
    file: impl BufRead,
    is_erased: impl Fn(&Opening) -> bool,
) -> io::Result<(NamedTempFile, Vec<u64>)> {
    let mut kept = BufWriter::new(NamedTempFile::new()?);
    let mut erased = Vec::new();
    for line in file.lines() {
        let line = line?;
        match Opening::from_csv_line(&line) {
            Some((row, opening)) if is_erased(&opening) => erased.push(row),
            Some(_) | None => writeln!(kept, "{line}")?,
        }
    }
    Ok((kept.into_inner()?, erased))
}
