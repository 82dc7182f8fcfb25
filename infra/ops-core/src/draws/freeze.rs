//! Freezes the entries of a period: one commitment for one name, published before the round.
//!
//! Files are uploaded first, then the commitment is recorded, then published, so a recorded draw
//! has its entries and openings. A freeze that is interrupted before leaves nothing that counts:
//! its [`FreezeLock`] leads the next freeze or erasure to its openings. One that is interrupted
//! after is finished by running it again.

use std::fs;
use std::io::BufWriter;

use common::config;
use common::domain::draw::FreezeLock;
use common::domain::retry::RetrySpeedup;
use draw::{Algorithm, FreezeError, Frozen, OtherDraw, Period, Prize, Rows};

use super::entries::{self, ReadReport};
use super::prelude::*;
use super::publish::publish;
use super::shown::freeze_question;

/// Time to read the commitment out, before the round.
const MIN_NOTICE: Duration = Duration::from_secs(10 * 60);
/// The part of it for reading the entries.
const MAX_READING: Duration = Duration::from_secs(5 * 60);
/// All entries are written by then after a period's end: far more than a settling step takes.
const MAX_WRITE_DELAY: Duration = Duration::from_secs(5 * 60);

#[derive(Clone, Debug)]
pub(crate) struct FreezePlan {
    pub(crate) scope: Scope,
    pub(crate) name: DrawName,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) prizes: Vec<Prize>,
    pub(crate) one_prize_per_entrant: bool,
    pub(crate) at: Timestamp,
    pub(crate) zone: Tz,
    pub(crate) output: PathBuf,
}

pub(crate) struct FreezeReport {
    pub(crate) evidence: String,
    /// `None` if an earlier run has recorded the draw.
    pub(crate) read: Option<ReadReport>,
}

/// Entries to freeze. The disk has an empty folder.
struct ReadEntries {
    folder: NewFolder,
    rows: Rows,
    header: Header,
    report: ReadReport,
    round_at: Timestamp,
}

