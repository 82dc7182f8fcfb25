//! A proxy that holds calls back, so that a test can act before they arrive.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use local::stack::EndpointProxy;
use tokio::sync::watch;

use crate::forward::{self, Forwarder, failure, forwarder};

/// Selects calls by their method and path, such as `PUT /bucket/key`, and by their body.
pub type Selection = fn(&str, &str) -> bool;

/// Holds the selected calls of a stack until they are released.
#[derive(Clone, Default)]
pub struct Hold(Arc<Inner>);

#[derive(Default)]
struct Inner {
    selection: Mutex<Option<Selection>>,
    reached: watch::Sender<bool>,
    released: watch::Sender<bool>,
}

#[derive(Clone)]
struct Held {
    hold: Hold,
    forwarder: Forwarder,
    upstream: Arc<str>,
}

impl Hold {
    /// The proxy for a stack's options.
    pub fn front(&self) -> EndpointProxy {
        let hold = self.clone();
        EndpointProxy(Arc::new(move |upstream| {
            let held = Held {
                hold: hold.clone(),
                forwarder: forwarder(),
                upstream: upstream.into(),
            };
            Box::pin(forward::serve(
                Router::new().fallback(pass).with_state(held),
            ))
        }))
    }

    /// Holds these calls from now on.
    pub fn select(&self, selection: Selection) {
        *self.0.selection.lock().expect("not poisoned") = Some(selection);
    }

    /// Waits until a call is held.
    pub async fn reached(&self) {
        self.0
            .reached
            .subscribe()
            .wait_for(|reached| *reached)
            .await
            .expect("the sender is here");
    }

    /// Lets later calls through; those that are held stay, as if their process were gone.
    pub fn stop(&self) {
        *self.0.selection.lock().expect("not poisoned") = None;
    }

    /// Lets all calls through.
    pub fn release(&self) {
        self.stop();
        self.0.released.send_replace(true);
    }

    async fn pass(&self, call: &str, body: &str) {
        let selection = *self.0.selection.lock().expect("not poisoned");
        if selection.is_some_and(|selects| selects(call, body)) {
            self.0.reached.send_replace(true);
            self.0
                .released
                .subscribe()
                .wait_for(|released| *released)
                .await
                .expect("the sender is here");
        }
    }
}

async fn pass(State(held): State<Held>, request: Request) -> Response<Body> {
    let (parts, body) = forward::read(request).await;
    let call = format!("{} {}", parts.method, parts.uri.path());
    held.hold.pass(&call, &String::from_utf8_lossy(&body)).await;
    forward::send(&held.forwarder, &held.upstream, &parts, body)
        .await
        .unwrap_or_else(failure)
}
