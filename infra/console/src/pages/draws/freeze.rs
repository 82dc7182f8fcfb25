//! A freeze from its form to the commitment: reads the entries, shows what is committed to,
//! asks, and freezes.

use common::domain::draw::FreezeLock;
use ops_core::draws;
use ops_core::draws::freeze::{FreezePlan, ReadFreeze};
use ops_core::draws::shown::warnings;

use super::freezes::{Freeze, FreezeState, Started, Work};
use super::new_draw::{NewDraw, field_of};
use super::{InDraw, path_of_draw};
use crate::prelude::*;

pub(super) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}";
    Router::new()
        .route(&format!("{path}/new-draw"), get(form).post(begin))
        .route(
            &format!("{path}/draws/{{draw}}/freeze"),
            get(under_way).post(answer),
        )
        .route(&format!("{path}/draws/{{draw}}/publish"), post(publish))
}

pub(super) fn path_of_form(scope: &Scope) -> String {
    format!("{}/new-draw", path_of(scope))
}

fn path_of_freeze(scope: &Scope, name: &str) -> String {
    format!("{}/draws/{name}/freeze", path_of(scope))
}

fn page(scope: &Scope, title: &str, content: Markup) -> Html<String> {
    Page::new(title, Section::Draws)
        .in_scope(scope)
        .with_script(assets::DRAWS_SCRIPT)
        .render(content)
}

