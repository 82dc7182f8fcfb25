//! Freezes the entries of a period: one commitment for one name, published before anybody can know the winners.
//!
//! Files are written and uploaded first, then the commitment is recorded, then published. So a recorded draw always has its
//! entries and openings. A freeze that is interrupted before leaves nothing that counts: its [`FreezeAttempt`] leads an erasure
//! to its openings. One that is interrupted after is finished by running it again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Read};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use beacon::Chain;
use chrono::{DateTime, FixedOffset};
use chrono_tz::Tz;
use common::clock::Clock;
use common::config::{self, Env};
use common::domain::draw::{Draw, DrawName, FreezeAttempt};
use common::domain::ids::Reference;
use common::domain::retry::RetrySpeedup;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use common::random;
use draw::{
    FreezeError, Frozen, Header, LargestRow, LeftOut, OtherDraw, Period, Plan, Prize, Rows,
};
use serde_json::json;

use super::chain;
use super::entries::{self, DayTotal, PeriodEntries};
use super::files::{COMMITMENT, DrawFiles, ENTRIES, HEADER, NewFolder, OPENINGS, holds};
use super::openings::{self, FREEZE_TIMEOUT};
use super::publish::{publish, published_late};
use super::run::unreadable;
use super::shown::freeze_question;
use crate::audit::Action;
use crate::confirm::{Answer, ConfirmArgs};
use crate::failure::Failure;
use crate::format::zoned_time;
use crate::tables::Tables;
use crate::terminal::Terminal;

/// From the freeze to the round: the time in which the commitment is read out and copied.
const MIN_NOTICE: Duration = Duration::from_secs(10 * 60);
/// What reading the entries may take of that.
const MAX_READING: Duration = Duration::from_secs(5 * 60);
/// How long after a period's end all of its entries are surely written: far more than a request or a settling step
/// takes.
const MAX_WRITE_DELAY: Duration = Duration::from_secs(5 * 60);

/// What to freeze.
#[derive(Clone, Debug)]
pub(crate) struct FreezePlan {
    pub(crate) scope: Scope,
    pub(crate) name: DrawName,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) prizes: Vec<Prize>,
    pub(crate) one_prize_per_entrant: bool,
    /// The beacon's round is the first one from here on.
    pub(crate) at: Timestamp,
    pub(crate) zone: Tz,
    pub(crate) output: PathBuf,
    pub(crate) confirm: ConfirmArgs,
}

/// A draw that is frozen and published.
pub(crate) struct FreezeReport {
    pub(crate) draw: Draw,
    pub(crate) evidence: String,
    /// What was read just now; `None` if an earlier run has recorded the draw.
    pub(crate) read: Option<ReadReport>,
}

/// What the period has.
pub(crate) struct ReadReport {
    pub(crate) days: BTreeMap<String, DayTotal>,
    pub(crate) unsettled: Vec<Reference>,
    /// The largest rows, largest first.
    pub(crate) largest: Vec<LargestRow>,
    /// Entries that people gave by accepting a submission.
    pub(crate) given_by_hand: u64,
}

/// Entries that are to be frozen. Nothing has a name on the disk yet but the empty folder.
struct ReadEntries {
    folder: NewFolder,
    rows: Rows<File>,
    for_header: Plan,
    report: ReadReport,
    round_at: Timestamp,
}

/// Freezes, or finishes publishing what an earlier run has recorded.
pub(crate) async fn freeze(
    tables: &Tables,
    env: &Env,
    plan: FreezePlan,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<FreezeReport, Failure> {
    if let Some(draw) = tables.draws.get(&plan.scope, &plan.name).await? {
        return match draw.published_at {
            Some(_) => Err(already_frozen(&draw, plan.zone)),
            None => publish_recorded(tables, env, &plan, draw, clock).await,
        };
    }
    let chain = chain::configured(env)?;
    // Draws on drand's quicknet are never sped up.
    let is_public = chain.hash() == Chain::quicknet().hash();
    let speedup = if is_public {
        RetrySpeedup::default()
    } else {
        config::retry_speedup(env)?
    };
    plan.check(clock.now(), speedup)?;
    let mut attempt = FreezeAttempt::new(plan.name.clone(), clock.now(), random::bytes());
    tables
        .freeze_attempts(env)?
        .begin_attempt(&plan.scope, &attempt)
        .await?;
    let freezing = async {
        let entries = read(tables, &plan, &chain, clock, terminal).await?;
        let notice = speedup.apply(MIN_NOTICE - MAX_READING);
        unless_stopped(commit(
            tables,
            env,
            &plan,
            &mut attempt,
            entries,
            notice,
            clock,
        ))
        .await
    };
    let frozen = freezing.await;
    if frozen.is_err() {
        // If this fails too, an erasure does it.
        let _ = openings::end_freeze(tables, env, &plan.scope, &attempt).await;
    }
    frozen
}

/// Lets Ctrl-C stop what writes files, so that their folder is removed.
async fn unless_stopped<T>(
    freezing: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        // First, so that Ctrl-C is noticed while files are written.
        biased;
        Ok(()) = tokio::signal::ctrl_c() => {
            let message = "the freeze was stopped; `ops draw list` shows whether the draw is recorded: if it is, run this again, \
                           which finishes it";
            Err(Failure::new("interrupted", message))
        }
        frozen = freezing => frozen,
    }
}

