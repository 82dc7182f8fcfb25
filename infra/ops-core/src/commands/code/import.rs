use super::{CODES_WORK, wait_for_functions};
use crate::codes::check::{Checked, check};
use crate::codes::import::{ImportRequest, Imported, record_and_import};
use crate::prelude::*;

pub(super) async fn import(
    tables: &Tables,
    scope: &Scope,
    request: &ImportRequest,
    dry_run: bool,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let mut progress = Progress::new(clock, "checked", 0);
    let checked = check(tables, scope, request, |done| progress.show(terminal, done)).await;
    progress.end(terminal);
    let checked = checked?;
    let known = checked.known + checked.repeated;
    let nothing = Imported {
        duplicates: known,
        void: checked.known_void,
        ..Imported::default()
    };
    if checked.is_known() {
        let heading = format!(
            "Nothing was imported: all {} codes were there before.",
            grouped(checked.count)
        );
        return Ok(report(scope, &checked, &nothing, dry_run, &heading));
    }
    if dry_run {
        let heading = format!(
            "Nothing was imported, because of --dry-run. The file can be imported: {} codes would be new.",
            grouped(checked.new_codes())
        );
        return Ok(report(scope, &checked, &nothing, dry_run, &heading));
    }
    let mut progress = Progress::new(clock, "imported", checked.count);
    let show = |done| progress.show(terminal, done);
    let imported = record_and_import(tables, scope, request, &checked, clock.now(), show).await;
    progress.end(terminal);
    let imported = imported?;
    wait_for_functions(clock).await;
    let heading = format!(
        "Imported {} codes as batch {}; {} were there before. {CODES_WORK}",
        grouped(imported.imported),
        imported.batch.as_deref().unwrap_or_default(),
        grouped(imported.duplicates),
    );
    Ok(report(scope, &checked, &imported, dry_run, &heading))
}

fn report(
    scope: &Scope,
    checked: &Checked,
    done: &Imported,
    dry_run: bool,
    heading: &str,
) -> Report {
    let json = json!({
        "scope": scope,
        "dry_run": dry_run,
        "batch": done.batch,
        "imported": done.imported,
        "duplicates": done.duplicates,
        "void": done.void,
        "file": {
            "count": checked.count,
            "repeated": checked.repeated,
            "imported_before": checked.known,
            "characters": checked.list.characters(),
            "lengths": checked.lengths,
        },
        "odds_of_a_guess": checked.odds_of_a_guess(),
    });
    let mut text = format!("{heading}\n{}{}", description(checked), checked.odds_line());
    if done.void > 0 {
        text += &format!(
            "\n{} of those that were there before are void and stay void, because their batch was voided, and a voided \
             code never works again. Print other codes in their place and import those.",
            grouped(done.void)
        );
    }
    Report::new(json, text)
}

/// Has samples that cannot be entered.
fn description(checked: &Checked) -> String {
    let characters = checked.list.characters();
    let mut text = format!(
        "The file has {} codes of {} different characters: {characters}\n",
        grouped(checked.count),
        characters.len()
    );
    let columns = [
        ("LENGTH", "/length"),
        ("CODES", "/count"),
        ("FIRST", "/first/code"),
        ("LINE", "/first/line"),
        ("LAST", "/last/code"),
        ("LINE", "/last/line"),
    ];
    let lengths: Vec<_> = checked.lengths.iter().map(|length| json!(length)).collect();
    text += &table(&columns, &lengths, Tz::UTC);
    for remark in checked.remarks() {
        text += &format!("{remark}\n");
    }
    text
}
