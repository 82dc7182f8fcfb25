//! The URL of an endpoint may have a token, so audit rows and errors name its host alone.

mod replay;

use common::cache;
use common::domain::cipher::SecretKey;
use common::domain::webhook::{
    DeliveryFailure, Endpoint, EndpointId, EndpointStatus, Event, EventId, EventType,
    SignatureKind, WebhookSecret, WebhookUrl,
};
use common::upstream::http_client::Addresses;
use common::upstream::webhook;
use tokio::time::timeout;

pub use self::replay::{Period, replay_event, replay_period_unseen};
pub(crate) use self::replay::{active, replay_period};
use crate::prelude::*;

#[derive(Clone, Debug)]
pub struct NewEndpoint {
    /// Not checked yet.
    pub url: String,
    /// Empty for [`EventType::DEFAULT`].
    pub types: Vec<EventType>,
    pub signature: SignatureKind,
}

/// Longer tries count as slow, and would hold up the endpoint's other events.
const MAX_TEST_TIME: Duration = Duration::from_secs(3);
const SLOW: &str = "slow";

pub type Ping = Result<(), DeliveryFailure>;

#[derive(Debug)]
pub struct AddedEndpoint {
    pub endpoint: Endpoint,
    /// The secret, or the public key of `v1a`. Shown once, before anything can fail.
    pub secret: String,
}

#[derive(Debug)]
pub struct TestedEndpoint {
    pub endpoint: Endpoint,
    pub ping: Ping,
}

#[derive(Debug)]
pub struct ListedEndpoint {
    pub endpoint: Endpoint,
    pub waiting: u64,
}

common::text_enum! {
    pub enum Standing {
        Unproven = "unproven",
        Active = "active",
        Failing = "failing",
        /// Failing for days: one event an hour is tried.
        Suspended = "suspended",
        Stopped = "stopped",
    }
}

pub fn standing(endpoint: &Endpoint, now: Timestamp) -> Standing {
    match endpoint.status {
        EndpointStatus::Unproven => Standing::Unproven,
        EndpointStatus::Stopped => Standing::Stopped,
        EndpointStatus::Active if endpoint.is_suspended(now) => Standing::Suspended,
        EndpointStatus::Active if endpoint.failing_since.is_some() => Standing::Failing,
        EndpointStatus::Active => Standing::Active,
    }
}

impl ListedEndpoint {
    /// A sentence, if it fails.
    pub fn failing(&self, zone: Tz, now: Timestamp) -> Option<String> {
        let Self { endpoint, waiting } = self;
        let since = endpoint
            .failing_since
            .filter(|_| endpoint.is_failing(now))?;
        let tried = match endpoint.is_suspended(now) {
            true => "one is tried each hour, the others follow its success",
            false => "they follow when it is back",
        };
        Some(format!(
            "The webhook at {} fails since {}. Events that wait: {}; {tried}.",
            endpoint.url.host(),
            zoned_time(since, zone),
            grouped(*waiting)
        ))
    }
}

pub async fn list(tables: &Tables, scope: &Scope) -> Result<Vec<ListedEndpoint>> {
    let listed = async |endpoint: Endpoint| {
        let waiting = tables.webhook_deliveries.count_waiting(&endpoint.endpoint);
        let waiting = waiting.await?;
        Ok::<_, Failure>(ListedEndpoint { endpoint, waiting })
    };
    let endpoints = tables.webhook_endpoints.list(scope).await?;
    concurrently(endpoints.into_iter().map(listed)).await
}

pub(crate) fn endpoint_json(endpoint: &Endpoint, now: Timestamp) -> Value {
    json!({
        "endpoint": endpoint.endpoint,
        "campaign": endpoint.scope.campaign,
        "environment": endpoint.scope.environment,
        "host": endpoint.url.host(),
        "status": standing(endpoint, now),
        "types": endpoint.types,
        "signature": endpoint.signature,
        "failing_since": endpoint.failing_since,
        "last_success_at": endpoint.last_success_at,
        "created_at": endpoint.created_at,
        "by": endpoint.by,
    })
}

pub async fn chosen(
    tables: &Tables,
    scope: &Scope,
    id: Option<&EndpointId>,
) -> Result<Vec<Endpoint>> {
    match id {
        Some(id) => Ok(vec![find(tables, scope, id.as_str()).await?]),
        None => Ok(tables.webhook_endpoints.list(scope).await?),
    }
}

pub async fn find(tables: &Tables, scope: &Scope, id: &str) -> Result<Endpoint> {
    let id: Option<EndpointId> = id.parse().ok();
    let found = match &id {
        Some(id) => tables.webhook_endpoints.get(scope, id).await?,
        None => None,
    };
    found.ok_or_else(|| {
        failure!(
            "endpoint_unknown",
            "{} has no endpoint with this id; `ops webhook list` shows the ids",
            scope_in_words(scope)
        )
    })
}

