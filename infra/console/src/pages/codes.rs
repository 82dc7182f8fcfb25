//! The batches of codes of a campaign, and voiding one.

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use common::domain::codebook::{Batch, BatchStatus};
use common::domain::numbers::Metric;
use common::domain::scope::Scope;
use maud::{Markup, html};
use ops_core::codes::book::{existing_batch, odds_line};
use ops_core::codes::{book, code_scope, void};
use ops_core::format::{grouped, or_dash};
use ops_core::numbers::sums::{Sums, by_dimension};
use ops_core::numbers::{self, Days};

use super::{InScope, page};
use crate::failure::PageResult;
use crate::form::{Form, Query, check_typed, typed_field};
use crate::layout::{Page, Section, facts, path_of, table};
use crate::plot::number;
use crate::state::Console;

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route("/campaigns/{slug}/{environment}/codes", get(page(list)))
        .route(
            "/campaigns/{slug}/{environment}/codes/void",
            get(page(ask)).post(page(void_batch)),
        )
}

async fn list(console: Console, InScope(scope): InScope) -> PageResult {
    let tables = console.tables()?;
    let scope = code_scope(&tables, scope).await?;
    let book = book::read(&tables.code_books, &scope).await?;
    let cells = Box::pin(numbers::read(&tables, &scope, Days::default())).await?;
    let used = by_dimension(&cells, Metric::Batches);
    let rows: Vec<_> = book
        .batches
        .iter()
        .map(|batch| row(&scope, batch, &used))
        .collect();
    let content = html! {
        @if rows.is_empty() {
            p { "There are no codes yet; " code { "ops code mint" } " and " code { "ops code import" } " add some." }
        } @else {
            (table("Batches of codes", &["Batch", "Origin", "Codes", "Used", "Status", "Prize", "Action"], &rows))
            p { (odds_line(&book)) }
            p.soft { "A code is used once its submission is accepted; the numbers are at most a minute old. To see a single code, search for it." }
        }
    };
    Ok(Page::new("Codes", Section::Codes)
        .in_scope(&scope)
        .render(content))
}

fn row(scope: &Scope, batch: &Batch, used: &Sums) -> Vec<Markup> {
    let (class, status) = match batch.status {
        BatchStatus::Active => ("good", "active"),
        BatchStatus::Reserved => ("paused", "reserved"),
        BatchStatus::Void => ("over", "void"),
    };
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("batch", &batch.name)
        .finish();
    vec![
        html! { (batch.name) },
        html! { @if batch.origin.is_imported() { "imported" } @else { "minted" } },
        html! { (grouped(batch.count())) },
        html! { (number(used.get(&batch.name).map_or(0, |sum| sum.records))) },
        html! { span.pill.(class) { (status) } },
        html! { (or_dash(batch.prize.as_ref())) },
        html! {
            @if batch.status != BatchStatus::Void {
                a href={ (path_of(scope)) "/codes/void?" (query) } { "Void" span.unseen { " " (batch.name) } "…" }
            }
        },
    ]
}

async fn ask(console: Console, (InScope(scope), Query(query)): (InScope, Query)) -> PageResult {
    let tables = console.tables()?;
    let book = book::read(
        &tables.code_books,
        &code_scope(&tables, scope.clone()).await?,
    )
    .await?;
    let batch = existing_batch(&book, query.get("batch"))?;
    let content = html! {
        (facts(&[
            ("Codes", html! { (grouped(batch.count())) }),
            ("Prize", html! { (or_dash(batch.prize.as_ref())) }),
            ("Environment", crate::layout::environment(scope.environment)),
        ]))
        p { "Its codes stop working within seconds. Entries made with them stay valid, and so do their prizes." }
        form method="post" action={ (path_of(&scope)) "/codes/void" } {
            input type="hidden" name="batch" value=(batch.name);
            (typed_field(&batch.name))
            p { button.danger { "Void the batch" } " " a href={ (path_of(&scope)) "/codes" } { "Cancel" } }
        }
    };
    Ok(
        Page::new(&format!("Void batch {}", batch.name), Section::Codes)
            .in_scope(&scope)
            .render(content),
    )
}

async fn void_batch(
    console: Console,
    (InScope(scope), form): (InScope, Form),
) -> PageResult<Redirect> {
    let name = form.get("batch");
    check_typed(&form, name)?;
    let tables = console.tables()?;
    let scope = code_scope(&tables, scope).await?;
    // A batch that is not there leaves no row.
    existing_batch(&book::read(&tables.code_books, &scope).await?, name)?;
    void::void_batch(&tables, &scope, name, console.now()).await?;
    Ok(Redirect::to(&format!("{}/codes", path_of(&scope))))
}
