//! At most a minute old.

use common::domain::statistics::{AGREED, DECIDED, DIFFERED, utc_hour};

use crate::prelude::*;

const DAYS: u32 = 31;
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
) -> Result<ReviewProgress> {
    let days = (0..DAYS).map(|back| now.before(DAY * back).day_in(zone));
    let reads = days.map(|day| async move {
        tables
            .statistics
            .counters(scope, Metric::Reviews, &day)
            .await
    });
    let counters = concurrently(reads).await?;
    let (today, hour) = (now.day_in(zone), utc_hour(now));
    let mut progress = ReviewProgress::default();
    for (counter, amount) in counters.iter().flat_map(Counters::iter) {
        let at: Option<Timestamp> = format!("{}:00:00Z", counter.hour).parse().ok();
        match counter.dimension.split('#').next() {
            Some(DECIDED) => {
                let is_today = at.is_some_and(|at| at.day_in(zone) == today);
                progress.today += if is_today { amount.records } else { 0 };
                progress.hour += if counter.hour == hour {
                    amount.records
                } else {
                    0
                };
            }
            Some(AGREED) => progress.agreed += amount.records,
            Some(DIFFERED) => progress.differed += amount.records,
            Some(_) | None => {}
        }
    }
    Ok(progress)
}