/// It is active after a test event.
pub async fn add(
    tables: &Tables,
    scope: &Scope,
    new: NewEndpoint,
    now: Timestamp,
) -> Result<AddedEndpoint> {
    let url = parse_url(tables, &new.url)?;
    tables.campaign(&scope.campaign).await?;
    let types = match new.types.is_empty() {
        true => EventType::DEFAULT.to_vec(),
        false => new.types,
    };
    let endpoint = Endpoint {
        scope: scope.clone(),
        endpoint: EndpointId::from_random(random::bytes()),
        url,
        types,
        signature: new.signature,
        status: EndpointStatus::Unproven,
        failing_since: None,
        last_success_at: None,
        created_at: now,
        by: tables.audit.operator_in_full().await?,
        revision: 0,
    };
    let secret = new_secret();
    let details = json!({ "types": endpoint.types, "signature": endpoint.signature });
    record(tables, "webhook.add", &endpoint, details, now).await?;
    if !tables.webhook_endpoints.add(&endpoint, &secret).await? {
        bail!(
            "too_many_endpoints",
            "{} has {} endpoints, the most there can be; `ops webhook remove` makes room",
            scope_in_words(scope),
            Endpoint::MAX_PER_SCOPE
        );
    }
    let secret = shown_secret(&endpoint, &secret);
    Ok(AddedEndpoint { endpoint, secret })
}

/// A fault counts as no reply.
pub async fn test_added(tables: &Tables, endpoint: Endpoint, now: Timestamp) -> TestedEndpoint {
    let tested = prove(tables, &endpoint, now).await;
    tested.unwrap_or_else(|_| TestedEndpoint {
        endpoint,
        ping: Err(DeliveryFailure::without_reply("not_tested")),
    })
}

fn parse_url(tables: &Tables, text: &str) -> Result<WebhookUrl> {
    let parsed = match Addresses::from_env(&tables.env)? {
        Addresses::Any => WebhookUrl::local(text),
        Addresses::PublicOnly => text.parse(),
    };
    parsed.map_err(|why| failure!("url_invalid", "the URL is not usable: {why}"))
}

fn new_secret() -> WebhookSecret {
    WebhookSecret::new(SecretKey::from_random(random::bytes()))
}

fn shown_secret(endpoint: &Endpoint, secret: &WebhookSecret) -> String {
    match endpoint.signature {
        SignatureKind::V1 => secret.expose(),
        SignatureKind::V1a => secret.public_key().unwrap_or_default(),
    }
}

/// Success makes an unproven endpoint active and a failing one well.
pub async fn test(tables: &Tables, endpoint: &Endpoint, now: Timestamp) -> Result<TestedEndpoint> {
    record(tables, "webhook.test", endpoint, json!({}), now).await?;
    prove(tables, endpoint, now).await
}

async fn prove(tables: &Tables, endpoint: &Endpoint, now: Timestamp) -> Result<TestedEndpoint> {
    let ping = ping(tables, endpoint, now).await?;
    let mut endpoint = endpoint.clone();
    if ping.is_ok() && endpoint.status != EndpointStatus::Stopped {
        set_status(tables, &endpoint, EndpointStatus::Active, now).await?;
        endpoint.status = EndpointStatus::Active;
        endpoint.failing_since = None;
        endpoint.last_success_at = Some(now);
    }
    Ok(TestedEndpoint { endpoint, ping })
}

async fn ping(tables: &Tables, endpoint: &Endpoint, now: Timestamp) -> Result<Ping> {
    let endpoints = &tables.webhook_endpoints;
    let secrets = endpoints.secrets(&endpoint.scope, &endpoint.endpoint, now);
    let id = EventId::from_random(random::bytes());
    let (secrets, event) = (secrets.await?, Event::ping(&endpoint.scope, id, now));
    let client = webhook::client(Addresses::from_env(&tables.env)?);
    let sending = webhook::send(&client, endpoint, &secrets, &event, now);
    let sent = timeout(MAX_TEST_TIME, sending).await;
    Ok(sent.unwrap_or_else(|_| Err(DeliveryFailure::without_reply(SLOW))))
}

async fn set_status(
    tables: &Tables,
    endpoint: &Endpoint,
    status: EndpointStatus,
    now: Timestamp,
) -> Result<()> {
    let changed = tables.webhook_endpoints.set_status(endpoint, status, now);
    check_changed(changed.await?)
}

fn check_changed(is_changed: bool) -> Result<()> {
    if is_changed {
        return Ok(());
    }
    bail!(
        "endpoint_changed",
        "the endpoint was changed or removed in the meantime; look at `ops webhook list`, and run this again"
    )
}

