//! Numbers of a campaign, as tables with bars and as JSON.

use common::domain::statistics::decision_time::{Kind, Percentile};

use crate::prelude::*;
use crate::statistics::Days;
use crate::statistics::aggregate::{
    Aggregate, PrizesLeft, aggregate, by_day, by_dimension, by_hand_percent, by_hour, figures,
    largest, phones_by_entries, records_of, scaled, total, unknown_now, wait,
};

const BAR_CHARS: i64 = 32;
const NOT_GIVEN: &str = "No winner has these; those of codes that are lost are among them.\n";

/// Metrics that are lists in the JSON, each with the parts of its names, which `#` separates.
const LISTS: [(Metric, &str, &[&str]); 6] = [
    (Metric::Outcomes, "outcomes", &["state", "message_key"]),
    (Metric::Regions, "regions", &["region"]),
    (Metric::Channels, "channels", &["channel"]),
    (Metric::Branches, "branches", &["branch"]),
    (Metric::Receipts, "receipts", &["state", "decided_by"]),
    (Metric::Prizes, "prizes", &["prize"]),
];

const SUBMISSIONS: (&str, &str) = ("SUBMISSIONS", "/submissions");
const ENTRIES: (&str, &str) = ("ENTRIES", "/entries");
const PRIZE: (&str, &str) = ("PRIZE", "/prize");
const OF: (&str, &str) = ("OF", "/codes");
const BATCH: (&str, &str) = ("BATCH", "/batch");

/// Title, list in the JSON, columns, and the column of the bars, with the one that they are a share of.
type BarTable = (
    &'static str,
    &'static str,
    &'static Columns,
    &'static str,
    Option<&'static str>,
);

const fn by_submissions(
    title: &'static str,
    list: &'static str,
    columns: &'static Columns,
) -> BarTable {
    (title, list, columns, SUBMISSIONS.1, None)
}

const TABLES: [BarTable; 10] = [
    by_submissions(
        "Days",
        "/days",
        &[
            ("DAY", "/day"),
            SUBMISSIONS,
            ENTRIES,
            ("NEW PHONES", "/new_phones"),
            ("ACTIVE PHONES", "/active_phones"),
        ],
    ),
    by_submissions(
        "Hours of the last day",
        "/last_hours",
        &[("HOUR", "/hour"), SUBMISSIONS, ENTRIES],
    ),
    by_submissions(
        "Outcomes",
        "/outcomes",
        &[
            ("STATE", "/state"),
            ("OUTCOME", "/message_key"),
            SUBMISSIONS,
            ENTRIES,
        ],
    ),
    by_submissions(
        "Regions",
        "/regions",
        &[("REGION", "/region"), SUBMISSIONS, ENTRIES],
    ),
    by_submissions(
        "Channels",
        "/channels",
        &[("CHANNEL", "/channel"), SUBMISSIONS, ENTRIES],
    ),
    by_submissions(
        "Branches",
        "/branches",
        &[("BRANCH", "/branch"), SUBMISSIONS, ENTRIES],
    ),
    by_submissions(
        "Receipts",
        "/receipts",
        &[
            ("RECEIPT", "/state"),
            ("BY", "/decided_by"),
            SUBMISSIONS,
            ENTRIES,
        ],
    ),
    by_submissions("Prizes", "/prizes", &[PRIZE, ("WON", "/submissions")]),
    (
        "Entries of a phone",
        "/entries_per_phone",
        &[("ENTRIES", "/range"), ("PHONES", "/phones")],
        "/phones",
        None,
    ),
    (
        "Codes",
        "/codes",
        &[BATCH, ("REDEEMED", "/redeemed"), OF, PRIZE],
        "/redeemed",
        Some(OF.1),
    ),
];
const LEFT: (&str, &str) = ("LEFT", "/left");
const PRIZES_LEFT: BarTable = (
    "Prizes left",
    "/prizes_left",
    &[BATCH, PRIZE, ("STATUS", "/status"), LEFT, OF],
    LEFT.1,
    Some(OF.1),
);

/// `prizes_left` is of the whole campaign.
#[derive(Clone, Copy)]
pub(super) struct Overview<'a> {
    pub(super) scope: &'a Scope,
    pub(super) zone: Tz,
    pub(super) days: Days,
    pub(super) counters: &'a Counters,
    pub(super) batches: &'a [Batch],
    pub(super) prizes: &'a [PrizesLeft<'a>],
}

impl Overview<'_> {
    pub(super) fn report(self) -> Report {
        let json = as_json(self);
        let text = as_text(self, &json);
        Report::new(json, text)
    }
}

