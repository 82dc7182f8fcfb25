//! Finds a submission by its reference, id, phone or code. The input may be personal, so it is never in a URL.

use axum::Router;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use common::domain::campaign::{Campaign, CodePolicy};
use common::domain::code::Code;
use common::domain::ids::{Reference, SubmissionId};
use common::domain::phone::Phone;
use common::domain::scope::{Environment, Scope};
use common::domain::submission::Submission;
use common::domain::timestamp::Timestamp;
use common::store::entrants::KnownEntrant;
use maud::{Markup, html};
use ops_core::codes::find::{CodeOfScope, lookup};
use ops_core::failure::Failure;
use ops_core::format::{or_dash, zoned_time};
use ops_core::phones::{self, PhoneInScope};
use ops_core::submissions;
use ops_core::submissions::code_entered::CodeEntered;
use ops_core::tables::Tables;

use super::page;
use super::submission::{list, path_of_submission, status};
use crate::failure::PageResult;
use crate::form::Form;
use crate::layout::{Page, Section, environment, facts, table};
use crate::state::Console;

/// Submissions of one request; it makes one.
const MAX_PER_REQUEST: usize = 10;

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route("/search", get(page(ask)).post(page(search)))
        .route("/search/request", post(page(search_request)))
}

async fn ask(console: Console, (): ()) -> PageResult {
    render(&console, "", SearchResult::default()).await
}

/// What was found.
#[derive(Default)]
struct SearchResult {
    /// One sentence, which screen readers announce.
    said: String,
    shown: Markup,
}

impl SearchResult {
    fn nothing() -> Self {
        let said = "Nothing found: no submission has this reference or id, and no campaign has this code. Check it for a letter or digit that \
                    was misread.";
        Self {
            said: said.to_owned(),
            ..Self::default()
        }
    }
}

/// `1 code`, `2 codes`.
fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The page with the question as it was asked, and what was found.
async fn render(
    console: &Console,
    asked: &str,
    SearchResult { said, shown }: SearchResult,
) -> PageResult {
    let campaigns = console.tables()?.campaigns.list().await?;
    let content = html! {
        form method="post" action="/search" role="search" {
            label for="what" { "Reference, id, phone or code" }
            input #what name="what" value=(asked) required autofocus autocomplete="off" autocapitalize="off" spellcheck="false";
            p { button { "Search" } }
        }
        p role="status" { (said) }
        (shown)
        details {
            summary { "Search for a request id" }
            p { "This takes about a minute for ten million submissions." }
            form.row method="post" action="/search/request" {
                div { label for="request" { "Request id" } input #request name="request" required autocomplete="off"; }
                div {
                    label for="campaign" { "Campaign" }
                    select #campaign name="campaign" {
                        @for campaign in &campaigns { option value=(campaign.slug) { (campaign.slug) } }
                    }
                }
                div {
                    label for="environment" { "Environment" }
                    select #environment name="environment" { option { "live" } option { "test" } }
                }
                button { "Search all" }
            }
        }
    };
    Ok(Page::new("Search", Section::Search).render(content))
}

async fn search(console: Console, form: Form) -> PageResult<Response> {
    let what = form.get("what");
    let tables = console.tables()?;
    if what.parse::<SubmissionId>().is_ok() || what.parse::<Reference>().is_ok() {
        match submissions::find(&tables, what).await {
            Ok(found) => return shown(&console, &tables, what, &found).await,
            // A code can look like a reference.
            Err(failure) if failure.code == "submission_unknown" => {}
            Err(failure) => return Err(failure.into()),
        }
    }
    if let Ok(phone) = what.parse::<Phone>() {
        let found = phones::find(&tables, &phone, None, console.now()).await?;
        return Ok(
            render(&console, what, of_phone(&phone, &found, console.now()))
                .await?
                .into_response(),
        );
    }
    let found = of_code(&console, &tables, what).await?;
    Ok(render(&console, what, found).await?.into_response())
}

/// One submission opens; several are listed.
async fn shown(
    console: &Console,
    tables: &Tables,
    asked: &str,
    found: &[Submission],
) -> PageResult<Response> {
    if let [only] = found {
        return Ok(Redirect::to(&path_of_submission(only.submission_id)).into_response());
    }
    let said = format!("{} found.", counted(found.len(), "submission"));
    let result = SearchResult {
        said,
        shown: list(tables, found).await?,
    };
    Ok(render(console, asked, result).await?.into_response())
}

async fn search_request(console: Console, form: Form) -> PageResult<Response> {
    let unknown = |_: String| {
        Failure::new(
            "campaign_unknown",
            "there is no such campaign; choose one of the list",
        )
    };
    let campaign = form.get("campaign").parse().map_err(unknown)?;
    let environment = form.get("environment").parse().map_err(unknown)?;
    let (scope, wanted) = (
        Scope {
            campaign,
            environment,
        },
        form.get("request"),
    );
    let tables = console.tables()?;
    let is_wanted = |submission: &Submission| submission.request_id.as_deref() == Some(wanted);
    let (found, _) = submissions::list(&tables, &scope, MAX_PER_REQUEST, is_wanted).await?;
    if found.is_empty() {
        let said = format!(
            "Nothing found: no {} submission of {} was made by this request.",
            scope.environment, scope.campaign
        );
        let nothing = SearchResult {
            said,
            ..SearchResult::default()
        };
        return Ok(render(&console, "", nothing).await?.into_response());
    }
    shown(&console, &tables, "", &found).await
}

