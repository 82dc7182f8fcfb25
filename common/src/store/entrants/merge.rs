use super::blocklist::BLOCKED;
use super::erasure::ERASED_AS;
use super::{
    DAY, ENTRIES, Entrants, KEY, OPEN_RECEIPTS, SUBMISSIONS, THROTTLED_UNTIL, WRONG_CODES,
};
use crate::domain::{EntrantId, Scope};
use crate::store::record_version;
use crate::store::transaction;
use crate::store::write::Write;
use crate::store::{Item, StoreResult, read_text};

/// Every change of a record sets one of these.
const ADDED_BY_CHANGES: [&str; 7] = [
    SUBMISSIONS,
    ENTRIES,
    OPEN_RECEIPTS,
    WRONG_CODES,
    THROTTLED_UNTIL,
    BLOCKED,
    ERASED_AS,
];
/// An expression has at most 4 KB, a day takes some 15 bytes.
const MAX_DAYS: usize = 100;

impl Entrants {
    /// Moves days until `item`, the remaining record, fits into one transaction; false if it has
    /// changed.
    pub(super) async fn move_days(
        &self,
        item: &mut Item,
        scope: &Scope,
        id: &EntrantId,
    ) -> StoreResult<bool> {
        let days: Vec<String> = item
            .keys()
            .filter(|name| name.starts_with(DAY))
            .cloned()
            .collect();
        for days in days.get(MAX_DAYS..).unwrap_or_default().chunks(MAX_DAYS) {
            let moved: Item = item.extract_if(|name, _| days.contains(name)).collect();
            let own = self.table.update(key(item)).when_same(&moved);
            let own = own.remove(moved.keys().map(String::as_str));
            let merged = self.merge(scope, id, moved);
            if transaction::write(vec![own, merged]).await?.is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn delete_unchanged(&self, item: &Item) -> Write {
        unchanged(self.table.delete(key(item)), item)
    }

    pub(super) fn replace_unchanged(&self, item: &Item, attributes: Item) -> Write {
        unchanged(self.table.put_item(key(item), attributes), item)
    }

    /// Adds a record's counts to an id, and copies the attributes that it lacks.
    pub(super) fn merge(&self, scope: &Scope, id: &EntrantId, item: Item) -> Write {
        let mut update = self.update(scope, id);
        for (name, value) in item {
            update = match name.as_str() {
                KEY | record_version::ATTRIBUTE => update,
                SUBMISSIONS | ENTRIES | OPEN_RECEIPTS => update.add(&name, value),
                day if day.starts_with(DAY) => update.add(day, value),
                WRONG_CODES => update.append(&name, value),
                _ => update.set_if_absent(&name, value),
            };
        }
        update
    }
}

fn key(item: &Item) -> &str {
    read_text(item, KEY).unwrap_or_default()
}

fn unchanged(write: Write, item: &Item) -> Write {
    let added = ADDED_BY_CHANGES
        .iter()
        .filter(|name| !item.contains_key(**name));
    added.fold(write.when_same(item), |write, name| write.when_absent(name))
}
