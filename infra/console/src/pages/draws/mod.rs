//! A campaign's draws, and calls to their winners.

use std::collections::HashSet;

use ops_core::draws::call_log::{Winner, log, show_phone};
use ops_core::draws::shown::{self, event_words};
use ops_core::draws::{self, call_log};

use self::winner::{Step, winner_page};
use crate::prelude::*;

mod winner;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/draws";
    Router::new()
        .route(path, get(list))
        .route(&format!("{path}/{{draw}}"), get(show))
        .route(&format!("{path}/{{draw}}/winner"), get(winner).post(step))
}

type InDraw = Named<(CampaignSlug, Environment, DrawName)>;

impl InDraw {
    fn names(self) -> (Scope, DrawName) {
        let Self((campaign, environment, name)) = self;
        let scope = Scope {
            campaign,
            environment,
        };
        (scope, name)
    }
}

fn path_of_draw(scope: &Scope, name: &DrawName) -> String {
    format!("{}/draws/{name}", path_of(scope))
}

fn path_of_winner(scope: &Scope, contact: &Contact) -> String {
    let path = format!("{}/winner", path_of_draw(scope, &contact.draw));
    let place = contact.place.to_string();
    with_query(&path, &[("prize", &contact.prize), ("place", &place)])
}

async fn list(console: Console, Named(scope): Named<Scope>) -> PageResult {
    let tables = console.tables()?;
    let zone = tables.zone(&scope).await?;
    let mut draws = tables.draws.list(&scope).await?;
    draws.sort_by_key(|draw| std::cmp::Reverse(draw.frozen_at));
    let mut rows = Vec::new();
    for draw in &draws {
        let contacts = tables.draws.contacts(&scope, &draw.name).await?;
        rows.push(row(&scope, draw, &contacts, zone)?);
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
        @if rows.is_empty() {
            p { "There are no draws yet; " code { "ops draw freeze" } " begins one." }
        } @else {
            (table("Draws", &heading, html! { @for row in rows { (row) } }))
        }
    };
    Ok(Page::new("Draws", Section::Draws)
        .in_scope(&scope)
        .render(content))
}

fn row(scope: &Scope, draw: &Draw, contacts: &[Contact], zone: Tz) -> Result<Markup, Failure> {
    let header = draws::header(draw)?;
    Ok(html! {
        tr {
            td { a href=(path_of_draw(scope, &draw.name)) { (draw.name) } }
            td { (state(draw)) }
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
    let class = if draw.outcome.is_some() {
        "good"
    } else {
        "paused"
    };
    pill(class, shown::state(draw))
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
        (pill(class, maud::display(state)))
        @if is_blocked { " " (pill("over", "blocked")) }
    }
}

async fn show(console: Console, named: InDraw) -> PageResult {
    let (scope, name) = named.names();
    let (tables, now) = (console.tables()?, console.now());
    let zone = tables.zone(&scope).await?;
    let draw = draws::find(&tables, &scope, &name).await?;
    let contacts = tables.draws.contacts(&scope, &name).await?;
    let (open, settled): (Vec<_>, Vec<_>) = contacts.iter().partition(|contact| contact.is_open());
    let blocked = call_log::blocked(&tables, &scope, &contacts).await?;
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
        (facts(&shown::facts(&scope, &draw, zone)?))
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
    let is_blocked = |contact: &Contact| {
        contact
            .submission_id
            .is_some_and(|id| blocked.contains(&id))
    };
    let rows = html! {
        @for contact in contacts {
            tr {
                td { (contact.prize) }
                td { a href=(path_of_winner(scope, contact)) { "Place " (contact.place) span.unseen { " of " (contact.prize) } } }
                td { span.whole-word { (or_dash(contact.reference.as_ref())) } }
                td { (or_dash(contact.region.as_ref())) }
                td { (or_dash(contact.masked_phone.as_ref())) }
                td { (contact_state(contact, is_blocked(contact))) }
                td {
                    @if let Some(last) = contact.steps.last() {
                        (event_words(&last.event)) br; span.soft { (zoned_time(last.at, zone)) }
                    }
                }
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

async fn render(tables: &Tables, winner: &Winner, zone: Tz, phone: Option<&str>) -> PageResult {
    let contact = std::slice::from_ref(&winner.contact);
    let blocked = call_log::blocked(tables, &winner.scope, contact).await?;
    Ok(winner_page(winner, !blocked.is_empty(), zone, phone))
}

async fn winner(console: Console, named: InDraw, query: Query) -> PageResult {
    let tables = console.tables()?;
    let (winner, zone) = find(&tables, named, &query).await?;
    render(&tables, &winner, zone, None).await
}

async fn step(console: Console, named: InDraw, query: Query, form: Form) -> PageResult<Response> {
    let (tables, now) = (console.tables()?, console.now());
    let (winner, zone) = find(&tables, named, &query).await?;
    match Step::parse(&form, &winner)? {
        Step::ShowPhone => {
            let phone = show_phone(&tables, &winner, now).await?;
            let page = render(&tables, &winner, zone, Some(&phone)).await?;
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
