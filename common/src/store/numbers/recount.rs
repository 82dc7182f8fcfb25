//! A count of all records by the same rules as the stream's, for comparing it with the numbers.

use std::collections::BTreeSet;
use std::pin::pin;

use futures_util::{StreamExt, TryStreamExt};

use super::of_item;
use crate::domain::numbers::{Cell, Cells};
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;
use crate::store::entrants::Entrants;
use crate::store::submissions::{Submissions, is_refusal};
use crate::store::{Item, StoreError, read_number};

/// The result of a count of all records.
#[derive(Clone, Debug, Default)]
pub struct Recount {
    /// The numbers as they should be.
    pub cells: Cells,
    /// Submissions and entrants of the scope.
    pub records: u64,
    /// Records that this build cannot read, which are not counted.
    pub unreadable: u64,
    /// The latest change of a submission that was not refused when it was made.
    pub last_change: Option<Timestamp>,
    /// The cells of submissions that were refused lately. A paused campaign still gets these.
    pub recently_refused: BTreeSet<Cell>,
}

impl Recount {
    fn take(&mut self, items: Vec<Item>, since: Timestamp) {
        for item in items {
            self.records += 1;
            let changed = read_number(&item, "updated_at").map(Timestamp::from_millis);
            let is_refusal = is_refusal(&item);
            let cells = of_item(item).unwrap_or_else(|_| {
                self.unreadable += 1;
                Cells::default()
            });
            if !is_refusal {
                self.last_change = self.last_change.max(changed);
            } else if changed > Some(since) {
                self.recently_refused
                    .extend(cells.iter().map(|(cell, _)| cell.clone()));
            }
            self.cells.merge(cells);
        }
    }
}

/// Counts all submissions and entrants of a scope, which reads both tables completely. Refusals are recent after `since`.
/// `progress` gets the number of records that each page read.
///
/// # Errors
/// When a table does not answer.
pub async fn recount(
    scope: &Scope,
    submissions: &Submissions,
    entrants: &Entrants,
    since: Timestamp,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Recount, StoreError> {
    let mut found = Recount::default();
    let mut pages = pin!(submissions.all(scope).chain(entrants.all(scope)));
    while let Some(page) = pages.try_next().await? {
        progress(u64::try_from(page.scanned_count).unwrap_or(0));
        found.take(page.items.unwrap_or_default(), since);
    }
    Ok(found)
}
