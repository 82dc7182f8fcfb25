//! `ops code import`.

use common::clock::Clock;
use common::domain::scope::Scope;
use serde_json::{Value, json};

use super::{CODES_WORK, wait_for_functions};
use crate::audit::Action;
use crate::codes::check::{Checked, CodesOfLength, Sample, check};
use crate::codes::import;
use crate::failure::Failure;
use crate::format::{grouped, one_guess_in, table};
use crate::tables::Tables;
use crate::terminal::{Progress, Report, Terminal};

pub(super) async fn import(
    tables: &Tables,
    scope: &Scope,
    request: import::ImportRequest<'_>,
    dry_run: bool,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let mut progress = Progress::new(clock, "checked", 0);
    let checked = check(tables, scope, request, |done, total| {
        progress.show_of(terminal, done, total)
    })
    .await;
    progress.end(terminal);
    let checked = checked?;
    let known = checked.known.count + checked.repeated;
    if known == checked.count && !checked.is_begun {
        let outcome = Outcome {
            batch: None,
            imported: 0,
            duplicates: known,
            void: checked.known.void,
        };
        let heading = format!(
            "Nothing was imported: all {} codes were there before.",
            grouped(checked.count)
        );
        return Ok(report(scope, &checked, &outcome, dry_run, heading));
    }
    if dry_run {
        let outcome = Outcome {
            batch: None,
            imported: 0,
            duplicates: known,
            void: checked.known.void,
        };
        let heading = format!(
            "Nothing was imported, because of --dry-run. The file can be imported: {} codes would be new.",
            grouped(checked.count - known)
        );
        return Ok(report(scope, &checked, &outcome, dry_run, heading));
    }
    let details = json!({
        "batch": request.batch,
        "count": checked.count,
        "known": known,
        "prize": request.prize,
        "allow_weak": request.allow_weak,
    });
    tables
        .audit
        .append(
            Action::new("code.import").in_scope(scope).with(details),
            clock.now(),
        )
        .await?;
    let mut progress = Progress::new(clock, "imported", checked.count);
    let show = |done| progress.show(terminal, done);
    let imported = import::import(tables, scope, request, &checked, show).await;
    progress.end(terminal);
    let import::Imported {
        batch,
        imported,
        duplicates,
        void,
    } = imported?;
    wait_for_functions(clock).await;
    let heading = format!(
        "Imported {} codes as batch {batch}; {} were there before. {CODES_WORK}",
        grouped(imported),
        grouped(duplicates),
    );
    let outcome = Outcome {
        batch: Some(batch),
        imported,
        duplicates,
        void,
    };
    Ok(report(scope, &checked, &outcome, dry_run, heading))
}

/// The result of an import.
struct Outcome {
    batch: Option<String>,
    imported: u64,
    duplicates: u64,
    /// How many of the duplicates are void.
    void: u64,
}

fn report(
    scope: &Scope,
    checked: &Checked,
    outcome: &Outcome,
    dry_run: bool,
    heading: String,
) -> Report {
    let Outcome {
        batch,
        imported,
        duplicates,
        void,
    } = outcome;
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "dry_run": dry_run,
        "batch": batch,
        "imported": imported,
        "duplicates": duplicates,
        "void": void,
        "file": file_json(checked),
        "odds_of_a_guess": checked.odds_of_a_guess(),
    });
    Report::new(
        json,
        format!(
            "{heading}\n{}{}",
            description(checked),
            notes(checked, *void)
        ),
    )
}

fn file_json(checked: &Checked) -> Value {
    let sample = |sample: &Sample| json!({ "line": sample.line, "code": sample.masked });
    let lengths = checked.lengths.iter().map(|of_length| {
        let CodesOfLength {
            length,
            count,
            first,
            last,
        } = of_length;
        json!({ "length": length, "count": count, "first": sample(first), "last": sample(last) })
    });
    json!({
        "count": checked.count,
        "repeated": checked.repeated,
        "imported_before": checked.known.count,
        "characters": checked.list.characters(),
        "lengths": lengths.collect::<Vec<_>>(),
    })
}

/// The file's codes: how many, of which characters and lengths, with samples that nobody can enter.
fn description(checked: &Checked) -> String {
    let characters = checked.list.characters();
    let mut text = format!(
        "The file has {} codes of {} different characters: {characters}\n",
        grouped(checked.count),
        characters.len()
    );
    let sample = |sample: &Sample| format!("{} (line {})", sample.masked, sample.line);
    let row = |of_length: &CodesOfLength| {
        let CodesOfLength {
            length,
            count,
            first,
            last,
        } = of_length;
        vec![
            length.to_string(),
            grouped(*count),
            sample(first),
            sample(last),
        ]
    };
    let rows: Vec<_> = checked.lengths.iter().map(row).collect();
    text.push_str(&table(&["LENGTH", "CODES", "FIRST", "LAST"], &rows));
    if checked.repeated > 0 {
        text.push_str(&format!(
            "{} lines repeat a code of an earlier line.\n",
            grouped(checked.repeated)
        ));
    }
    if rows.len() > 1 && characters.bytes().all(|byte| byte.is_ascii_digit()) {
        text.push_str(
            "These are numbers of different lengths. If your codes begin with zeros, a spreadsheet may have dropped \
             them.\n",
        );
    }
    text
}

/// The odds of a guess, and the number of codes that stay void.
fn notes(checked: &Checked, void: u64) -> String {
    let mut notes = format!(
        "{} would be right: {} imported codes, and {} texts are made like the shortest of these.",
        one_guess_in(checked.odds_of_a_guess()),
        grouped(checked.imported_codes),
        grouped(checked.list.texts())
    );
    if void > 0 {
        notes.push_str(&format!(
            "\n{} of those that were there before are void and stay void, because their batch was voided, and a voided \
             code never works again. Print other codes in their place and import those.",
            grouped(void)
        ));
    }
    notes
}
