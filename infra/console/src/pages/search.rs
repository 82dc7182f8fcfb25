//! Finds a submission by reference, id, phone or code. Input may be personal, so it is never in a
//! URL.

use common::domain::campaign::CodePolicy;
use common::domain::code::Code;
use common::domain::ids::Reference;
use ops_core::codes::find::{CodeOfScope, lookup};
use ops_core::format::counted;
use ops_core::people::{self, PersonRecords};
use ops_core::submissions::code_entered::CodeEntered;

use super::submission::{list, status};
use crate::layout;
use crate::prelude::*;

/// Submissions of one request; one is made.
const MAX_PER_REQUEST: usize = 10;

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route("/search", get(ask).post(search))
        .route("/search/request", post(search_request))
}

async fn ask(console: Console) -> PageResult {
    render(&console, "", String::new(), html! {}).await
}

const NOTHING: &str = "Nothing found: no submission has this reference or id, and no campaign has this code. Check it for a letter or digit \
                       that was misread.";

/// `said` is for screen readers.
async fn render(console: &Console, asked: &str, said: String, found: Markup) -> PageResult {
    let campaigns = console.tables()?.campaigns.list().await?;
    let slugs = campaigns
        .iter()
        .map(|one| (one.slug.as_str(), one.slug.as_str()));
    let content = html! {
        form method="post" action="/search" role="search" {
            label for="what" { "Reference, id, phone or code" }
            input #what name="what" value=(asked) required autofocus autocomplete="off" autocapitalize="off" spellcheck="false";
            p { button { "Search" } }
        }
        p role="status" { (said) }
        (found)
        details {
            summary { "Search for a request id" }
            p { "This takes about a minute for ten million submissions." }
            form.row method="post" action="/search/request" {
                div { (text_field("request", "Request id")) }
                div { (select("campaign", "Campaign", slugs, "", true)) }
                div { (select("environment", "Environment", [("live", "live"), ("test", "test")], "live", true)) }
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
    let (said, shown) = match what.parse::<Phone>() {
        Ok(phone) => {
            let (found, _) = people::find_readable(&tables, &phone, console.now()).await?;
            of_phone(&phone, &found, console.now())
        }
        Err(_) => of_code(&tables, what).await?,
    };
    Ok(render(&console, what, said, shown).await?.into_response())
}

async fn shown(
    console: &Console,
    tables: &Tables,
    asked: &str,
    found: &[Submission],
) -> PageResult<Response> {
    if let [only] = found {
        return Ok(Redirect::to(&path_of_submission(only.submission_id)).into_response());
    }
    let (said, listed) = (
        format!("{} found.", counted(found.len(), "submission")),
        list(tables, found).await?,
    );
    Ok(render(console, asked, said, listed).await?.into_response())
}

async fn search_request(console: Console, form: Form) -> PageResult<Response> {
    let unknown = |_: String| {
        failure!(
            "campaign_unknown",
            "there is no such campaign; choose one of the list"
        )
    };
    let scope = Scope {
        campaign: form.get("campaign").parse().map_err(unknown)?,
        environment: form.get("environment").parse().map_err(unknown)?,
    };
    let (tables, wanted) = (console.tables()?, form.get("request"));
    let is_wanted = |submission: &Submission| submission.request_id.as_deref() == Some(wanted);
    let (found, _) = tables
        .submissions()
        .list(&scope, MAX_PER_REQUEST, is_wanted)
        .await?;
    if found.is_empty() {
        let said = format!(
            "Nothing found: no {} submission of {} was made by this request.",
            scope.environment, scope.campaign
        );
        return Ok(render(&console, "", said, html! {}).await?.into_response());
    }
    shown(&console, &tables, "", &found).await
}

fn of_phone(phone: &Phone, found: &[PersonRecords], now: Timestamp) -> (String, Markup) {
    let phone = phone.masked();
    let said = if found.is_empty() {
        format!("Nothing found: no campaign knows the phone {phone}.")
    } else {
        let shown = found.iter().flat_map(PersonRecords::shown_submissions);
        let count = shown.count();
        format!("{} of {phone} found.", counted(count, "submission"))
    };
    let shown = html! {
        @for one in found {
            h2 { (phone) " in " (layout::scope(&one.scope)) }
            (facts(&one.facts(now)))
            @let rows = html! {
                @for one in one.shown_submissions() {
                    tr {
                        td { a href=(path_of_submission(one.submission_id)) { (one.reference()) } }
                        td { (status(&one.status)) }
                        td { (one.status.message_key()) }
                        td { (one.day) }
                    }
                }
            };
            @let caption = format!("Submissions in {} {}, the newest first", one.scope.campaign, one.scope.environment);
            (table(&caption, &["Reference", "State", "Message", "Day"], rows))
        }
    };
    (said, shown)
}

async fn of_code(tables: &Tables, typed: &str) -> PageResult<(String, Markup)> {
    let nothing = (NOTHING.to_owned(), html! {});
    let code = match typed.parse::<Code>() {
        Ok(code) if code.sentinel().is_none() => code,
        // Test codes belong to no campaign.
        Ok(_) | Err(_) => return Ok(nothing),
    };
    let mut found = Vec::new();
    let campaigns = tables.campaigns.list().await?;
    let scopes = |campaign: &'_ Campaign| {
        campaign
            .slug
            .scopes()
            .map(|scope| (campaign.clone(), scope))
    };
    for (campaign, scope) in campaigns.iter().flat_map(scopes) {
        match campaign.code {
            // Without a book there are no codes yet.
            CodePolicy::Service if tables.code_books.overview(&scope).await?.is_some() => {
                if let Some(code) = lookup(tables, &scope, CodePolicy::Service, &code).await? {
                    let entered = entered(tables, &campaign, code.submission.clone()).await?;
                    found.push(service_code(&scope, &code, &entered));
                }
            }
            CodePolicy::Partner => {
                let holder = submissions::of_code(tables, &campaign, &scope, typed).await?;
                if let Some(holder) = holder {
                    let listed = list(tables, std::slice::from_ref(&holder)).await?;
                    let entered = entered(tables, &campaign, Some(holder)).await?;
                    found.push(
                        html! { h2 { "A code of " (layout::scope(&scope)) } (entered) (listed) },
                    );
                }
            }
            CodePolicy::Service | CodePolicy::None => {}
        }
    }
    if found.is_empty() {
        return Ok(nothing);
    }
    let said = format!("{} found.", counted(found.len(), "code"));
    Ok((said, html! { @for one in found { (one) } }))
}

async fn entered(
    tables: &Tables,
    campaign: &Campaign,
    holder: Option<Submission>,
) -> Result<Markup, Failure> {
    let Some(holder) = holder else {
        return Ok(html! {});
    };
    let entered = CodeEntered::by(tables, holder, campaign.timezone).await?;
    Ok(html! { p { (entered.sentence()) } })
}

fn service_code(scope: &Scope, code: &CodeOfScope, entered: &Markup) -> Markup {
    let batch = code.batch.as_ref();
    html! {
        h2 { "A code of " (layout::scope(scope)) }
        (entered)
        (facts(&[
            ("State", html! { (code.state.as_str()) @if code.is_void { ", voided" } }),
            ("Batch", html! { (or_dash(batch.map(|batch| &batch.name))) }),
            ("Prize", html! { (or_dash(batch.and_then(|batch| batch.prize.as_ref()))) }),
            ("Submission", html! {
                @match &code.hold {
                    Some(hold) => a href=(path_of_submission(hold.submission_id)) { (hold.submission_id.reference()) },
                    None => "-",
                }
            }),
        ]))
    }
}
