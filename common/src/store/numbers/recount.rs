//! A count of all records by the same rules as the stream's, for comparing it with the numbers.

use std::sync::{Mutex, PoisonError};

use super::of_item;
use crate::domain::numbers::Cells;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;
use crate::store::entrants::Entrants;
use crate::store::submissions::Submissions;
use crate::store::{Item, StoreError, read_number};

/// Parts of a table that are read at once.
const SEGMENTS: i32 = 8;

/// The result of a count of all records.
#[derive(Clone, Debug, Default)]
pub struct Recount {
    /// The numbers as they should be.
    pub cells: Cells,
    /// Submissions and entrants of the scope.
    pub records: u64,
    /// Records that this build cannot read, which are not counted.
    pub unreadable: u64,
    /// The latest change of a submission.
    pub last_change: Option<Timestamp>,
}

impl Recount {
    fn take(&mut self, items: Vec<Item>) {
        for item in items {
            self.records += 1;
            self.last_change =
                self.last_change.max(read_number(&item, "updated_at").map(Timestamp::from_millis));
            match of_item(item) {
                Ok(cells) => self.cells.merge(cells),
                Err(_) => self.unreadable += 1,
            }
        }
    }
}

/// Counts all submissions and entrants of a scope, which reads both tables completely. `progress` gets the number of
/// records that each page read.
///
/// # Errors
/// When a table does not answer.
pub async fn recount(
    scope: &Scope,
    submissions: &Submissions,
    entrants: &Entrants,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Recount, StoreError> {
    let found = Mutex::new(Recount::default());
    let page = |items, looked_at| {
        found.lock().unwrap_or_else(PoisonError::into_inner).take(items);
        progress(looked_at);
    };
    submissions.read_whole(scope, SEGMENTS, &page).await?;
    entrants.read_whole(scope, SEGMENTS, &page).await?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}
