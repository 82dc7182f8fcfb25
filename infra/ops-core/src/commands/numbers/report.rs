//! The numbers of a campaign, as tables with bars and as JSON.

use chrono_tz::Tz;
use common::domain::codebook::Batch;
use common::domain::numbers::decision_time::{Kind, Percentile};
use common::domain::numbers::{Amount, Cells, Metric};
use common::domain::scope::Scope;
use serde_json::{Map, Value, json};

use crate::commands::code::status_of;
use crate::format::{grouped, table};
use crate::numbers::Days;
use crate::numbers::sums::{
    PrizesLeft, Sums, by_day, by_dimension, by_hand_percent, by_hour, phones_by_entries,
    receipt_words, span, sums, total, unknown_now, wait,
};
use crate::terminal::Report;

/// Characters of the longest bar.
const BAR_CHARS: i64 = 32;
/// Why fewer prizes may be left.
const AT_MOST: &str = "Held codes are among these, and those that stayed used after a revocation. \
                       `ops code batches --used` counts the unused ones.";
/// Shown for an empty region, branch or other name.
const NONE: &str = "(none)";

/// The numbers of a scope on some days, with its batches, and what is left of their prizes in the whole campaign.
#[derive(Clone, Copy)]
pub(super) struct Overview<'a> {
    pub(super) scope: &'a Scope,
    pub(super) zone: Tz,
    pub(super) days: Days,
    pub(super) cells: &'a Cells,
    pub(super) batches: &'a [Batch],
    pub(super) prizes: &'a [PrizesLeft<'a>],
}

impl Overview<'_> {
    pub(super) fn report(self) -> Report {
        Report::new(as_json(self), as_text(self))
    }
}

fn as_text(overview: Overview<'_>) -> String {
    let Overview {
        scope,
        zone,
        cells,
        batches,
        prizes,
        ..
    } = overview;
    let days = by_dimension(cells, Metric::Days);
    let heading = format!(
        "{} {}, days and hours in {}\n",
        scope.campaign,
        scope.environment,
        zone.name()
    );
    let prizes = prize_table(prizes);
    let Some((last_day, _)) = days.last_key_value() else {
        let nothing = "Nothing has been counted. New submissions are counted within a minute.\n";
        return if prizes.is_empty() {
            heading + nothing
        } else {
            heading + nothing + "\n" + &prizes
        };
    };
    let mut text = heading + &summary(overview, total(&days));
    let mut section = |title: &str, body: String| {
        if !body.is_empty() {
            text += &format!("\n{title}\n{body}");
        }
    };
    section("Days", day_table(cells, &days));
    let hours = by_hour(cells, zone)
        .into_iter()
        .filter(|(hour, _)| hour.starts_with(last_day.as_str()));
    section(
        "Hours of the last day",
        bars(&["HOUR", "SUBMISSIONS", "ENTRIES"], &hours.collect()),
    );
    let outcomes = sums(cells, Metric::Outcomes, |cell| {
        cell.dimension.replacen('#', ", ", 1)
    });
    section(
        "Outcomes",
        bars(&["OUTCOME", "SUBMISSIONS", "ENTRIES"], &outcomes),
    );
    let regions = by_dimension(cells, Metric::Regions);
    section(
        "Regions",
        bars(&["REGION", "SUBMISSIONS", "ENTRIES"], &regions),
    );
    let branches = by_dimension(cells, Metric::Branches);
    if branches.keys().any(|branch| !branch.is_empty()) {
        section(
            "Branches",
            bars(&["BRANCH", "SUBMISSIONS", "ENTRIES"], &branches),
        );
    }
    if overview.days.are_all() {
        section(
            "Entries of a phone",
            bars(&["ENTRIES", "PHONES", "ENTRIES"], &phones_by_entries(cells)),
        );
    }
    section("Codes", code_table(cells, batches));
    let receipts = sums(cells, Metric::Receipts, |cell| {
        receipt_words(&cell.dimension)
    });
    section(
        "Receipts",
        bars(&["RECEIPT", "SUBMISSIONS", "ENTRIES"], &receipts),
    );
    section(
        "Prizes",
        bars(
            &["PRIZE", "WON", "ENTRIES"],
            &by_dimension(cells, Metric::Prizes),
        ),
    );
    if prizes.is_empty() {
        text
    } else {
        text + "\n" + &prizes
    }
}

