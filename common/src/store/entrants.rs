mod blocklist;
mod erasure;
mod merge;

use futures_util::Stream;
use serde::Serialize;

use super::batch::Place;
use super::record_version::{self, FIRST};
use super::table_pages::TablePage;
use super::write::Write;
use super::{
    Item, StoreError, StoreResult, number, read_number, read_text, read_time, read_times, required,
    transaction,
};
use crate::domain::entrant::MAX_OPEN_RECEIPTS;
use crate::domain::instant::Claim;
use crate::domain::statistics::EntrantCounts;
use crate::domain::{
    Entrant, EntrantId, PhoneChecks, PhoneLimits, Scope, Submission, Timestamp, WrongCodes,
};

pub use self::blocklist::{
    BLOCKED, BLOCKED_SCOPE, BLOCKLIST, BlockChange, BlockedPhone, KnownEntrant,
};

pub const KEY: &str = "entrant";
pub const VARIABLE: &str = "ENTRANTS_TABLE";

const READING: &str = "reading an entrant";
const TABLE: &str = "entrants";
const DAY: &str = "day:";
const SUBMISSIONS: &str = "submissions";
const ENTRIES: &str = "entries";
const OPEN_RECEIPTS: &str = "open_receipts";
const WRONG_CODES: &str = "wrong_codes";
const THROTTLED_UNTIL: &str = "throttled_until";

/// A timeline of two submissions when one more is allowed: both read that count; the first takes
/// the place; the second's condition fails and returns the new counts.
const MAY_ENTER: &str = "attribute_not_exists(blocked) \
    AND (attribute_not_exists(#day) OR #day < :daily_limit) \
    AND (attribute_not_exists(submissions) OR submissions < :total_limit)";
const NOT_THROTTLED: &str = "attribute_not_exists(throttled_until) OR throttled_until <= :now";
const MAY_SEND_RECEIPT: &str =
    "attribute_not_exists(open_receipts) OR open_receipts < :max_open_receipts";

const MAY_WIN: &str = "attribute_not_exists(#wins) OR #wins < :wins_cap";
const MAY_WIN_TODAY: &str = "attribute_not_exists(#wins_of_day) OR #wins_of_day < :wins_of_day_cap";

#[derive(Clone, Copy, Debug)]
pub(crate) struct WrongCodeLogUpdate<'a> {
    pub(crate) before: &'a Entrant,
    pub(crate) after: &'a WrongCodes,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CountChange<'a> {
    pub(crate) submissions: i32,
    pub(crate) entries: i64,
    pub(crate) open_receipts: i32,
    pub(crate) wrong_codes: Option<WrongCodeLogUpdate<'a>>,
    pub(crate) claim: Option<&'a Claim>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntrantRecord {
    pub id: EntrantId,
    pub submissions: u32,
    pub entries: u64,
    pub blocked_since: Option<Timestamp>,
}

store! {
    Entrants
}

impl Entrants {
    pub(crate) fn count(
        &self,
        submission: &Submission,
        limits: PhoneLimits,
        checks: PhoneChecks,
        wrong_codes: Option<WrongCodeLogUpdate<'_>>,
        claim: Option<&Claim>,
    ) -> Write {
        let Submission {
            scope,
            entrant_id,
            day,
            status,
            created_at,
            ..
        } = submission;
        let change = CountChange {
            submissions: 1,
            entries: status.entries().into(),
            open_receipts: i32::from(submission.has_open_receipt()),
            wrong_codes,
            claim,
        };
        let mut write = self
            .changed(scope, entrant_id, day, change)
            .rename("#day", day_attribute(day))
            .when(MAY_ENTER)
            .bind(":daily_limit", limits.phone_daily.unwrap_or(u32::MAX))
            .bind(":total_limit", limits.phone_total.unwrap_or(u32::MAX));
        if checks.throttle {
            write = write.when(NOT_THROTTLED).bind(":now", created_at);
        }
        if checks.open_receipts {
            let max = MAX_OPEN_RECEIPTS;
            write = write.when(MAY_SEND_RECEIPT).bind(":max_open_receipts", max);
        }
        write
    }

    pub(crate) fn change(
        &self,
        scope: &Scope,
        id: &EntrantId,
        day: &str,
        change: CountChange<'_>,
    ) -> Option<Write> {
        let CountChange {
            submissions,
            entries,
            open_receipts,
            wrong_codes,
            claim,
        } = change;
        let is_none = (submissions, entries, open_receipts) == (0, 0, 0)
            && wrong_codes.is_none()
            && claim.is_none();
        (!is_none).then(|| self.changed(scope, id, day, change))
    }

    fn changed(&self, scope: &Scope, id: &EntrantId, day: &str, change: CountChange<'_>) -> Write {
        let CountChange {
            submissions,
            entries,
            open_receipts,
            wrong_codes,
            claim,
        } = change;
        let counts = [
            (SUBMISSIONS, submissions.into()),
            (&day_attribute(day), submissions.into()),
            (ENTRIES, entries),
            (OPEN_RECEIPTS, open_receipts.into()),
        ];
        let mut write = self.update(scope, id);
        for (name, count) in counts {
            if count != 0 {
                write = write.add(name, number(count));
            }
        }
        if let Some(claim) = claim {
            let [wins, wins_of_day] = wins_attributes(claim);
            write = write
                .add(&wins, number(1))
                .add(&wins_of_day, number(1))
                .rename("#wins", wins)
                .rename("#wins_of_day", wins_of_day)
                .when(MAY_WIN)
                .when(MAY_WIN_TODAY)
                .bind(":wins_cap", claim.caps.total)
                .bind(":wins_of_day_cap", claim.caps.day);
        }
        let Some(WrongCodeLogUpdate { before, after }) = wrong_codes else {
            return write;
        };
        write = match after.log.as_slice() {
            // A phone without wrong codes has no log: see the condition.
            [] => write.remove([WRONG_CODES]),
            log => write.set(WRONG_CODES, log),
        };
        write = match after.throttled_until {
            Some(until) => write.set(THROTTLED_UNTIL, until),
            None => write.remove([THROTTLED_UNTIL]),
        };
        match before.wrong_codes.as_slice() {
            [] => write.when_absent(WRONG_CODES),
            seen => write.when_equal(WRONG_CODES, seen),
        }
    }

