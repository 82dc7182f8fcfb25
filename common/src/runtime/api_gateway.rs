//! An event that `lambda_http` cannot read is parsed again without the unreadable parts, so that
//! every caller gets the contract's shape.

use std::panic::catch_unwind;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue, Response, Uri};
use lambda_http::Body;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpResponse;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::app::auth::Caller;
use crate::error::Error;
use crate::http::reply::X_REQUEST_ID;
use crate::http::request::request_ids;
use crate::runtime::http_handler::HttpHandler;
use crate::telemetry;

/// Never fails.
pub async fn answer(function: &dyn HttpHandler, event: &RawValue) -> ApiGatewayV2httpResponse {
    into_event(match read(event.get()) {
        Ok(request) => function.answer(request).await,
        Err(error) => {
            let event: Value = serde_json::from_str(event.get()).unwrap_or_default();
            let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
            let given = text(&format!("/headers/{X_REQUEST_ID}"));
            let ids = request_ids(given, text("/requestContext/requestId").map(str::to_owned));
            let responder = function.responder();
            let started = responder.now();
            let refused = Err(Error::internal(error));
            responder.reply(function.name(), &ids, started, &Caller::default(), refused)
        }
    })
}

pub fn into_event(reply: Response<Body>) -> ApiGatewayV2httpResponse {
    let (parts, body) = reply.into_parts();
    let mut event = ApiGatewayV2httpResponse::default();
    event.status_code = parts.status.as_u16().into();
    event.headers = parts.headers;
    event.is_base64_encoded = matches!(body, Body::Binary(_));
    event.body = Some(body);
    event
}

#[derive(Debug, thiserror::Error)]
enum UnreadableEvent {
    #[error("lambda_http cannot read the event")]
    Refused(#[from] serde_json::Error),
    #[error("lambda_http panics on the event")]
    Panics,
}

fn read(event: &str) -> Result<lambda_http::Request, UnreadableEvent> {
    read_as_it_is(event).or_else(|error| {
        tracing::info!(
            error = telemetry::cause(&error),
            "an event is read without a part of it"
        );
        read_as_it_is(&without_unreadable(serde_json::from_str(event)?).to_string())
    })
}

/// `lambda_http` panics on malformed base64, and if the parts of the URL do not fit.
fn read_as_it_is(event: &str) -> Result<lambda_http::Request, UnreadableEvent> {
    match catch_unwind(|| lambda_http::request::from_str(event)) {
        Ok(request) => Ok(request?),
        Err(_) => Err(UnreadableEvent::Panics),
    }
}

/// Functions do not use host and scheme.
fn without_unreadable(mut event: Value) -> Value {
    let is_query = |query: &Value| {
        query
            .as_str()
            .is_some_and(|text| format!("/?{text}").parse::<Uri>().is_ok())
    };
    let is_base64 = |body: &Value| {
        body.as_str()
            .is_some_and(|text| STANDARD.decode(text).is_ok())
    };
    let Some(fields) = event.as_object_mut() else {
        return event;
    };
    if fields
        .get("rawQueryString")
        .is_some_and(|query| !is_query(query))
    {
        fields.remove("rawQueryString");
    }
    let is_encoded = fields.get("isBase64Encoded") == Some(&Value::Bool(true));
    if is_encoded && fields.get("body").is_some_and(|body| !is_base64(body)) {
        fields.remove("body");
    }
    if let Some(headers) = fields.get_mut("headers").and_then(Value::as_object_mut) {
        headers.retain(|name, value| {
            let name = HeaderName::try_from(name);
            let is_value = value
                .as_str()
                .is_some_and(|value| HeaderValue::try_from(value).is_ok());
            name.is_ok_and(|name| !["host", "x-forwarded-proto"].contains(&name.as_str()))
                && is_value
        });
    }
    event
}
