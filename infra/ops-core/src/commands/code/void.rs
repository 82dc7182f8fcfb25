use common::app::code_verifier::FRESH_BOOK_MAX_AGE;
use common::cache;

use super::batches::{AllUsage, batch_json, count_used, use_of};
use crate::codes::book;
use crate::prelude::*;

/// Reads the whole table of codes.
pub(super) async fn plan_batch(
    tables: &Tables,
    scope: &Scope,
    name: &str,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let book = book::read(&tables.code_books, scope).await?;
    let batch = book::existing_batch(&book, name)?;
    let usage = count_used(tables, scope, &book, terminal).await?;
    let already = if batch.status == BatchStatus::Void {
        " It is void already."
    } else {
        ""
    };
    let text = format!(
        "Nothing was voided, because of --dry-run. Of batch {name}, {}.{already}",
        unused_in_words(batch, &usage)
    );
    let json = batch_json(batch, Some(&usage));
    Ok(Report::new(
        extended(json, [("dry_run", Value::Bool(true))]),
        text,
    ))
}

pub(super) async fn void_batch(
    tables: &Tables,
    scope: &Scope,
    name: &str,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let book = book::read(&tables.code_books, scope).await?;
    let batch = book::existing_batch(&book, name)?;
    if batch.status != BatchStatus::Void {
        let mut question = format!(
            "Void batch {name} of {}, {}?",
            scope.campaign, scope.environment
        );
        // Counted for the question alone: leaked codes cannot wait for it.
        if !terminal.yes && terminal.input.is_some() {
            let usage = count_used(tables, scope, &book, terminal).await?;
            question += &format!(
                " {}; submissions that have the others keep them.",
                unused_in_words(batch, &usage)
            );
        }
        terminal.confirm_typed(&question, name)?;
    }
    let batch = book::void_batch(tables, scope, name, clock.now()).await?;
    let text = format!(
        "Batch {} is void: its {} codes stop working within {}. Entries made with them stay valid.",
        batch.name,
        grouped(batch.count()),
        span_in_words(if batch.prize.is_some() {
            FRESH_BOOK_MAX_AGE
        } else {
            cache::MAX_AGE
        })
    );
    Ok(Report::new(batch_json(&batch, None), text))
}

fn unused_in_words(batch: &Batch, usage: &AllUsage) -> String {
    let [.., unused] = use_of(batch, usage);
    format!(
        "{} of its {} codes are unused",
        grouped(unused),
        grouped(batch.count())
    )
}