/// Freezes, or finishes publishing what an earlier run has recorded.
pub(crate) async fn freeze(
    tables: &Tables,
    plan: FreezePlan,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<FreezeReport> {
    if let Some(draw) = tables.draws.get(&plan.scope, &plan.name).await? {
        return match draw.published_at {
            Some(_) => Err(already_frozen(&draw, plan.zone)),
            None if draw.is_abandoned() => Err(abandoned(&draw)),
            None => publish_recorded(tables, &plan, draw, clock).await,
        };
    }
    let chain = chain::configured(&tables.env)?;
    // Draws on drand's quicknet are never sped up.
    let speedup = if chain.is_quicknet() {
        RetrySpeedup::default()
    } else {
        config::retry_speedup(&tables.env)?
    };
    plan.check(clock.now(), speedup)?;
    let mut lock = freeze_lock::begin(tables, &plan.scope, &plan.name, clock.now()).await?;
    let freezing = async {
        let entries = read(tables, &plan, &chain, clock, terminal).await?;
        let notice = speedup.apply(MIN_NOTICE - MAX_READING);
        let committing = commit(tables, &plan, &mut lock, entries, notice, clock);
        // The folder is removed.
        let stopped = "the freeze was stopped; `ops draw show` tells whether the draw is recorded: if it is, run this again, \
                       which finishes it";
        unless_interrupted(committing, stopped).await
    };
    let frozen = freezing.await;
    if frozen.is_err() {
        // If this fails too, the next freeze or erasure does it.
        let _ = freeze_lock::give_up(tables, &plan.scope, &lock).await;
    }
    frozen
}

async fn read(
    tables: &Tables,
    plan: &FreezePlan,
    chain: &Chain,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<ReadEntries> {
    let round = chain.first_round_from(plan.at.into());
    let (round, round_at) = round
        .and_then(|round| Some((round, chain.time_of(round)?)))
        .ok_or_else(too_late)?;
    let folder = NewFolder::begin(&plan.output)?;
    let (scope, period) = (&plan.scope, (plan.from, plan.to));
    let found = entries::read(tables, scope, period, clock, terminal).await?;
    let rows = found.entries.into_rows(random::bytes);
    let rows = rows.map_err(not_frozen)?;
    let header = Header {
        algorithm: Algorithm::V1,
        campaign: plan.scope.campaign.to_string(),
        draw: plan.name.to_string(),
        period: plan.period(),
        rows: rows.count(),
        total: rows.total(),
        days: found
            .report
            .days
            .iter()
            .map(|(day, total)| (day.clone(), total.entries))
            .collect(),
        left_out: found.left_out,
        overlapping: overlapping(tables, plan).await?,
        prizes: plan.prizes.clone(),
        one_prize_per_row: plan.one_prize_per_entrant,
        chain: chain.hash(),
        round,
    };
    header.check().map_err(not_frozen)?;
    let report = ReadReport {
        largest: rows.largest().to_vec(),
        ..found.report
    };
    let round_at = round_at.into();
    let question = freeze_question(scope, &header, &report, round_at, plan.zone);
    terminal.confirm_typed(&question, plan.name.as_str())?;
    Ok(ReadEntries {
        folder,
        rows,
        header,
        report,
        round_at,
    })
}

fn write(folder: &NewFolder, rows: Rows, header: &Header) -> Result<Frozen> {
    let (entries, openings) = (folder.create(ENTRIES)?, folder.create(OPENINGS)?);
    let (mut entries, mut openings) = (BufWriter::new(entries), BufWriter::new(openings));
    let frozen = rows.freeze(header, &mut entries, &mut openings);
    let frozen = frozen.map_err(not_frozen)?;
    for (name, file) in [(ENTRIES, &entries), (OPENINGS, &openings)] {
        let synced = file.get_ref().sync_all();
        synced.map_err(Failure::from_io(&folder.file(name), "writing"))?;
    }
    folder.write(HEADER, frozen.header_json.as_bytes())?;
    folder.write(COMMITMENT, frozen.commitment.to_string().as_bytes())?;
    Ok(frozen)
}

/// Other draws of the period: none is recorded while the freeze has the lock.
async fn overlapping(tables: &Tables, plan: &FreezePlan) -> Result<Vec<OtherDraw>> {
    let Period { from, to } = plan.period();
    let mut others = Vec::new();
    for other in tables.draws.list(&plan.scope).await? {
        let period = super::header(&other)?.period;
        if period.from < to && from < period.to {
            let commitment = other.commitment.parse();
            others.push(OtherDraw {
                draw: other.name.to_string(),
                commitment: commitment.map_err(unreadable(&other))?,
            });
        }
    }
    Ok(others)
}

async fn commit(
    tables: &Tables,
    plan: &FreezePlan,
    lock: &mut FreezeLock,
    entries: ReadEntries,
    notice: Duration,
    clock: &Clock,
) -> Result<FreezeReport> {
    let ReadEntries {
        folder,
        rows,
        header,
        report,
        round_at,
    } = entries;
    let frozen = write(&folder, rows, &header)?;
    let now = clock.now();
    let draw = Draw {
        name: plan.name.clone(),
        commitment: frozen.commitment.to_string(),
        root: frozen.root.to_string(),
        header: frozen.header_json,
        chain: header.chain.to_string(),
        round: header.round,
        round_at,
        unsettled: report.unsettled.len().try_into().unwrap_or(u64::MAX),
        largest_rows: report.largest.iter().map(|row| row.entries.get()).collect(),
        given_by_hand: report.given_by_hand,
        frozen_at: now,
        frozen_by: tables.audit.operator().await?,
        published_at: None,
        outcome: None,
        contact_changes: 0,
        abandonment: None,
    };
    let details = json!({
        "commitment": draw.commitment,
        "round": draw.round,
        "chain": draw.chain,
        "rows": header.rows,
        "entries": header.total,
    });
    record(tables, plan, details, now).await?;
    check_recent(lock, now)?;
    let uploading = freeze_lock::begin_upload(tables, &plan.scope, lock, &draw.commitment, now);
    *lock = uploading.await?.ok_or_else(given_up)?;
    let files = DrawFiles::new(tables, &plan.scope, &draw)?;
    for name in [OPENINGS, ENTRIES] {
        files.upload(name, &folder.file(name), None).await?;
    }
    check_recent(lock, clock.now())?;
    if draw.round_at.since(clock.now()) < notice {
        bail!(
            "round_too_near",
            "nothing was frozen: reading and uploading the entries took so long that the round is too near; give \
                       a later --at"
        );
    }
    if !tables.draws.create(&plan.scope, &draw, lock).await? {
        match tables.draws.get(&plan.scope, &draw.name).await? {
            // The answer was lost, and the call sent again.
            Some(recorded) if recorded.commitment == draw.commitment => {}
            Some(other) => return Err(already_frozen(&other, plan.zone)),
            None => return Err(given_up()),
        }
    }
    publish(tables, &plan.scope, &draw, &files, Some(folder)).await?;
    Ok(FreezeReport {
        evidence: files.evidence_url(),
        read: Some(report),
    })
}

/// One person may have revoked an entry after that.
fn check_recent(lock: &FreezeLock, now: Timestamp) -> Result<()> {
    if lock.is_held(now) {
        return Ok(());
    }
    bail!(
        "freeze_expired",
        "nothing was frozen: it took longer than half an hour, and entries can have changed since they were read; \
                   run this again"
    )
}

impl FreezePlan {
    /// The period in the campaign's zone.
    fn period(&self) -> Period {
        let [from, to] = [self.from, self.to].map(|time| time.in_zone(self.zone).fixed_offset());
        Period { from, to }
    }

    /// True if a draw was frozen with these arguments.
    fn is_of(&self, header: &Header, chain: &Chain) -> bool {
        header.period == self.period()
            && header.prizes == self.prizes
            && header.one_prize_per_row == self.one_prize_per_entrant
            && chain.first_round_from(self.at.into()) == Some(header.round)
    }

    fn check(&self, now: Timestamp, speedup: RetrySpeedup) -> Result<()> {
        if self.from >= self.to {
            bail!(
                "period_empty",
                "no time is from --from to --to: give --to a later day or time than --from"
            );
        }
        let all_in = self.to.after(speedup.apply(MAX_WRITE_DELAY));
        if now < all_in {
            bail!(
                "period_open",
                "the period ends at {}, and its last entries are written by {}: freeze it then, or give an earlier --to",
                zoned_time(self.to, self.zone),
                zoned_time(all_in, self.zone)
            );
        }
        let earliest = now.after(speedup.apply(MIN_NOTICE));
        if self.at < earliest {
            bail!(
                "round_too_near",
                "--at is {}: the commitment has to be public before the round can be known; give {} or later",
                zoned_time(self.at, self.zone),
                zoned_time(earliest, self.zone)
            );
        }
        Ok(())
    }
}

async fn record(tables: &Tables, plan: &FreezePlan, details: Value, now: Timestamp) -> Result<()> {
    let action = Action::new("draw.freeze")
        .in_scope(&plan.scope)
        .on(&plan.name);
    tables
        .audit
        .append(action.with(details), now)
        .await
        .map(drop)
}

/// Finishes a freeze that was interrupted between recording and publishing.
async fn publish_recorded(
    tables: &Tables,
    plan: &FreezePlan,
    draw: Draw,
    clock: &Clock,
) -> Result<FreezeReport> {
    if clock.now() >= draw.round_at {
        return Err(published_late(&draw));
    }
    let header = super::header(&draw)?;
    if !plan.is_of(&header, &chain::of_draw(tables, &draw)?) {
        bail!(
            "freeze_differs",
            "an earlier run froze the draw {} and was interrupted; run it again with its own arguments, which finishes it: \
             --from {} --to {} --at {} and the prizes {}",
            draw.name,
            header.period.from,
            header.period.to,
            draw.round_at,
            header.prizes_in_words()
        );
    }
    let files = DrawFiles::new(tables, &plan.scope, &draw)?;
    let folder = match NewFolder::begin(&plan.output) {
        Ok(folder) => {
            for name in [ENTRIES, OPENINGS] {
                folder.write(name, files.read(name).await?)?;
            }
            folder.write(HEADER, draw.header.as_bytes())?;
            folder.write(COMMITMENT, draw.commitment.as_bytes())?;
            Some(folder)
        }
        // A folder gets its name once it is whole.
        Err(taken) => match fs::read_to_string(plan.output.join(COMMITMENT)) {
            Ok(commitment) if commitment == draw.commitment => None,
            Ok(_) | Err(_) => return Err(taken),
        },
    };
    let details = json!({ "commitment": draw.commitment, "published": true });
    record(tables, plan, details, clock.now()).await?;
    publish(tables, &plan.scope, &draw, &files, folder).await?;
    Ok(FreezeReport {
        evidence: files.evidence_url(),
        read: None,
    })
}

fn already_frozen(draw: &Draw, zone: Tz) -> Failure {
    failure!(
        "draw_frozen",
        "the draw {} is frozen since {}, by {}, and a draw is frozen once; `ops draw show` shows it",
        draw.name,
        zoned_time(draw.frozen_at, zone),
        draw.frozen_by.name()
    )
}

/// Another freeze or an erasure has taken the lock.
fn given_up() -> Failure {
    failure!(
        "changed_meanwhile",
        "nothing was frozen: another freeze of the campaign began, or an entrant's data was erased, at the same time; run \
                   this again"
    )
}

pub(super) fn too_late() -> Failure {
    failure!(
        "round_too_far",
        "--at is too late: the beacon has no such round; give an earlier time"
    )
}

pub(super) fn not_frozen(error: impl Into<FreezeError>) -> Failure {
    let error = error.into();
    let code = match error {
        FreezeError::NoEntries => "period_without_entries",
        FreezeError::Header(_) => "draw_invalid",
        FreezeError::Opening(_) | FreezeError::RepeatedHash => "entries_invalid",
        FreezeError::Io(_) => "file_failed",
    };
    Failure::new(code, format!("nothing was frozen: {error}"))
}
