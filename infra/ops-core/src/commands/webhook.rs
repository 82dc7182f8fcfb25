//! `ops webhook`.

use common::domain::webhook::{Delivery, Endpoint, EndpointId};

use super::typed_or;
use crate::cli::{EndpointArgs, ReplayArgs, ScopeArgs, WebhookCommand};
use crate::prelude::*;
use crate::webhooks::{
    self, AddedEndpoint, ListedEndpoint, NewEndpoint, Period, TestedEndpoint, endpoint_json,
    ping_words,
};

pub(crate) async fn run(
    command: WebhookCommand,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let now = clock.now();
    match command {
        WebhookCommand::Add {
            scope,
            url,
            types,
            signature,
        } => {
            let url = typed_or(&url, "URL: ", terminal)?;
            let new = NewEndpoint {
                url,
                types: types.types,
                signature,
            };
            let added = webhooks::add(tables, &scope.into(), new, now).await?;
            report_added(tables, added, clock, terminal).await
        }
        WebhookCommand::List { scope } => list(tables, &scope.into(), now).await,
        WebhookCommand::Test(args) => {
            let endpoint = find(tables, args).await?;
            let zone = tables.zone(&endpoint.scope).await?;
            let TestedEndpoint { endpoint, ping } = webhooks::test(tables, &endpoint, now).await?;
            let words = ping_words(&endpoint, &ping, zone, clock.now());
            if ping.is_err() {
                bail!("endpoint_failed", "{words}");
            }
            Ok(Report::new(endpoint_json(&endpoint, now), words))
        }
        WebhookCommand::Deliveries {
            scope,
            endpoint,
            failed,
            limit,
        } => deliveries(tables, scope, endpoint.as_ref(), failed, limit.into()).await,
        WebhookCommand::Replay {
            scope,
            endpoint,
            what,
        } => {
            let endpoint = endpoint.as_ref();
            replay(tables, scope.into(), endpoint, what, clock, terminal).await
        }
        WebhookCommand::Rotate(args) => {
            let endpoint = find(tables, args).await?;
            let secret = webhooks::rotate(tables, &endpoint, now).await?;
            let json = extended(endpoint_json(&endpoint, now), [("secret", json!(secret))]);
            let note = "This is the only time that the secret is shown. For 24 hours events are signed with the old one too: \
                        let the brand put this one in until then.";
            Ok(Report::new(json, secret).with_note(note.to_owned()))
        }
        WebhookCommand::Stop(args) => {
            let endpoint = find(tables, args).await?;
            webhooks::stop(tables, &endpoint, now).await?;
            let text = format!(
                "{} gets no events within 5 seconds; `ops webhook start` sends them again, and `ops webhook replay --from` \
                 what happened meanwhile",
                endpoint.url.host()
            );
            Ok(Report::new(json!({ "endpoint": endpoint.endpoint }), text))
        }
        WebhookCommand::Start(args) => {
            let endpoint = find(tables, args).await?;
            webhooks::start(tables, &endpoint, now).await?;
            let text = format!(
                "{} took a test event, and gets events again",
                endpoint.url.host()
            );
            Ok(Report::new(json!({ "endpoint": endpoint.endpoint }), text))
        }
        WebhookCommand::Remove(args) => {
            let endpoint = find(tables, args).await?;
            let question = format!(
                "Remove the endpoint at {} of {}, with its secret and what waits for it?",
                endpoint.url.host(),
                scope_in_words(&endpoint.scope)
            );
            terminal.confirm_typed(&question, endpoint.endpoint.as_str())?;
            webhooks::remove(tables, &endpoint, now).await?;
            let text = format!("{} is removed", endpoint.url.host());
            Ok(Report::new(json!({ "endpoint": endpoint.endpoint }), text))
        }
    }
}

async fn find(tables: &Tables, args: EndpointArgs) -> Result<Endpoint> {
    webhooks::find(tables, &args.scope.into(), args.endpoint.as_str()).await
}

/// Tests an added endpoint. Standard output has only the secret, for scripts.
async fn report_added(
    tables: &Tables,
    added: AddedEndpoint,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let AddedEndpoint { endpoint, secret } = added;
    let zone = tables.zone(&endpoint.scope).await?;
    // The test may be interrupted.
    terminal.print(&secret);
    terminal.note(&format!(
        "This is the only time that the secret is shown. The endpoint's id is {}.",
        endpoint.endpoint
    ));
    let tested = webhooks::test_added(tables, endpoint, clock.now()).await;
    let (TestedEndpoint { endpoint, ping }, now) = (&tested, clock.now());
    let json = extended(
        endpoint_json(endpoint, now),
        [
            ("secret", json!(secret)),
            ("ping", json!(ping.as_ref().err())),
        ],
    );
    let then = match ping {
        Ok(()) => String::new(),
        Err(_) => format!(
            "\nHand over the secret, and run `ops webhook test --campaign {} --environment {} {}` once it is put in.",
            endpoint.scope.campaign, endpoint.scope.environment, endpoint.endpoint
        ),
    };
    let note = format!("{}{then}", ping_words(endpoint, ping, zone, now));
    Ok(Report::new(json, "").with_note(note))
}