fn summary(overview: Overview<'_>, all: Amount) -> String {
    let cells = overview.cells;
    // The phones of some days may be new on an earlier one, and one phone can be active on several.
    let phones = if overview.days.are_all() {
        "phones"
    } else {
        "new phones"
    };
    let mut text = format!(
        "Submissions: {}; entries: {}; {phones}: {}; unknown now: {}\n",
        number(all.records),
        number(all.entries),
        number(total(&by_day(cells, Metric::NewPhones)).records),
        number(unknown_now(cells)),
    );
    if let Some(percent) = by_hand_percent(cells) {
        text += &format!("{percent} % of the decided receipts were settled by hand\n");
    }
    for kind in [Kind::Receipt, Kind::Code] {
        if let (Some(p50), Some(p95)) = (wait(cells, kind, 50), wait(cells, kind, 95)) {
            let (kind, p50, p95) = (kind.as_str(), span(p50), span(p95));
            text += &format!("Time to decide a {kind}: half within {p50}, 95 % within {p95}\n");
        }
    }
    text
}

/// A table with a bar for the submissions of each day.
fn day_table(cells: &Cells, days: &Sums) -> String {
    let (new, active) = (
        by_day(cells, Metric::NewPhones),
        by_day(cells, Metric::ActivePhones),
    );
    let most = days
        .values()
        .map(|sum| sum.records)
        .max()
        .unwrap_or(0)
        .max(1);
    let row = |(day, sum): (&String, &Amount)| {
        let counts = [
            sum.records,
            sum.entries,
            records_of(&new, day),
            records_of(&active, day),
        ];
        [day.clone()]
            .into_iter()
            .chain(counts.map(number))
            .chain([bar(sum.records, most)])
            .collect()
    };
    let rows: Vec<Vec<String>> = days.iter().map(row).collect();
    table(
        &[
            "DAY",
            "SUBMISSIONS",
            "ENTRIES",
            "NEW PHONES",
            "ACTIVE PHONES",
            "",
        ],
        &rows,
    )
}

fn records_of(sums: &Sums, name: &str) -> i64 {
    sums.get(name).map_or(0, |sum| sum.records)
}

/// A table with a bar for each first number.
fn bars(heading: &[&str], sums: &Sums) -> String {
    let most = sums
        .values()
        .map(|sum| sum.records)
        .max()
        .unwrap_or(0)
        .max(1);
    let row = |(name, sum): (&String, &Amount)| {
        let name = if name.is_empty() {
            NONE.to_owned()
        } else {
            name.clone()
        };
        vec![
            name,
            number(sum.records),
            number(sum.entries),
            bar(sum.records, most),
        ]
    };
    let rows: Vec<_> = sums.iter().map(row).collect();
    let heading: Vec<_> = heading.iter().copied().chain([""]).collect();
    if rows.is_empty() {
        String::new()
    } else {
        table(&heading, &rows)
    }
}

/// Every number above zero gets a visible bar.
fn bar(value: i64, most: i64) -> String {
    let chars = (value * BAR_CHARS + most / 2) / most;
    let chars = if value > 0 { chars.max(1) } else { 0 };
    "█".repeat(usize::try_from(chars).unwrap_or(0))
}

fn code_table(cells: &Cells, batches: &[Batch]) -> String {
    let redeemed = by_dimension(cells, Metric::Batches);
    let row = |batch: &Batch| {
        let sum = redeemed.get(&batch.name).copied().unwrap_or_default();
        let codes = batch.count();
        let all = i64::try_from(codes).unwrap_or(i64::MAX);
        let (prize, bar) = (
            batch.prize.clone().unwrap_or_default(),
            bar(sum.records, all.max(1)),
        );
        vec![
            batch.name.clone(),
            number(sum.records),
            grouped(codes),
            prize,
            bar,
        ]
    };
    let rows: Vec<_> = batches.iter().map(row).collect();
    if rows.is_empty() {
        String::new()
    } else {
        table(&["BATCH", "REDEEMED", "OF", "PRIZE", ""], &rows)
    }
}

/// What is left of the prizes; empty without any.
fn prize_table(prizes: &[PrizesLeft<'_>]) -> String {
    let row = |prizes: &PrizesLeft<'_>| {
        let left = prizes
            .at_most
            .map_or_else(|| status_of(prizes.batch).to_owned(), number);
        let bar = bar(prizes.at_most.unwrap_or(0), prizes.codes.max(1));
        vec![
            prizes.batch.name.clone(),
            prizes.prize.to_owned(),
            left,
            number(prizes.codes),
            bar,
        ]
    };
    let rows: Vec<_> = prizes.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "Prizes left, at most\n{}{AT_MOST}\n",
        table(&["BATCH", "PRIZE", "LEFT", "OF", ""], &rows)
    )
}

