//! `ops numbers verify`.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::clock::Clock;
use common::domain::numbers::Cell;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::audit::Action;
use crate::confirm::{Answer, ConfirmArgs};
use crate::failure::Failure;
use crate::format::{grouped, table};
use crate::numbers::{self, Difference, Verification};
use crate::tables::Tables;
use crate::terminal::{EXIT_FAILURE, Report, Terminal};

/// Between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Which changes the streams have yet to deliver is not known to the command.
const CORRECTING: &str = " Then it corrects the numbers. That is right only while the alarm counting-behind is off: changes \
                          that are still to be counted would be counted twice.";
const LEFT: &str = "The numbers marked `changing` were left, because submissions are counted there now, such as refusals of \
                    a paused campaign. Run this again in five minutes; numbers of a day on which many are refused may have \
                    to wait until that day is over.";
/// Differences that are listed; the rest are one line.
const MAX_ROWS: usize = 50;

pub(super) async fn run(
    tables: &Tables,
    scope: &Scope,
    correct: bool,
    confirm: ConfirmArgs,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    tables.campaign(&scope.campaign).await?;
    let correcting = if correct { CORRECTING } else { "" };
    let question = format!(
        "This reads the submissions and entrants of all campaigns, which AWS charges for.{correcting} Go on?"
    );
    terminal.confirm(&question, Answer::Yes, confirm)?;
    let found = with_progress(tables, scope, clock.now(), terminal).await?;
    if correct && !found.differences.is_empty() {
        let action = Action::new(numbers::CORRECT).in_scope(scope);
        let details = json!({ "cells": found.differences.len() });
        tables
            .audit
            .append(action.with(details), clock.now())
            .await?;
        numbers::correct(tables, scope, &found, clock.now()).await?;
        let is_complete = !found
            .differences
            .iter()
            .any(|difference| difference.is_changing);
        let report = Report::new(
            as_json(scope, &found, is_complete),
            text(&found, "was corrected"),
        );
        if is_complete {
            return Ok(report);
        }
        return Ok(Report {
            note: Some(LEFT.to_owned()),
            code: EXIT_FAILURE,
            ..report
        });
    }
    let report = Report::new(as_json(scope, &found, false), text(&found, "differs"));
    if found
        .differences
        .iter()
        .any(|difference| !difference.is_changing)
    {
        let note = "If submissions changed within the last minute, run this again. Else `ops numbers verify --correct` makes \
                    the numbers right.";
        return Ok(Report {
            note: Some(note.to_owned()),
            code: EXIT_FAILURE,
            ..report
        });
    }
    Ok(report)
}

async fn with_progress(
    tables: &Tables,
    scope: &Scope,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Verification, Failure> {
    let read = AtomicU64::new(0);
    let mut verifying = pin!(numbers::verify(tables, scope, &read, now));
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    ticks.tick().await;
    let mut seconds = 0;
    loop {
        tokio::select! {
            found = &mut verifying => {
                if terminal.err_is_terminal && !terminal.is_quiet && seconds > 0 {
                    let _ = write!(terminal.err, "\r\u{1b}[K");
                }
                return found;
            }
            _ = ticks.tick() => {
                seconds += 1;
                let records = read.load(Ordering::Relaxed);
                let line = format!("read {} records, {} a second", grouped(records), grouped(records / seconds));
                // If progress cannot be shown, the work continues.
                if terminal.err_is_terminal && !terminal.is_quiet {
                    let _ = write!(terminal.err, "\r\u{1b}[K{line}").and_then(|()| terminal.err.flush());
                } else {
                    terminal.note(&line);
                }
            }
        }
    }
}

fn text(found: &Verification, differs: &str) -> String {
    let Verification {
        records,
        unreadable,
        cells,
        differences,
        ..
    } = found;
    let mut text = format!(
        "{} records give {} numbers.\n",
        grouped(*records),
        grouped(count(*cells))
    );
    if *unreadable > 0 {
        text += &format!(
            "{} records cannot be read by this build, and count nowhere.\n",
            grouped(*unreadable)
        );
    }
    if differences.is_empty() {
        return text + "All numbers are right.\n";
    }
    let row = |difference: &Difference| {
        let Difference {
            cell,
            counted,
            expected,
            is_changing,
        } = difference;
        let Cell {
            metric,
            day,
            hour,
            dimension,
            ..
        } = cell;
        let note = if *is_changing { "changing" } else { differs };
        vec![
            metric.as_str().to_owned(),
            day.clone(),
            hour.clone(),
            dimension.clone(),
            format!("{} / {}", counted.records, counted.entries),
            format!("{} / {}", expected.records, expected.entries),
            note.to_owned(),
        ]
    };
    let rows: Vec<_> = differences.iter().take(MAX_ROWS).map(row).collect();
    text += &table(
        &[
            "METRIC",
            "DAY",
            "HOUR (UTC)",
            "OF",
            "COUNTED",
            "RECORDS SAY",
            "",
        ],
        &rows,
    );
    if differences.len() > MAX_ROWS {
        text += &format!(
            "and {} more\n",
            grouped(count(differences.len() - MAX_ROWS))
        );
    }
    text + "Records or phones / entries.\n"
}

fn as_json(scope: &Scope, found: &Verification, corrected: bool) -> Value {
    let difference = |difference: &Difference| {
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
    };
    json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "records": found.records,
        "unreadable": found.unreadable,
        "cells": found.cells,
        "corrected": corrected,
        "differences": found.differences.iter().map(difference).collect::<Vec<_>>(),
    })
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
