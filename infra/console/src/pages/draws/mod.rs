//! A campaign's draws, and calls to their winners.

use std::collections::HashSet;

use ops_core::contact_log::WinnersOf;
use ops_core::draws::abandon::awaits_second;
use ops_core::draws::call_log::{Winner, log, show_phone};
use ops_core::draws::shown;
use ops_core::draws::{self, call_log};

use self::winner::{WinnerPage, step_of};
use super::contact_log::{Step, last_step, state_pill};
use crate::prelude::*;

mod downloads;
mod freeze;
pub(crate) mod freezes;
mod new_draw;
mod steps;
mod winner;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/draws";
    Router::new()
        .route(path, get(list))
        .route(&format!("{path}/{{draw}}"), get(show))
        .route(&format!("{path}/{{draw}}/winner"), get(winner).post(step))
        .merge(freeze::routes())
        .merge(steps::routes())
        .merge(downloads::routes())
}

type InDraw = Named<(CampaignSlug, Environment, DrawName)>;

pub(super) fn path_of_draw(scope: &Scope, name: &DrawName) -> String {
    format!("{}/draws/{name}", path_of(scope))
}

fn path_of_winner(scope: &Scope, contact: &Contact) -> String {
    let path = format!("{}/winner", path_of_draw(scope, &contact.draw));
    let place = contact.place.to_string();
    with_query(&path, &[("prize", &contact.prize), ("place", &place)])
}

async fn list(console: Console, Named(scope): Named<Scope>) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let zone = tables.zone(&scope).await?;
    let may_act = console.has(Role::Operator).await?;
    let mut draws = tables.draws.list(&scope).await?;
    draws.sort_by_key(|draw| std::cmp::Reverse(draw.frozen_at));
    let mut rows = Vec::new();
    for draw in &draws {
        let contacts = tables.draws.contacts(&scope, &draw.name).await?;
        rows.push(row(&scope, draw, &contacts, zone, now)?);
    }
    let heading = [
        "Draw",
        "State",
        "Entrants",
        "Entries",
        "Round",
        "To be called",
        "Reached",
        "Handed over",
        "Skipped",
    ];
    let content = html! {
        (freeze::notice(&console, &tables, &scope, zone).await?)
        @if may_act { p { a.button href=(freeze::path_of_form(&scope)) { "New draw" } } } @else { (lacks("A new draw", Role::Operator)) }
        @if rows.is_empty() {
            p { "There are no draws yet. A draw freezes the entries of a period, so that anyone can check its winners." }
        } @else {
            (table("Draws", &heading, html! { @for row in rows { (row) } }))
        }
    };
    Ok(Page::new("Draws", Section::Draws)
        .in_scope(&scope)
        .render(content))
}

fn row(
    scope: &Scope,
    draw: &Draw,
    contacts: &[Contact],
    zone: Tz,
    now: Timestamp,
) -> Result<Markup, Failure> {
    let header = draws::header(draw)?;
    Ok(html! {
        tr {
            td { a href=(path_of_draw(scope, &draw.name)) { (draw.name) } }
            td { (state(draw)) @if draw.awaits_run(now) { " " (pill("open", "round is out")) } @if awaits_second(draw, now) { " " (pill("open", "second person")) } }
            td { (grouped(header.rows.get())) }
            td { (grouped(header.total.get())) }
            td { (zoned_time(draw.round_at, zone)) }
            @for count in counts(contacts) { td { (count) } }
        }
    })
}

/// Winners to be called, reached, with their prize, and skipped.
fn counts(contacts: &[Contact]) -> [usize; 4] {
    let mut counts = [0; 4];
    let [waiting, reached, done, skipped] = &mut counts;
    for contact in contacts {
        *match contact.state() {
            ContactState::Drawn | ContactState::Called { .. } => &mut *waiting,
            ContactState::Reached | ContactState::Identified => &mut *reached,
            ContactState::HandedOver => &mut *done,
            ContactState::Skipped { .. } => &mut *skipped,
        } += 1;
    }
    counts
}

fn state(draw: &Draw) -> Markup {
    let class = match &draw.outcome {
        _ if draw.is_abandoned() => "over",
        Some(_) => "good",
        None => "paused",
    };
    pill(class, shown::state(draw))
}

fn contact_state(contact: &Contact, is_blocked: bool) -> Markup {
    state_pill(&contact.log, &contact.state().to_string(), is_blocked)
}

async fn show(console: Console, named: InDraw) -> PageResult {
    let (scope, name) = named.names();
    draw_page(&console, &scope, &name, None).await
}

