//! The batches of a campaign, and voiding one.

use ops_core::codes::book::{existing_batch, odds_line};
use ops_core::codes::{book, code_scope};
use ops_core::statistics::{self, Days};

use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/codes";
    Router::new()
        .route(path, get(list))
        .route(&format!("{path}/void"), get(ask).post(void_batch))
}

async fn list(console: Console, Named(scope): Named<Scope>) -> PageResult {
    let tables = console.tables()?;
    let scope = code_scope(&tables, scope).await?;
    let book = book::read(&tables.code_books, &scope).await?;
    let counters = Box::pin(statistics::read(&tables, &scope, Days::default())).await?;
    let used = by_dimension(&counters, Metric::Batches);
    let rows = html! { @for batch in &book.batches { (row(&scope, batch, &used)) } };
    let content = html! {
        @if book.batches.is_empty() {
            p { "There are no codes yet; " code { "ops code mint" } " and " code { "ops code import" } " add some." }
        } @else {
            (table("Batches of codes", &["Batch", "Origin", "Codes", "Used", "Status", "Prize", "Action"], rows))
            p { (odds_line(&book)) }
            p.soft { "A code is used once its submission is accepted; the numbers are at most a minute old. To see a single code, search for it." }
        }
    };
    Ok(Page::new("Codes", Section::Codes)
        .in_scope(&scope)
        .render(content))
}

fn row(scope: &Scope, batch: &Batch, used: &Aggregate) -> Markup {
    let class = match batch.status {
        BatchStatus::Active => "good",
        BatchStatus::Reserved => "paused",
        BatchStatus::Void => "over",
    };
    let void = with_query(&void_path(scope), &[("batch", &batch.name)]);
    html! {
        tr {
            td { (batch.name) }
            td { @if batch.origin.is_imported() { "imported" } @else { "minted" } }
            td { (grouped(batch.count())) }
            td { (number(records_of(used, &batch.name))) }
            td { (pill(class, batch.status.as_str())) }
            td { (or_dash(batch.prize.as_ref())) }
            td {
                @if batch.status != BatchStatus::Void { a href=(void) { "Void" span.unseen { " " (batch.name) } "…" } }
            }
        }
    }
}

fn void_path(scope: &Scope) -> String {
    format!("{}/codes/void", path_of(scope))
}

async fn ask(console: Console, Named(scope): Named<Scope>, Query(query): Query) -> PageResult {
    let tables = console.tables()?;
    let codes = code_scope(&tables, scope.clone()).await?;
    let book = book::read(&tables.code_books, &codes).await?;
    let batch = existing_batch(&book, query.get("batch"))?;
    let content = html! {
        (facts(&[
            ("Codes", html! { (grouped(batch.count())) }),
            ("Prize", html! { (or_dash(batch.prize.as_ref())) }),
            ("Environment", environment(scope.environment)),
        ]))
        p { "Its codes stop working within seconds. Entries made with them stay valid, and so do their prizes." }
        (typed_form(&void_path(&scope), &batch.name, "Void the batch", hidden("batch", &batch.name)))
        p { a href={ (path_of(&scope)) "/codes" } { "Cancel" } }
    };
    let title = format!("Void batch {}", batch.name);
    Ok(Page::new(&title, Section::Codes)
        .in_scope(&scope)
        .render(content))
}

async fn void_batch(
    console: Console,
    Named(scope): Named<Scope>,
    form: Form,
) -> PageResult<Redirect> {
    let name = form.get("batch");
    check_typed(&form, name)?;
    let tables = console.tables()?;
    let scope = code_scope(&tables, scope).await?;
    // An unknown batch leaves no row.
    existing_batch(&book::read(&tables.code_books, &scope).await?, name)?;
    book::void_batch(&tables, &scope, name, console.now()).await?;
    Ok(Redirect::to(&format!("{}/codes", path_of(&scope))))
}
