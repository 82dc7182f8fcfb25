//! A campaign's webhooks: where events are sent, whether they arrive, and one again.

use common::domain::webhook::{EventId, EventType, SignatureKind};
use ops_core::webhooks::{self, AddedEndpoint, ListedEndpoint, NewEndpoint, Standing};

use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/webhooks";
    let action = |name: &str| format!("{path}/{name}");
    Router::new()
        .route(path, get(list).post(add))
        .route(&action("test"), post(test))
        .route(&action("stop"), post(stop))
        .route(&action("start"), post(start))
        .route(&action("replay"), post(replay))
}

async fn list(console: Console, Named(scope): Named<Scope>) -> PageResult {
    page(&console, &scope, html! {}).await
}

async fn page(console: &Console, scope: &Scope, told: Markup) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let zone = tables.zone(scope).await?;
    let listed = webhooks::list(&tables, scope).await?;
    let rows = html! { @for listed in &listed { (row(scope, listed, zone, now)) } };
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
            (replay_form(scope, &listed))
        }
        (add_form(scope))
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

fn row(scope: &Scope, listed: &ListedEndpoint, zone: Tz, now: Timestamp) -> Markup {
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
                @if standing == Standing::Stopped {
                    (action("start", "Start"))
                } @else {
                    (action("test", "Test")) (action("stop", "Stop"))
                }
            }
        }
    }
}

fn path(scope: &Scope) -> String {
    format!("{}/webhooks", path_of(scope))
}

fn replay_form(scope: &Scope, listed: &[ListedEndpoint]) -> Markup {
    let options = listed
        .iter()
        .map(|ListedEndpoint { endpoint, .. }| (endpoint.endpoint.as_str(), endpoint.url.host()));
    html! {
        h2 { "Send an event again" }
        form method="post" action={ (path(scope)) "/replay" } {
            (select("endpoint", "Endpoint", options, "", true))
            (text_field("event", "Id of an event that did not arrive at once"))
            p { button { "Send again" } }
        }
        p.soft { code { "ops webhook deliveries" } " lists these; " code { "ops webhook replay --from" } " sends the submissions of a period." }
    }
}

fn add_form(scope: &Scope) -> Markup {
    html! {
        h2 { "Add an endpoint" }
        form method="post" action=(path(scope)) {
            (text_field("url", "URL: https, a public host"))
            fieldset {
                legend { "Events" }
                @for kind in EventType::ALL.into_iter().filter(|kind| *kind != EventType::TestPing) {
                    label.inline { input type="checkbox" name=(kind) value="on" checked[EventType::DEFAULT.contains(&kind)]; " " (kind) }
                }
            }
            p { button { "Add and test" } }
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
    let added = webhooks::add(&console.tables()?, &scope, new, console.now()).await?;
    let AddedEndpoint { secret, ping, .. } = &added;
    let told = html! {
        p.good role="status" { "The secret of the endpoint. It is shown only now: hand it to the brand as you do keys." }
        p { code.whole-word { (secret) } }
        p { (webhooks::ping_words(&added.endpoint, ping)) }
    };
    page(&console, &scope, told).await
}

async fn test(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let endpoint = webhooks::find(&tables, &scope, form.get("endpoint")).await?;
    let tested = webhooks::test(&tables, &endpoint, now).await?;
    let words = webhooks::ping_words(&tested.endpoint, &tested.ping);
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
    let endpoint = webhooks::find(&tables, &scope, form.get("endpoint")).await?;
    let event: EventId = form.get("event").parse().map_err(|_| {
        failure!(
            "event_unknown",
            "this is no id of an event, such as evt_s4fkv7yfdfyhgxhnecjfwc67km"
        )
    })?;
    webhooks::replay_event(&tables, &[endpoint], &event, console.now()).await?;
    let told = html! { p.good role="status" { "The event is sent again." } };
    page(&console, &scope, told).await
}
