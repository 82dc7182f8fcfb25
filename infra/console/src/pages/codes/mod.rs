//! The batches of a campaign: minted, imported and voided.

pub(crate) mod import;
pub(crate) mod mint;

use std::ops::RangeInclusive;
use std::str::FromStr;

use ops_core::codes::book::{existing_batch, odds_line};
use ops_core::codes::{book, code_scope};
use ops_core::statistics::aggregate::prizes_left;
use ops_core::statistics::{self, Days};

use crate::failure::sentence;
use crate::pages::overview::submissions_path;
use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/codes";
    Router::new()
        .route(path, get(list))
        .route(&format!("{path}/void"), get(ask).post(void_batch))
        .merge(mint::routes())
        .merge(import::routes())
}

fn codes_path(scope: &Scope) -> String {
    format!("{}/codes", path_of(scope))
}

fn text_given<'a>(form: &'a Form, name: &str) -> Option<&'a str> {
    Some(form.get(name)).filter(|text| !text.is_empty())
}

fn number_given<T: FromStr + PartialOrd + std::fmt::Display>(
    form: &Form,
    name: &str,
    range: RangeInclusive<T>,
) -> Result<Option<T>, Failure> {
    let Some(text) = text_given(form, name) else {
        return Ok(None);
    };
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.map(Some).ok_or_else(|| {
        failure!(
            "number_invalid",
            "the {name} is a whole number from {} to {}",
            range.start(),
            range.end()
        )
    })
}

/// Options of the command line are fields of the page.
fn in_fields(mut failure: Failure) -> Failure {
    const FIELDS: [(&str, &str); 8] = [
        ("say another --length", "choose another length"),
        ("say --allow-weak", "tick “even if”"),
        ("--allow-weak", "“even if”"),
        ("--alphabet", "the characters"),
        ("--batch", "the batch's name"),
        ("--column", "the heading"),
        ("--length", "the length"),
        ("--prize", "the prize"),
    ];
    let in_fields = |text: &str| {
        let fields = FIELDS.iter();
        fields.fold(text.to_owned(), |text, (option, field)| {
            text.replace(option, field)
        })
    };
    failure.message =
        in_fields(&failure.message).replace("run this again", "choose the file again");
    for problem in &mut failure.problems {
        problem.message = in_fields(&problem.message);
    }
    failure
}

async fn list(console: Console, Named(scope): Named<Scope>) -> PageResult {
    let tables = console.tables()?;
    let is_operator = console.has(Role::Operator).await?;
    let scope = code_scope(&tables, scope).await?;
    // The book's keys are for operators; others read its batches.
    let book = match is_operator {
        true => Some(book::read(&tables.code_books, &scope).await?),
        false => None,
    };
    let overview = tables.code_books.overview(&scope).await?;
    let batches = overview.map(|book| book.batches).unwrap_or_default();
    let counters = Box::pin(statistics::read(&tables, &scope, Days::default())).await?;
    let used = by_dimension(&counters, Metric::Batches);
    let wins = tables.wins().list(&scope).await?;
    let left = prizes_left(&batches, &wins);
    let left = |batch: &Batch| {
        let of_batch = left.iter().find(|left| left.batch.name == batch.name);
        of_batch.and_then(|left| left.left)
    };
    let rows =
        html! { @for batch in &batches { (row(&scope, is_operator, batch, &used, left(batch))) } };
    let heading = [
        "Batch",
        "Origin",
        "Codes",
        "Used",
        "Status",
        "Prize",
        "Prizes left",
        "Action",
    ];
    let forms = html! {
        @if let Some(book) = &book {
            div.pair {
                div { h2 { "Mint codes" } (mint::form(&scope, book)) }
                div { h2 { "Import codes that are printed already" } (import::form(&scope)) }
            }
        }
    };
    let content = html! {
        @if batches.is_empty() {
            p { "There are no codes yet." }
        } @else {
            (table("Batches of codes", &heading, rows))
            @if let Some(book) = &book { p { (sentence(&odds_line(book))) } }
            p.soft { "A code is used once its submission is accepted; the numbers are at most a minute old. To see a single code, search for it." }
        }
        (with_role(is_operator, "Minting, importing or voiding codes", Role::Operator, forms))
    };
    Ok(Page::new("Codes", Section::Codes)
        .in_scope(&scope)
        .render(content))
}

fn row(
    scope: &Scope,
    is_operator: bool,
    batch: &Batch,
    used: &Aggregate,
    prizes_left: Option<i64>,
) -> Markup {
    let class = match batch.status {
        BatchStatus::Active => "good",
        BatchStatus::Reserved => "paused",
        BatchStatus::Void => "over",
    };
    let named = [("batch", batch.name.as_str())];
    let minted = with_query(&format!("{}/minted", codes_path(scope)), &named);
    let [of_batch] = named;
    let submissions = submissions_path(scope, &[of_batch, ("state", "accepted")]);
    html! {
        tr {
            td { (batch.name) }
            td { @if batch.origin.is_imported() { "imported" } @else { "minted" } }
            td { (grouped(batch.count())) }
            td { a href=(submissions) { (number(records_of(used, &batch.name))) span.unseen { " of " (batch.name) } } }
            td { (pill(class, batch.status.as_str())) }
            td { (or_dash(batch.prize.as_ref())) }
            td { (or_dash(prizes_left.map(number))) }
            td {
                @if is_operator {
                    @if batch.status == BatchStatus::Reserved { a href=(minted) { "Finish" span.unseen { " " (batch.name) } } " " }
                    @if batch.status != BatchStatus::Void { a href=(void_address(scope, &batch.name)) { "Void" span.unseen { " " (batch.name) } "…" } }
                }
            }
        }
    }
}

fn void_address(scope: &Scope, batch: &str) -> String {
    with_query(&void_path(scope), &[("batch", batch)])
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
    let book = book::read(&tables.code_books, &scope).await?;
    // An unknown batch, or one that is void already, leaves no row.
    if existing_batch(&book, name)?.status != BatchStatus::Void {
        book::void_batch(&tables, &scope, name, console.now()).await?;
    }
    Ok(Redirect::to(&format!("{}/codes", path_of(&scope))))
}
