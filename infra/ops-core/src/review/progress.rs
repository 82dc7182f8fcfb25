//! The reviewers' progress, at most a minute old.

use std::time::Duration;

use chrono_tz::Tz;
use common::aws::MAX_CONCURRENCY;
use common::domain::numbers::{AGREED, Cells, DECIDED, DIFFERED, Metric, utc_hour};
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::failure::Failure;
use crate::tables::Tables;

const DAYS: i64 = 31;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewProgress {
    pub today: i64,
    pub hour: i64,
    pub agreed: i64,
    pub differed: i64,
}

pub async fn progress(
    tables: &Tables,
    scope: &Scope,
    zone: Tz,
    now: Timestamp,
) -> Result<ReviewProgress, Failure> {
    let day = i64::try_from(DAY.as_millis()).unwrap_or(i64::MAX);
    let days =
        (0..DAYS).map(|back| Timestamp::from_millis(now.as_millis() - back * day).day_in(zone));
    let reads =
        days.map(|day| async move { tables.numbers.cells(scope, Metric::Reviews, &day).await });
    let cells: Vec<Cells> = stream::iter(reads)
        .buffered(MAX_CONCURRENCY)
        .try_collect()
        .await?;
    let (today, hour) = (now.day_in(zone), utc_hour(now));
    let mut progress = ReviewProgress::default();
    for (cell, amount) in cells.iter().flat_map(Cells::iter) {
        let at: Option<Timestamp> = format!("{}:00:00Z", cell.hour).parse().ok();
        match cell.dimension.split('#').next() {
            Some(DECIDED) => {
                let is_today = at.is_some_and(|at| at.day_in(zone) == today);
                progress.today += if is_today { amount.records } else { 0 };
                progress.hour += if cell.hour == hour { amount.records } else { 0 };
            }
            Some(AGREED) => progress.agreed += amount.records,
            Some(DIFFERED) => progress.differed += amount.records,
            Some(_) | None => {}
        }
    }
    Ok(progress)
}
