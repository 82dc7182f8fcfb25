//! The draws of a campaign: the state of each, and calls to its winners.

use std::collections::HashSet;

use axum::Router;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use chrono_tz::Tz;
use common::domain::draw::contact::{Contact, ContactState};
use common::domain::draw::{Draw, DrawName};
use common::domain::ids::SubmissionId;
use common::domain::scope::Scope;
use futures_util::FutureExt;
use maud::{Markup, html};
use ops_core::draws::call_log::{Winner, log, show_phone};
use ops_core::draws::shown::{self, event_words};
use ops_core::draws::{self, call_log};
use ops_core::failure::Failure;
use ops_core::format::{grouped, or_dash, zoned_time};
use ops_core::tables::Tables;

use self::winner::{Step, winner_page};
use super::{InScope, page};
use crate::failure::{PageError, PageResult};
use crate::form::{Form, Query};
use crate::layout::{Page, Section, facts, path_of, table};
use crate::state::Console;

mod winner;

pub(crate) fn routes() -> Router<Console> {
    let path = |end: &str| format!("/campaigns/{{slug}}/{{environment}}/draws{end}");
    Router::new()
        .route(&path(""), get(page(list)))
        .route(&path("/{draw}"), get(page(show)))
        .route(&path("/{draw}/winner"), get(page(winner)).post(page(step)))
}

/// The draw that a path names.
struct InDraw(Scope, DrawName);

impl<S: Send + Sync> FromRequestParts<S> for InDraw {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let InScope(scope) = InScope::from_request_parts(parts, state).await?;
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        let name = params
            .as_ref()
            .and_then(|params| params.iter().find(|(name, _)| *name == "draw"));
        let name = name.and_then(|(_, name)| name.parse().ok());
        let unknown = || {
            Failure::new(
                "draw_unknown",
                "this is not a draw's page; choose a draw in the list",
            )
        };
        Ok(Self(scope, name.ok_or_else(unknown)?))
    }
}

fn path_of_draw(scope: &Scope, name: &DrawName) -> String {
    format!("{}/draws/{name}", path_of(scope))
}

fn path_of_winner(scope: &Scope, contact: &Contact) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("prize", &contact.prize)
        .append_pair("place", &contact.place.to_string());
    format!(
        "{}/winner?{}",
        path_of_draw(scope, &contact.draw),
        query.finish()
    )
}

async fn list(console: Console, InScope(scope): InScope) -> PageResult {
    let tables = console.tables()?;
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let mut draws = tables.draws.list(&scope).await?;
    draws.sort_by_key(|draw| std::cmp::Reverse(draw.frozen_at));
    let mut rows = Vec::new();
    for draw in &draws {
        let contacts = tables.draws.contacts(&scope, &draw.name).await?;
        rows.push(row(&scope, draw, &contacts, zone)?);
    }
    let content = html! {
        @if rows.is_empty() {
            p { "There are no draws yet; " code { "ops draw freeze" } " begins one." }
        } @else {
            (table("Draws", &["Draw", "State", "Entrants", "Entries", "Round", "To be called", "Reached", "Handed over", "Skipped"], &rows))
        }
    };
    Ok(Page::new("Draws", Section::Draws)
        .in_scope(&scope)
        .render(content))
}

fn row(scope: &Scope, draw: &Draw, contacts: &[Contact], zone: Tz) -> Result<Vec<Markup>, Failure> {
    let header = draws::header(draw)?;
    let [waiting, reached, done, skipped] = counts(contacts);
    Ok(vec![
        html! { a href=(path_of_draw(scope, &draw.name)) { (draw.name) } },
        state(draw),
        html! { (grouped(header.rows.get())) },
        html! { (grouped(header.total.get())) },
        html! { (zoned_time(draw.round_at, zone)) },
        html! { (waiting) },
        html! { (reached) },
        html! { (done) },
        html! { (skipped) },
    ])
}

/// Winners who are to be called, who were reached, who have the prize, and who are skipped.
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
    let class = if draw.outcome.is_some() {
        "good"
    } else {
        "paused"
    };
    html! { span.pill.(class) { (shown::state(draw)) } }
}

fn contact_state(contact: &Contact, is_blocked: bool) -> Markup {
    let state = contact.state();
    let class = match state {
        ContactState::Drawn | ContactState::Called { .. } => "paused",
        ContactState::Reached | ContactState::Identified => "open",
        ContactState::HandedOver => "good",
        ContactState::Skipped { .. } => "over",
    };
    html! {
        span.pill.(class) { (state) }
        @if is_blocked { " " span.pill.over { "blocked" } }
    }
}