fn as_text(overview: Overview<'_>, json: &Value) -> String {
    let Overview {
        scope,
        zone,
        counters,
        ..
    } = overview;
    let days = by_dimension(counters, Metric::Days);
    let mut text = format!(
        "{}, days and hours in {}\n",
        scope_in_words(scope),
        zone.name()
    );
    if days.is_empty() {
        text += "Nothing has been counted. New submissions are counted within a minute.\n";
    } else {
        text += &lines(&figures(counters, overview.days.are_all()));
    }
    let last_day = days.last_key_value().map(|(day, _)| day.as_str());
    let mut hours = by_hour(counters, zone);
    hours.retain(|hour, _| last_day.is_some_and(|day| hour.starts_with(day)));
    let shown = extended(json.clone(), [("last_hours", list(&["hour"], &hours))]);
    let tables = TABLES.iter().filter(|_| last_day.is_some());
    for (title, list, columns, bar, of) in tables.chain([&PRIZES_LEFT]) {
        let rows = shown.pointer(list).and_then(Value::as_array);
        let rows = rows.map_or(&[][..], Vec::as_slice);
        // Most submissions have no branch.
        if rows
            .iter()
            .any(|row| row.get("branch") != Some(&Value::Null))
        {
            text += &format!("\n{title}\n{}", bars(columns, rows, bar, *of));
        }
    }
    if !overview.prizes.is_empty() {
        text += NOT_GIVEN;
    }
    text
}

/// A table with a bar for each value, a share of another one or of the largest.
fn bars(columns: &Columns, rows: &[Value], value: &str, of: Option<&str>) -> String {
    let number = |row: &Value, pointer| row.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    let largest = largest(rows.iter().map(|row| number(row, value)));
    let bar = |row: &Value| {
        let of = of.map_or(largest, |of| number(row, of));
        let length = usize::try_from(scaled(number(row, value), of, BAR_CHARS));
        extended(
            row.clone(),
            [("bar", "█".repeat(length.unwrap_or(0)).into())],
        )
    };
    let rows: Vec<_> = rows.iter().map(bar).collect();
    table(&[columns, &[("", "/bar")]].concat(), &rows, Tz::UTC)
}

fn as_json(overview: Overview<'_>) -> Value {
    let Overview {
        scope,
        zone,
        counters,
        batches,
        prizes,
        ..
    } = overview;
    let are_all = overview.days.are_all();
    let days = by_dimension(counters, Metric::Days);
    let new = by_day(counters, Metric::NewPhones);
    let active = by_day(counters, Metric::ActivePhones);
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
    let by_entries = || phones_by_entries(counters).into_iter().map(range);
    let all = total(&days);
    let redeemed = by_dimension(counters, Metric::Batches);
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
            "left": left.left,
        })
    };
    let hours = aggregate(counters, Metric::Outcomes, |counter| {
        format!("{}:00:00Z", counter.hour)
    });
    let json = json!({
        "scope": scope,
        "timezone": zone.name(),
        "submissions": all.records,
        "entries": all.entries,
        "unknown_now": unknown_now(counters),
        // Unknown for some days: a phone counts on the day of its first submission.
        "phones": are_all.then(|| total(&new).records),
        "entries_per_phone": are_all.then(|| by_entries().collect::<Vec<_>>()),
        "new_phones": total(&new).records,
        "days": days.iter().map(day).collect::<Vec<_>>(),
        "hours": list(&["hour"], &hours),
        "codes": batches.iter().map(batch).collect::<Vec<_>>(),
        "receipts_by_hand_percent": by_hand_percent(counters),
        "seconds_to_decide": { "receipt": waits(counters, Kind::Receipt), "code": waits(counters, Kind::Code) },
        "prizes_left": prizes.iter().map(left).collect::<Vec<_>>(),
    });
    let lists =
        LISTS.map(|(metric, name, parts)| (name, list(parts, &by_dimension(counters, metric))));
    extended(json, lists)
}

/// Empty parts are null.
fn list(names: &[&str], aggregate: &Aggregate) -> Value {
    let row = |(dimension, sum): (&String, &Amount)| {
        let parts = dimension.splitn(names.len(), '#');
        let parts = parts.map(|part| Some(part).filter(|part| !part.is_empty()));
        let parts = parts.map(|part| json!(part));
        let mut row: Map<_, _> = names.iter().map(ToString::to_string).zip(parts).collect();
        row.insert("submissions".to_owned(), json!(sum.records));
        row.insert("entries".to_owned(), json!(sum.entries));
        Value::Object(row)
    };
    aggregate.iter().map(row).collect()
}

/// Upper ends of spans; null is beyond the last.
fn waits(counters: &Counters, kind: Kind) -> Value {
    let seconds = |percent| match wait(counters, kind, percent) {
        Some(Percentile::AtMost(seconds)) => json!(seconds),
        Some(Percentile::MoreThan(_)) | None => Value::Null,
    };
    json!({ "p50": seconds(50), "p95": seconds(95) })
}
