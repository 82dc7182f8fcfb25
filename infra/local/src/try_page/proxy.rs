//! `/try/api/{campaign}/{environment}/submissions` becomes `/api/v1/submissions`.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use common::app::auth::Caller;
use common::domain::{Environment, Language};
use common::error::{Error, ErrorCode};
use common::http::reply::X_REQUEST_ID;
use common::http::request::request_ids;
use common::http::routes::{
    CREATE_RECEIPT, CREATE_SUBMISSION, GET_CAMPAIGN, GET_SUBMISSION, LOOKUP_SUBMISSIONS,
    REFRESH_UPLOAD_URL, Route,
};
use common::runtime::api_gateway;
use lambda_http::aws_lambda_events::apigw::{
    ApiGatewayV2httpRequest as Event, ApiGatewayV2httpResponse as Reply,
};

use serde_json::value::RawValue;

use super::TryPage;
use crate::demo::Demo;

pub(super) const PREFIX: &str = "/try/api/";

/// Fixed paths come before those with `{id}`.
const OPERATIONS: [Route; 6] = [
    GET_CAMPAIGN,
    CREATE_SUBMISSION,
    LOOKUP_SUBMISSIONS,
    GET_SUBMISSION,
    CREATE_RECEIPT,
    REFRESH_UPLOAD_URL,
];

/// A browser must not set the API key or the client address.
const HEADERS: [&str; 4] = [
    "accept-language",
    "content-type",
    "idempotency-key",
    "x-request-id",
];

/// CSRF protection: another origin's page needs a preflight for this header, and gets none.
const GUARD: (&str, &str) = ("x-requested-with", "try-page");

/// 40 claimed items are under 4 KiB. Photos go to storage.
const MAX_BYTES: usize = 16 * 1024;

impl TryPage {
    /// Errors have the API's shape.
    pub(super) async fn forward(&self, call: &str, event: Event) -> Reply {
        match self.on_behalf(call, &event) {
            Ok(event) => self.gateway.dispatch(event).await,
            Err(error) => self.refuse(&event, error),
        }
    }

    pub(super) fn refuse(&self, event: &Event, error: Error) -> Reply {
        let given = event
            .headers
            .get(X_REQUEST_ID)
            .and_then(|id| id.to_str().ok());
        let (ids, started) = (request_ids(given, None), self.responder.now());
        let reply = self
            .responder
            .reply("try-page", &ids, started, &Caller::default(), Err(error));
        api_gateway::into_event(reply)
    }

    fn on_behalf(&self, call: &str, event: &Event) -> Result<Event, Error> {
        let (slug, environment, path) = parts(call).ok_or_else(no_such_path)?;
        let method = &event.request_context.http.method;
        let allowed: Vec<_> = OPERATIONS
            .iter()
            .filter(|route| route.matches(&path).is_some())
            .map(|route| route.method)
            .collect();
        if allowed.is_empty() {
            return Err(no_such_path());
        }
        if !allowed.contains(&method.as_str()) {
            return Err(Error::method_not_allowed(allowed));
        }
        self.check_guard(event)?;
        if event
            .body
            .as_ref()
            .is_some_and(|body| body.len() > MAX_BYTES)
        {
            return Err(Error::body("The body is over 16 KiB."));
        }
        let demo = self
            .demos()
            .iter()
            .find(|demo| demo.slug().as_str() == slug)
            .ok_or_else(|| {
                Error::from(ErrorCode::NotFound).with_detail(
                    "No demo campaign has this name; a stack with --no-demo has none at all.",
                )
            })?;
        self.with_key(demo, environment, path, event)
    }

    pub(super) fn check_guard(&self, event: &Event) -> Result<(), Error> {
        let (name, value) = GUARD;
        if event.headers.get(name).is_some_and(|given| given == value) {
            return Ok(());
        }
        let message = format!("Requests of the try page carry `{name}: {value}`.");
        Err(Error::body(message).with_fix("Send this header, or call `/api/v1/` with a key."))
    }

    pub(super) async fn campaign(
        &self,
        demo: &Demo,
        environment: Environment,
        language: Language,
        event: &Event,
    ) -> Option<Box<RawValue>> {
        let mut event = self
            .with_key(demo, environment, GET_CAMPAIGN.path.to_owned(), event)
            .ok()?;
        event.request_context.http.method = Method::GET;
        event.raw_query_string = Some(format!("locale={language}"));
        let reply = self.gateway.dispatch(event).await;
        let body = reply.body.filter(|_| reply.status_code == 200)?;
        serde_json::from_slice(&body).ok()
    }

    fn with_key(
        &self,
        demo: &Demo,
        environment: Environment,
        path: String,
        event: &Event,
    ) -> Result<Event, Error> {
        let value = |text: String| HeaderValue::try_from(text).map_err(Error::internal);
        let consumer = event
            .request_context
            .http
            .source_ip
            .clone()
            .unwrap_or_default();
        let mut headers: HeaderMap = HEADERS
            .iter()
            .filter_map(|name| {
                Some((
                    HeaderName::from_static(name),
                    event.headers.get(*name)?.clone(),
                ))
            })
            .collect();
        headers.insert(
            AUTHORIZATION,
            value(format!("Bearer {}", demo.key(environment)))?,
        );
        headers.insert("svc-client-ip", value(consumer)?);
        let mut forwarded = event.clone();
        forwarded.headers = headers;
        forwarded.request_context.http.path = Some(path.clone());
        forwarded.raw_path = Some(path);
        Ok(forwarded)
    }
}

fn no_such_path() -> Error {
    Error::from(ErrorCode::NotFound).with_detail("There is no such path.")
}

fn parts(call: &str) -> Option<(&str, Environment, String)> {
    let (slug, rest) = call.split_once('/')?;
    let (environment, operation) = rest.split_once('/')?;
    Some((
        slug,
        environment.parse().ok()?,
        format!("/api/v1/{operation}"),
    ))
}
