//! API Gateway: turns an HTTP request into an event, finds the function of its route, and turns the
//! function's reply into HTTP.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use axum::response::Redirect;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::http::event::{HttpContext, HttpEvent, HttpReply, RequestContext};
use common::http::routes::Route;
use common::runtime::http_handler::HttpHandler;
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;

/// Bytes of a body that are handed on. Functions refuse far smaller ones; what is beyond is read and
/// thrown away, so that the caller gets to hear it.
const MAX_BYTES: usize = 1024 * 1024;

/// The functions by route, and the one of the default route.
pub struct Gateway {
    routes: Vec<(Route, Box<dyn HttpHandler>)>,
    default_route: Box<dyn HttpHandler>,
}

impl Gateway {
    /// A gateway whose default route is this function.
    pub fn new(default_route: impl HttpHandler + 'static) -> Self {
        Self { routes: Vec::new(), default_route: Box::new(default_route) }
    }

    /// Adds a function. Routes with fixed paths have to be added before those with `{id}`.
    pub fn add(&mut self, route: Route, function: impl HttpHandler + 'static) {
        self.routes.push((route, Box::new(function)));
    }

    /// The gateway as a service. Who opens its address in a browser gets to the reference.
    pub fn router(self: Arc<Self>) -> Router {
        let to_reference = get(async || Redirect::temporary("/docs")).fallback(serve);
        Router::new().route("/", to_reference).fallback(serve).with_state(self)
    }

    /// Hands an event to the function of its route.
    pub async fn dispatch(&self, mut event: HttpEvent) -> HttpReply {
        let (route_key, id, function) = self.route(&event.request_context.http.method, &event.raw_path);
        event.route_key = route_key;
        event.path_parameters = id.map(|id| BTreeMap::from([("id".to_owned(), id)]));
        function.answer(event).await
    }

    fn route(&self, method: &str, path: &str) -> (String, Option<String>, &dyn HttpHandler) {
        for (route, function) in &self.routes {
            if let Some(id) = route.matches(path).filter(|_| route.method == method) {
                let id = id.map(|id| percent_decode_str(id).decode_utf8_lossy().into_owned());
                return (format!("{} {}", route.method, route.path), id, function.as_ref());
            }
        }
        ("$default".to_owned(), None, self.default_route.as_ref())
    }
}

async fn serve(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(caller): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response<Body> {
    into_http(gateway.dispatch(event(caller.ip(), request).await).await)
}

/// A request as an event that no route was found for yet.
pub(crate) async fn event(caller: IpAddr, request: Request) -> HttpEvent {
    let (parts, body) = request.into_parts();
    let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
    let (body, is_base64_encoded) = as_text(read(body.into_data_stream()).await);
    HttpEvent {
        version: "2.0".to_owned(),
        raw_path: path.clone(),
        raw_query_string: parts.uri.query().unwrap_or_default().to_owned(),
        headers: headers(&parts.headers),
        request_context: context(method, path, caller),
        body,
        is_base64_encoded,
        ..HttpEvent::default()
    }
}

fn context(method: String, path: String, caller: IpAddr) -> RequestContext {
    let http = HttpContext { method, path, source_ip: caller.to_string() };
    RequestContext { http, ..RequestContext::default() }
}

/// Header names are in lower case already; the values of one name are joined by commas.
fn headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        joined
            .entry(name.as_str().to_owned())
            .and_modify(|joined| {
                joined.push(',');
                joined.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    joined
}

async fn read(mut stream: BodyDataStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A caller that breaks off in the middle gets no reply anyway.
    while let Some(Ok(chunk)) = stream.next().await {
        let room = MAX_BYTES - bytes.len();
        bytes.extend(chunk.iter().take(room));
    }
    bytes
}

/// Text as it is, anything else in base64; no body when there is none.
fn as_text(bytes: Vec<u8>) -> (Option<String>, bool) {
    if bytes.is_empty() {
        return (None, false);
    }
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), false),
        Err(error) => (Some(STANDARD.encode(error.into_bytes())), true),
    }
}

/// A function's reply over HTTP.
pub(crate) fn into_http(reply: HttpReply) -> Response<Body> {
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() =
        StatusCode::from_u16(reply.status_code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
