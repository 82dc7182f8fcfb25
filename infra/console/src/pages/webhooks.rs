//! A campaign's webhooks: where events are sent, whether they arrive, and some again.

use common::domain::webhook::{Endpoint, EventId, EventType, SignatureKind};
use ops_core::webhooks::{self, ListedEndpoint, NewEndpoint, Period, Standing};

use crate::once::mark;
use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/webhooks";
    let action = |name: &str| format!("{path}/{name}");
    Router::new()
        .route(path, get(list).post(add))
        .route(&action("test"), post(test))
        .route(&action("stop"), post(stop))
        .route(&action("start"), post(start))
        .route(&action("rotate"), post(rotate))
        .route(&action("remove"), get(ask).post(remove))
        .route(&action("replay"), post(replay))
}

async fn list(console: Console, Named(scope): Named<Scope>) -> PageResult {
    page(&console, &scope, html! {}).await
}

async fn page(console: &Console, scope: &Scope, told: Markup) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let zone = tables.zone(scope).await?;
    let is_operator = console.has(Role::Operator).await?;
    let listed = webhooks::list(&tables, scope).await?;
    let rows = html! { @for listed in &listed { (row(scope, listed, is_operator, zone, now)) } };
    let heading = [
        "Host",
        "Status",
        "Types",
        "Last success",
        "Waiting",
        "Action",
    ];
    let content = html! {
        (told)
        (banner(&listed, zone, now))
        @if listed.is_empty() {
            p { "No events are sent. A webhook tells the brand's server of decisions that come after its request." }
        } @else {
            (table("Endpoints", &heading, rows))
            p.soft { "Last success is known to the hour." }
            @if is_operator { (replay_form(scope, &listed)) }
        }
        (with_role(is_operator, "Changing webhooks", Role::Operator, add_form(scope)))
    };
    Ok(Page::new("Webhooks", Section::Webhooks)
        .in_scope(scope)
        .render(content))
}

/// Says what fails, on pages of a campaign.
pub(super) fn banner(listed: &[ListedEndpoint], zone: Tz, now: Timestamp) -> Markup {
    let failing = listed.iter().filter_map(|listed| listed.failing(zone, now));
    html! { @for words in failing { p.bad role="alert" { (words) } } }
}

fn row(
    scope: &Scope,
    listed: &ListedEndpoint,
    is_operator: bool,
    zone: Tz,
    now: Timestamp,
) -> Markup {
    let ListedEndpoint { endpoint, waiting } = listed;
    let standing = webhooks::standing(endpoint, now);
    let class = match standing {
        Standing::Active => "good",
        Standing::Unproven => "open",
        Standing::Failing | Standing::Suspended => "paused",
        Standing::Stopped => "over",
    };
    let action = |name: &str, words: &str| {
        html! {
            form method="post" action={ (path(scope)) "/" (name) } {
                (hidden("endpoint", endpoint.endpoint.as_str()))
                button { (words) span.unseen { " " (endpoint.url.host()) } }
            }
        }
    };
    html! {
        tr {
            td { (endpoint.url.host()) br; span.soft { (endpoint.endpoint) } }
            td { (pill(class, standing.as_str())) }
            td { (joined(&endpoint.types)) }
            td { (or_dash(endpoint.last_success_at.map(|at| local_time(at, zone)))) }
            td { (grouped(*waiting)) }
            td {
                @if is_operator {
                    @if standing == Standing::Stopped {
                        (action("start", "Start"))
                    } @else {
                        (action("test", "Test")) (action("stop", "Stop"))
                    }
                    details {
                        summary { "Rotate" span.unseen { " " (endpoint.url.host()) } "…" }
                        p { "A new secret is shown once, to be handed to the brand. For 24 hours events are signed with both." }
                        (action("rotate", "Make a new secret"))
                    }
                    a href={ (with_query(&remove_path(scope), &[("endpoint", endpoint.endpoint.as_str())])) } { "Remove" span.unseen { " " (endpoint.url.host()) } "…" }
                }
            }
        }
    }
}

fn path(scope: &Scope) -> String {
    format!("{}/webhooks", path_of(scope))
}

fn remove_path(scope: &Scope) -> String {
    format!("{}/remove", path(scope))
}

fn replay_form(scope: &Scope, listed: &[ListedEndpoint]) -> Markup {
    let options = listed
        .iter()
        .map(|ListedEndpoint { endpoint, .. }| (endpoint.endpoint.as_str(), endpoint.url.host()));
    let optional = |name: &str, label: &str| {
        html! { label for=(name) { (label) } input id=(name) name=(name) maxlength="60" autocomplete="off"; }
    };
    html! {
        h2 { "Send events again" }
        form method="post" action={ (path(scope)) "/replay" } {
            (mark())
            (select("endpoint", "Endpoint", options, "", true))
            (optional("event", "Id of an event that did not arrive at once"))
            (optional("from", "Or the period of the last change, from a day or time such as 2026-11-22T08:00"))
            (optional("to", "Its end; empty for now"))
            p { button { "Send again" } }
        }
        p.soft { code { "ops webhook deliveries" } " lists events that did not arrive at once. A period sends the submissions as they are now, without what the replies to requests told." }
    }
}

fn add_form(scope: &Scope) -> Markup {
    html! {
        h2 { "Add an endpoint" }
        form method="post" action=(path(scope)) {
            (mark())
            (text_field("url", "URL: https, a public host"))
            fieldset {
                legend { "Events" }
                @for kind in EventType::ALL.into_iter().filter(|kind| *kind != EventType::TestPing) {
                    label.inline { input type="checkbox" name=(kind) value="on" checked[EventType::DEFAULT.contains(&kind)]; " " (kind) }
                }
            }
            p { button { "Add" } }
        }
    }
}

