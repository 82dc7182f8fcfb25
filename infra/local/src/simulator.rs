use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, MutexGuard};

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use common::lock::Mutex;
use futures_util::stream;

use crate::loopback::{Loopback, Server};

#[derive(Clone, Copy, Debug)]
pub struct Case<B> {
    pub prefix: &'static str,
    pub what: &'static str,
    pub(crate) behavior: B,
}

pub(crate) const fn case<B: Copy>(
    prefix: &'static str,
    what: &'static str,
    behavior: B,
) -> Case<B> {
    Case {
        prefix,
        what,
        behavior,
    }
}

pub(crate) fn find<B>(cases: &'static [Case<B>], code: &str) -> Option<&'static Case<B>> {
    cases.iter().find(|case| code.starts_with(case.prefix))
}

/// `O` are its options, `M` its memory.
pub struct Simulator<O, M> {
    pub base_url: String,
    pub(crate) state: Arc<SimulatorState<O, M>>,
    _server: Server,
}

pub(crate) struct SimulatorState<O, M> {
    pub(crate) options: O,
    asked: Mutex<HashMap<String, u32>>,
    memory: Mutex<M>,
}

impl<O: Send + Sync + 'static, M: Default + Send + 'static> Simulator<O, M> {
    pub(crate) async fn start(
        options: O,
        router: Router<Arc<SimulatorState<O, M>>>,
    ) -> io::Result<Self> {
        let state = Arc::new(SimulatorState {
            options,
            asked: Mutex::default(),
            memory: Mutex::default(),
        });
        let router = router.with_state(Arc::clone(&state));
        let server = Loopback::bind(0).await?.serve(router);
        Ok(Self {
            base_url: server.url.clone(),
            state,
            _server: server,
        })
    }

    pub fn asked(&self, key: &str) -> u32 {
        self.state.asked.lock().get(key).copied().unwrap_or(0)
    }
}

impl<O, M> SimulatorState<O, M> {
    pub(crate) fn memory(&self) -> MutexGuard<'_, M> {
        self.memory.lock()
    }

    pub(crate) fn count(&self, key: &str) -> u32 {
        let mut asked = self.asked.lock();
        let asked = asked.entry(key.to_owned()).or_default();
        *asked = asked.saturating_add(1);
        *asked
    }
}

pub(crate) fn respond(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Body>,
) -> Response {
    (status, [(CONTENT_TYPE, content_type)], body.into()).into_response()
}

/// A body of so many parts of 62,500 bytes.
pub(crate) fn spaces(parts: usize) -> Body {
    const PART: Bytes = Bytes::from_static(&[b' '; 62_500]);
    let parts = (0..parts).map(|_| Ok::<_, Infallible>(PART));
    Body::from_stream(stream::iter(parts))
}
