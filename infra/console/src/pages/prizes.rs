//! A campaign's instant prizes, and calls to their winners.

use common::domain::win::WinStatus;
use ops_core::contact_log::WinnersOf;
use ops_core::prizes::{self, Winner};

use super::contact_log::{Step, last_step, skip_form, state_pill, steps, timeline};
use crate::prelude::*;

const OF: WinnersOf = WinnersOf::Instant;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/prizes";
    Router::new()
        .route(path, get(list))
        .route(&format!("{path}/{{id}}"), get(show).post(step))
}

type OfWinner = Named<(CampaignSlug, Environment, SubmissionId)>;

pub(super) fn path_of_prizes(scope: &Scope) -> String {
    format!("{}/prizes", path_of(scope))
}

fn path_of_list(scope: &Scope, status: Option<WinStatus>) -> String {
    let path = path_of_prizes(scope);
    match status {
        Some(status) => with_query(&path, &[("status", status.as_str())]),
        None => path,
    }
}

fn path_of_winner(winner: &Winner) -> String {
    let win = &winner.win;
    format!("{}/{}", path_of_prizes(&win.scope), win.submission_id)
}

fn state(winner: &Winner) -> Markup {
    let win = &winner.win;
    state_pill(&win.log, &win.state_in_words(), winner.is_blocked)
}

async fn list(console: Console, Named(scope): Named<Scope>, query: Query) -> PageResult {
    let tables = console.tables()?;
    let zone = tables.zone(&scope).await?;
    let wins = tables.wins().list(&scope).await?;
    let count = |status| wins.iter().filter(|win| win.status() == status).count();
    let chosen = query.0.get("status").parse::<WinStatus>().ok();
    let winners = prizes::list(&tables, &scope, chosen).await?;
    let rows = html! {
        @for winner in winners.iter().rev() {
            tr {
                td { (zoned_time(winner.win.accepted_at, zone)) }
                td { (winner.win.prize) }
                td { a.whole-word href=(path_of_winner(winner)) { (winner.win.reference) } }
                td { (winner.phone) }
                td { (or_dash(winner.region.as_ref())) }
                td { (state(winner)) }
                td { (last_step(&winner.win.log, OF, zone)) }
            }
        }
    };
    let heading = [
        "Won",
        "Prize",
        "Reference",
        "Phone",
        "Region",
        "State",
        "Last step",
    ];
    let choices = std::iter::once(None).chain(WinStatus::ALL.map(Some));
    let content = html! {
        @if wins.is_empty() {
            p { "No instant prize was won yet. Each entry that wins one is listed here, whatever gave the prize." }
        } @else {
            nav.choices aria-label="Statuses" {
                @for status in choices {
                    @let number = status.map_or(wins.len(), count);
                    @if number > 0 || status == chosen {
                        a href=(path_of_list(&scope, status)) aria-current=[(status == chosen).then_some("true")] {
                            (status.map_or("all".to_owned(), words)) " " (number)
                        }
                    }
                }
            }
            (table("Instant prizes, the latest first", &heading, rows))
        }
    };
    Ok(Page::new("Prizes", Section::Prizes)
        .in_scope(&scope)
        .render(content))
}

fn words(status: WinStatus) -> String {
    match status {
        WinStatus::Won => "to be called".to_owned(),
        other => other.as_str().replace('_', " "),
    }
}

async fn find(tables: &Tables, named: OfWinner) -> PageResult<Winner> {
    let (scope, id) = named.names();
    let winner = prizes::find(tables, &id.to_string()).await?;
    match winner.win.scope == scope {
        true => Ok(winner),
        false => Err(page_unknown()),
    }
}

async fn show(console: Console, named: OfWinner) -> PageResult {
    let tables = console.tables()?;
    let winner = find(&tables, named).await?;
    render(&console, &tables, &winner, None).await
}

async fn render(
    console: &Console,
    tables: &Tables,
    winner: &Winner,
    phone: Option<&str>,
) -> PageResult {
    let win = &winner.win;
    let (log, path) = (&win.log, path_of_winner(winner));
    let zone = tables.zone(&win.scope).await?;
    let may_act = console.has(Role::Operator).await?;
    let acts = log.is_open() && may_act;
    let content = html! {
        p { (state(winner)) " " a href=(path_of_prizes(&win.scope)) { "All prizes" } }
        (facts(&[
            ("Reference", html! { a href=(path_of_submission(win.submission_id)) { (win.reference) } }),
            ("Won", html! { (zoned_time(win.accepted_at, zone)) }),
            ("Given by", html! { (win.source) }),
            ("Region", html! { (or_dash(winner.region.as_ref())) }),
            ("Phone", html! {
                @match phone { Some(phone) => strong { (phone) }, None => (winner.phone) }
            }),
        ]))
        @if winner.is_blocked { p { "The phone was blocked: take the prize back, or unblock the phone." } }
        @if acts {
            (steps(log, &path, phone.is_none()))
            p.soft { "A look at the number is recorded in the audit log. Three calls without an answer, each a minute after the last, are made before the prize is forfeited." }
        }
        (timeline(log, OF, zone))
        @if acts {
            h2 { "Take the prize back" }
            p { "It is not given again by itself. If the entry is not valid, revoke the entry instead." }
            (skip_form(log, OF, &path, &win.reference.to_string(), winner.is_blocked))
        }
        @if !may_act { (lacks("Calling winners", Role::Operator)) }
    };
    Ok(Page::new(&win.prize, Section::Prizes)
        .in_scope(&win.scope)
        .render(content))
}

async fn step(console: Console, named: OfWinner, form: Form) -> PageResult<Response> {
    let (tables, now) = (console.tables()?, console.now());
    let winner = find(&tables, named).await?;
    match Step::parse(&form, &winner.win.reference.to_string())? {
        Step::ShowPhone => {
            let phone = prizes::show_phone(&tables, &winner.win, now).await?;
            let page = render(&console, &tables, &winner, Some(&phone)).await?;
            Ok(page.into_response())
        }
        Step::Log(event) => {
            let win = prizes::log(&tables, &winner.win, event, now).await?;
            let path = if win.is_open() {
                path_of_winner(&winner)
            } else {
                path_of_prizes(&win.scope)
            };
            Ok(Redirect::to(&path).into_response())
        }
    }
}
