//! Numbers of a campaign, as tables with bars and as JSON.

use chrono_tz::Tz;
use common::domain::codebook::Batch;
use common::domain::numbers::decision_time::{Kind, Percentile};
use common::domain::numbers::{Amount, Cells, Metric};
use common::domain::scope::Scope;
use serde_json::{Map, Value, json};

use crate::commands::code::status_of;
use crate::format::{grouped, table, visible};
use crate::numbers::Days;
use crate::numbers::sums::{
    PrizesLeft, Sums, UNNAMED, by_day, by_dimension, by_hand_percent, by_hour, largest, number,
    phones_by_entries, receipt_words, scaled, span, sums, total, unknown_now, wait,
};
use crate::terminal::Report;
use crate::view::extended;

const BAR_CHARS: i64 = 32;
const AT_MOST: &str = "Held codes are among these, and those that stayed used after a revocation. \
                       `ops code batches --used` counts the unused ones.";

/// A table, and a list in the JSON.
struct Section {
    metric: Metric,
    title: &'static str,
    headings: [&'static str; 2],
    json: &'static str,
    /// Separated by `#`.
    parts: &'static [&'static str],
}

const SECTIONS: [Section; 5] = [
    Section {
        metric: Metric::Outcomes,
        title: "Outcomes",
        headings: ["OUTCOME", "SUBMISSIONS"],
        json: "outcomes",
        parts: &["state", "message_key"],
    },
    Section {
        metric: Metric::Regions,
        title: "Regions",
        headings: ["REGION", "SUBMISSIONS"],
        json: "regions",
        parts: &["region"],
    },
    Section {
        metric: Metric::Branches,
        title: "Branches",
        headings: ["BRANCH", "SUBMISSIONS"],
        json: "branches",
        parts: &["branch"],
    },
    Section {
        metric: Metric::Receipts,
        title: "Receipts",
        headings: ["RECEIPT", "SUBMISSIONS"],
        json: "receipts",
        parts: &["state", "decided_by"],
    },
    Section {
        metric: Metric::Prizes,
        title: "Prizes",
        headings: ["PRIZE", "WON"],
        json: "prizes",
        parts: &["prize"],
    },
];

/// `prizes_left` is of the whole campaign.
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
    let mut text = format!(
        "{} {}, days and hours in {}\n",
        scope.campaign,
        scope.environment,
        zone.name()
    );
    let left = prize_table(prizes);
    let Some((last_day, _)) = days.last_key_value() else {
        text += "Nothing has been counted. New submissions are counted within a minute.\n";
        return text + &left;
    };
    text += &summary(overview, total(&days));
    let mut section = |title: &str, body: String| {
        if !body.is_empty() {
            text += &format!("\n{title}\n{body}");
        }
    };
    section("Days", day_table(cells, &days));
    let hours = by_hour(cells, zone).into_iter();
    let of_last_day = hours.filter(|(hour, _)| hour.starts_with(last_day.as_str()));
    let hours = bars(["HOUR", "SUBMISSIONS"], &of_last_day.collect());
    section("Hours of the last day", hours);
    for one in &SECTIONS {
        let sums = sums(cells, one.metric, |cell| match one.metric {
            Metric::Receipts => receipt_words(&cell.dimension),
            _ => visible(&cell.dimension.replacen('#', ", ", 1)),
        });
        // Most submissions have no branch.
        if one.metric != Metric::Branches || sums.keys().any(|name| !name.is_empty()) {
            section(one.title, bars(one.headings, &sums));
        }
    }
    if overview.days.are_all() {
        let phones = bars(["ENTRIES", "PHONES"], &phones_by_entries(cells));
        section("Entries of a phone", phones);
    }
    section("Codes", code_table(cells, batches));
    text + &left
}

fn summary(overview: Overview<'_>, all: Amount) -> String {
    let cells = overview.cells;
    // Phones new on an earlier day are missing, and one can be active on several days.
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

fn day_table(cells: &Cells, days: &Sums) -> String {
    let new = by_day(cells, Metric::NewPhones);
    let active = by_day(cells, Metric::ActivePhones);
    let largest = largest(days.values().map(|sum| sum.records));
    let row = |(day, sum): (&String, &Amount)| {
        vec![
            day.clone(),
            number(sum.records),
            number(sum.entries),
            number(records_of(&new, day)),
            number(records_of(&active, day)),
            bar(sum.records, largest),
        ]
    };
    let headings = [
        "DAY",
        "SUBMISSIONS",
        "ENTRIES",
        "NEW PHONES",
        "ACTIVE PHONES",
        "",
    ];
    filled_table(&headings, days.iter().map(row).collect())
}

fn records_of(sums: &Sums, name: &str) -> i64 {
    sums.get(name).map_or(0, |sum| sum.records)
}

fn bars([name, records]: [&str; 2], sums: &Sums) -> String {
    let largest = largest(sums.values().map(|sum| sum.records));
    let row = |(name, sum): (&String, &Amount)| {
        let name = if name.is_empty() { UNNAMED } else { name };
        vec![
            name.to_owned(),
            number(sum.records),
            number(sum.entries),
            bar(sum.records, largest),
        ]
    };
    filled_table(
        &[name, records, "ENTRIES", ""],
        sums.iter().map(row).collect(),
    )
}

fn filled_table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        String::new()
    } else {
        table(headings, &rows)
    }
}