/// Reads the entries, and asks.
async fn read(
    tables: &Tables,
    plan: &FreezePlan,
    chain: &Chain,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<ReadEntries, Failure> {
    let round = chain.first_round_from(plan.at.into());
    let (round, round_at) = round
        .and_then(|round| Some((round, chain.time_of(round)?)))
        .ok_or_else(too_late)?;
    let folder = NewFolder::begin(&plan.output)?;
    let storage = folder.unnamed_file()?;
    let PeriodEntries {
        entries,
        days,
        unsettled,
        left_out,
        given_by_hand,
        ..
    } = entries::read(
        tables,
        &plan.scope,
        (plan.from, plan.to),
        storage,
        clock,
        terminal,
    )
    .await?;
    let storage = folder.unnamed_file()?;
    let rows = entries
        .into_rows(storage, || Ok(random::bytes()))
        .map_err(|error| not_frozen(&error))?;
    let overlapping = overlapping(tables, plan).await?;
    let for_header = plan.for_header(chain, round, &days, left_out, overlapping)?;
    let header = rows
        .header(for_header.clone())
        .map_err(|error| not_frozen(&error.into()))?;
    let report = ReadReport {
        days,
        unsettled,
        largest: rows.largest().to_vec(),
        given_by_hand,
    };
    let round_at = round_at.into();
    let question = freeze_question(&plan.scope, &header, &report, round_at, plan.zone);
    terminal.confirm(&question, Answer::Word(plan.name.as_str()), plan.confirm)?;
    Ok(ReadEntries {
        folder,
        rows,
        for_header,
        report,
        round_at,
    })
}

/// Writes `entries.csv` and `openings.csv`.
fn write(folder: &NewFolder, rows: Rows<File>, for_header: Plan) -> Result<Frozen, Failure> {
    let (entries, openings) = (folder.create(ENTRIES)?, folder.create(OPENINGS)?);
    let (mut entries, mut openings) = (BufWriter::new(entries), BufWriter::new(openings));
    let frozen = rows.freeze(for_header, &mut entries, &mut openings);
    let frozen = frozen.map_err(|error| not_frozen(&error))?;
    for (name, file) in [(ENTRIES, &entries), (OPENINGS, &openings)] {
        let synced = file.get_ref().sync_all();
        synced.map_err(|error| Failure::from_io(&folder.file(name), "writing", &error))?;
    }
    Ok(frozen)
}

/// Other draws with entries of the period.
async fn overlapping(tables: &Tables, plan: &FreezePlan) -> Result<Vec<OtherDraw>, Failure> {
    let [from, to] = [plan.from, plan.to].map(|time| DateTime::from(time).fixed_offset());
    let mut others = Vec::new();
    for other in tables.draws.list(&plan.scope).await? {
        let period = super::header(&other)?.period;
        if other.name != plan.name && period.from < to && from < period.to {
            let commitment = other.commitment.parse();
            let commitment =
                commitment.map_err(|error: draw::NotADigest| unreadable(&other, &error))?;
            others.push(OtherDraw {
                draw: other.name.to_string(),
                commitment,
            });
        }
    }
    Ok(others)
}

/// Writes, uploads, records and publishes.
async fn commit(
    tables: &Tables,
    env: &Env,
    plan: &FreezePlan,
    attempt: &mut FreezeAttempt,
    entries: ReadEntries,
    notice: Duration,
    clock: &Clock,
) -> Result<FreezeReport, Failure> {
    let ReadEntries {
        folder,
        rows,
        for_header,
        report,
        round_at,
    } = entries;
    let frozen = write(&folder, rows, for_header)?;
    let now = clock.now();
    let draw = Draw {
        name: plan.name.clone(),
        commitment: frozen.commitment.to_string(),
        root: frozen.root.to_string(),
        header: frozen.header_json.clone(),
        chain: frozen.header.chain.to_string(),
        round: frozen.header.round,
        round_at,
        unsettled: report.unsettled.len().try_into().unwrap_or(u64::MAX),
        largest_rows: report.largest.iter().map(|row| row.entries.get()).collect(),
        given_by_hand: report.given_by_hand,
        frozen_at: now,
        frozen_by: tables.audit.operator().await?,
        published_at: None,
        outcome: None,
        contact_changes: 0,
    };
    record(tables, &plan.scope, &draw, &frozen, now).await?;
    check_recent(attempt, now)?;
    attempt.at = now;
    attempt.commitment = Some(draw.commitment.clone());
    if !tables
        .freeze_attempts(env)?
        .upload_attempt(&plan.scope, attempt)
        .await?
    {
        return Err(abandoned());
    }
    let files = DrawFiles::new(tables, env, &plan.scope, &draw.name, &draw.commitment)?;
    files.keep_openings(&folder.file(OPENINGS)).await?;
    files.publish(ENTRIES, &folder.file(ENTRIES)).await?;
    check_recent(attempt, clock.now())?;
    check_still(tables, plan, &draw, &frozen, notice, clock).await?;
    if !tables.draws.create(&plan.scope, &draw, attempt).await? {
        match tables.draws.get(&plan.scope, &draw.name).await? {
            // Recorded by a call whose answer was lost, and which was sent again.
            Some(recorded) if recorded.commitment == draw.commitment => {}
            other => {
                return Err(other.map_or_else(abandoned, |other| already_frozen(&other, plan.zone)));
            }
        }
    }
    let draw = publish(tables, env, &plan.scope, draw, &files, Some(folder)).await?;
    Ok(FreezeReport {
        draw,
        evidence: files.evidence_url(),
        read: Some(report),
    })
}

/// Refuses a freeze that counts as interrupted: one person may have revoked an entry that it has read.
fn check_recent(attempt: &FreezeAttempt, now: Timestamp) -> Result<(), Failure> {
    if now < attempt.at.after(FREEZE_TIMEOUT) {
        return Ok(());
    }
    let message = "nothing was frozen: it took longer than half an hour, and entries can have changed since they were read; \
                   run this again";
    Err(Failure::new("freeze_expired", message))
}

/// Whether the time and the other draws still allow it, after everything was uploaded.
async fn check_still(
    tables: &Tables,
    plan: &FreezePlan,
    draw: &Draw,
    frozen: &Frozen,
    notice: Duration,
    clock: &Clock,
) -> Result<(), Failure> {
    if draw.round_at.since(clock.now()) < notice {
        let message = "nothing was frozen: reading and uploading the entries took so long that the round is too near; give \
                       a later --at";
        return Err(Failure::new("round_too_near", message));
    }
    if overlapping(tables, plan).await? != frozen.header.overlapping {
        let message = "nothing was frozen: another draw of entries of this period was frozen at the same time; look with \
                       `ops draw list`, then run this again";
        return Err(Failure::new("changed_meanwhile", message));
    }
    Ok(())
}

impl FreezePlan {
    /// Whether these are the arguments that a draw was frozen with.
    fn is_of(&self, header: &Header, chain: &Chain) -> bool {
        let [from, to] = [self.from, self.to].map(|time| DateTime::from(time).fixed_offset());
        header.period == Period { from, to }
            && header.prizes == self.prizes
            && header.one_prize_per_row == self.one_prize_per_entrant
            && chain.first_round_from(self.at.into()) == Some(header.round)
    }

    fn check(&self, now: Timestamp, speedup: RetrySpeedup) -> Result<(), Failure> {
        if self.from >= self.to {
            let message =
                "no time is from --from to --to: give --to a later day or time than --from";
            return Err(Failure::new("period_empty", message));
        }
        let all_in = self.to.after(speedup.apply(MAX_WRITE_DELAY));
        if now < all_in {
            let message = format!(
                "the period ends at {}, and its last entries are written by {}: freeze it then, or give an earlier --to",
                zoned_time(self.to, self.zone),
                zoned_time(all_in, self.zone)
            );
            return Err(Failure::new("period_open", message));
        }
        let earliest = now.after(speedup.apply(MIN_NOTICE));
        if self.at < earliest {
            let message = format!(
                "--at is {}: the commitment has to be public before anybody can know the round; give {} or later",
                zoned_time(self.at, self.zone),
                zoned_time(earliest, self.zone)
            );
            return Err(Failure::new("round_too_near", message));
        }
        Ok(())
    }

    fn for_header(
        &self,
        chain: &Chain,
        round: NonZeroU64,
        days: &BTreeMap<String, DayTotal>,
        left_out: LeftOut,
        overlapping: Vec<OtherDraw>,
    ) -> Result<Plan, Failure> {
        let local = |time: Timestamp| -> DateTime<FixedOffset> {
            DateTime::from(time)
                .with_timezone(&self.zone)
                .fixed_offset()
        };
        Ok(Plan {
            campaign: self.scope.campaign.to_string(),
            draw: self.name.to_string(),
            period: Period {
                from: local(self.from),
                to: local(self.to),
            },
            days: days
                .iter()
                .map(|(day, total)| (day.clone(), total.entries))
                .collect(),
            left_out,
            overlapping,
            prizes: self.prizes.clone(),
            one_prize_per_row: self.one_prize_per_entrant,
            chain: chain.hash().parse().map_err(|_| too_late())?,
            round,
        })
    }
}

/// Writes the row of the audit log, before anything is uploaded.
async fn record(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    frozen: &Frozen,
    now: Timestamp,
) -> Result<(), Failure> {
    let details = json!({
        "commitment": draw.commitment,
        "round": draw.round,
        "chain": draw.chain,
        "rows": frozen.header.rows,
        "entries": frozen.header.total,
    });
    let action = Action::new("draw.freeze")
        .in_scope(scope)
        .on(&draw.name)
        .with(details);
    tables.audit.append(action, now).await.map(drop)
}

/// Finishes a freeze that was interrupted between recording and publishing.
async fn publish_recorded(
    tables: &Tables,
    env: &Env,
    plan: &FreezePlan,
    draw: Draw,
    clock: &Clock,
) -> Result<FreezeReport, Failure> {
    if clock.now() >= draw.round_at {
        return Err(published_late(&draw));
    }
    let header = super::header(&draw)?;
    if !plan.is_of(&header, &chain::of_draw(env, &draw)?) {
        let message = format!(
            "an earlier run froze the draw {} and was interrupted; run it again with its own arguments, which finishes it: \
             --from {} --to {} --at {} and the prizes {}",
            draw.name,
            header.period.from,
            header.period.to,
            draw.round_at,
            header.prizes_in_words()
        );
        return Err(Failure::new("freeze_differs", message));
    }
    let files = DrawFiles::new(tables, env, &plan.scope, &draw.name, &draw.commitment)?;
    let (entries, openings) = (files.read(ENTRIES).await?, files.read_openings().await?.0);
    let folder = match NewFolder::begin(&plan.output) {
        Ok(folder) => {
            folder.write(ENTRIES, entries)?;
            folder.write(OPENINGS, openings)?;
            Some(folder)
        }
        Err(taken) => {
            let has = |name: &str, content: &mut dyn Read| {
                holds(&plan.output.join(name), content).unwrap_or(false)
            };
            let contents: [(&str, &mut dyn Read); 4] = [
                (ENTRIES, &mut { entries }),
                (OPENINGS, &mut { openings }),
                (HEADER, &mut draw.header.as_bytes()),
                (COMMITMENT, &mut draw.commitment.as_bytes()),
            ];
            if !contents
                .into_iter()
                .all(|(name, content)| has(name, content))
            {
                return Err(taken);
            }
            None
        }
    };
    let details = json!({ "commitment": draw.commitment, "published": true });
    let action = Action::new("draw.freeze")
        .in_scope(&plan.scope)
        .on(&draw.name)
        .with(details);
    tables.audit.append(action, clock.now()).await?;
    let draw = publish(tables, env, &plan.scope, draw, &files, folder).await?;
    Ok(FreezeReport {
        draw,
        evidence: files.evidence_url(),
        read: None,
    })
}

fn already_frozen(draw: &Draw, zone: Tz) -> Failure {
    let message = format!(
        "the draw {} is frozen since {}, by {}, and a draw is frozen once; `ops draw show` shows it",
        draw.name,
        zoned_time(draw.frozen_at, zone),
        draw.frozen_by.name()
    );
    Failure::new("draw_frozen", message)
}

/// An erasure abandoned the freeze in the meantime.
fn abandoned() -> Failure {
    let message =
        "nothing was frozen: an entrant's data was erased at the same time; run this again";
    Failure::new("changed_meanwhile", message)
}

pub(super) fn too_late() -> Failure {
    Failure::new(
        "round_too_far",
        "--at is too late: the beacon has no such round; give an earlier time",
    )
}

/// Why nothing was frozen.
pub(super) fn not_frozen(error: &FreezeError) -> Failure {
    let code = match error {
        FreezeError::NoEntries => "period_without_entries",
        FreezeError::Header(_) => "draw_invalid",
        FreezeError::Opening(_) | FreezeError::RepeatedHash => "entries_invalid",
        FreezeError::Io(_) => "file_failed",
    };
    Failure::new(code, format!("nothing was frozen: {error}"))
}
