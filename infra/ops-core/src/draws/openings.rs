//! Openings tell whose entries a row has. They are secret, and a person's can be erased; the row
//! stays. Each erasure first leaves a file in the locked evidence, which explains the missing line.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead, BufWriter, Write};
use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use chrono_tz::Tz;
use common::domain::audit::{AuditRow, StoredAuditRow};
use common::domain::draw::contact::Contact;
use common::domain::draw::{Draw, DrawName};
use common::domain::ids::SubmissionId;
use common::domain::scope::Scope;
use common::domain::submission::Submission;
use common::domain::timestamp::Timestamp;
use draw::{Committed, Opening};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::NamedTempFile;

use super::files::{DrawFiles, OPENINGS, RESULT, Version, temporary};
use super::freeze_lock;
use crate::audit::{self, RowFilter};
use crate::failure::Failure;
use crate::people::{ERASE, PersonRecords};
use crate::tables::Tables;

/// The lifecycle of their bucket deletes them later.
const OPENINGS_KEPT: Duration = Duration::from_hours(1827 * 24);
const MAX_TRIES: u32 = 10;

/// An erasure of a row's opening, by the name of its file in the evidence.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Erasure {
    pub(crate) row: u64,
    /// The number of its row `person.erase` in the audit log.
    pub(crate) audit_row: u64,
}

impl Erasure {
    fn file_name(self) -> String {
        format!("erased/{}-{}.json", self.row, self.audit_row)
    }

    fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix("erased/")?.strip_suffix(".json")?;
        let (row, audit_row) = name.split_once('-')?;
        Some(Self {
            row: row.parse().ok()?,
            audit_row: audit_row.parse().ok()?,
        })
    }
}

/// Openings of rows, and the erasures of others.
pub(super) struct Rows {
    pub(super) openings: HashMap<u64, Opening>,
    /// By row.
    erasures: BTreeMap<u64, Erasure>,
}

impl Rows {
    /// Reads and verifies the openings of these rows. A missing one needs its erasure.
    ///
    /// Timelines of an operator who wants the next in the order:
    /// - sees the round, and removes a winner's opening: no erasure explains that;
    /// - writes the file of an erasure, too: it is younger than the round, by the storage's clock;
    /// - writes such files before the round, for all who could win: each row of the audit log
    ///   explains one person, and who has a file from before the round is erased either way.
    pub(super) async fn read(
        tables: &Tables,
        scope: &Scope,
        draw: &Draw,
        committed: &Committed,
        rows: &HashSet<u64>,
    ) -> Result<Self, Failure> {
        let files = DrawFiles::new(tables, scope, &draw.name, &draw.commitment)?;
        let mut openings = files
            .openings(draw, committed, |row, _| rows.contains(&row))
            .await?;
        // After the openings, since an erasure writes its file before it removes one.
        let published = files.published().await?;
        let mut erasures = BTreeMap::new();
        for (at, erasure) in erasures_in_time(draw, &published) {
            let is_asked = rows.contains(&erasure.row);
            if is_asked && is_audited(tables, scope, draw, erasure, at).await? {
                erasures.entry(erasure.row).or_insert(erasure);
                // One after the run may be interrupted, and is refused while a prize is open.
                if at < draw.round_at {
                    openings.remove(&erasure.row);
                }
            }
        }
        let mut missing = rows.iter().filter(|row| !openings.contains_key(row));
        // Clearing test data erases all openings at once.
        match missing.find(|row| scope.environment.is_live() && !erasures.contains_key(row)) {
            Some(row) => Err(openings_changed(
                draw,
                *row,
                "no opening, and no erasure from before the round, or from after the run, explains that: put the file back as \
                 it was at the freeze",
            )),
            None => Ok(Self { openings, erasures }),
        }
    }

    pub(super) fn erasure(&self, row: u64) -> Option<Erasure> {
        self.erasures.get(&row).copied()
    }
}