fn bar(value: i64, of: i64) -> String {
    "█".repeat(usize::try_from(scaled(value, of, BAR_CHARS)).unwrap_or(0))
}

fn code_table(cells: &Cells, batches: &[Batch]) -> String {
    let redeemed = by_dimension(cells, Metric::Batches);
    let row = |batch: &Batch| {
        let redeemed = records_of(&redeemed, &batch.name);
        let codes = batch.count();
        vec![
            batch.name.clone(),
            number(redeemed),
            grouped(codes),
            batch.prize.clone().unwrap_or_default(),
            bar(redeemed, i64::try_from(codes).unwrap_or(i64::MAX)),
        ]
    };
    let headings = ["BATCH", "REDEEMED", "OF", "PRIZE", ""];
    filled_table(&headings, batches.iter().map(row).collect())
}

fn prize_table(prizes: &[PrizesLeft<'_>]) -> String {
    let row = |prizes: &PrizesLeft<'_>| {
        let status = || status_of(prizes.batch).to_owned();
        vec![
            prizes.batch.name.clone(),
            prizes.prize.to_owned(),
            prizes.at_most.map_or_else(status, number),
            number(prizes.codes),
            bar(prizes.at_most.unwrap_or(0), prizes.codes),
        ]
    };
    if prizes.is_empty() {
        return String::new();
    }
    let headings = ["BATCH", "PRIZE", "LEFT", "OF", ""];
    let table = filled_table(&headings, prizes.iter().map(row).collect());
    format!("\nPrizes left, at most\n{table}{AT_MOST}\n")
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
    let new = by_day(cells, Metric::NewPhones);
    let active = by_day(cells, Metric::ActivePhones);
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
    let by_entries = || phones_by_entries(cells).into_iter().map(range);
    let all = total(&days);
    let redeemed = by_dimension(cells, Metric::Batches);
    let batch = |batch: &Batch| {
        let redeemed = records_of(&redeemed, &batch.name);
        json!({ "batch": batch.name, "codes": batch.count(), "redeemed": redeemed, "prize": batch.prize })
    };
    let left = |left: &PrizesLeft<'_>| {
        json!({
            "batch": left.batch.name,
            "prize": left.prize,
            "status": left.batch.status,
            "codes": left.codes,
            "left_at_most": left.at_most,
        })
    };
    let hours = sums(cells, Metric::Outcomes, |cell| {
        format!("{}:00:00Z", cell.hour)
    });
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "timezone": zone.name(),
        "submissions": all.records,
        "entries": all.entries,
        "unknown_now": unknown_now(cells),
        // Unknown for some days: a phone counts on the day of its first submission.
        "phones": are_all.then(|| total(&new).records),
        "entries_per_phone": are_all.then(|| by_entries().collect::<Vec<_>>()),
        "new_phones": total(&new).records,
        "days": days.iter().map(day).collect::<Vec<_>>(),
        "hours": list(&["hour"], &hours),
        "codes": batches.iter().map(batch).collect::<Vec<_>>(),
        "receipts_by_hand_percent": by_hand_percent(cells),
        "seconds_to_decide": { "receipt": waits(cells, Kind::Receipt), "code": waits(cells, Kind::Code) },
        "prizes_left": prizes.iter().map(left).collect::<Vec<_>>(),
    });
    let section = |one: &Section| (one.json, list(one.parts, &by_dimension(cells, one.metric)));
    extended(json, SECTIONS.each_ref().map(section))
}

/// Empty parts are null.
fn list(names: &[&str], sums: &Sums) -> Value {
    let row = |(dimension, sum): (&String, &Amount)| {
        let parts = dimension.splitn(names.len(), '#');
        let parts = parts.map(|part| Some(part).filter(|part| !part.is_empty()));
        let parts = parts.map(|part| json!(part));
        let mut row: Map<_, _> = names.iter().map(ToString::to_string).zip(parts).collect();
        row.insert("submissions".to_owned(), json!(sum.records));
        row.insert("entries".to_owned(), json!(sum.entries));
        Value::Object(row)
    };
    sums.iter().map(row).collect()
}

/// Upper ends of spans; null is beyond the last.
fn waits(cells: &Cells, kind: Kind) -> Value {
    let seconds = |percent| match wait(cells, kind, percent) {
        Some(Percentile::AtMost(seconds)) => json!(seconds),
        Some(Percentile::MoreThan(_)) | None => Value::Null,
    };
    json!({ "p50": seconds(50), "p95": seconds(95) })
}