    fn update(&self, scope: &Scope, id: &EntrantId) -> Write {
        self.table.update(item_key(scope, id))
    }

    pub(crate) fn place(&self, scope: &Scope, id: &EntrantId) -> Place {
        self.table.place(item_key(scope, id))
    }

    pub async fn get(&self, scope: &Scope, id: &EntrantId, day: &str) -> StoreResult<Entrant> {
        let known = self.find(scope, id, day).await?;
        Ok(known.unwrap_or_default().entrant)
    }

    pub fn pages(
        &self,
        scope: &Scope,
    ) -> impl Stream<Item = StoreResult<TablePage<EntrantRecord>>> {
        let prefix = scope.key("");
        let scan = self.table.scan_scope(scope, None);
        let record = move |item: Item| {
            let Entrant { total, entries, .. } = read(&item, "")?;
            let id = read_text(&item, KEY).and_then(|key| key.strip_prefix(&prefix));
            let id = id.and_then(EntrantId::parse).ok_or_else(|| {
                StoreError::of_record(TABLE, named(&item))(StoreError::new(
                    READING,
                    "its key has no digest",
                ))
            })?;
            let blocked_since = read_time(&item, "blocked");
            Ok(EntrantRecord {
                id,
                submissions: total,
                entries,
                blocked_since,
            })
        };
        self.table
            .read_all(scan, "reading the table of entrants", record)
    }

    pub(crate) fn all(&self, scope: &Scope) -> impl Stream<Item = StoreResult<TablePage<Item>>> {
        let scan = self.table.scan_scope(scope, None);
        self.table.read_all(scan, "reading all entrants", Ok)
    }

    /// Deletes all phones but the blocklist.
    pub async fn clear(&self, scope: &Scope) -> StoreResult<u64> {
        const ACTION: &str = "forgetting entrants";
        let change = async |item: Item| {
            let is_kept = |name: &str| name.starts_with(BLOCKED);
            if !item.keys().any(|name| is_kept(name)) {
                return self.table.delete_found(&item, ACTION).await;
            }
            if item
                .keys()
                .all(|name| is_kept(name) || name == KEY || name == record_version::ATTRIBUTE)
            {
                return Ok(false);
            }
            let kept = item.clone().into_iter();
            let kept = kept.filter(|(name, _)| is_kept(name)).collect();
            transaction::write_one(self.replace_unchanged(&item, kept), ACTION).await
        };
        self.table.change_each(scope, ACTION, change).await
    }
}

pub(crate) fn read(item: &Item, day: &str) -> StoreResult<Entrant> {
    FIRST
        .check(item, READING)
        .map_err(|error| StoreError::of_record(TABLE, named(item))(error))?;
    let count = |name: &str| {
        read_number::<i64>(item, name)
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(0)
    };
    Ok(Entrant {
        blocked: item.contains_key("blocked"),
        total: count(SUBMISSIONS),
        today: count(&day_attribute(day)),
        entries: read_number(item, ENTRIES).unwrap_or(0),
        wrong_codes: read_times(item, WRONG_CODES),
        throttled_until: read_time(item, THROTTLED_UNTIL),
        open_receipts: count(OPEN_RECEIPTS),
        erased_at: read_time(item, erasure::ERASED_AT),
    })
}

pub(crate) fn read_counts(item: &Item) -> StoreResult<EntrantCounts> {
    FIRST.check(item, READING)?;
    let (scope, _) = required(read_text(item, KEY).and_then(Scope::split_key), READING)?;
    let day = |name: &String| {
        let submissions: i64 = read_number(item, name)?;
        Some((
            name.strip_prefix(DAY)?.to_owned(),
            u32::try_from(submissions).unwrap_or(0),
        ))
    };
    let days = item.keys().filter_map(day).collect();
    Ok(EntrantCounts {
        scope,
        days,
        entries: read_number(item, ENTRIES).unwrap_or(0),
    })
}

/// A count for each day: no write needs to know the last one.
fn day_attribute(day: &str) -> String {
    format!("{DAY}{day}")
}

/// Of the plan, and of its day. Each plan has its own, named by the commitment's first digits.
fn wins_attributes(claim: &Claim) -> [String; 2] {
    let plan: String = claim.plan.to_string().chars().take(16).collect();
    [format!("wins:{plan}"), format!("wins:{plan}:{}", claim.day)]
}

/// True if the record is the reason that a claim fails.
pub(crate) fn is_capped(item: &Item, claim: &Claim) -> bool {
    let [wins, wins_of_day] = wins_attributes(claim);
    let reaches = |name: &str, cap| read_number(item, name).is_some_and(|wins: u32| wins >= cap);
    reaches(&wins, claim.caps.total) || reaches(&wins_of_day, claim.caps.day)
}

/// Hides a text that is no digest, which may be a phone.
fn named(item: &Item) -> String {
    match read_text(item, KEY).and_then(Scope::split_key) {
        Some((scope, id)) => scope.key(EntrantId::parse(id).map_or("***", |_| id)),
        None => "***".to_owned(),
    }
}

fn item_key(scope: &Scope, id: &EntrantId) -> String {
    scope.key(id.as_str())
}
