mod limits;

use std::io::Seek;

use common::domain::entrant::Entrant;
use common::store::entrants::{BlockChange, KnownEntrant};

pub use self::limits::MAX_SUBMISSIONS;
use crate::draws::{self, chain, freeze_lock, openings};
use crate::person_file::{self, photo_name};
use crate::prelude::*;

/// Tries to finish an erasure while the same phone keeps entering.
const MAX_TRIES: u32 = 10;
const LAST_DAY: Duration = Duration::from_hours(24);
/// The index by entrant is seldom further behind the table.
const INDEX_LAG: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct PersonRecords {
    pub scope: Scope,
    pub campaign: Campaign,
    /// With today's counts in the campaign's zone.
    pub entrant: Entrant,
    blocked: Option<BlockChange>,
    unblocked: Option<BlockChange>,
    /// Newest first, with their receipts.
    pub submissions: Vec<(Submission, Option<Receipt>)>,
    pub contacts: Vec<Contact>,
    /// Instant prizes, and the steps since.
    pub wins: Vec<Win>,
    id: EntrantId,
}

impl PersonRecords {
    pub fn submissions_alone(&self) -> impl Iterator<Item = &Submission> {
        self.submissions.iter().map(|(submission, _)| submission)
    }

    /// They need the phone, so they postpone an erasure.
    pub fn unsettled(&self) -> impl Iterator<Item = &Submission> {
        self.submissions_alone()
            .filter(|submission| !submission.status.is_terminal())
    }

    pub fn instant_prizes(&self) -> impl Iterator<Item = &str> {
        self.submissions_alone()
            .filter_map(|submission| submission.status.instant_win())
    }

    /// True if all that is held is what an erased person used of the limits.
    pub fn is_erased(&self) -> bool {
        self.entrant.erased_at.is_some() && self.submissions.is_empty()
    }

    pub fn photos(&self) -> impl Iterator<Item = &Receipt> {
        let receipts = self
            .submissions
            .iter()
            .filter_map(|(_, receipt)| receipt.as_ref());
        receipts.filter(|receipt| receipt.arrived.is_some())
    }
}

/// Finds what is held on a phone, in every campaign and both environments.
///
/// # Errors
/// Names all records that cannot be read.
pub async fn find(tables: &Tables, phone: &Phone, now: Timestamp) -> Result<Vec<PersonRecords>> {
    let (found, unreadable) = find_readable(tables, phone, now).await?;
    Failure::check_readable("nothing was done", &unreadable)?;
    Ok(found)
}

/// [`find`], with the records that cannot be read.
pub async fn find_readable(
    tables: &Tables,
    phone: &Phone,
    now: Timestamp,
) -> Result<(Vec<PersonRecords>, Vec<UnreadableRecord>)> {
    let campaigns = tables.campaigns.list().await?;
    let scopes = campaigns.iter().flat_map(|campaign| {
        let scopes = campaign.slug.scopes();
        scopes.map(|scope| in_scope(tables, phone, campaign, scope, now))
    });
    let found = concurrently(scopes).await?;
    let (found, unreadable): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    Ok((
        found.into_iter().flatten().collect(),
        unreadable.into_iter().flatten().collect(),
    ))
}

async fn in_scope(
    tables: &Tables,
    phone: &Phone,
    campaign: &Campaign,
    scope: Scope,
    now: Timestamp,
) -> Result<(Option<PersonRecords>, Vec<UnreadableRecord>)> {
    let mut unreadable = Vec::new();
    let id = tables.entrant_id(&scope, phone).await?;
    let today = now.day_in(campaign.timezone);
    let known = tables.entrants.find(&scope, &id, &today).await;
    let known = or_unreadable(known, &mut unreadable)?.flatten();
    let submissions = read_submissions(tables, &scope, &id, &mut unreadable).await?;
    // Submissions refused before being counted leave no record of the phone.
    if known.is_none() && submissions.is_empty() {
        return Ok((None, unreadable));
    }
    let KnownEntrant {
        entrant,
        blocked,
        unblocked,
    } = known.unwrap_or_default();
    let found = PersonRecords {
        contacts: contacts(tables, &scope, &submissions).await?,
        wins: wins(tables, &submissions).await?,
        campaign: campaign.clone(),
        scope,
        entrant,
        blocked,
        unblocked,
        submissions,
        id,
    };
    Ok((Some(found), unreadable))
}

