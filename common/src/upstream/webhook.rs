use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Method, Request};

use super::http_client::{Addresses, HttpClient, Timeouts, TransportError};
use crate::domain::Timestamp;
use crate::domain::webhook::{DeliveryFailure, Endpoint, Event, WebhookSecret, signature_header};

/// Of a whole try.
pub const TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const US: HeaderValue = HeaderValue::from_static("campaign-entry-service");

pub fn client(addresses: Addresses) -> HttpClient {
    let timeouts = Timeouts {
        connect: CONNECT_TIMEOUT,
        read: TIMEOUT,
    };
    HttpClient::new(addresses, timeouts)
}

/// The body of the reply is not read.
pub async fn send(
    client: &HttpClient,
    endpoint: &Endpoint,
    secrets: &[WebhookSecret],
    event: &Event,
    now: Timestamp,
) -> Result<(), DeliveryFailure> {
    if client.addresses() == Addresses::PublicOnly && !endpoint.url.is_public() {
        return Err(DeliveryFailure::without_reply(
            TransportError::ForbiddenAddress.as_str(),
        ));
    }
    let request = request(endpoint, secrets, event, now)
        .ok_or_else(|| DeliveryFailure::without_reply("unsigned"))?;
    let reply = match client.send(request).await {
        Ok(reply) => reply,
        Err(error) => return Err(DeliveryFailure::without_reply(error.as_str())),
    };
    let status = reply.status();
    let retry_after = reply
        .headers()
        .get(RETRY_AFTER)
        .and_then(|seconds| seconds.to_str().ok()?.trim().parse().ok());
    let reason = match status.as_u16() {
        200..=299 => return Ok(()),
        300..=399 => "redirected",
        _ => "status",
    };
    Err(DeliveryFailure {
        status: Some(status.as_u16()),
        retry_after,
        ..DeliveryFailure::without_reply(reason)
    })
}

/// `None` without a secret to sign with.
fn request(
    endpoint: &Endpoint,
    secrets: &[WebhookSecret],
    event: &Event,
    now: Timestamp,
) -> Option<Request> {
    let seconds = now.as_seconds();
    let signature = signature_header(secrets, endpoint.signature, &event.id, seconds, &event.body);
    let mut request = Request::new(Method::POST, endpoint.url.expose().clone());
    *request.timeout_mut() = Some(TIMEOUT);
    let headers = request.headers_mut();
    headers.extend([(CONTENT_TYPE, JSON), (USER_AGENT, US)]);
    headers.insert(ID, HeaderValue::from_str(event.id.as_str()).ok()?);
    headers.insert(TIMESTAMP, seconds.into());
    let signature = HeaderValue::from_str(&signature).ok();
    headers.insert(SIGNATURE, signature.filter(|header| !header.is_empty())?);
    *request.body_mut() = Some(event.body.clone().into());
    Some(request)
}
