//! `ops numbers verify` and `recount`.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cli::CountAction;
use crate::prelude::*;
use crate::statistics::{self, Difference, Verification};

const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// The rest are one line.
const MAX_ROWS: usize = 50;

const WRONG: &str = "If submissions changed within the last minute, run this again. Else pause the campaign, and \
                     `ops numbers recount` makes the numbers right.";
const LEFT: &str = "The numbers marked `changing` were left, because submissions are counted there now, such as refusals of \
                    a paused campaign. Run this again in five minutes; numbers of a day on which many are refused may have \
                    to wait until that day is over.";

pub(super) async fn verify(
    action: CountAction,
    scope: &Scope,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let is_recount = action == CountAction::Recount;
    // The command does not know which changes the streams have yet to deliver.
    let more = if is_recount {
        " Then it sets the numbers. That is right only while the alarm counting-behind is off: changes that are still to be \
         counted would be counted twice."
    } else {
        ""
    };
    if is_recount {
        // Checked before and after everything is read.
        statistics::check_quiet(tables, scope, None, clock.now()).await?;
    }
    let question = format!(
        "This reads the submissions and entrants of all campaigns, which AWS charges for.{more} Go on?"
    );
    terminal.confirm(&question)?;
    let found = count(scope, tables, clock, terminal).await?;
    if is_recount && !found.differences.is_empty() {
        let details = json!({ "cells": found.differences.len() });
        let action = Action::new(statistics::RECOUNT)
            .in_scope(scope)
            .with(details);
        tables.audit.append(action, clock.now()).await?;
        statistics::recount(tables, scope, &found, clock.now()).await?;
    }
    let mut report = report(scope, &found, is_recount);
    // Those that are left by a recount, or wrong.
    if found
        .differences
        .iter()
        .any(|one| one.is_changing == is_recount)
    {
        report.note = Some(if is_recount { LEFT } else { WRONG }.to_owned());
        report.code = EXIT_FAILURE;
    }
    Ok(report)
}

async fn count(
    scope: &Scope,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Verification> {
    let read = AtomicU64::new(0);
    let mut verifying = pin!(statistics::verify(tables, scope, &read, clock.now()));
    let mut progress = Progress::without_total(clock, "records read:");
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    let found = loop {
        tokio::select! {
            found = &mut verifying => break found,
            _ = ticks.tick() => progress.show(terminal, read.load(Ordering::Relaxed)),
        }
    };
    progress.end(terminal);
    found
}

fn report(scope: &Scope, found: &Verification, is_recount: bool) -> Report {
    let Verification {
        records,
        unreadable,
        counters,
        differences,
        ..
    } = found;
    let is_complete = !differences.iter().any(|one| one.is_changing);
    let views: Vec<_> = differences.iter().map(as_json).collect();
    let mut text = format!(
        "{} records give {} numbers.\n",
        grouped(*records),
        grouped(*counters)
    );
    if *unreadable > 0 {
        text += &format!(
            "{} records cannot be read by this build, and count nowhere.\n",
            grouped(*unreadable)
        );
    }
    if views.is_empty() {
        text += "All numbers are right.\n";
    } else {
        text += &table(&COLUMNS, views.iter().take(MAX_ROWS), Tz::UTC);
        text += match is_recount {
            true => "Those that were not changing are corrected.\n",
            false => "These differ.\n",
        };
    }
    if views.len() > MAX_ROWS {
        text += &format!("There are {} more.\n", grouped(views.len() - MAX_ROWS));
    }
    let json = json!({
        "scope": scope,
        "records": records,
        "unreadable": unreadable,
        "cells": counters,
        "corrected": is_recount && is_complete,
        "differences": views,
    });
    Report::new(json, text)
}

const COLUMNS: [(&str, &str); 9] = [
    ("METRIC", "/metric"),
    ("DAY", "/day"),
    ("HOUR (UTC)", "/hour"),
    ("OF", "/dimension"),
    ("COUNTED", "/counted/records"),
    ("ENTRIES", "/counted/entries"),
    ("RECORDS SAY", "/expected/records"),
    ("ENTRIES", "/expected/entries"),
    ("CHANGING", "/is_changing"),
];

fn as_json(difference: &Difference) -> Value {
    let Difference {
        counter,
        counted,
        expected,
        is_changing,
    } = difference;
    json!({
        "metric": counter.metric.as_str(),
        "day": counter.day,
        "hour": counter.hour,
        "dimension": counter.dimension,
        "counted": { "records": counted.records, "entries": counted.entries },
        "expected": { "records": expected.records, "entries": expected.entries },
        "is_changing": is_changing,
    })
}
