//! Counts all records by the stream's rules, to compare with the counters.

use std::collections::BTreeSet;
use std::pin::pin;

use futures_util::{StreamExt, TryStreamExt};

use super::of_item;
use crate::domain::statistics::{Counter, Counters};
use crate::domain::{Scope, Timestamp};
use crate::store::entrants::Entrants;
use crate::store::submissions::{Submissions, is_refusal};
use crate::store::{Item, StoreResult, read_number};

#[derive(Clone, Debug, Default)]
pub struct Recount {
    pub counters: Counters,
    pub records: u64,
    pub unreadable: u64,
    pub last_change: Option<Timestamp>,
    /// A paused campaign still gets refusals.
    pub recently_refused: BTreeSet<Counter>,
}

impl Recount {
    fn take(&mut self, items: Vec<Item>, since: Timestamp) {
        for item in items {
            self.records += 1;
            let shift: i64 = read_number(&item, "test_shift").unwrap_or(0);
            let changed = read_number(&item, "updated_at")
                .map(|at| Timestamp::from_millis(at).shifted(shift.saturating_neg()));
            let is_refusal = is_refusal(&item);
            let counters = of_item(item).unwrap_or_else(|_| {
                self.unreadable += 1;
                Counters::default()
            });
            if !is_refusal {
                self.last_change = self.last_change.max(changed);
            } else if changed > Some(since) {
                self.recently_refused
                    .extend(counters.iter().map(|(counter, _)| counter.clone()));
            }
            self.counters.merge(counters);
        }
    }
}

/// Refusals are recent after `since`. `progress` gets the records of each page.
pub async fn recount(
    scope: &Scope,
    submissions: &Submissions,
    entrants: &Entrants,
    since: Timestamp,
    progress: &(dyn Fn(u64) + Sync),
) -> StoreResult<Recount> {
    let mut found = Recount::default();
    let mut pages = pin!(submissions.all(scope).chain(entrants.all(scope)));
    while let Some(page) = pages.try_next().await? {
        progress(page.read);
        found.take(page.records, since);
    }
    Ok(found)
}
