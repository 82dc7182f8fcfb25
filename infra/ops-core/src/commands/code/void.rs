//! `ops code void`.

use common::app::code_verifier::FRESH_BOOK_MAX_AGE;
use common::cache;
use common::clock::Clock;
use common::domain::codebook::{Batch, BatchStatus};
use common::domain::scope::Scope;
use serde_json::{Value, json};

use super::batches::{AllUsage, batch_json, count_of, count_used};
use crate::audit::Action;
use crate::codes::{book, void};
use crate::column::Column;
use crate::confirm::{Answer, ConfirmArgs};
use crate::failure::Failure;
use crate::format::{grouped, seconds};
use crate::tables::Tables;
use crate::terminal::{Progress, Report, Terminal};

const DRY_RUN: &str = "Nothing was voided, because of --dry-run.";

/// Says what voiding a batch would do. Reads the whole table of codes.
pub(super) async fn plan_batch(
    tables: &Tables,
    scope: &Scope,
    name: &str,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let book = book::read(&tables.code_books, scope).await?;
    let batch = book::existing_batch(&book, name)?;
    let usage = count_used(tables, scope, &book, terminal).await?;
    let already = if batch.status == BatchStatus::Void { " It is void already." } else { "" };
    let text = format!("{DRY_RUN} Of batch {name}, {}.{already}", unused_in_words(batch, &usage));
    Ok(Report::new(dry(batch_json(batch, Some(&usage))), text))
}

pub(super) async fn void_batch(
    tables: &Tables,
    scope: &Scope,
    name: &str,
    confirm: ConfirmArgs,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let book = book::read(&tables.code_books, scope).await?;
    let batch = book::existing_batch(&book, name)?;
    if batch.status != BatchStatus::Void {
        let mut question = format!("Void batch {name} of {}, {}?", scope.campaign, scope.environment);
        // Counted for the question alone: leaked codes cannot wait for a script's count.
        if !confirm.yes && terminal.input.is_some() {
            let usage = count_used(tables, scope, &book, terminal).await?;
            question.push_str(&format!(
                " {}; submissions that have the others keep them.",
                unused_in_words(batch, &usage)
            ));
        }
        terminal.confirm(&question, Answer::Word(name), confirm)?;
    }
    let batch = void::void_batch(tables, scope, name, clock.now()).await?;
    let text = format!(
        "Batch {} is void: its {} codes count no more within {}. Who entered with one stays in.",
        batch.name,
        grouped(count_of(&batch)),
        seconds(if batch.prize.is_some() { FRESH_BOOK_MAX_AGE } else { cache::MAX_AGE })
    );
    Ok(Report::new(batch_json(&batch, None), text))
}

fn unused_in_words(batch: &Batch, usage: &AllUsage) -> String {
    let unused = usage.get(&batch.name).copied().unwrap_or_default().unused_of(batch);
    format!("{} of its {} codes are unused", grouped(unused), grouped(count_of(batch)))
}

fn dry(mut json: Value) -> Value {
    if let Some(fields) = json.as_object_mut() {
        fields.insert("dry_run".to_owned(), Value::Bool(true));
    }
    json
}

/// Says what voiding the codes of a file would do.
pub(super) async fn plan_file(
    tables: &Tables,
    scope: &Scope,
    codes: Column<'_, String>,
) -> Result<Report, Failure> {
    let void::Voided { voided, unused, already_void, in_use } = void::check(tables, scope, codes).await?;
    let json = json!({ "would_be_voided": voided, "unused": unused, "already_void": already_void, "in_use": in_use });
    let text = format!(
        "{DRY_RUN} {} codes would be voided, of which {} are unused; {} are void already. {} of them are held or \
         redeemed by a submission, which would keep its code.",
        grouped(voided),
        grouped(unused),
        grouped(already_void),
        grouped(in_use)
    );
    Ok(Report::new(dry(json), text))
}

pub(super) async fn void_file(
    tables: &Tables,
    scope: &Scope,
    codes: Column<'_, String>,
    confirm: ConfirmArgs,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let planned = void::check(tables, scope, codes).await?;
    if planned.voided > 0 {
        let question = format!(
            "Void {} codes of {}, {}? {} of them are unused; submissions that have the others keep them.",
            grouped(planned.voided),
            scope.campaign,
            scope.environment,
            grouped(planned.unused)
        );
        terminal.confirm(&question, Answer::Word(scope.campaign.as_str()), confirm)?;
    }
    let action = Action::new("code.void").in_scope(scope).with(json!({ "count": planned.count() }));
    tables.audit.append(action, clock.now()).await?;
    let mut progress = Progress::new(clock, "voided", planned.count());
    let show = |done| progress.show(terminal, done);
    let voided = void::void_file(tables, scope, codes, clock.now(), show).await;
    progress.end(terminal);
    let void::Voided { voided, unused, already_void, in_use } = voided?;
    let json = json!({ "voided": voided, "unused": unused, "already_void": already_void, "in_use": in_use });
    let text = format!(
        "Voided {} codes, of which {} were unused; {} were void before. {} of them are held or redeemed by a \
         submission, which keeps its code.",
        grouped(voided),
        grouped(unused),
        grouped(already_void),
        grouped(in_use)
    );
    Ok(Report::new(json, text))
}