fn of_phone(phone: &Phone, found: &[PhoneInScope], now: Timestamp) -> SearchResult {
    let submissions = found.iter().map(|found| found.submissions.len()).sum();
    let said = if found.is_empty() {
        format!(
            "Nothing found: no campaign knows the phone {}.",
            phone.masked()
        )
    } else {
        format!(
            "{} of {} found.",
            counted(submissions, "submission"),
            phone.masked()
        )
    };
    let shown = html! {
        @for PhoneInScope { scope, campaign, known: KnownEntrant { entrant, blocked, .. }, submissions } in found {
            h2 { (phone.masked()) " in " (scope.campaign) " " (environment(scope.environment)) }
            (facts(&[
                ("Entries", html! { (entrant.entries) }),
                ("Today", html! { (entrant.today) @if let Some(limit) = campaign.limits.phone_daily { " of " (limit) } }),
                ("In total", html! { (entrant.total) @if let Some(limit) = campaign.limits.phone_total { " of " (limit) } }),
                ("Too many wrong codes", html! {
                    @match entrant.throttled_until.filter(|_| entrant.is_throttled(now)) {
                        Some(until) => { "until " (zoned_time(until, campaign.timezone)) }
                        None => { "no" }
                    }
                }),
                ("Blocked", html! {
                    @match blocked {
                        Some(change) => {
                            "since " (zoned_time(change.at, campaign.timezone))
                            @if let Some(why) = &change.why { ": " (why) }
                        }
                        None => { "no" }
                    }
                }),
            ]))
            @let rows: Vec<_> = submissions.iter().map(|one| vec![
                html! { a href=(path_of_submission(one.submission_id)) { (one.reference()) } },
                status(&one.status),
                html! { (one.status.message_key()) },
                html! { (one.day) },
            ]).collect();
            @let caption = format!("Submissions in {} {}, the newest first", scope.campaign, scope.environment);
            (table(&caption, &["Reference", "State", "Message", "Day"], &rows))
        }
    };
    SearchResult { said, shown }
}

/// The code in every campaign whose codes it may be.
async fn of_code(console: &Console, tables: &Tables, typed: &str) -> PageResult<SearchResult> {
    let Ok(code) = typed.parse::<Code>() else {
        return Ok(SearchResult::nothing());
    };
    let mut found = Vec::new();
    for campaign in tables.campaigns.list().await? {
        for environment in Environment::ALL {
            let scope = Scope {
                campaign: campaign.slug.clone(),
                environment,
            };
            match campaign.code {
                CodePolicy::None => {}
                CodePolicy::Service if code.sentinel().is_some() => {}
                // A campaign without a book has no codes yet.
                CodePolicy::Service if tables.code_books.overview(&scope).await?.is_none() => {}
                CodePolicy::Service => {
                    if let Some(code) = lookup(tables, &scope, &code.normal()).await? {
                        let entered = entered(tables, &campaign, code.submission.clone()).await?;
                        found.push(service_code(&scope, &code, entered));
                    }
                }
                CodePolicy::Partner if code.sentinel().is_some() => {}
                CodePolicy::Partner => {
                    let has = submissions::of_code(tables, &campaign, &scope, typed, console.now())
                        .await?;
                    if let Some(submission) = has {
                        let listed = list(tables, std::slice::from_ref(&submission)).await?;
                        let entered = entered(tables, &campaign, Some(submission)).await?;
                        found.push(html! { h2 { (scope_words(&scope)) } p { (or_dash(entered)) } (listed) });
                    }
                }
            }
        }
    }
    if found.is_empty() {
        return Ok(SearchResult::nothing());
    }
    let said = format!("{} found.", counted(found.len(), "code"));
    Ok(SearchResult {
        said,
        shown: html! { @for one in found { (one) } },
    })
}

fn scope_words(scope: &Scope) -> Markup {
    html! { "A code of " (scope.campaign) " " (environment(scope.environment)) }
}

/// Who entered a code, in a sentence.
async fn entered(
    tables: &Tables,
    campaign: &Campaign,
    holder: Option<Submission>,
) -> Result<Option<String>, Failure> {
    let Some(holder) = holder else {
        return Ok(None);
    };
    Ok(Some(
        CodeEntered::by(tables, holder, campaign.timezone)
            .await?
            .sentence(),
    ))
}

fn service_code(scope: &Scope, code: &CodeOfScope, entered: Option<String>) -> Markup {
    let CodeOfScope {
        batch,
        state,
        is_void,
        hold,
        submission,
    } = code;
    html! {
        h2 { (scope_words(scope)) }
        @if let Some(entered) = entered { p { (entered) } }
        (facts(&[
            ("State", html! { (state.as_str()) @if *is_void { ", voided" } }),
            ("Batch", html! { (or_dash(batch.as_ref().map(|batch| &batch.name))) }),
            ("Prize", html! { (or_dash(batch.as_ref().and_then(|batch| batch.prize.as_ref()))) }),
            ("Submission", html! {
                @match hold {
                    Some(hold) => a href=(path_of_submission(hold.submission_id)) {
                        @match submission {
                            Some(submission) => (submission.reference()),
                            None => (hold.submission_id),
                        }
                    },
                    None => "-",
                }
            }),
        ]))
    }
}
