//! Freezes the entries of a period: one commitment for one name, published before the round.
//!
//! Files are uploaded first, then the commitment is recorded, then published, so a recorded draw
//! has its entries and openings. A freeze that is interrupted before leaves nothing that counts:
//! its [`FreezeLock`] leads the next freeze or erasure to its openings. One that is interrupted
//! after is finished by running it again.

mod failures;
mod plan;

use std::fs;
use std::future::pending;
use std::io::BufWriter;

use common::domain::draw::FreezeLock;
use common::domain::retry::RetrySpeedup;
use draw::{Algorithm, Frozen, OtherDraw, Period, Rows};

pub(super) use self::failures::not_frozen;
use self::failures::{already_frozen, given_up, stopped, too_late};
pub(crate) use self::plan::MIN_NOTICE;
use self::plan::refuse_without_phones;
pub use self::plan::{FreezePlan, MAX_WRITE_DELAY};
use super::entries::{self, ReadReport};
use super::prelude::*;
use super::publish::publish;
use super::shown::freeze_facts;
use crate::terminal::interrupted;

/// The part of the notice for reading the entries.
const MAX_READING: Duration = Duration::from_secs(5 * 60);

pub struct FreezeReport {
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

pub enum BegunFreeze {
    Locked(Box<LockedFreeze>),
    Recorded(Box<RecordedFreeze>),
}

pub struct LockedFreeze {
    plan: FreezePlan,
    chain: Chain,
    speedup: RetrySpeedup,
    lock: FreezeLock,
}

/// A freeze whose entries are read, so that an operator can be asked.
pub struct ReadFreeze {
    locked: LockedFreeze,
    entries: ReadEntries,
}

/// An earlier run has recorded the draw, and was interrupted before it was published.
pub struct RecordedFreeze {
    plan: FreezePlan,
    draw: Draw,
}

/// Freezes, or finishes publishing what an earlier run has recorded.
pub(crate) async fn freeze(
    tables: &Tables,
    campaign: &Campaign,
    plan: FreezePlan,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<FreezeReport> {
    let locked = match begin(tables, campaign, plan, clock.now()).await? {
        BegunFreeze::Locked(locked) => locked,
        BegunFreeze::Recorded(recorded) => return recorded.publish(tables, clock).await,
    };
    // Ctrl-C ends the program here, and while it asks.
    let read = locked.read(tables, clock, terminal, pending()).await?;
    let question = format!(
        "{}Freeze these entries as the draw {} of {}?",
        lines(&read.facts()),
        read.name(),
        scope_in_words(read.scope())
    );
    if let Err(refused) = terminal.confirm_typed(&question, read.name().as_str()) {
        read.give_up(tables).await;
        return Err(refused);
    }
    read.commit(tables, clock, interrupted()).await
}

/// Checks the plan, and takes the lock.
pub async fn begin(
    tables: &Tables,
    campaign: &Campaign,
    plan: FreezePlan,
    now: Timestamp,
) -> Result<BegunFreeze> {
    refuse_without_phones(campaign, now)?;
    if let Some(draw) = tables.draws.get(&plan.scope, &plan.name).await? {
        return match draw.published_at {
            Some(_) => Err(already_frozen(&draw, plan.zone)),
            None if draw.is_abandoned() => Err(abandoned(&draw)),
            None => Ok(BegunFreeze::Recorded(Box::new(RecordedFreeze {
                plan,
                draw,
            }))),
        };
    }
    let chain = chain::configured(&tables.env)?;
    let speedup = chain::speedup(&tables.env, &chain)?;
    plan.check(now, speedup)?;
    plan.check_over(storage_time(tables).await?, speedup)?;
    let lock = freeze_lock::begin(tables, &plan.scope, &plan.name, now).await?;
    Ok(BegunFreeze::Locked(Box::new(LockedFreeze {
        plan,
        chain,
        speedup,
        lock,
    })))
}

impl LockedFreeze {
    /// Reads the entries; gives the freeze up if that fails or is interrupted.
    pub async fn read(
        self,
        tables: &Tables,
        clock: &Clock,
        terminal: &mut Terminal<'_>,
        interrupted: impl Future<Output = ()>,
    ) -> Result<ReadFreeze> {
        let read = tokio::select! {
            biased;
            () = interrupted => Err(stopped()),
            read = read(tables, &self.plan, &self.chain, clock, terminal) => read,
        };
        match read {
            Ok(entries) => Ok(ReadFreeze {
                locked: self,
                entries,
            }),
            Err(failure) => {
                self.give_up(tables).await;
                Err(failure)
            }
        }
    }

    /// If this fails, the next freeze or erasure does it.
    pub async fn give_up(&self, tables: &Tables) {
        let _ = freeze_lock::give_up(tables, &self.plan.scope, &self.lock).await;
    }
}

impl ReadFreeze {
    pub fn scope(&self) -> &Scope {
        &self.locked.plan.scope
    }

    pub fn name(&self) -> &DrawName {
        &self.locked.plan.name
    }

    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let ReadEntries {
            header,
            report,
            round_at,
            ..
        } = &self.entries;
        freeze_facts(header, report, *round_at, self.locked.plan.zone)
    }

    pub fn header(&self) -> &Header {
        &self.entries.header
    }

    pub fn report(&self) -> &ReadReport {
        &self.entries.report
    }

    /// Entries can have changed from then on, or the round is too near, so it has to be begun again.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let LockedFreeze {
            plan,
            speedup,
            lock,
            ..
        } = &self.locked;
        let latest = plan.at.before(speedup.apply(MIN_NOTICE - MAX_READING));
        lock.expires_at.map(|expires_at| expires_at.min(latest))
    }

    pub async fn give_up(self, tables: &Tables) {
        self.locked.give_up(tables).await;
    }

    /// Records and publishes the draw. The folder is removed if that is interrupted.
    pub async fn commit(
        self,
        tables: &Tables,
        clock: &Clock,
        interrupted: impl Future<Output = ()>,
    ) -> Result<FreezeReport> {
        let Self {
            mut locked,
            entries,
        } = self;
        let LockedFreeze {
            plan,
            speedup,
            lock,
            ..
        } = &mut locked;
        let notice = speedup.apply(MIN_NOTICE - MAX_READING);
        let frozen = tokio::select! {
            // Noticed also while files are written.
            biased;
            () = interrupted => Err(stopped()),
            frozen = commit(tables, plan, lock, entries, notice, clock) => frozen,
        };
        if frozen.is_err() {
            locked.give_up(tables).await;
        }
        frozen
    }
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
    Ok(ReadEntries {
        folder,
        rows,
        header,
        report,
        round_at: round_at.into(),
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
                       a later time"
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

impl RecordedFreeze {
    /// Finishes the freeze.
    pub async fn publish(self, tables: &Tables, clock: &Clock) -> Result<FreezeReport> {
        let Self { plan, draw } = self;
        let plan = &plan;
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
}