async fn show(console: Console, InDraw(scope, name): InDraw) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let draw = draws::find(&tables, &scope, &name).await?;
    let contacts = tables.draws.contacts(&scope, &name).await?;
    let (open, settled): (Vec<_>, Vec<_>) = contacts.iter().partition(|contact| contact.is_open());
    let blocked = call_log::blocked(&tables, &scope, &contacts).await?;
    let known: Vec<_> = shown::facts(&scope, &draw, zone)?;
    let known: Vec<_> = known
        .iter()
        .map(|(name, value)| (name, html! { (value) }))
        .collect();
    let content = html! {
        p { (state(&draw)) }
        @match shown::next_step(&scope, &draw, &contacts, zone, now)? {
            Some(next) => p { "Next: " (next) "." },
            None if open.is_empty() => {
                p { "Every winner has an outcome. " (certificate(&scope, &draw)) }
            }
            None => {}
        }
        @if draw.outcome.is_some() && !open.is_empty() {
            h2 { "To be called, or to get the prize" }
            (winners("Winners without an outcome", &scope, &open, &blocked, zone))
        }
        @if !settled.is_empty() {
            h2 { "With an outcome" }
            (winners("Winners with an outcome", &scope, &settled, &blocked, zone))
        }
        h2 { "Details" }
        (facts(&known))
        @if draw.outcome.is_some() && !open.is_empty() { p.soft { (certificate(&scope, &draw)) } }
    };
    Ok(Page::new(&format!("Draw {name}"), Section::Draws)
        .in_scope(&scope)
        .render(content))
}

fn certificate(scope: &Scope, draw: &Draw) -> Markup {
    html! {
        code { "ops draw certificate " (shown::options(scope, &draw.name)) " --output FILE.html" }
        " writes the certificate, which lets anyone verify the draw."
    }
}

fn winners(
    caption: &str,
    scope: &Scope,
    contacts: &[&Contact],
    blocked: &HashSet<SubmissionId>,
    zone: Tz,
) -> Markup {
    let row = |contact: &&Contact| {
        vec![
            html! { (contact.prize) },
            html! { a href=(path_of_winner(scope, contact)) { "Place " (contact.place) span.unseen { " of " (contact.prize) } } },
            html! { span.whole-word { (or_dash(contact.reference.as_ref())) } },
            html! { (or_dash(contact.region.as_ref())) },
            html! { (or_dash(contact.masked_phone.as_ref())) },
            contact_state(
                contact,
                contact
                    .submission_id
                    .is_some_and(|id| blocked.contains(&id)),
            ),
            html! {
                @if let Some(last) = contact.steps.last() {
                    (event_words(&last.event)) br; span.soft { (zoned_time(last.at, zone)) }
                }
            },
        ]
    };
    let rows: Vec<_> = contacts.iter().map(row).collect();
    table(
        caption,
        &[
            "Prize",
            "Place",
            "Reference",
            "Region",
            "Phone",
            "State",
            "Last step",
        ],
        &rows,
    )
}

async fn winner(console: Console, (InDraw(scope, name), query): (InDraw, Query)) -> PageResult {
    let tables = console.tables()?;
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let (prize, place) = winner::named(&query)?;
    let winner = call_log::find(&tables, scope, &name, Some(prize), place).await?;
    Ok(winner_page(
        &winner,
        is_blocked(&tables, &winner).await?,
        zone,
        None,
    ))
}

async fn is_blocked(
    tables: &Tables,
    Winner { scope, contact, .. }: &Winner,
) -> Result<bool, Failure> {
    Ok(
        !call_log::blocked(tables, scope, std::slice::from_ref(contact))
            .await?
            .is_empty(),
    )
}

async fn step(
    console: Console,
    (InDraw(scope, name), query, form): (InDraw, Query, Form),
) -> PageResult<Response> {
    let (tables, now) = (console.tables()?, console.now());
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let (prize, place) = winner::named(&query)?;
    let winner = call_log::find(&tables, scope, &name, Some(prize), place).await?;
    match Step::parse(&form, &winner)? {
        Step::ShowPhone => {
            let phone = show_phone(&tables, &winner, now).await?;
            let is_blocked = is_blocked(&tables, &winner).await?;
            Ok(winner_page(&winner, is_blocked, zone, Some(&phone)).into_response())
        }
        Step::Log(event) => {
            let logged = log(&tables, &winner, event, now).boxed().await?;
            let path = if logged.contact.is_open() {
                path_of_winner(&winner.scope, &logged.contact)
            } else {
                path_of_draw(&winner.scope, &name)
            };
            Ok(Redirect::to(&path).into_response())
        }
    }
}