/// The erasures from before the round or after the run, oldest first, with the times of their files.
///
/// One row of the audit log is about one person: two files that name it explain nothing, unless the
/// second is from after the round, and could only stop the draw.
fn erasures_in_time(
    draw: &Draw,
    published: &BTreeMap<String, Timestamp>,
) -> Vec<(Timestamp, Erasure)> {
    let drawn_at = published.get(RESULT).filter(|_| draw.outcome.is_some());
    let is_early = |at: Timestamp| at < draw.round_at;
    let parsed = published
        .iter()
        .filter_map(|(name, at)| Some((*at, Erasure::parse(name)?)));
    let mut all: Vec<_> = parsed
        .filter(|(at, _)| is_early(*at) || drawn_at.is_some_and(|drawn_at| drawn_at <= at))
        .collect();
    all.sort_by_key(|(at, _)| *at);
    let is_shared = |(at, one): &(Timestamp, Erasure)| {
        all.iter().any(|(other_at, other)| {
            (other.audit_row == one.audit_row && other.row != one.row)
                && (is_early(*other_at) || other_at <= at)
        })
    };
    all.iter().filter(|one| !is_shared(one)).copied().collect()
}

/// True if the audit log says that `ops` erased somebody of the draw. A second try can name no
/// submission, where the first had changed them all.
async fn is_audited(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    erasure: Erasure,
    at: Timestamp,
) -> Result<bool, Failure> {
    #[derive(Deserialize)]
    struct Details {
        submissions: Vec<SubmissionId>,
    }
    let filter = RowFilter {
        campaign: Some(scope.campaign.clone()),
        action: Some(ERASE.to_owned()),
        ..RowFilter::default()
    };
    let day = DateTime::from(at).date_naive();
    // By the operator's clock, and not the storage's.
    let [from, to] = [-1, 1].map(|days| day + TimeDelta::days(days));
    let rows = audit::rows(tables, from, to, Tz::UTC, &filter).await?;
    let is_named = |row: &StoredAuditRow| row.sequence == erasure.audit_row;
    let row = rows
        .into_iter()
        .find(is_named)
        .and_then(|stored| stored.row);
    let of_scope = |row: &AuditRow| row.entry.environment == Some(scope.environment.to_string());
    let details = row.filter(of_scope).map(|row| row.entry.details);
    let details = details.and_then(|json| serde_json::from_str::<Details>(&json).ok());
    let Some(Details { submissions }) = details else {
        return Ok(false);
    };
    for id in &submissions {
        let found = tables.store.submissions().get(scope, *id).await?;
        let mut accepted = found.iter().flat_map(Submission::times_accepted);
        if accepted.any(|at| super::is_in_period(draw, at)) {
            return Ok(true);
        }
    }
    Ok(submissions.is_empty())
}

pub(super) fn openings_changed(draw: &Draw, row: u64, what: &str) -> Failure {
    let message = format!(
        "row {row} of the draw {} has {what}. No winner was drawn; ask the administrator of the stack who changed it{}",
        draw.name,
        if draw.outcome.is_none() {
            ", or give the draw up with `ops draw abandon`"
        } else {
            ""
        }
    );
    Failure::new("openings_changed", message)
}

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

/// Erases a person's openings, and phone and region of their contacts. Every proof holds.
pub(crate) async fn erase_person(
    tables: &Tables,
    held: &PersonRecords,
    audit_row: u64,
    now: Timestamp,
) -> Result<(), Failure> {
    let submissions = || held.submissions.iter().map(|(submission, _)| submission);
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
        erase(tables, &held.scope, &draw, Some(audit_row), is_theirs).await?;
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

async fn erase_contact(tables: &Tables, scope: &Scope, contact: &Contact) -> Result<(), Failure> {
    let erased = contact.erased();
    match tables.draws.change_contact(scope, contact, &erased).await? {
        true => Ok(()),
        false => Err(busy(&contact.draw)),
    }
}

/// Returns the number of erased openings. Without a row of the audit log, none is explained.
async fn erase(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    audit_row: Option<u64>,
    is_erased: impl Fn(&Opening) -> bool,
) -> Result<u64, Failure> {
    let files = DrawFiles::new(tables, scope, &draw.name, &draw.commitment)?;
    for _ in 0..MAX_TRIES {
        let Version { file, etag, .. } = files.read_version(OPENINGS).await?;
        let (kept, rows) = without(file, &is_erased).map_err(|error| temporary(&error))?;
        if let Some(audit_row) = audit_row {
            for row in rows.iter().copied() {
                let erasure = Erasure { row, audit_row };
                let text = json!(erasure).to_string();
                files.publish_text(&erasure.file_name(), &text).await?;
            }
        }
        if rows.is_empty() || files.upload(OPENINGS, kept.path(), Some(&etag)).await? {
            return Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX));
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
