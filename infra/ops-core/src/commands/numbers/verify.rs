//! `ops numbers verify` and `recount`.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::clock::Clock;
use common::domain::scope::Scope;
use serde_json::{Value, json};

use crate::audit::Action;
use crate::cli::CountArgs;
use crate::confirm::{Answer, ConfirmArgs};
use crate::failure::Failure;
use crate::format::{grouped, table};
use crate::numbers::{self, Difference, Verification};
use crate::tables::Tables;
use crate::terminal::{EXIT_FAILURE, Progress, Report, Terminal};

const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// The rest are one line.
const MAX_ROWS: usize = 50;

const WRONG: &str = "If submissions changed within the last minute, run this again. Else pause the campaign, and \
                     `ops numbers recount` makes the numbers right.";
const LEFT: &str = "The numbers marked `changing` were left, because submissions are counted there now, such as refusals of \
                    a paused campaign. Run this again in five minutes; numbers of a day on which many are refused may have \
                    to wait until that day is over.";

pub(super) async fn verify(
    args: CountArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let (scope, confirm) = args.split();
    let found = count(&scope, "", confirm, tables, clock, terminal).await?;
    let mut report = report(&scope, &found, false);
    if found.differences.iter().any(|one| !one.is_changing) {
        report.note = Some(WRONG.to_owned());
        report.code = EXIT_FAILURE;
    }
    Ok(report)
}

pub(super) async fn recount(
    args: CountArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    // The command does not know which changes the streams have yet to deliver.
    let more = " Then it sets the numbers. That is right only while the alarm counting-behind is off: changes that are still \
                to be counted would be counted twice.";
    let (scope, confirm) = args.split();
    // Checked before and after everything is read.
    numbers::check_quiet(tables, &scope, None, clock.now()).await?;
    let found = count(&scope, more, confirm, tables, clock, terminal).await?;
    if !found.differences.is_empty() {
        let details = json!({ "cells": found.differences.len() });
        let action = Action::new(numbers::RECOUNT).in_scope(&scope).with(details);
        tables.audit.append(action, clock.now()).await?;
        numbers::recount(tables, &scope, &found, clock.now()).await?;
    }
    let is_complete = !found.differences.iter().any(|one| one.is_changing);
    let mut report = report(&scope, &found, true);
    if !is_complete {
        report.note = Some(LEFT.to_owned());
        report.code = EXIT_FAILURE;
    }
    Ok(report)
}

async fn count(
    scope: &Scope,
    more: &str,
    confirm: ConfirmArgs,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Verification, Failure> {
    tables.campaign(&scope.campaign).await?;
    let question = format!(
        "This reads the submissions and entrants of all campaigns, which AWS charges for.{more} Go on?"
    );
    terminal.confirm(&question, Answer::Yes, confirm)?;
    let read = AtomicU64::new(0);
    let mut verifying = pin!(numbers::verify(tables, scope, &read, clock.now()));
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
        cells,
        differences,
        ..
    } = found;
    let is_complete = !differences.iter().any(|one| one.is_changing);
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "records": records,
        "unreadable": unreadable,
        "cells": cells,
        "corrected": is_recount && is_complete,
        "differences": differences.iter().map(as_json).collect::<Vec<_>>(),
    });
    let mut text = format!(
        "{} records give {} numbers.\n",
        grouped(*records),
        count_of(*cells)
    );
    if *unreadable > 0 {
        text += &format!(
            "{} records cannot be read by this build, and count nowhere.\n",
            grouped(*unreadable)
        );
    }
    if differences.is_empty() {
        return Report::new(json, text + "All numbers are right.\n");
    }
    let row = |one: &Difference| {
        let (cell, counted, expected) = (&one.cell, one.counted, one.expected);
        let note = match (one.is_changing, is_recount) {
            (true, _) => "changing",
            (false, true) => "was corrected",
            (false, false) => "differs",
        };
        vec![
            cell.metric.as_str().to_owned(),
            cell.day.clone(),
            cell.hour.clone(),
            cell.dimension.clone(),
            format!("{} / {}", counted.records, counted.entries),
            format!("{} / {}", expected.records, expected.entries),
            note.to_owned(),
        ]
    };
    let rows: Vec<_> = differences.iter().take(MAX_ROWS).map(row).collect();
    let headings = [
        "METRIC",
        "DAY",
        "HOUR (UTC)",
        "OF",
        "COUNTED",
        "RECORDS SAY",
        "",
    ];
    text += &table(&headings, &rows);
    if differences.len() > MAX_ROWS {
        text += &format!("and {} more\n", count_of(differences.len() - MAX_ROWS));
    }
    Report::new(json, text + "Records or phones / entries.\n")
}

fn as_json(difference: &Difference) -> Value {
    let Difference {
        cell,
        counted,
        expected,
        is_changing,
    } = difference;
    json!({
        "metric": cell.metric.as_str(),
        "day": cell.day,
        "hour": cell.hour,
        "dimension": cell.dimension,
        "counted": { "records": counted.records, "entries": counted.entries },
        "expected": { "records": expected.records, "entries": expected.entries },
        "is_changing": is_changing,
    })
}

fn count_of(number: usize) -> String {
    grouped(u64::try_from(number).unwrap_or(u64::MAX))
}