fn or_unreadable<T>(
    read: Result<T, StoreError>,
    unreadable: &mut Vec<UnreadableRecord>,
) -> Result<Option<T>> {
    match read.map_err(StoreError::into_unreadable) {
        Ok(read) => Ok(Some(read)),
        Err(Ok(record)) => {
            unreadable.push(record);
            Ok(None)
        }
        Err(Err(error)) => Err(error.into()),
    }
}

async fn submissions(
    tables: &Tables,
    scope: &Scope,
    id: &EntrantId,
) -> Result<Vec<(Submission, Option<Receipt>)>> {
    let mut unreadable = Vec::new();
    let submissions = read_submissions(tables, scope, id, &mut unreadable).await?;
    Failure::check_readable("the erasure is not finished", &unreadable)?;
    Ok(submissions)
}

async fn read_submissions(
    tables: &Tables,
    scope: &Scope,
    id: &EntrantId,
    unreadable: &mut Vec<UnreadableRecord>,
) -> Result<Vec<(Submission, Option<Receipt>)>> {
    let mut submissions = Vec::new();
    let (found, not_read) = tables.submissions().of_entrant(scope, id).await?;
    unreadable.extend(not_read);
    for submission in found {
        let receipt = tables.receipt(&submission).await;
        let receipt = or_unreadable(receipt, unreadable)?.flatten();
        submissions.push((submission, receipt));
    }
    submissions.sort_by_key(|(submission, _)| std::cmp::Reverse(submission.created_at));
    Ok(submissions)
}

/// Contacts drawn by one of these submissions.
async fn contacts(
    tables: &Tables,
    scope: &Scope,
    submissions: &[(Submission, Option<Receipt>)],
) -> Result<Vec<Contact>> {
    let mut contacts = tables.draws.all_contacts(scope).await?;
    contacts.retain(|contact| {
        submissions
            .iter()
            .any(|(submission, _)| contact.submission_id == Some(submission.submission_id))
    });
    Ok(contacts)
}

async fn wins(tables: &Tables, submissions: &[(Submission, Option<Receipt>)]) -> Result<Vec<Win>> {
    let submissions = submissions.iter();
    let reads = submissions.map(|(submission, _)| tables.wins().of_submission(submission));
    Ok(concurrently(reads).await?.into_iter().flatten().collect())
}

/// Refuses while submissions or prizes need the phone.
///
/// # Errors
/// Names the first of them.
pub fn check_settled(held: &PersonRecords) -> Result<()> {
    if let Some(open) = held.contacts.iter().find(|contact| contact.is_open()) {
        bail!(
            "prize_claimed",
            "{} of the draw {} of {} is not collected yet, which needs the phone; run this again once it is handed over or the \
             winner is skipped",
            open.prize,
            open.draw,
            held.scope
        );
    }
    // Prizes of the test environment are none.
    let mut wins = held
        .wins
        .iter()
        .filter(|win| win.scope.environment.is_live());
    if let Some(open) = wins.find(|win| win.is_open()) {
        bail!(
            "prize_claimed",
            "{} of {}, won instantly in {}, is not collected yet, which needs the phone; run this again once it is handed over or \
             forfeited with `ops prize`",
            visible(&open.prize),
            open.reference,
            held.scope
        );
    }
    let Some(open) = held.unsettled().next() else {
        return Ok(());
    };
    bail!(
        "submission_unsettled",
        "{} of {} is not settled and needs the phone; run this again once it is",
        open.reference(),
        held.scope
    )
}

