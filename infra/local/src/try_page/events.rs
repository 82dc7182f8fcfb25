//! `/try/events/{campaign}/{environment}` is the page's; the service sends to `/try/received/…`.

use std::collections::HashMap;

use axum::http::StatusCode;
use common::aws::Aws;
use common::cache;
use common::domain::Scope;
use common::domain::webhook::{
    Endpoint, EventId, EventType, SignatureKind, WebhookSecret, signature_header,
};
use common::error::{Error, ErrorCode};
use common::lock::Mutex;
use lambda_http::aws_lambda_events::apigw::{
    ApiGatewayV2httpRequest as Event, ApiGatewayV2httpResponse as Reply,
};
use ops_core::tables::Tables;
use ops_core::webhooks::{self, NewEndpoint};
use serde_json::{Value, json};

use super::TryPage;

pub(super) const SWITCH: &str = "/try/events/";
pub(super) const RECEIVER: &str = "/try/received/";
const MAX_EVENTS: usize = 100;

#[derive(Default)]
pub(crate) struct Receivers(Mutex<HashMap<Scope, Receiver>>);

#[derive(Default)]
struct Receiver {
    /// `None` until the endpoint is added, which sends a test event first.
    secret: Option<WebhookSecret>,
    /// With the time of arrival, and a number that the page asks after.
    events: Vec<Value>,
    count: u64,
}

impl Receiver {
    fn trusts(&self, event: &Event) -> bool {
        let Some(secret) = &self.secret else {
            return true;
        };
        let header = |name| {
            event
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let id = header("webhook-id").and_then(|id| id.parse::<EventId>().ok());
        let seconds = header("webhook-timestamp").and_then(|seconds| seconds.parse().ok());
        let (Some(id), Some(seconds)) = (id, seconds) else {
            return false;
        };
        let body = event.body.as_deref().unwrap_or_default();
        let secrets = std::slice::from_ref(secret);
        let expected = signature_header(secrets, SignatureKind::V1, &id, seconds, body);
        header("webhook-signature") == Some(expected.as_str())
    }
}

impl TryPage {
    pub(super) fn receive(&self, place: &str, event: &Event) -> Result<Reply, Error> {
        let scope = scope(place)?;
        let mut receivers = self.receivers.0.lock();
        let receiver = receivers.get_mut(&scope).ok_or_else(no_such_receiver)?;
        if !receiver.trusts(event) {
            return Err(Error::body("The signature does not match."));
        }
        let body = event.body.as_deref().unwrap_or_default();
        let body: Value = serde_json::from_str(body).map_err(Error::internal)?;
        receiver.count += 1;
        let (number, at) = (receiver.count, self.responder.now());
        let id = event
            .headers
            .get("webhook-id")
            .and_then(|id| id.to_str().ok());
        receiver
            .events
            .push(json!({ "number": number, "at": at.to_string(), "id": id, "body": body }));
        let too_many = receiver.events.len().saturating_sub(MAX_EVENTS);
        receiver.events.drain(..too_many);
        Ok(answer(StatusCode::NO_CONTENT, &Value::Null))
    }

    /// PUT switches on, DELETE off, GET lists what arrived after a number.
    pub(super) async fn switch(&self, place: &str, event: &Event) -> Result<Reply, Error> {
        let scope = scope(place)?;
        match event.request_context.http.method.as_str() {
            "GET" => Ok(answer(
                StatusCode::OK,
                &json!({ "events": self.arrived(&scope, event) }),
            )),
            "PUT" => {
                self.check_guard(event)?;
                self.switch_on(&scope).await?;
                Ok(answer(StatusCode::OK, &json!({ "events": [] })))
            }
            "DELETE" => {
                self.check_guard(event)?;
                self.receivers.0.lock().remove(&scope);
                self.remove_endpoints(&self.tables()?, &scope).await?;
                Ok(answer(StatusCode::NO_CONTENT, &Value::Null))
            }
            _ => Err(Error::method_not_allowed(vec!["DELETE", "GET", "PUT"])),
        }
    }

    fn arrived(&self, scope: &Scope, event: &Event) -> Vec<Value> {
        let query = event.raw_query_string.as_deref().unwrap_or_default();
        let after = form_urlencoded::parse(query.as_bytes())
            .find_map(|(name, value)| (name == "after").then(|| value.parse::<u64>().ok())?);
        let is_new = |event: &&Value| event["number"].as_u64() > after;
        let receivers = self.receivers.0.lock();
        let events = receivers.get(scope).map(|receiver| &receiver.events[..]);
        events
            .unwrap_or_default()
            .iter()
            .filter(is_new)
            .cloned()
            .collect()
    }

    async fn switch_on(&self, scope: &Scope) -> Result<(), Error> {
        let tables = self.tables()?;
        // A data folder has those of an earlier run, on another port.
        self.remove_endpoints(&tables, scope).await?;
        self.receivers
            .0
            .lock()
            .insert(scope.clone(), Receiver::default());
        let place = format!("{}/{}", scope.campaign, scope.environment);
        let new = NewEndpoint {
            url: format!("{}{RECEIVER}{place}", self.base_url),
            types: EventType::DEFAULT.to_vec(),
            signature: SignatureKind::V1,
        };
        let added = webhooks::add(&tables, scope, new, self.responder.now());
        let added = added.await.map_err(Error::internal)?;
        let secret = added.secret.parse().map_err(Error::internal)?;
        if let Some(receiver) = self.receivers.0.lock().get_mut(scope) {
            receiver.secret = Some(secret);
        }
        webhooks::test_added(&tables, added.endpoint, self.responder.now()).await;
        // Functions hear of the endpoint within this time.
        tokio::time::sleep(cache::MAX_AGE).await;
        Ok(())
    }

    async fn remove_endpoints(&self, tables: &Tables, scope: &Scope) -> Result<(), Error> {
        let now = self.responder.now();
        let is_ours = |endpoint: &Endpoint| endpoint.url.expose().path().starts_with(RECEIVER);
        let listed = tables.webhook_endpoints.list(scope).await?;
        for endpoint in listed.iter().filter(|endpoint| is_ours(endpoint)) {
            let removed = webhooks::remove(tables, endpoint, now);
            removed.await.map_err(Error::internal)?;
        }
        Ok(())
    }

    fn tables(&self) -> Result<Tables, Error> {
        let aws = Aws::for_function(&self.env).map_err(Error::internal)?;
        Tables::from_env(&self.env, &aws).map_err(Error::internal)
    }
}

fn scope(place: &str) -> Result<Scope, Error> {
    let parsed = place.split_once('/').and_then(|(campaign, environment)| {
        Some(Scope {
            campaign: campaign.parse().ok()?,
            environment: environment.parse().ok()?,
        })
    });
    parsed.ok_or_else(no_such_receiver)
}

fn no_such_receiver() -> Error {
    Error::from(ErrorCode::NotFound).with_detail("No receiver is switched on here.")
}

fn answer(status: StatusCode, body: &Value) -> Reply {
    let mut reply = Reply::default();
    reply.status_code = status.as_u16().into();
    if !body.is_null() {
        reply.body = Some(body.to_string().into());
    }
    reply
}
