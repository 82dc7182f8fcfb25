use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::response::Redirect;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::http::routes::Route;
use common::runtime::api_gateway;
use common::runtime::http_handler::HttpHandler;
use common::telemetry;
use futures_util::StreamExt;
use lambda_http::aws_lambda_events::apigw::{
    ApiGatewayV2httpRequest as Event, ApiGatewayV2httpResponse as Reply,
};
use percent_encoding::percent_decode_str;
use serde_json::value::to_raw_value;

/// More than any function accepts. The rest is discarded, so that the caller gets the refusal.
const MAX_BYTES: usize = 1024 * 1024;

const DEFAULT_ROUTE: &str = "$default";

pub struct Gateway {
    routes: Vec<(Route, Box<dyn HttpHandler>)>,
    default_route: Box<dyn HttpHandler>,
}

impl Gateway {
    pub fn new(default_route: impl HttpHandler + 'static) -> Self {
        Self {
            routes: Vec::new(),
            default_route: Box::new(default_route),
        }
    }

    /// Add fixed paths before those with `{id}`.
    pub fn add(&mut self, route: Route, function: impl HttpHandler + 'static) {
        self.routes.push((route, Box::new(function)));
    }

    pub fn router(self: Arc<Self>) -> Router {
        let to_reference = get(async || Redirect::temporary("/docs")).fallback(serve);
        Router::new()
            .route("/", to_reference)
            .fallback(serve)
            .with_state(self)
    }

    pub async fn dispatch(&self, mut event: Event) -> Reply {
        let path = event.raw_path.as_deref().unwrap_or_default();
        let (route_key, id, function) = self.route(&event.request_context.http.method, path);
        let target = if route_key == DEFAULT_ROUTE {
            target(&event)
        } else {
            route_key.clone()
        };
        event.route_key = Some(route_key);
        event.path_parameters = id.map(|id| ("id".to_owned(), id)).into_iter().collect();
        // An `Event` always serializes; a function reports anything else as an unreadable event.
        let event = to_raw_value(&event).unwrap_or_default();
        telemetry::for_target(target, api_gateway::answer(function, &event)).await
    }

    fn route(&self, method: &Method, path: &str) -> (String, Option<String>, &dyn HttpHandler) {
        for (route, function) in &self.routes {
            if let Some(matched) = route.matches(path).filter(|_| route.method == method) {
                let id = matched
                    .id
                    .map(|id| percent_decode_str(id).decode_utf8_lossy().into_owned());
                return (
                    format!("{} {}", route.method, route.path),
                    id,
                    function.as_ref(),
                );
            }
        }
        (DEFAULT_ROUTE.to_owned(), None, self.default_route.as_ref())
    }
}

async fn serve(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(caller): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response<Body> {
    into_http(gateway.dispatch(event(caller.ip(), request).await).await)
}

pub(crate) async fn event(caller: IpAddr, request: Request) -> Event {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let (body, is_base64_encoded) = as_text(read(body.into_data_stream()).await);
    let mut event = Event::default();
    event.version = Some("2.0".to_owned());
    event.raw_query_string = Some(parts.uri.query().unwrap_or_default().to_owned());
    event.headers = joined(&parts.headers);
    event.request_context.http.method = parts.method;
    event.request_context.http.path = Some(path.clone());
    event.request_context.http.source_ip = Some(caller.to_string());
    event.raw_path = Some(path);
    event.body = body;
    event.is_base64_encoded = is_base64_encoded;
    event
}

/// Without codes and phones.
pub(crate) fn target(event: &Event) -> String {
    const MAX_DIGITS: usize = 4;
    const MAX_CHARS: usize = 40;
    let is_plain = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let is_word =
            |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'.' | b'_');
        part.len() <= MAX_CHARS && digits <= MAX_DIGITS && part.bytes().all(is_word)
    };
    let path = event.raw_path.as_deref().unwrap_or_default();
    let parts: Vec<_> = path
        .split('/')
        .map(|part| if is_plain(part) { part } else { "…" })
        .collect();
    let method = event.request_context.http.method.as_str();
    let method = if method.bytes().all(|c| c.is_ascii_uppercase()) {
        method
    } else {
        "…"
    };
    format!("{method} {}", parts.join("/"))
}

fn joined(headers: &HeaderMap) -> HeaderMap {
    let value = |name| {
        let values = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        HeaderValue::try_from(values.collect::<Vec<_>>().join(",")).ok()
    };
    headers
        .keys()
        .filter_map(|name| Some((name.clone(), value(name)?)))
        .collect()
}

async fn read(mut stream: BodyDataStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A disconnected caller gets no reply.
    while let Some(Ok(chunk)) = stream.next().await {
        let room = MAX_BYTES - bytes.len();
        bytes.extend(chunk.iter().take(room));
    }
    bytes
}

/// Base64 unless text; `None` if empty.
fn as_text(bytes: Vec<u8>) -> (Option<String>, bool) {
    if bytes.is_empty() {
        return (None, false);
    }
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), false),
        Err(error) => (Some(STANDARD.encode(error.into_bytes())), true),
    }
}

pub(crate) fn into_http(reply: Reply) -> Response<Body> {
    let body = reply.body.map(|body| body.to_vec()).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    let status = u16::try_from(reply.status_code)
        .ok()
        .and_then(|status| StatusCode::from_u16(status).ok());
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = reply.headers;
    response
}
