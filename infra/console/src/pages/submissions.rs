//! A campaign's submissions, filtered and newest first.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::Arc;

use axum::body::Body;
use common::domain::message::MessageKey;
use common::domain::submission::State;
use common::lock::Mutex;
use futures_util::{StreamExt, stream};
use ops_core::approvals::in_words;
use ops_core::export;
use ops_core::format::counted;
use ops_core::phones;
use ops_core::statistics::Days;
use ops_core::submissions::listing::{Filter, Listing, read_each, records_in_table, time_to_read};

use super::submission::status;
use crate::prelude::*;

const PAGE_ROWS: usize = 50;
/// Lists that are kept for their further pages.
const MAX_KEPT: usize = 8;
/// Records of the whole table that are read without a question: well under a second.
const READ_UNASKED: u64 = 100_000;
const PERSON: &str = "person";
/// A list that reads on by itself.
const ON: &str = "on";

pub(crate) fn routes() -> Router<Console> {
    let path = |end: &str| format!("/campaigns/{{campaign}}/{{environment}}/submissions{end}");
    Router::new()
        .route(&path(""), get(list))
        .route(&path("/read"), post(read))
        .route(&path("/more"), post(read_more))
        .route(&path("/export"), post(export_csv))
}

/// Lists of this console, the newest last. A cursor names one and a place in it.
#[derive(Default)]
pub(crate) struct Listings(Mutex<VecDeque<(String, Arc<KeptListing>)>>);

struct KeptListing {
    scope: Scope,
    filter: Filter,
    listing: tokio::sync::Mutex<Listing>,
}

impl Listings {
    fn keep(&self, scope: &Scope, filter: Filter, listing: Listing) -> (String, Arc<KeptListing>) {
        let kept = KeptListing {
            scope: scope.clone(),
            filter,
            listing: tokio::sync::Mutex::new(listing),
        };
        let (name, kept) = (hex::encode(random::bytes::<8>()), Arc::new(kept));
        let mut all = self.0.lock();
        // A list that is made again replaces itself, not another window's.
        all.retain(|(_, other)| other.scope != kept.scope || other.filter != kept.filter);
        all.push_back((name.clone(), Arc::clone(&kept)));
        while all.len() > MAX_KEPT {
            all.pop_front();
        }
        (name, kept)
    }

    fn forget(&self, name: &str) {
        self.0.lock().retain(|(kept, _)| kept != name);
    }

    fn find(&self, scope: &Scope, filter: &Filter, name: &str) -> Option<Arc<KeptListing>> {
        let all = self.0.lock();
        let (_, kept) = all.iter().find(|(kept, _)| kept == name)?;
        (kept.scope == *scope && kept.filter == *filter).then(|| Arc::clone(kept))
    }
}

fn cursor(name: &str, from: usize) -> String {
    format!("{name}.{from}")
}

fn filter_of(form: &Form) -> Result<Filter, Failure> {
    fn given<T: FromStr>(form: &Form, name: &str) -> Result<Option<T>, Failure> {
        let text = form.get(name);
        let given = Some(text).filter(|text| !text.is_empty());
        given.map(str::parse).transpose().map_err(|_| {
            failure!(
                "filter_invalid",
                "there is no {name} such as “{text}”: choose one of the page's lists, and write days such as 2026-11-22"
            )
        })
    }
    Ok(Filter {
        state: given(form, "state")?,
        reason: given(form, "reason")?,
        days: match given(form, "day")? {
            Some(day) => Days {
                from: Some(day),
                to: Some(day),
            },
            None => Days {
                from: given(form, "from")?,
                to: given(form, "to")?,
            },
        },
        batch: given(form, "batch")?,
        region: given(form, "region")?,
        waits_for_person: form.get("waiting") == PERSON,
    })
}

