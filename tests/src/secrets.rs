//! A proxy in front of Secrets Manager that can refuse calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};

use crate::forward::{self, Forwarder, failure, forwarder};

#[derive(Clone)]
pub struct SecretsFront {
    pub url: String,
    inner: Arc<Inner>,
}

struct Inner {
    upstream: String,
    forwarder: Forwarder,
    refuses: AtomicBool,
    calls: AtomicUsize,
}

impl SecretsFront {
    /// Starts a proxy that forwards everything.
    pub async fn start(upstream: String) -> Self {
        let (refuses, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
        let inner = Arc::new(Inner {
            upstream,
            forwarder: forwarder(),
            refuses,
            calls,
        });
        let url = forward::serve(
            Router::new()
                .fallback(answer)
                .with_state(Arc::clone(&inner)),
        )
        .await;
        Self { url, inner }
    }

    /// Turns refusals on or off.
    pub fn refuse(&self, refuses: bool) {
        self.inner.refuses.store(refuses, Ordering::SeqCst);
    }

    pub fn calls(&self) -> usize {
        self.inner.calls.load(Ordering::SeqCst)
    }
}

async fn answer(State(inner): State<Arc<Inner>>, request: Request) -> Response<Body> {
    inner.calls.fetch_add(1, Ordering::SeqCst);
    if inner.refuses.load(Ordering::SeqCst) {
        let mut refusal = Response::new(Body::from(
            r#"{"__type":"AccessDeniedException","Message":"no"}"#,
        ));
        *refusal.status_mut() = StatusCode::BAD_REQUEST;
        return refusal;
    }
    let (parts, body) = forward::read(request).await;
    forward::send(&inner.forwarder, &inner.upstream, &parts, body)
        .await
        .unwrap_or_else(failure)
}
