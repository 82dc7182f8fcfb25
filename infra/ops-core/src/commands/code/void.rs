//! `ops code void`.

use common::app::code_verifier::FRESH_BOOK_MAX_AGE;
use common::cache;
use common::clock::Clock;
use common::domain::codebook::BatchStatus;
use common::domain::scope::Scope;
use serde_json::json;

use super::batches::{batch_json, count_of, count_used};
use crate::audit::Action;
use crate::codes::{book, void};
use crate::column::Column;
use crate::confirm::{Answer, ConfirmArgs};
use crate::failure::Failure;
use crate::format::{grouped, seconds};
use crate::tables::Tables;
use crate::terminal::{Progress, Report, Terminal};

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
        // The codes are counted for the question alone, and leaked codes cannot wait for that.
        if !confirm.yes && terminal.input.is_some() {
            let usage = count_used(tables, scope, &book, terminal).await?;
            let unused = usage.get(name).copied().unwrap_or_default().unused_of(batch);
            question.push_str(&format!(
                " {} of its {} codes are unused; submissions that have the others keep them.",
                grouped(unused),
                grouped(count_of(batch))
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