fn fields_of(filter: &Filter) -> Vec<(&'static str, String)> {
    let fields = [
        ("state", filter.state.map(|state| state.to_string())),
        ("reason", filter.reason.map(|reason| reason.to_string())),
        ("from", filter.days.from.map(|day| day.to_string())),
        ("to", filter.days.to.map(|day| day.to_string())),
        ("batch", filter.batch.clone()),
        ("region", filter.region.clone()),
        (
            "waiting",
            filter.waits_for_person.then(|| PERSON.to_owned()),
        ),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn path(scope: &Scope) -> String {
    format!("{}/submissions", path_of(scope))
}

fn address(scope: &Scope, filter: &Filter, cursor: &str) -> String {
    let mut fields = fields_of(filter);
    fields.push(("cursor", cursor.to_owned()));
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    with_query(&path(scope), &fields)
}

async fn list(console: Console, Named(scope): Named<Scope>, Query(query): Query) -> PageResult {
    let filter = filter_of(&query)?;
    let tables = console.tables()?;
    let campaign = tables.campaign(&scope.campaign).await?;
    let (mut name, from) = match query.get("cursor").split_once('.') {
        Some((name, from)) => (name.to_owned(), from.parse().unwrap_or(0)),
        None => (String::new(), 0),
    };
    let mut kept = console.listings.find(&scope, &filter, &name);
    let is_gone = kept.is_none() && !name.is_empty();
    let records = match filter.is_indexed() || kept.is_some() {
        true => Some(0),
        false => records_read(&tables).await?,
    };
    if kept.is_none() && records.is_some_and(|records| records <= READ_UNASKED) {
        let (begun, listing) = begin(&console, &tables, &scope, &filter).await?;
        (name, kept) = (begun, Some(listing));
    }
    let found = match &kept {
        Some(kept) => {
            let place = Place {
                scope: &scope,
                filter: &filter,
                name: &name,
                from,
                goes_on: query.get(ON) == ON,
            };
            render_found(&console, &tables, &place, kept, campaign.timezone).await?
        }
        None => ask(&scope, &filter, records),
    };
    let content = html! {
        (filter_form(&tables, &scope, &filter).await?)
        @if is_gone {
            p.paused role="status" { "That list is not kept any more, since the console ended, reading it failed, or others were made after it." }
        }
        (found)
        (export_form(console.has(Role::Operator).await?, &scope, &filter))
    };
    Ok(Page::new("Submissions", Section::Submissions)
        .in_scope(&scope)
        .render(content))
}

async fn begin(
    console: &Console,
    tables: &Tables,
    scope: &Scope,
    filter: &Filter,
) -> Result<(String, Arc<KeptListing>), Failure> {
    let mut listing = Listing::begin(tables, scope, filter).await?;
    listing.read_on().await?;
    Ok(console.listings.keep(scope, filter.clone(), listing))
}

async fn filter_form(tables: &Tables, scope: &Scope, filter: &Filter) -> PageResult<Markup> {
    let book = tables.code_books.overview(scope).await?;
    let mut batches: Vec<_> = book
        .map(|book| book.batches)
        .unwrap_or_default()
        .into_iter()
        .map(|batch| batch.name)
        .collect();
    if let Some(wanted) = &filter.batch
        && !batches.contains(wanted)
    {
        batches.push(wanted.clone());
    }
    let reasons = MessageKey::ALL.map(|key| (key.as_str(), words(key.as_str())));
    let reasons = reasons.iter().map(|(key, words)| (*key, words.as_str()));
    let states = State::ALL.map(|state| (state.as_str(), state.as_str()));
    let batches = batches.iter().map(|name| (name.as_str(), name.as_str()));
    let any = || std::iter::once(("", "any"));
    let (state, reason) = (
        filter.state.map_or("", State::as_str),
        filter.reason.map_or("", MessageKey::as_str),
    );
    Ok(html! {
        form.row {
            div { (select("state", "State", any().chain(states), state, false)) }
            div { (select("reason", "Reason", any().chain(reasons), reason, false)) }
            div { label for="from" { "From" } input #from type="date" name="from" value=[filter.days.from]; }
            div { label for="to" { "To" } input #to type="date" name="to" value=[filter.days.to]; }
            div { (select("batch", "Batch", any().chain(batches), filter.batch.as_deref().unwrap_or_default(), false)) }
            div { label for="region" { "Region" } input.short #region name="region" value=(filter.region.as_deref().unwrap_or_default()) maxlength="100" autocomplete="off"; }
            label.inline { input type="checkbox" name="waiting" value=(PERSON) checked[filter.waits_for_person]; " Waiting for a person" }
            button { "Show" }
            a href=(path(scope)) { "Clear" }
        }
        @if filter.batch.is_some() {
            p.soft { "Refused entries are not in a list of a batch: only an entry that took a code has its batch." }
        }
    })
}

fn words(key: &str) -> String {
    key.replace('_', " ")
}

/// Records that a read of the whole table passes; `None` if the role may not know.
async fn records_read(tables: &Tables) -> Result<Option<u64>, Failure> {
    match records_in_table(tables).await {
        Ok(records) => Ok(Some(records)),
        Err(failure) if failure.code == "not_allowed" => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Only a read of the whole table has the answer.
fn ask(scope: &Scope, filter: &Filter, records: Option<u64>) -> Markup {
    let takes = match records {
        Some(records) => format!(
            "{} records of all campaigns, about {}",
            grouped(records),
            span_in_words(time_to_read(records))
        ),
        None => "all records of all campaigns, about a minute for ten million".to_owned(),
    };
    html! {
        form method="post" action={ (path(scope)) "/read" } {
            @for (name, value) in fields_of(filter) { (hidden(name, &value)) }
            p { "No index has this list, so it takes a read of the whole table: " (takes) "." }
            p { button { "Read the table" } }
        }
        p.soft { "What is pending or unknown, or waits for a person, is shown at once." }
    }
}

async fn read(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult<Redirect> {
    let filter = filter_of(&form)?;
    let tables = console.tables()?;
    tables.campaign(&scope.campaign).await?;
    let (name, _) = begin(&console, &tables, &scope, &filter).await?;
    Ok(Redirect::to(&address(&scope, &filter, &cursor(&name, 0))))
}

async fn read_more(
    console: Console,
    Named(scope): Named<Scope>,
    form: Form,
) -> PageResult<Redirect> {
    let filter = filter_of(&form)?;
    let name = form.get("list");
    // The page says so if it is gone.
    if let Some(kept) = console.listings.find(&scope, &filter, name) {
        let read = kept.listing.lock().await.read_on().await;
        // It misses records, and would not say so.
        read.inspect_err(|_| console.listings.forget(name))?;
    }
    let mut next = address(&scope, &filter, &cursor(name, 0));
    if form.get(ON) == ON {
        next.push_str("&on=on");
    }
    Ok(Redirect::to(&next))
}

struct Place<'a> {
    scope: &'a Scope,
    filter: &'a Filter,
    name: &'a str,
    from: usize,
    goes_on: bool,
}

async fn render_found(
    console: &Console,
    tables: &Tables,
    place: &Place<'_>,
    kept: &KeptListing,
    zone: Tz,
) -> PageResult<Markup> {
    let Place {
        scope,
        filter,
        name,
        from,
        goes_on,
    } = *place;
    let mut listing = kept.listing.lock().await;
    let (is_complete, read, all) = (listing.is_complete(), listing.read, listing.count());
    let unreadable = listing.unreadable.len();
    let references = listing.page(from, PAGE_ROWS);
    drop(listing);
    let found = read_each(tables, scope, references).await?;
    let shows_phones = console.has(Role::Operator).await?;
    let mut rows = Vec::new();
    for one in &found {
        let phone = match shows_phones {
            true => phones::shown(tables, one, false).await?,
            false => "hidden".to_owned(),
        };
        rows.push(row(one, &phone, zone));
    }
    let count = counted(all, "submission");
    let said = match (is_complete, all) {
        (true, 0) => "There are no such submissions.".to_owned(),
        (true, _) => format!("{count}, newest first."),
        (false, _) => format!(
            "{count} found so far, in the first {} records. Those found are shown newest first; newer ones may follow.",
            grouped(read)
        ),
    };
    let to = |from: usize| address(scope, filter, &cursor(name, from));
    let heading = [
        "Reference",
        &format!("Time ({})", zone.name()),
        "Phone",
        "State",
        "Reason",
        "Entries",
        "Batch",
        "Region",
    ];
    Ok(html! {
        p role="status" { (said) }
        @if !is_complete {
            form.row method="post" action={ (path(scope)) "/more" } data-on[goes_on] {
                @for (name, value) in fields_of(filter) { (hidden(name, &value)) }
                (hidden("list", name))
                @if goes_on {
                    (hidden(ON, ON))
                    span { "Reading on …" }
                    a href=(address(scope, filter, &cursor(name, from))) { "Stop" }
                } @else {
                    button { "Go on" }
                    button.quiet name=(ON) value=(ON) { "Go on to the end" }
                }
            }
        }
        @if unreadable > 0 {
            p.bad role="alert" {
                (counted(unreadable, "record")) " cannot be read and may be missing here; "
                code { "ops submission list" } " names them."
            }
        }
        @if !found.is_empty() {
            (table("Submissions", &heading, html! { @for row in rows { (row) } }))
            p.row {
                @if from > 0 { a href=(to(from.saturating_sub(PAGE_ROWS))) rel="prev" { "Newer" } }
                span { (grouped(from + 1)) " to " (grouped(from + found.len())) " of " (grouped(all)) }
                @if from + PAGE_ROWS < all { a href=(to(from + PAGE_ROWS)) rel="next" { "Older" } }
            }
        }
    })
}

fn row(one: &Submission, phone: &str, zone: Tz) -> Markup {
    html! {
        tr {
            td { a href=(path_of_submission(one.submission_id)) { (one.reference()) } }
            td { (local_time(one.created_at, zone)) }
            td { (phone) }
            td { (status(&one.status)) }
            td {
                (words(one.status.message_key().as_str()))
                @if let Some(first) = &one.approval { br; span.soft { (first.decision.by) " asked to " (in_words(&first.change)) } }
            }
            td { (one.status.entries()) }
            td { (or_dash(one.batch.as_ref())) }
            td { (or_dash(one.region.as_ref())) }
        }
    }
}

fn export_form(is_operator: bool, scope: &Scope, filter: &Filter) -> Markup {
    let form = html! {
        form method="post" action={ (path(scope)) "/export" } data-download {
            @for (name, value) in fields_of(filter) { (hidden(name, &value)) }
            p { label.inline { input type="checkbox" name="phones" value="whole"; " Whole phone numbers, which is recorded in the audit log" } }
            p { button { "Download" } }
        }
        p.soft {
            "A download that the browser calls failed has met a record that cannot be read, or lost the connection: "
            code { "ops export" } " says which."
        }
    };
    html! {
        h2 { "Download as CSV" }
        p { "All submissions of this filter, for a spreadsheet." @if !filter.is_indexed() { " It reads the whole table once more." } }
        (with_role(is_operator, "An export", Role::Operator, form))
    }
}

async fn export_csv(
    console: Console,
    Named(scope): Named<Scope>,
    form: Form,
) -> PageResult<Response> {
    let filter = filter_of(&form)?;
    let (tables, now) = (console.tables()?, console.now());
    let phones = form.get("phones") == "whole";
    let mut texts = export::csv(&tables, &scope, &filter, phones, now).await?;
    // What fails at once becomes a page.
    let first: Vec<_> = [texts.next().await, texts.next().await]
        .into_iter()
        .flatten()
        .collect::<Result<_, _>>()?;
    let texts = stream::iter(first).map(Ok).chain(texts);
    let texts = texts.inspect(move |_| console.access.used(console.now()));
    let name = format!("submissions-{}-{}.csv", scope.campaign, scope.environment);
    let body = Body::from_stream(texts.map(|text| text.map_err(io::Error::other)));
    Ok(download(&name, CSV, body))
}
