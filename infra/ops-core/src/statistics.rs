pub mod aggregate;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono_tz::UTC;
use common::domain::statistics::{ALL_DAYS, of_submission};
use common::store::statistics::recount::recount as count_records;

pub use crate::commands::numbers::{as_csv, as_json};
use crate::prelude::*;

pub const RECOUNT: &str = "numbers.recount";

/// Changes are counted within a minute, unless the alarm `counting-behind` is on.
pub const QUIET: Duration = Duration::from_mins(5);

// Days of a campaign. The doc comments are the help of `ops numbers`.
#[serde_with::skip_serializing_none]
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Days {
    /// From this day on, by the campaign's time zone, such as 2026-11-22
    #[arg(long, value_name = "DAY", conflicts_with = "action")]
    pub from: Option<NaiveDate>,
    /// Up to and including this day
    #[arg(long, value_name = "DAY", conflicts_with = "action")]
    pub to: Option<NaiveDate>,
}

impl Days {
    pub fn are_all(self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    fn contain(self, day: &str) -> bool {
        // Days are stored in a form that sorts like dates.
        self.from
            .is_none_or(|from| from.to_string().as_str() <= day)
            && self.to.is_none_or(|to| day <= to.to_string().as_str())
    }
}

pub async fn read(tables: &Tables, scope: &Scope, days: Days) -> Result<Counters> {
    let totals = totals(tables, scope).await?;
    let totals: Counters = totals
        .into_iter()
        .filter(|(counter, _)| days.contain(&counter.dimension))
        .collect();
    let days: BTreeSet<_> = names(&totals);
    let mut counters = of_days(tables, scope, Metric::BY_DAY, days).await?;
    counters.merge(totals);
    Ok(counters)
}

fn names(totals: &Counters) -> BTreeSet<String> {
    totals
        .iter()
        .map(|(counter, _)| counter.dimension.clone())
        .collect()
}

async fn of_days(
    tables: &Tables,
    scope: &Scope,
    metrics: &[Metric],
    days: BTreeSet<String>,
) -> Result<Counters, StoreError> {
    let mut reads = Vec::new();
    for day in days {
        reads.extend(metrics.iter().map(|metric| (*metric, day.clone())));
    }
    let reads = reads
        .into_iter()
        .map(|(metric, day)| async move { tables.statistics.counters(scope, metric, &day).await });
    let mut all = Counters::default();
    for counters in concurrently(reads).await? {
        all.merge(counters);
    }
    Ok(all)
}

async fn totals(tables: &Tables, scope: &Scope) -> Result<Counters, StoreError> {
    let counters = tables.statistics.counters(scope, Metric::Days, ALL_DAYS);
    counters.await
}

pub async fn submissions(tables: &Tables, scope: &Scope) -> Result<i64> {
    let totals = totals(tables, scope).await?;
    Ok(totals.iter().map(|(_, amount)| amount.records).sum())
}

pub async fn entries(tables: &Tables, scope: &Scope) -> Result<i64> {
    let totals = totals(tables, scope).await?;
    Ok(totals.iter().map(|(_, amount)| amount.entries).sum())
}

/// True if a submission that waits for a person is missing for longer than counting takes; false
/// without one.
pub async fn stand_still(tables: &Tables, scope: &Scope, now: Timestamp) -> Result<bool> {
    let submissions = tables.submissions();
    let Some(newest) = submissions.newest_waiting_for_operator(scope).await? else {
        return Ok(false);
    };
    let newest = match submissions.get(scope, newest.submission_id).await {
        Err(error) if error.is_unreadable() => None,
        found => found?,
    };
    let Some(newest) = newest.filter(|newest| now.since(newest.updated_at) >= QUIET) else {
        return Ok(false);
    };
    let read = tables
        .statistics
        .counters(scope, Metric::Outcomes, &newest.day);
    let counted = read.await?;
    let expected = of_submission(&newest);
    let mut outcomes = expected
        .iter()
        .filter(|(counter, _)| counter.metric == Metric::Outcomes);
    Ok(outcomes.any(|(counter, amount)| counted.amount(counter).records < amount.records))
}

pub async fn phones_by_entries(
    tables: &Tables,
    scope: &Scope,
) -> Result<[i64; ENTRIES_RANGES.len()]> {
    let found = of_all_days(tables, scope, Metric::EntriesPerPhone).await?;
    let phones = |range: &str| {
        found
            .iter()
            .filter(|(counter, _)| counter.dimension == range)
            .map(|(_, amount)| amount.records)
            .sum()
    };
    Ok(ENTRIES_RANGES.map(phones))
}

/// One query per day.
pub async fn of_all_days(tables: &Tables, scope: &Scope, metric: Metric) -> Result<Counters> {
    let totals = totals(tables, scope).await?;
    Ok(of_days(tables, scope, &[metric], names(&totals)).await?)
}

#[derive(Clone, Debug)]
pub struct Difference {
    pub counter: Counter,
    pub counted: Amount,
    pub expected: Amount,
    /// Changed during the reading, or counts a submission refused lately.
    pub is_changing: bool,
}

#[derive(Clone, Debug)]
pub struct Verification {
    pub records: u64,
    /// Records of a later version, or damaged ones; not counted.
    pub unreadable: u64,
    pub counters: usize,
    /// The latest change, except of submissions refused at once.
    pub last_change: Option<Timestamp>,
    pub differences: Vec<Difference>,
}

/// `read` counts records so far; `now` is the start.
pub async fn verify(
    tables: &Tables,
    scope: &Scope,
    read: &AtomicU64,
    now: Timestamp,
) -> Result<Verification> {
    let before = self::read(tables, scope, Days::default()).await?;
    let progress = |looked_at| {
        read.fetch_add(looked_at, Ordering::Relaxed);
    };
    let (submissions, entrants) = (tables.submissions(), &tables.entrants);
    let expected = Box::pin(count_records(
        scope,
        submissions,
        entrants,
        now.before(QUIET),
        &progress,
    ))
    .await?;
    let mut days: BTreeSet<_> = expected
        .counters
        .iter()
        .map(|(counter, _)| counter.day.clone())
        .collect();
    days.extend(before.iter().map(|(counter, _)| counter.day.clone()));
    days.remove(ALL_DAYS);
    let mut counted = of_days(tables, scope, Metric::BY_DAY, days).await?;
    counted.merge(totals(tables, scope).await?);
    let difference = |(counter, _): (Counter, Amount)| Difference {
        counted: counted.amount(&counter),
        expected: expected.counters.amount(&counter),
        is_changing: counted.amount(&counter) != before.amount(&counter)
            || expected.recently_refused.contains(&counter),
        counter,
    };
    let differing = Counters::change(counted.clone(), expected.counters.clone());
    Ok(Verification {
        records: expected.records,
        unreadable: expected.unreadable,
        counters: expected.counters.len(),
        last_change: expected.last_change,
        differences: differing.into_iter().map(difference).collect(),
    })
}

/// Sets a paused campaign's counters to a count of all records, but for changing ones. Nothing may
/// have changed in the last five minutes: a change still to be counted would count twice.
pub async fn recount(
    tables: &Tables,
    scope: &Scope,
    found: &Verification,
    now: Timestamp,
) -> Result<()> {
    check_quiet(tables, scope, found.last_change, now).await?;
    let settled = found
        .differences
        .iter()
        .filter(|difference| !difference.is_changing);
    let corrections = settled.map(|one| {
        let missing = one.expected.minus(one.counted);
        tables
            .statistics
            .correct(&one.counter, one.counted, missing)
    });
    if concurrently(corrections).await?.contains(&false) {
        bail!(
            "numbers_changed",
            "numbers changed meanwhile, perhaps by another operator, and were left as they are; run this again"
        );
    }
    Ok(())
}

/// Erased persons, deleted test data and swept phones leave a time only in the audit log and the
/// deletion's progress.
pub(crate) async fn check_quiet(
    tables: &Tables,
    scope: &Scope,
    last_change: Option<Timestamp>,
    now: Timestamp,
) -> Result<()> {
    let slug = &scope.campaign;
    let campaign = tables.campaign(slug).await?;
    if !campaign.paused {
        bail!(
            "not_paused",
            "nothing was changed: `{slug}` takes entries; pause it with `ops campaign pause {slug}`, wait five minutes, and \
             run this again"
        );
    }
    let retention = tables.retention.get(slug).await?.value;
    let (environment, phones) = (scope.environment, PersonalData::Phones);
    if retention.was_active(&campaign, environment, phones, now, QUIET) {
        bail!(
            "not_quiet",
            "nothing was changed: phones of {} are being deleted, and the changes may still be on their way; run this \
             again five minutes after the deletion has ended or waits (`ops campaign show {slug}` says when)",
            scope_in_words(scope)
        );
    }
    let is_recent = last_change.is_some_and(|last| now.since(last) < QUIET);
    if is_recent || operators_changed(tables, slug, now).await? {
        bail!(
            "not_quiet",
            "nothing was changed: submissions, or the campaign, changed within the last five minutes, and their \
                       changes may still be on their way; wait five minutes, and run this again"
        );
    }
    Ok(())
}

/// True if operators lately changed the campaign or all campaigns.
async fn operators_changed(tables: &Tables, slug: &CampaignSlug, now: Timestamp) -> Result<bool> {
    for day in BTreeSet::from([now.before(QUIET).day_in(UTC), now.day_in(UTC)]) {
        let rows = tables.audit.log().of_day(&day).await?;
        let mut rows = rows.into_iter().filter_map(|stored| stored.row);
        let is_change = |row: AuditRow| {
            let campaign = row.entry.campaign.as_deref();
            campaign.is_none_or(|campaign| campaign == slug.as_str())
                && row.entry.action != RECOUNT
                && now.since(row.at) < QUIET
        };
        if rows.any(is_change) {
            return Ok(true);
        }
    }
    Ok(false)
}