/// The draw as it stands, below a refusal.
async fn draw_page(
    console: &Console,
    scope: &Scope,
    name: &DrawName,
    refusal: Option<&Failure>,
) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let zone = tables.zone(scope).await?;
    let draw = draws::find(&tables, scope, name).await?;
    let contacts = tables.draws.contacts(scope, name).await?;
    let (open, settled): (Vec<_>, Vec<_>) = contacts.iter().partition(|contact| contact.is_open());
    let blocked = call_log::blocked(&tables, scope, &contacts).await?;
    let may_act = console.has(Role::Operator).await?;
    let content = html! {
        @if let Some(refusal) = refusal { p.bad role="alert" { (page_message(refusal)) } }
        p { (state(&draw)) }
        @if !may_act { (lacks("The next steps", Role::Operator)) }
        (steps::next(scope, &draw, &contacts, zone, now, may_act)?)
        @if draw.outcome.is_some() && !open.is_empty() {
            h2 { "To be called, or to get the prize" }
            (winners("Winners without an outcome", scope, &open, &blocked, zone))
        }
        @if !settled.is_empty() {
            h2 { "With an outcome" }
            (winners("Winners with an outcome", scope, &settled, &blocked, zone))
        }
        @if may_act { (downloads::section(scope, &draw)) }
        h2 { "Details" }
        (facts(&shown::facts(scope, &draw, zone)?))
        @if may_act { (steps::abandon_section(&tables, scope, &draw, zone, now).await?) }
    };
    Ok(Page::new(&format!("Draw {name}"), Section::Draws)
        .in_scope(scope)
        .with_script(assets::DRAWS_SCRIPT)
        .render(content))
}

fn winners(
    caption: &str,
    scope: &Scope,
    contacts: &[&Contact],
    blocked: &HashSet<SubmissionId>,
    zone: Tz,
) -> Markup {
    let rows = html! {
        @for contact in contacts {
            tr {
                td { (contact.prize) }
                td { a href=(path_of_winner(scope, contact)) { "Place " (contact.place) span.unseen { " of " (contact.prize) } } }
                td { span.whole-word { (or_dash(contact.reference.as_ref())) } }
                td { (or_dash(contact.region.as_ref())) }
                td { (or_dash(contact.masked_phone.as_ref())) }
                td { (contact_state(contact, shown::is_blocked(contact, blocked))) }
                td { (last_step(&contact.log, WinnersOf::Draw, zone)) }
            }
        }
    };
    let heading = [
        "Prize",
        "Place",
        "Reference",
        "Region",
        "Phone",
        "State",
        "Last step",
    ];
    table(caption, &heading, rows)
}

async fn find(tables: &Tables, named: InDraw, query: &Query) -> PageResult<(Winner, Tz)> {
    let (scope, name) = named.names();
    let zone = tables.zone(&scope).await?;
    let (prize, place) = winner::named(query)?;
    let winner = call_log::find(tables, scope, &name, Some(prize), place).await?;
    Ok((winner, zone))
}

async fn render(
    console: &Console,
    tables: &Tables,
    winner: &Winner,
    zone: Tz,
    phone: Option<&str>,
) -> PageResult {
    let contact = std::slice::from_ref(&winner.contact);
    let blocked = call_log::blocked(tables, &winner.scope, contact).await?;
    let may_act = console.has(Role::Operator).await?;
    let all = tables
        .draws
        .contacts(&winner.scope, &winner.draw.name)
        .await;
    let all = all.map_err(Failure::from)?;
    let interrupted = shown::interrupted_skip(&winner.header, &all);
    let shown = WinnerPage {
        winner,
        is_blocked: !blocked.is_empty(),
        is_interrupted: interrupted.is_some_and(|contact| contact == &winner.contact),
        zone,
        phone,
        may_act,
    };
    Ok(shown.render())
}

async fn winner(console: Console, named: InDraw, query: Query) -> PageResult {
    let tables = console.tables()?;
    let (winner, zone) = find(&tables, named, &query).await?;
    render(&console, &tables, &winner, zone, None).await
}

async fn step(console: Console, named: InDraw, query: Query, form: Form) -> PageResult<Response> {
    let (tables, now) = (console.tables()?, console.now());
    let (winner, zone) = find(&tables, named, &query).await?;
    match step_of(&form, &winner)? {
        Step::ShowPhone => {
            let phone = show_phone(&tables, &winner, now).await?;
            let page = render(&console, &tables, &winner, zone, Some(&phone)).await?;
            Ok(page.into_response())
        }
        Step::Log(event) => {
            let logged = log(&tables, &winner, event, now).boxed().await?;
            let path = if logged.contact.is_open() {
                path_of_winner(&winner.scope, &logged.contact)
            } else {
                path_of_draw(&winner.scope, &logged.contact.draw)
            };
            Ok(Redirect::to(&path).into_response())
        }
    }
}