async fn add(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let types = EventType::ALL.into_iter();
    let types: Vec<_> = types
        .filter(|kind| form.get(kind.as_str()) == "on")
        .collect();
    if types.is_empty() {
        return Err(failure!("types_missing", "choose at least one type of event").into());
    }
    let new = NewEndpoint {
        url: form.get("url").to_owned(),
        types,
        signature: SignatureKind::V1,
    };
    let (tables, now) = (console.tables()?, console.now());
    let add = webhooks::add(&tables, &scope, new, now);
    let added = console.sent_forms.once(&form, add).await?;
    let told = html! {
        (shown_once(&added.secret))
        p { "Once the brand has put it in, test the endpoint: it gets events after a test that succeeds." }
    };
    Ok(page_with_secret(&console, &scope, told).await)
}

async fn page_with_secret(console: &Console, scope: &Scope, told: Markup) -> Html<String> {
    let shown = page(console, scope, told.clone()).await;
    Page::new("Webhooks", Section::Webhooks)
        .in_scope(scope)
        .or_told(shown, told)
}

fn shown_once(secret: &str) -> Markup {
    html! {
        p.good role="status" { "The secret of the endpoint. It is shown only now: hand it to the brand as you do keys." }
        p { code.whole-word { (secret) } }
    }
}

async fn rotate(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let tables = console.tables()?;
    let endpoint = webhooks::find(&tables, &scope, form.get("endpoint")).await?;
    let secret = webhooks::rotate(&tables, &endpoint, console.now()).await?;
    let told = html! {
        (shown_once(&secret))
        p { "For 24 hours events are signed with the old one too: let the brand put this one in until then." }
    };
    Ok(page_with_secret(&console, &scope, told).await)
}

async fn ask(console: Console, Named(scope): Named<Scope>, Query(query): Query) -> PageResult {
    let tables = console.tables()?;
    let endpoint = webhooks::find(&tables, &scope, query.get("endpoint")).await?;
    let id = endpoint.endpoint.as_str();
    let content = html! {
        (facts(&[
            ("Host", html! { (endpoint.url.host()) }),
            ("Types", html! { (joined(&endpoint.types)) }),
            ("Environment", environment(scope.environment)),
        ]))
        p { "Its secret and the events that wait for it are deleted." }
        (typed_form(&remove_path(&scope), id, "Remove the endpoint", hidden("endpoint", id)))
        p { a href=(path(&scope)) { "Cancel" } }
    };
    Ok(Page::new("Remove an endpoint", Section::Webhooks)
        .in_scope(&scope)
        .render(content))
}

async fn remove(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult<Redirect> {
    let tables = console.tables()?;
    let endpoint = webhooks::find(&tables, &scope, form.get("endpoint")).await?;
    check_typed(&form, endpoint.endpoint.as_str())?;
    webhooks::remove(&tables, &endpoint, console.now()).await?;
    Ok(Redirect::to(&path(&scope)))
}

async fn test(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let tables = console.tables()?;
    let zone = tables.zone(&scope).await?;
    let endpoint = webhooks::find(&tables, &scope, form.get("endpoint")).await?;
    let tested = webhooks::test(&tables, &endpoint, console.now()).await?;
    let words = webhooks::ping_words(&tested.endpoint, &tested.ping, zone, console.now());
    page(&console, &scope, html! { p role="status" { (words) } }).await
}

async fn stop(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult<Redirect> {
    let tables = console.tables()?;
    let endpoint = webhooks::find(&tables, &scope, form.get("endpoint")).await?;
    webhooks::stop(&tables, &endpoint, console.now()).await?;
    Ok(Redirect::to(&path(&scope)))
}

async fn start(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult<Redirect> {
    let tables = console.tables()?;
    let endpoint = webhooks::find(&tables, &scope, form.get("endpoint")).await?;
    webhooks::start(&tables, &endpoint, console.now()).await?;
    Ok(Redirect::to(&path(&scope)))
}

async fn replay(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let tables = console.tables()?;
    let endpoints = [webhooks::find(&tables, &scope, form.get("endpoint")).await?];
    let send = replay_as_asked(&console, &tables, &scope, &endpoints, &form);
    let told = console.sent_forms.once(&form, send).await?;
    page(&console, &scope, html! { p.good role="status" { (told) } }).await
}

async fn replay_as_asked(
    console: &Console,
    tables: &Tables,
    scope: &Scope,
    endpoints: &[Endpoint],
    form: &Form,
) -> Result<String, Failure> {
    let now = console.now();
    Ok(match (form.get("event"), form.get("from")) {
        ("", "") => bail!(
            "event_missing",
            "give the id of an event, or the beginning of a period"
        ),
        ("", from) => {
            let zone = tables.zone(scope).await?;
            let period = Period::parse(from, form.get("to"), zone, now)?;
            let sent = webhooks::replay_period_unseen(tables, endpoints, &period, &console.clock);
            format!("Events that are sent again: {}.", grouped(sent.await?))
        }
        (event, "") => {
            let event: EventId = event.parse().map_err(|_| {
                failure!(
                    "event_unknown",
                    "this is no id of an event, such as evt_s4fkv7yfdfyhgxhnecjfwc67km"
                )
            })?;
            webhooks::replay_event(tables, endpoints, &event, now).await?;
            "The event is sent again.".to_owned()
        }
        _ => bail!(
            "event_or_period",
            "nothing was sent: give either the id of an event or a period"
        ),
    })
}
