//! Reverse proxies, each with a function that answers calls. Calls are forwarded unchanged, with
//! the original host header, because that is signed.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Response, StatusCode};
use bytes::Bytes;
use common::upstream::http_client;
use http::request::Parts;
use local::stack::EndpointProxy;
use reqwest::Client;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::serving::{Serving, listen, on_a_thread};

/// More than any request.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Requests in flight to a server: enough for races, far below the limit on open files.
const MAX_BATCH: usize = 32;

#[derive(Clone)]
pub(crate) struct Forwarder {
    client: Client,
    turns: Arc<Semaphore>,
}

impl Default for Forwarder {
    fn default() -> Self {
        let client = http_client::builder().expect("TLS").build();
        Self {
            client: client.expect("a client"),
            turns: Arc::new(Semaphore::new(MAX_BATCH)),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    upstream: Arc<str>,
    forwarder: Forwarder,
}

impl Call {
    /// The target header around its last dot: such as `DynamoDB_20120810`, and the operation.
    pub(crate) fn target(&self) -> (&str, &str) {
        let target = self.parts.headers.get("x-amz-target");
        let target = target.and_then(|target| target.to_str().ok());
        target
            .and_then(|target| target.rsplit_once('.'))
            .unwrap_or_default()
    }

    pub(crate) fn operation(&self) -> &str {
        self.target().1
    }

    /// Method and path.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.parts.method, self.parts.uri.path())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    pub(crate) fn database_call(&self) -> Option<Value> {
        self.target()
            .0
            .starts_with("DynamoDB_")
            .then(|| self.json())?
    }

    pub(crate) fn replace_body(&mut self, body: String) {
        self.parts.headers.remove(CONTENT_LENGTH);
        self.body = body.into();
    }

    /// Forwards; a broken connection is a failed call.
    pub(crate) async fn send(&self) -> Response<Body> {
        self.forward().await.unwrap_or_else(failure)
    }

    async fn forward(&self) -> Option<Response<Body>> {
        let path = self.parts.uri.path_and_query();
        let path = path.map_or("/", |path| path.as_str());
        let url = format!("{}{path}", self.upstream).parse().expect("a URL");
        let mut request = reqwest::Request::new(self.parts.method.clone(), url);
        request.headers_mut().clone_from(&self.parts.headers);
        *request.body_mut() = Some(self.body.clone().into());
        let turn = self.forwarder.turns.acquire().await;
        let _turn = turn.expect("it is never closed");
        let answer = self.forwarder.client.execute(request).await.ok()?;
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        let body = answer.bytes().await.ok()?;
        headers.remove(TRANSFER_ENCODING);
        headers.remove(CONNECTION);
        // Idle connections of many stacks would use up open files.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        // A HEAD response's Content-Length counts an absent body.
        if !body.is_empty() {
            headers.remove(CONTENT_LENGTH);
        }
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Some(response)
    }
}

pub(crate) fn failure() -> Response<Body> {
    let mut failure = Response::new(Body::empty());
    *failure.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    failure
}

pub(crate) fn router<F>(
    forwarder: Forwarder,
    upstream: &str,
    answer: impl Fn(Call) -> F + Clone + Send + Sync + 'static,
) -> Router
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let upstream: Arc<str> = upstream.into();
    Router::new().fallback(async move |request: Request| {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, MAX_BYTES).await.expect("the whole request");
        answer(Call {
            parts,
            body,
            upstream,
            forwarder,
        })
        .await
    })
}

/// A stack option: a proxy before each service, on the stack's runtime.
pub(crate) fn front<F>(answer: impl Fn(Call) -> F + Clone + Send + Sync + 'static) -> EndpointProxy
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    EndpointProxy(Arc::new(move |upstream| {
        let router = router(Forwarder::default(), &upstream, answer.clone());
        Box::pin(async {
            let (url, serving) = bind(router).await;
            tokio::spawn(serving);
            url
        })
    }))
}

/// Serves on a new thread; returns the URL.
pub(crate) async fn serve_on_a_thread(router: Router) -> (String, Serving) {
    let (started, starting) = tokio::sync::oneshot::channel();
    let serving = on_a_thread(async move {
        let (url, serving) = bind(router).await;
        started.send(url).expect("a test waits");
        serving.await;
    });
    (starting.await.expect("it starts"), serving)
}

/// Binds a free port: URL, and the serving future.
async fn bind(router: Router) -> (String, impl Future<Output = ()>) {
    let (listener, url) = listen().await;
    let serving = axum::serve(listener, router).into_future();
    (url, async { serving.await.expect("it serves") })
}