/// Refuses between the round of a draw and its run: the openings tell the winners.
async fn check_drawn(tables: &Tables, held: &PersonRecords, now: Timestamp) -> Result<()> {
    let mut draws = openings::with_openings(tables, &held.scope, now).await?;
    draws.retain(|draw| {
        let is_in = |at| draws::is_in_period(draw, at);
        let mut accepted = held
            .submissions_alone()
            .flat_map(Submission::times_accepted);
        draw.outcome.is_none() && accepted.any(is_in)
    });
    for draw in &draws {
        // The record's time of the round is the chain's.
        chain::of_draw(tables, draw)?;
        if draw.awaits_run(now) {
            return Err(draws::run_first(draw, &held.scope));
        }
    }
    Ok(())
}

pub fn erasure_in_words(held: &[PersonRecords]) -> String {
    format!(
        "Every submission gets a random id in place of the phone; photos, regions and claims are deleted. References, outcomes, \
         entries, days and prizes stay, and a blocked number stays blocked. {}",
        limits_in_words(held)
    )
}

pub fn limits_in_words<'a>(held: impl IntoIterator<Item = &'a PersonRecords>) -> String {
    let kept = "What was counted stays under the keyed digest of the phone until 30 days after the campaign's end, so that the limits \
                hold.";
    let campaigns = held.into_iter().map(|held| &held.campaign);
    let endless = campaigns.filter(|campaign| campaign.window.end.is_none());
    let mut endless: Vec<_> = endless.map(|campaign| campaign.slug.as_str()).collect();
    endless.dedup();
    match endless.is_empty() {
        true => kept.to_owned(),
        false => format!(
            "{kept} {} has no end: it stays until there is one.",
            endless.join(", ")
        ),
    }
}

/// Erases a person from one scope: submissions and codes get a random id; photos, region and claims
/// go. The counts stay under the phone's digest until the sweep moves them, 30 days after the
/// campaign's end. Run it again if it was interrupted.
///
/// # Errors
/// If a submission is not settled.
pub async fn erase(
    tables: &Tables,
    photos: &Photos,
    held: &PersonRecords,
    now: Timestamp,
) -> Result<()> {
    check_settled(held)?;
    let new = EntrantId::tombstone(random::bytes());
    let tombstone = tables
        .entrants
        .begin_erasure(&held.scope, &held.id, &new)
        .await?;
    // An interrupted erasure may have left a winner or an opening of a changed submission.
    let earlier = submissions(tables, &held.scope, &tombstone).await?;
    let mut found = PersonRecords {
        submissions: earlier,
        contacts: Vec::new(),
        ..held.clone()
    };
    for _ in 0..MAX_TRIES {
        // Again, since the phone may have entered since `find`, and the index lags.
        let submissions = submissions(tables, &held.scope, &held.id).await?;
        let of_these = contacts(tables, &held.scope, &submissions).await?;
        let held = PersonRecords {
            wins: wins(tables, &submissions).await?,
            submissions,
            contacts: of_these,
            ..held.clone()
        };
        check_settled(&held)?;
        check_drawn(tables, &held, now).await?;
        // Before the submissions, which tell what to look for; and after them, since a freeze or a
        // run can have read the person meanwhile.
        found.submissions.extend(held.submissions.iter().cloned());
        found.contacts = contacts(tables, &held.scope, &found.submissions).await?;
        openings::erase_person(tables, &found, now).await?;
        for receipt in held.photos() {
            photos.delete(&held.scope, receipt.receipt_id).await?;
        }
        for (submission, _) in &held.submissions {
            tables.store.erase(submission, &tombstone).await?;
        }
        if !held.submissions.is_empty() {
            tokio::time::sleep(INDEX_LAG).await;
        } else if keeps_limits(tables, &held, now).await? {
            return Ok(tables
                .entrants
                .keep_limits(&held.scope, &held.id, now)
                .await?);
        } else if tables
            .entrants
            .finish_erasure(&held.scope, &held.id, &tombstone)
            .await?
        {
            return Ok(());
        }
    }
    bail!(
        "phone_busy",
        "the phone keeps entering {}; block it, then run this again",
        held.scope
    )
}

