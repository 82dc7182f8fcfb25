//! The next step with a draw: waiting for the round, running it, or giving the draw up.

use ops_core::LastLine;
use ops_core::draws::abandon::{abandon, decline, request};
use ops_core::draws::run::{RoundSource, run};
use ops_core::draws::{self, shown};

use super::{InDraw, draw_page, path_of_draw, path_of_winner};
use crate::prelude::*;

pub(super) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/draws/{draw}";
    Router::new()
        .route(&format!("{path}/run"), post(run_draw))
        .route(&format!("{path}/abandon"), post(give_up))
        .route(&format!("{path}/keep"), post(keep))
}

pub(super) fn next(
    scope: &Scope,
    draw: &Draw,
    contacts: &[Contact],
    zone: Tz,
    now: Timestamp,
    may_act: bool,
) -> PageResult<Markup> {
    let path = path_of_draw(scope, &draw.name);
    let publish_path = format!("{path}/publish");
    Ok(match (&draw.outcome, draw.published_at) {
        _ if draw.is_abandoned() => html! {
            p { "Two people gave this draw up, so it has no winners. Its name is not used again: freeze the period under another name." }
        },
        (Some(_), _) => {
            let header = draws::header(draw)?;
            html! {
                @match shown::interrupted_skip(&header, contacts) {
                    Some(last) => p.bad {
                        "A prize has no winner, because a skip was interrupted: "
                        a href=(path_of_winner(scope, last)) { "finish it" } ", which draws the next winner."
                    },
                    None if contacts.iter().all(|contact| !contact.is_open()) => p.good {
                        "Every winner has an outcome. Download the certificate, and publish its files."
                    },
                    None => {}
                }
            }
        }
        (None, None) if now < draw.round_at => html! {
            p.bad { "The freeze was interrupted before its commitment was published. It has to be public before the round, at " (zoned_time(draw.round_at, zone)) "." }
            @if may_act { form method="post" action=(publish_path) { button { "Publish the commitment" } } }
        },
        (None, _) if !draw.is_published_in_time() => html! {
            p.bad { "The commitment was not published before its round, so it proves nothing: the winners could be known. Freeze the period under another name, and give this draw up." }
        },
        (None, _) if now < draw.round_at => html! {
            p { "The round comes at " (zoned_time(draw.round_at, zone)) ", in " strong #countdown role="timer" data-left=(millis_left(draw, now)) { (span_in_words(draw.round_at.since(now))) } "." }
            p { "Until then: print the sheet, read the commitment out, and let all present copy it. The inspector opens the round's address, and signs." }
        },
        (None, _) => html! {
            p { "The round is there. Nothing can change the winners any more." }
            @if may_act { (run_form(&path, draw)?) }
        },
    })
}

fn millis_left(draw: &Draw, now: Timestamp) -> u128 {
    draw.round_at.since(now).as_millis()
}

fn run_form(path: &str, draw: &Draw) -> PageResult<Markup> {
    let address = draws::public_address(&draws::header(draw)?);
    Ok(html! {
        form method="post" action={ (path) "/run" } {
            button { "Draw the winners" }
            p.soft { "The console fetches the round from a relay of the beacon, and verifies it. With a million entrants, this takes a minute." }
            details {
                summary { "No relay can be reached" }
                p {
                    @match address {
                        Some(address) => { "Fetch " code { (address) } }
                        None => { "Fetch " code { "/" (draw.chain) "/public/" (draw.round) } " from a relay of the chain" }
                    }
                    " elsewhere, and choose the file with its reply, or paste it."
                }
                label for="file" { "File with the reply" }
                input #file type="file" accept=".json,.txt,application/json";
                label for="reply" { "Reply" }
                textarea #reply name="reply" rows="4" autocomplete="off" spellcheck="false" {}
            }
        }
    })
}

async fn run_draw(console: Console, named: InDraw, form: Form) -> PageResult<Response> {
    let (scope, name) = named.names();
    let (tables, now) = (console.tables()?, console.now());
    let draw = draws::find(&tables, &scope, &name).await?;
    let reply = Some(form.get("reply")).filter(|reply| !reply.is_empty());
    // The command waits here, which a page cannot.
    if reply.is_none() && draw.outcome.is_none() && now < draw.round_at {
        let zone = tables.zone(&scope).await?;
        return Err(failure!(
            "round_awaited",
            "nothing was drawn: the round comes at {}",
            zoned_time(draw.round_at, zone)
        )
        .into());
    }
    let source = reply.map(|reply| RoundSource::Reply(reply.to_owned()));
    let (mut line, mut out) = (LastLine::default(), io::sink());
    let mut terminal = line.terminal(&mut out);
    let running = run(
        &tables,
        &scope,
        &draw,
        source,
        &console.clock,
        &mut terminal,
    );
    running.boxed().await?;
    let (path, note) = (path_of_draw(&scope, &name), line.text());
    if note.is_empty() {
        return Ok(Redirect::to(&path).into_response());
    }
    let content = html! {
        p.bad role="alert" { (note) "." }
        p { a href=(path) { "The winners" } }
    };
    let title = format!("Draw {name}");
    let page = Page::new(&title, Section::Draws).in_scope(&scope);
    Ok(page.render(content).into_response())
}

/// Asks for it; shows the other person's request.
pub(super) async fn abandon_section(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    zone: Tz,
    now: Timestamp,
) -> PageResult<Markup> {
    if draw.outcome.is_some() || draw.is_abandoned() {
        return Ok(html! {});
    }
    let first = request(draw, now);
    let is_own = match first {
        Some(first) => {
            let by = tables.audit.operator_name().await?;
            first.is_by(tables.audit.identity().await?, &by)
        }
        None => false,
    };
    let path = format!("{}/abandon", path_of_draw(scope, &draw.name));
    let shown = first.map(|first| first.at.as_millis().to_string());
    let shown = shown.unwrap_or_default();
    let form = |button: &str| {
        typed_form(
            &path,
            draw.name.as_str(),
            button,
            html! { (hidden("shown", &shown)) (text_field("why", "Reason, which is published")) },
        )
    };
    let taken_back = |verb: &str| {
        html! {
            details {
                summary { (verb) " the request …" }
                form method="post" action={ (path_of_draw(scope, &draw.name)) "/keep" } {
                    (hidden("shown", &shown))
                    label for="why-keep" { "Reason, which stays in the record" }
                    input #why-keep name="why" required maxlength="500" autocomplete="off";
                    p { button { (verb) } }
                }
            }
        }
    };
    Ok(html! {
        h2 { "Give this draw up" }
        @if let Some(first) = first {
            p.open {
                (first.by) " asked for it at " (zoned_time(first.at, zone)) ": " (first.why.as_deref().unwrap_or_default()) "."
                @if is_own { " Another person has to ask for the same; until then, the draw is as it was." }
            }
        }
        @match first {
            Some(_) if is_own => (taken_back("Withdraw")),
            Some(_) => {
                p { "You would be the second person: then the draw never has winners." }
                (form("Give it up"))
                (taken_back("Decline"))
            }
            None => details {
                summary { "Two people can give it up, so that it never has winners" }
                p { "You ask for it, and another person confirms it. It is published beside the commitment, so that a second draw cannot go unseen." }
                (form("Ask to give it up"))
            }
        }
    })
}

async fn give_up(console: Console, named: InDraw, form: Form) -> PageResult<Response> {
    let (scope, name) = named.names();
    let tables = console.tables()?;
    check_typed(&form, name.as_str())?;
    let draw = draws::find(&tables, &scope, &name).await?;
    let abandoning = abandon(&tables, &scope, draw, form.get("why"), shown(&form));
    answered(&console, &scope, &name, abandoning.boxed().await).await
}

async fn keep(console: Console, named: InDraw, form: Form) -> PageResult<Response> {
    let (scope, name) = named.names();
    let tables = console.tables()?;
    let draw = draws::find(&tables, &scope, &name).await?;
    let keeping = decline(&tables, &scope, &draw, form.get("why"), shown(&form));
    answered(&console, &scope, &name, keeping.boxed().await).await
}

/// The time of the request that the page showed.
fn shown(form: &Form) -> Option<Timestamp> {
    form.get("shown").parse().ok().map(Timestamp::from_millis)
}

async fn answered(
    console: &Console,
    scope: &Scope,
    name: &DrawName,
    done: Result<Draw, Failure>,
) -> PageResult<Response> {
    match done {
        Ok(_) => Ok(Redirect::to(&path_of_draw(scope, name)).into_response()),
        Err(changed) if changed.code == "request_changed" => {
            let page = draw_page(console, scope, name, Some(&changed)).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
        Err(failure) => Err(failure.into()),
    }
}