/// Such as `status 503`.
pub fn failure_words(failure: &DeliveryFailure) -> String {
    match failure.status {
        Some(status) => format!("status {status}"),
        None => format!("no reply, {}", failure.reason.replace('_', " ")),
    }
}

fn test_failure_words(failure: &DeliveryFailure) -> String {
    let advice = match (failure.status, failure.reason.as_str()) {
        (Some(300..=399), _) => "add an endpoint with the URL that it redirects to",
        (Some(400 | 401 | 403), _) => {
            "often the secret is wrong, or the body was parsed before it was verified"
        }
        (Some(404 | 405), _) => "the URL must be that of the receiver, which must take POST",
        (Some(410), _) => "it says that it wants no events",
        (Some(_), _) => "the receiver's log says why",
        (None, SLOW) => "it must answer within 3 seconds, and work afterwards",
        (None, "tls") => "its certificate must be valid",
        (None, "forbidden_address") => "its host must have public addresses alone",
        (None, "not_tested" | "unsigned") => "run `ops webhook test`",
        (None, _) => "its host and port must be reachable from the internet",
    };
    format!("{}; {advice}", failure_words(failure))
}

pub fn ping_words(endpoint: &Endpoint, ping: &Ping, zone: Tz, now: Timestamp) -> String {
    let host = endpoint.url.host();
    match (ping, endpoint.status) {
        (Ok(()), EndpointStatus::Stopped) => {
            format!(
                "{host} took the test event. It is stopped, and gets no others until it is started."
            )
        }
        (Ok(()), EndpointStatus::Unproven | EndpointStatus::Active) => {
            // Functions know their campaigns and endpoints for so long.
            let from = zoned_time(now.after(cache::MAX_AGE), zone);
            format!("{host} took the test event. It gets changes from {from} on.")
        }
        (Err(failure), EndpointStatus::Unproven) => {
            format!(
                "{host} did not take the test event: {}. It gets events after a test that succeeds.",
                test_failure_words(failure)
            )
        }
        (Err(failure), EndpointStatus::Active | EndpointStatus::Stopped) => {
            format!(
                "{host} did not take the test event: {}.",
                test_failure_words(failure)
            )
        }
    }
}

/// Both sign for a day.
pub async fn rotate(tables: &Tables, endpoint: &Endpoint, now: Timestamp) -> Result<String> {
    let secrets = tables
        .webhook_endpoints
        .secrets(&endpoint.scope, &endpoint.endpoint, now);
    if secrets.await?.len() > 1 {
        bail!(
            "rotated_already",
            "the secret was replaced within the last 24 hours, and the brand may still use the one before, which another \
             rotation would end; wait, or if the new one is known to others, remove the endpoint and add it again"
        );
    }
    record(tables, "webhook.rotate", endpoint, json!({}), now).await?;
    let secret = new_secret();
    let rotated = tables.webhook_endpoints.rotate(endpoint, &secret, now);
    check_changed(rotated.await?)?;
    Ok(shown_secret(endpoint, &secret))
}

/// Events of that time are not kept.
pub async fn stop(tables: &Tables, endpoint: &Endpoint, now: Timestamp) -> Result<()> {
    record(tables, "webhook.stop", endpoint, json!({}), now).await?;
    set_status(tables, endpoint, EndpointStatus::Stopped, now).await
}

/// Starts an endpoint that takes a test event.
pub async fn start(tables: &Tables, endpoint: &Endpoint, now: Timestamp) -> Result<()> {
    record(tables, "webhook.start", endpoint, json!({}), now).await?;
    if let Err(failure) = ping(tables, endpoint, now).await? {
        bail!(
            "endpoint_failed",
            "{} did not take a test event, so it is not started: {}; run this again once it answers",
            endpoint.url.host(),
            test_failure_words(&failure)
        );
    }
    set_status(tables, endpoint, EndpointStatus::Active, now).await
}

/// Also deletes what waits.
pub async fn remove(tables: &Tables, endpoint: &Endpoint, now: Timestamp) -> Result<()> {
    record(tables, "webhook.remove", endpoint, json!({}), now).await?;
    check_changed(tables.webhook_endpoints.remove(endpoint).await?)?;
    tables
        .webhook_deliveries
        .delete_all(&endpoint.endpoint)
        .await?;
    Ok(())
}

async fn record(
    tables: &Tables,
    action: &'static str,
    endpoint: &Endpoint,
    details: Value,
    now: Timestamp,
) -> Result<()> {
    let details = extended(details, [("host", json!(endpoint.url.host()))]);
    let action = Action::new(action)
        .in_scope(&endpoint.scope)
        .on(&endpoint.endpoint);
    tables.audit.append(action.with(details), now).await?;
    Ok(())
}