fn form_page(
    scope: &Scope,
    form: &NewDraw,
    zone: Tz,
    wrong: &[(&'static str, String)],
) -> Html<String> {
    page(
        scope,
        "New draw",
        form.page(&path_of_form(scope), zone, wrong),
    )
}

/// Leads to the freeze under way here, and tells of one elsewhere.
pub(super) async fn notice(
    console: &Console,
    tables: &Tables,
    scope: &Scope,
    zone: Tz,
) -> PageResult<Markup> {
    let own = console.freezes.look(scope, |freeze| {
        let words = match &freeze.state {
            FreezeState::Working(_) => "is under way",
            FreezeState::Asking(_) => "waits for your answer",
            FreezeState::Failed(_) => "failed",
        };
        html! { p.open role="status" { "The freeze of " strong { (freeze.form.name) } " " (words) ": " a href=(path_of_freeze(scope, &freeze.form.name)) { "look at it" } "." } }
    });
    if let Some(own) = own {
        return Ok(own);
    }
    let other = match tables
        .draws
        .freeze_lock(scope)
        .await
        .map_err(Failure::from)?
    {
        Some(FreezeLock {
            draw,
            expires_at: Some(at),
            ..
        }) if console.now() < at => Some((draw, at)),
        Some(_) | None => None,
    };
    Ok(html! {
        @if let Some((draw, at)) = other {
            p.open role="status" {
                "A freeze of the draw " (draw) " can be running elsewhere, or was interrupted: until it ends, or until "
                (zoned_time(at, zone)) ", no entry is revoked by one person alone, and no one is erased. A new freeze takes its place."
            }
        }
    })
}

async fn form(console: Console, Named(scope): Named<Scope>) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let campaign = tables.campaign(&scope.campaign).await?;
    let zone = campaign.timezone;
    if !console.has(Role::Operator).await? {
        return Ok(page(
            &scope,
            "New draw",
            lacks("A new draw", Role::Operator),
        ));
    }
    let mut failed = None;
    console.freezes.look(&scope, |freeze| {
        if let FreezeState::Failed(_) = freeze.state {
            failed = Some(freeze.form.clone());
        }
    });
    let draws = tables.draws.list(&scope).await.map_err(Failure::from)?;
    let form = failed.unwrap_or_else(|| NewDraw::suggested(&campaign, &draws, now));
    let content = html! {
        (notice(&console, &tables, &scope, zone).await?)
        (form.page(&path_of_form(&scope), zone, &[]))
    };
    Ok(page(&scope, "New draw", content))
}

async fn begin(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult<Response> {
    let (tables, now) = (console.tables()?, console.now());
    let campaign = tables.campaign(&scope.campaign).await?;
    let (zone, draw) = (campaign.timezone, NewDraw::parse(&form));
    if form.get("more") == "yes" {
        let form = draw.with_another_prize();
        return Ok(form_page(&scope, &form, zone, &[]).into_response());
    }
    let refused = |wrong: &[(&'static str, String)]| {
        let page = form_page(&scope, &draw, zone, wrong);
        (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
    };
    let folder = folder()?;
    let plan = match draw.plan(&scope, zone, now, folder.path().join("draw")) {
        Ok(plan) => plan,
        Err(wrong) => return Ok(refused(&wrong)),
    };
    let name = plan.name.clone();
    match console
        .freezes
        .start(&console, &draw, campaign, plan, folder)
        .await
    {
        Ok(Started::UnderWay) => {
            Ok(Redirect::to(&path_of_freeze(&scope, name.as_str())).into_response())
        }
        Ok(Started::Published) => Ok(Redirect::to(&path_of_draw(&scope, &name)).into_response()),
        Err(failure) => match field_of(&failure) {
            Some(field) => Ok(refused(&[(field, page_message(&failure))])),
            None => Err(failure.into()),
        },
    }
}

/// The draw's files, of which storage has copies.
fn folder() -> Result<tempfile::TempDir, Failure> {
    let failed = |error| {
        failure!(
            "file_failed",
            "a temporary folder failed: {error}; make room on the disk"
        )
    };
    tempfile::tempdir().map_err(failed)
}

async fn under_way(console: Console, named: InDraw) -> PageResult<Response> {
    let (scope, name) = named.names();
    let now = console.now();
    let zone = console.tables()?.zone(&scope).await?;
    let shown = console.freezes.look(&scope, |freeze| {
        (freeze.form.name == name.as_str()).then(|| freeze_page(&scope, freeze, zone, now))
    });
    Ok(match shown.flatten() {
        Some(page) => page.into_response(),
        None => Redirect::to(&path_of_draw(&scope, &name)).into_response(),
    })
}

fn freeze_page(scope: &Scope, freeze: &Freeze, zone: Tz, now: Timestamp) -> Html<String> {
    let name = &freeze.form.name;
    let path = path_of_freeze(scope, name);
    let attempt = hidden("attempt", &freeze.attempt);
    let stop = |words: &str| {
        html! { form method="post" action=(path) { (hidden("answer", "stop")) (attempt) button.quiet { (words) } } }
    };
    let content = match &freeze.state {
        FreezeState::Working(Work { doing, line, .. }) => html! {
            p { "This page goes on by itself; you can leave it and come back. A million entries take some minutes." }
            p #progress { (doing) @let line = line.text(); @if !line.is_empty() { ": " (line) } @else { " …" } }
            p.soft { "Until it ends, no entry of the campaign is revoked by one person alone, and no one is erased." }
            (stop("Stop"))
        },
        FreezeState::Asking(read) => {
            html! { (question(read, &path, &attempt, zone, now)) (stop("Do not freeze")) }
        }
        FreezeState::Failed(message) => html! {
            p.bad role="alert" { (message) }
            p { a href=(path_of_form(scope)) { "Back to the form" } ", which has what you typed." }
        },
    };
    page(scope, &format!("Freeze {name}"), content)
}

fn question(read: &ReadFreeze, path: &str, attempt: &Markup, zone: Tz, now: Timestamp) -> Markup {
    let report = read.report();
    let rows = html! {
        @for (day, total) in &report.days {
            tr { td { (day) } td { (grouped(total.submissions)) } td { (grouped(total.entries)) } }
        }
    };
    let expires_at = read.expires_at().filter(|at| now < *at);
    html! {
        p { "This is what the draw commits to. Compare the days with the numbers that you know." }
        (facts(&read.facts()))
        @for warning in warnings(read.header()) { p.bad { (warning) } }
        (table("Entries of each day", &["Day", "Submissions", "Entries"], rows))
        @if !report.unsettled.is_empty() {
            p { (grouped(report.unsettled.len())) " submissions are not settled and not in this draw: " (shortened(&report.unsettled, 20)) ". They join the draw of the period in which they are accepted." }
        }
        @match expires_at {
            Some(at) => {
                h2 { "Freeze it" }
                p { "A draw is frozen once: its name, its list of entries and its commitment stay. Answer before " (zoned_time(at, zone)) "." }
                (typed_form(path, read.name().as_str(), "Freeze", html! { (hidden("answer", "freeze")) (attempt) }))
            }
            None => p.bad role="alert" { "The entries were read too long ago and can have changed, or the round is too near. Begin again." },
        }
    }
}

async fn answer(console: Console, named: InDraw, form: Form) -> PageResult<Response> {
    let (scope, name) = named.names();
    let is_own = |freeze: &Freeze| freeze.form.name == name.as_str();
    if console.freezes.look(&scope, is_own) == Some(true) {
        let (freezes, attempt) = (&console.freezes, form.get("attempt"));
        if form.get("answer") == "stop" {
            freezes.give_up(&console, &scope, attempt).await?;
            // It can have been too late.
            let recorded = console.tables()?.draws.get(&scope, &name).await;
            let path = match recorded.map_err(Failure::from)? {
                Some(_) => path_of_draw(&scope, &name),
                None => path_of_form(&scope),
            };
            return Ok(Redirect::to(&path).into_response());
        }
        check_typed(&form, name.as_str())?;
        freezes.commit(&console, &scope, attempt)?;
    }
    Ok(Redirect::to(&path_of_freeze(&scope, name.as_str())).into_response())
}

/// Finishes a freeze that was interrupted after the draw was recorded.
async fn publish(console: Console, named: InDraw) -> PageResult<Response> {
    let (scope, name) = named.names();
    let (tables, now) = (console.tables()?, console.now());
    let campaign = tables.campaign(&scope.campaign).await?;
    let draw = draws::find(&tables, &scope, &name).await?;
    let folder = folder()?;
    let output = folder.path().join("draw");
    let plan = FreezePlan::recorded(&scope, &draw, campaign.timezone, output)?;
    match draws::freeze::begin(&tables, &campaign, plan, now).await? {
        draws::freeze::BegunFreeze::Recorded(recorded) => {
            recorded.publish(&tables, &console.clock).boxed().await?;
        }
        // The record is gone.
        draws::freeze::BegunFreeze::Locked(locked) => {
            locked.give_up(&tables).await;
        }
    }
    Ok(Redirect::to(&path_of_draw(&scope, &name)).into_response())
}
