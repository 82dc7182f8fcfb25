//! A server on this machine that stands in front of another: what it is asked can be looked at, and is sent
//! on as it came, with the host that it was signed for.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Response, StatusCode};
use bytes::Bytes;
use common::upstream::http_client;
use http::request::Parts;
use reqwest::Client;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::serving::{Serving, on_a_thread};

/// More than any request or answer of ours.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// How many requests are under way to a server at the same time: enough for its races, and few beside the
/// files that a program may have open.
const MAX_BATCH: usize = 32;

/// Sends requests on.
#[derive(Clone)]
pub(crate) struct Forwarder {
    client: Client,
    turns: Arc<Semaphore>,
}

/// Something that sends requests on.
pub(crate) fn forwarder() -> Forwarder {
    let client = http_client::builder().expect("TLS").build().expect("a client");
    Forwarder { client, turns: Arc::new(Semaphore::new(MAX_BATCH)) }
}

/// Serves a router beside whatever calls this, on the same runtime and as long as that; its URL.
pub(crate) async fn serve(router: Router) -> String {
    let (url, serving) = bind(router).await;
    tokio::spawn(serving);
    url
}

/// Serves a router on a thread of its own; its URL.
pub(crate) async fn serve_on_a_thread(router: Router) -> (String, Serving) {
    let (started, starting) = tokio::sync::oneshot::channel();
    let serving = on_a_thread(async move {
        let (url, serving) = bind(router).await;
        started.send(url).expect("a test waits");
        serving.await;
    });
    (starting.await.expect("it starts"), serving)
}

/// A router on a free port: its URL, and what serves it.
async fn bind(router: Router) -> (String, impl Future<Output = ()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let serving = axum::serve(listener, router).into_future();
    (url, async { serving.await.expect("it serves") })
}

/// A request, read whole.
pub(crate) async fn read(request: Request) -> (Parts, Bytes) {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BYTES).await.expect("the whole request");
    (parts, body)
}

/// What the server behind answers; `None` when it breaks off.
pub(crate) async fn send(
    forwarder: &Forwarder,
    upstream: &str,
    parts: &Parts,
    body: Bytes,
) -> Option<Response<Body>> {
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let url = format!("{upstream}{path}").parse().expect("a URL");
    let mut request = reqwest::Request::new(parts.method.clone(), url);
    request.headers_mut().clone_from(&parts.headers);
    *request.body_mut() = Some(body.into());
    let _turn = forwarder.turns.acquire().await.expect("it is never closed");
    let answer = forwarder.client.execute(request).await.ok()?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = answer.bytes().await.ok()?;
    // The length of an answer to HEAD is of what is not there.
    let has_body = !body.is_empty();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response.headers_mut().remove("transfer-encoding");
    // After a crowd, connections that wait for more would fill what a program may have open.
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    if has_body {
        response.headers_mut().remove("content-length");
    }
    Some(response)
}

/// An answer of a server that fails.
pub(crate) fn failure() -> Response<Body> {
    let mut failure = Response::new(Body::empty());
    *failure.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    failure
}