/// True if the person used limits, and must not enter anew by being forgotten. The last day is left
/// out: a sweep may be about to delete them.
async fn keeps_limits(tables: &Tables, held: &PersonRecords, now: Timestamp) -> Result<bool> {
    let until = tables
        .campaign(&held.scope.campaign)
        .await?
        .keeps_until(PersonalData::Limits);
    let counts = until.is_none_or(|until| now.after(LAST_DAY) < until);
    let entrant = tables.entrants.get(&held.scope, &held.id, "").await?;
    let is_throttled = entrant.throttled_until.is_some_and(|until| now < until);
    Ok(counts && (entrant.total > 0 || is_throttled))
}

/// Writes a ZIP file, after a row in the audit log.
///
/// # Errors
/// If nothing is held.
pub async fn export<W: Write + Seek>(
    tables: &Tables,
    phone: &Phone,
    held: &[PersonRecords],
    now: Timestamp,
    out: W,
) -> Result<W> {
    if held.is_empty() {
        bail!(
            "person_unknown",
            "nothing is held on {}, so there is no file to hand over; check the number with `ops person find`",
            phone.masked()
        );
    }
    record("person.export", None, tables, held, now).await?;
    let mut file = person_file::begin(out, phone, held, now)?;
    let receipts = |held: &'_ PersonRecords| -> Vec<_> {
        let scope = &held.scope;
        held.photos()
            .map(|receipt| (scope.clone(), receipt.clone()))
            .collect()
    };
    let receipts: Vec<_> = held.iter().flat_map(receipts).collect();
    // A person without photos needs no bucket.
    let mut bucket = None;
    for (scope, receipt) in receipts {
        let bucket = match &mut bucket {
            Some(bucket) => bucket,
            none => none.insert(tables.photos()?),
        };
        let read = bucket.read(&scope, receipt.receipt_id).await?;
        if let Some((name, bytes)) = photo_name(&receipt).zip(read) {
            file.add(&name, bytes.as_slice())?;
        }
    }
    file.finish()
}

/// [`export`] into a file that is gone once closed. It is read from its start.
pub async fn export_unnamed(
    tables: &Tables,
    phone: &Phone,
    held: &[PersonRecords],
    now: Timestamp,
) -> Result<File> {
    let file = tempfile::tempfile().map_err(crate::zip_file::failed)?;
    let mut file = export(tables, phone, held, now, file).await?;
    file.rewind().map_err(crate::zip_file::failed)?;
    Ok(file)
}

/// Erases a person everywhere, after a row in the audit log.
///
/// # Errors
/// If the reason is invalid, a submission is not settled, or a draw is being frozen.
pub async fn erase_all(
    tables: &Tables,
    held: &[PersonRecords],
    why: &str,
    now: Timestamp,
) -> Result<()> {
    let why = validate_reason(why, "the reason")?;
    held.iter().try_for_each(check_settled)?;
    for held in held {
        freeze_lock::check_released(tables, &held.scope, now).await?;
        check_drawn(tables, held, now).await?;
    }
    record("person.erase", Some(&why), tables, held, now).await?;
    let photos = tables.photos()?;
    for held in held {
        erase(tables, &photos, held, now).await?;
    }
    Ok(())
}

/// A row for each scope. It names submissions: the phone's id would outlive an erasure in the log.
async fn record(
    name: &'static str,
    why: Option<&str>,
    tables: &Tables,
    held: &[PersonRecords],
    now: Timestamp,
) -> Result<()> {
    for held in held {
        let submissions = held.submissions_alone().map(|one| one.submission_id);
        let submissions: Vec<_> = submissions.collect();
        let details = json!({ "submissions": submissions, "photos": held.photos().count() });
        let action = Action::new(name).in_scope(&held.scope).with(details);
        let action = why
            .into_iter()
            .fold(action, |action, why| action.because(why));
        tables.audit.append(action, now).await?;
    }
    Ok(())
}
