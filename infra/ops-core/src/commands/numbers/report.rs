//! The numbers of a campaign, as tables with bars and as JSON.

use chrono_tz::Tz;
use common::domain::codebook::Batch;
use common::domain::numbers::decision_time::{Kind, Percentile};
use common::domain::numbers::{Amount, Cells, Metric};
use common::domain::scope::Scope;
use serde_json::{Map, Value, json};

use crate::format::{grouped, table};
use crate::numbers::sums::{
    Sums, by_day, by_dimension, by_hand_percent, by_hour, codes_of, phones_by_entries, receipt_words, span,
    sums, total, unknown_now, wait,
};
use crate::terminal::Report;

/// Characters of the longest bar.
const BAR_CHARS: i64 = 32;
/// Shown for an empty region, branch or other name.
const NONE: &str = "(none)";

pub(super) fn overview(scope: &Scope, zone: Tz, cells: &Cells, batches: &[Batch]) -> Report {
    Report::new(as_json(scope, zone, cells, batches), as_text(scope, zone, cells, batches))
}

fn as_text(scope: &Scope, zone: Tz, cells: &Cells, batches: &[Batch]) -> String {
    let days = by_dimension(cells, Metric::Days);
    let heading = format!("{} {}, days and hours in {}\n", scope.campaign, scope.environment, zone.name());
    let Some((last_day, _)) = days.last_key_value() else {
        return heading + "Nothing has been counted. New submissions are counted within a minute.\n";
    };
    let mut text = heading + &summary(cells, total(&days));
    let mut section = |title: &str, body: String| {
        if !body.is_empty() {
            text += &format!("\n{title}\n{body}");
        }
    };
    section("Days", bars(&["DAY", "SUBMISSIONS", "ENTRIES"], &days));
    let hours = by_hour(cells, zone).into_iter().filter(|(hour, _)| hour.starts_with(last_day.as_str()));
    section("Hours of the last day", bars(&["HOUR", "SUBMISSIONS", "ENTRIES"], &hours.collect()));
    let outcomes = sums(cells, Metric::Outcomes, |cell| cell.dimension.replacen('#', ", ", 1));
    section("Outcomes", bars(&["OUTCOME", "SUBMISSIONS", "ENTRIES"], &outcomes));
    let regions = by_dimension(cells, Metric::Regions);
    section("Regions", bars(&["REGION", "SUBMISSIONS", "ENTRIES"], &regions));
    let branches = by_dimension(cells, Metric::Branches);
    if branches.keys().any(|branch| !branch.is_empty()) {
        section("Branches", bars(&["BRANCH", "SUBMISSIONS", "ENTRIES"], &branches));
    }
    section("Entries of a phone", bars(&["ENTRIES", "PHONES", "ENTRIES"], &phones_by_entries(cells)));
    section("Codes", code_table(cells, batches));
    let receipts = sums(cells, Metric::Receipts, |cell| receipt_words(&cell.dimension));
    section("Receipts", bars(&["RECEIPT", "SUBMISSIONS", "ENTRIES"], &receipts));
    section("Prizes", bars(&["PRIZE", "WON", "ENTRIES"], &by_dimension(cells, Metric::Prizes)));
    text
}

fn summary(cells: &Cells, all: Amount) -> String {
    let phones = total(&by_day(cells, Metric::NewPhones)).records;
    let mut text = format!(
        "Submissions: {}; entries: {}; phones: {}; unknown now: {}\n",
        number(all.records),
        number(all.entries),
        number(phones),
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

/// A table with a bar for each first number.
fn bars(heading: &[&str], sums: &Sums) -> String {
    let most = sums.values().map(|sum| sum.records).max().unwrap_or(0).max(1);
    let row = |(name, sum): (&String, &Amount)| {
        let name = if name.is_empty() { NONE.to_owned() } else { name.clone() };
        vec![name, number(sum.records), number(sum.entries), bar(sum.records, most)]
    };
    let rows: Vec<_> = sums.iter().map(row).collect();
    let heading: Vec<_> = heading.iter().copied().chain([""]).collect();
    if rows.is_empty() { String::new() } else { table(&heading, &rows) }
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
        let codes = codes_of(batch);
        let all = i64::try_from(codes).unwrap_or(i64::MAX);
        let (prize, bar) = (batch.prize.clone().unwrap_or_default(), bar(sum.records, all.max(1)));
        vec![batch.name.clone(), number(sum.records), grouped(codes), prize, bar]
    };
    let rows: Vec<_> = batches.iter().map(row).collect();
    if rows.is_empty() { String::new() } else { table(&["BATCH", "REDEEMED", "OF", "PRIZE", ""], &rows) }
}

fn number(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

fn as_json(scope: &Scope, zone: Tz, cells: &Cells, batches: &[Batch]) -> Value {
    let days = by_dimension(cells, Metric::Days);
    let (new, active) = (by_day(cells, Metric::NewPhones), by_day(cells, Metric::ActivePhones));
    let phones = |sums: &Sums, day: &String| sums.get(day).map_or(0, |sum| sum.records);
    let day = |(day, sum): (&String, &Amount)| {
        json!({
            "day": day,
            "submissions": sum.records,
            "entries": sum.entries,
            "new_phones": phones(&new, day),
            "active_phones": phones(&active, day),
        })
    };
    let all = total(&days);
    let redeemed = by_dimension(cells, Metric::Batches);
    let batch = |batch: &Batch| {
        let redeemed = redeemed.get(&batch.name).map_or(0, |sum| sum.records);
        json!({ "batch": batch.name, "codes": codes_of(batch), "redeemed": redeemed, "prize": batch.prize })
    };
    json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "timezone": zone.name(),
        "submissions": all.records,
        "entries": all.entries,
        "unknown_now": unknown_now(cells),
        "phones": total(&new).records,
        "days": days.iter().map(day).collect::<Vec<_>>(),
        "hours": list(&["hour"], &sums(cells, Metric::Outcomes, |cell| format!("{}:00:00Z", cell.hour))),
        "outcomes": list(&["state", "message_key"], &by_dimension(cells, Metric::Outcomes)),
        "regions": list(&["region"], &by_dimension(cells, Metric::Regions)),
        "branches": list(&["branch"], &by_dimension(cells, Metric::Branches)),
        "entries_per_phone": phones_by_entries(cells).iter().map(|(range, sum)| {
            json!({ "range": range, "phones": sum.records, "entries": sum.entries })
        }).collect::<Vec<_>>(),
        "codes": batches.iter().map(batch).collect::<Vec<_>>(),
        "receipts": list(&["state", "decided_by"], &by_dimension(cells, Metric::Receipts)),
        "receipts_by_hand_percent": by_hand_percent(cells),
        "seconds_to_decide": { "receipt": waits(cells, Kind::Receipt), "code": waits(cells, Kind::Code) },
        "prizes": list(&["prize"], &by_dimension(cells, Metric::Prizes)),
    })
}

/// The parts of each name, which `#` separates, with the sums; an empty part is null.
fn list(names: &[&str], sums: &Sums) -> Vec<Value> {
    let row = |(dimension, sum): (&String, &Amount)| {
        let parts = dimension
            .splitn(names.len(), '#')
            .map(|part| if part.is_empty() { Value::Null } else { json!(part) });
        let mut row: Map<String, Value> = names.iter().map(ToString::to_string).zip(parts).collect();
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
        assert_eq!((chars(0, 10), chars(1, 1_000_000), chars(10, 10), chars(5, 10)), (0, 1, 32, 16));
        assert_eq!(chars(-5, 10), 0);
    }
}