async fn list(tables: &Tables, scope: &Scope, now: Timestamp) -> Result<Report> {
    let zone = tables.zone(scope).await?;
    let listed = webhooks::list(tables, scope).await?;
    let view = |listed: &ListedEndpoint| {
        let waiting = ("waiting", json!(listed.waiting));
        extended(endpoint_json(&listed.endpoint, now), [waiting])
    };
    let views: Vec<_> = listed.iter().map(view).collect();
    // Written once an hour.
    let success = format!("LAST SUCCESS TO THE HOUR ({})", zone.name());
    let columns = [
        ("ENDPOINT-ID", "/endpoint"),
        ("HOST", "/host"),
        ("STATUS", "/status"),
        (&success, "/last_success_at"),
        ("FAILING SINCE", "/failing_since"),
        ("WAITING", "/waiting"),
        ("SIGNATURE", "/signature"),
        ("TYPES", "/types"),
    ];
    let text = match views.is_empty() {
        true => format!(
            "No events of {} are sent; `ops webhook add` adds an endpoint.",
            scope_in_words(scope)
        ),
        false => table(&columns, &views, zone),
    };
    Ok(Report::new(json!({ "endpoints": views }), text))
}

async fn deliveries(
    tables: &Tables,
    scope: ScopeArgs,
    endpoint: Option<&EndpointId>,
    failed: bool,
    limit: usize,
) -> Result<Report> {
    let scope = Scope::from(scope);
    let zone = tables.zone(&scope).await?;
    let mut views = Vec::new();
    for endpoint in webhooks::chosen(tables, &scope, endpoint).await? {
        let found = tables
            .webhook_deliveries
            .list(&endpoint.endpoint, failed, limit);
        let host = endpoint.url.host();
        views.extend(
            found
                .await?
                .iter()
                .map(|delivery| delivery_json(delivery, host)),
        );
    }
    let next = format!("NEXT TRY ({})", zone.name());
    let columns = [
        ("EVENT-ID", "/event"),
        ("TYPE", "/type"),
        ("SUBMISSION", "/submission_id"),
        ("HOST", "/host"),
        ("STATUS", "/status"),
        ("TRIES", "/attempts"),
        (&next, "/next_at"),
        ("FAILURE", "/failure"),
    ];
    let text = match views.is_empty() {
        true => "There are no such deliveries.".to_owned(),
        false => table(&columns, &views, zone),
    };
    Ok(Report::new(json!({ "deliveries": views }), text))
}

fn delivery_json(delivery: &Delivery, host: &str) -> Value {
    let failure = delivery.last_failure.as_ref().map(webhooks::failure_words);
    json!({
        "endpoint": delivery.endpoint,
        "host": host,
        "event": delivery.event,
        "type": delivery.r#type,
        "submission_id": delivery.submission_id,
        "revision": delivery.revision,
        "status": delivery.status,
        "attempts": delivery.attempts,
        "next_at": delivery.next_at,
        "failure": failure,
        "created_at": delivery.created_at,
    })
}

async fn replay(
    tables: &Tables,
    scope: Scope,
    endpoint: Option<&EndpointId>,
    what: ReplayArgs,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let endpoints = webhooks::active(webhooks::chosen(tables, &scope, endpoint).await?)?;
    let now = clock.now();
    if let Some(event) = what.event {
        let hosts = webhooks::replay_event(tables, &endpoints, &event, now).await?;
        let text = format!("{event} is sent again to {}", joined(&hosts));
        return Ok(Report::new(json!({ "event": event, "hosts": hosts }), text));
    }
    let Some(from) = what.from else {
        bail!("period_empty", "give --event, or --from");
    };
    let zone = tables.zone(&scope).await?;
    let period = Period::new(from, what.to, what.types.types, zone, now)?;
    let hosts = joined(endpoints.iter().map(|endpoint| endpoint.url.host()));
    let question = format!(
        "Read the whole table of submissions, and send {hosts} those of {} that changed last in this time, as they are now?",
        scope_in_words(&scope)
    );
    terminal.confirm(&question)?;
    let count = webhooks::replay_period(tables, &endpoints, &period, clock, terminal).await?;
    let text = format!(
        "{} events are sent to {hosts}; those that it has come with the same ids",
        grouped(count)
    );
    Ok(Report::new(json!({ "count": count }), text))
}
