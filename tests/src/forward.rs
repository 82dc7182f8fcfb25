//! Reverse proxies on this machine. A request is forwarded unchanged, with the original host header, because that is
//! signed.

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

/// More than any request or response needs.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Requests in flight to one server: enough for its races, and far below the limit on open files.
const MAX_BATCH: usize = 32;

#[derive(Clone)]
pub(crate) struct Forwarder {
    client: Client,
    turns: Arc<Semaphore>,
}

pub(crate) fn forwarder() -> Forwarder {
    let client = http_client::builder()
        .expect("TLS")
        .build()
        .expect("a client");
    Forwarder {
        client,
        turns: Arc::new(Semaphore::new(MAX_BATCH)),
    }
}

/// Serves a router on the caller's runtime, and returns its URL.
pub(crate) async fn serve(router: Router) -> String {
    let (url, serving) = bind(router).await;
    tokio::spawn(serving);
    url
}

/// Serves a router on a new thread, and returns its URL.
pub(crate) async fn serve_on_a_thread(router: Router) -> (String, Serving) {
    let (started, starting) = tokio::sync::oneshot::channel();
    let serving = on_a_thread(async move {
        let (url, serving) = bind(router).await;
        started.send(url).expect("a test waits");
        serving.await;
    });
    (starting.await.expect("it starts"), serving)
}

/// Binds a router to a free port: its URL and the future that serves it.
async fn bind(router: Router) -> (String, impl Future<Output = ()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let serving = axum::serve(listener, router).into_future();
    (url, async { serving.await.expect("it serves") })
}

/// Reads the whole body.
pub(crate) async fn read(request: Request) -> (Parts, Bytes) {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BYTES).await.expect("the whole request");
    (parts, body)
}

/// Forwards a request; `None` when the connection breaks.
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
    // The Content-Length of a HEAD response counts a body that is not there.
    let has_body = !body.is_empty();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response.headers_mut().remove("transfer-encoding");
    // Idle connections would use up the open files that the program may have.
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    if has_body {
        response.headers_mut().remove("content-length");
    }
    Some(response)
}

pub(crate) fn failure() -> Response<Body> {
    let mut failure = Response::new(Body::empty());
    *failure.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    failure
}