fn number(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

fn as_json(overview: Overview<'_>) -> Value {
    let Overview {
        scope,
        zone,
        cells,
        batches,
        prizes,
        ..
    } = overview;
    let are_all = overview.days.are_all();
    let days = by_dimension(cells, Metric::Days);
    let (new, active) = (
        by_day(cells, Metric::NewPhones),
        by_day(cells, Metric::ActivePhones),
    );
    let day = |(day, sum): (&String, &Amount)| {
        json!({
            "day": day,
            "submissions": sum.records,
            "entries": sum.entries,
            "new_phones": records_of(&new, day),
            "active_phones": records_of(&active, day),
        })
    };
    let range = |(range, sum): (String, Amount)| json!({ "range": range, "phones": sum.records, "entries": sum.entries });
    let by_entries = || {
        phones_by_entries(cells)
            .into_iter()
            .map(range)
            .collect::<Vec<_>>()
    };
    let all = total(&days);
    let redeemed = by_dimension(cells, Metric::Batches);
    let batch = |batch: &Batch| {
        let redeemed = records_of(&redeemed, &batch.name);
        json!({ "batch": batch.name, "codes": batch.count(), "redeemed": redeemed, "prize": batch.prize })
    };
    let left = |prizes: &PrizesLeft<'_>| {
        let PrizesLeft {
            batch,
            prize,
            codes,
            at_most,
        } = prizes;
        json!({
            "batch": batch.name, "prize": prize, "status": batch.status, "codes": codes, "left_at_most": at_most,
        })
    };
    json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "timezone": zone.name(),
        "submissions": all.records,
        "entries": all.entries,
        "unknown_now": unknown_now(cells),
        // Of some days, neither can be told: each phone is counted on the day of its first submission.
        "phones": are_all.then(|| total(&new).records),
        "new_phones": total(&new).records,
        "days": days.iter().map(day).collect::<Vec<_>>(),
        "hours": list(&["hour"], &sums(cells, Metric::Outcomes, |cell| format!("{}:00:00Z", cell.hour))),
        "outcomes": list(&["state", "message_key"], &by_dimension(cells, Metric::Outcomes)),
        "regions": list(&["region"], &by_dimension(cells, Metric::Regions)),
        "branches": list(&["branch"], &by_dimension(cells, Metric::Branches)),
        "entries_per_phone": are_all.then(by_entries),
        "codes": batches.iter().map(batch).collect::<Vec<_>>(),
        "receipts": list(&["state", "decided_by"], &by_dimension(cells, Metric::Receipts)),
        "receipts_by_hand_percent": by_hand_percent(cells),
        "seconds_to_decide": { "receipt": waits(cells, Kind::Receipt), "code": waits(cells, Kind::Code) },
        "prizes": list(&["prize"], &by_dimension(cells, Metric::Prizes)),
        "prizes_left": prizes.iter().map(left).collect::<Vec<_>>(),
    })
}

/// The parts of each name, which `#` separates, with the sums; an empty part is null.
fn list(names: &[&str], sums: &Sums) -> Vec<Value> {
    let row = |(dimension, sum): (&String, &Amount)| {
        let parts = dimension.splitn(names.len(), '#').map(|part| {
            if part.is_empty() {
                Value::Null
            } else {
                json!(part)
            }
        });
        let mut row: Map<String, Value> =
            names.iter().map(ToString::to_string).zip(parts).collect();
        row.insert("submissions".to_owned(), json!(sum.records));
        row.insert("entries".to_owned(), json!(sum.entries));
        Value::Object(row)
    };
    sums.iter().map(row).collect()
}

/// Upper ends of spans; more than the longest is null.
fn waits(cells: &Cells, kind: Kind) -> Value {
    let seconds = |percent| match wait(cells, kind, percent) {
        Some(Percentile::AtMost(seconds)) => json!(seconds),
        Some(Percentile::MoreThan(_)) | None => Value::Null,
    };
    json!({ "p50": seconds(50), "p95": seconds(95) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_there_has_a_bar_and_the_most_has_the_longest() {
        let chars = |value, most| bar(value, most).chars().count();
        assert_eq!(
            (
                chars(0, 10),
                chars(1, 1_000_000),
                chars(10, 10),
                chars(5, 10)
            ),
            (0, 1, 32, 16)
        );
        assert_eq!(chars(-5, 10), 0);
    }
}
