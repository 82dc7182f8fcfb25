//! A caller that keeps its connections open, as a brand's server does.

use common::upstream::http_client;
use http::Method;
use reqwest::Client;
use serde_json::Value;
use service_tests::event;

/// A request to either stack.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

impl Ask {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    pub(crate) fn post(path: &str, body: Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self {
            method: Method::POST,
            path: path.to_owned(),
            headers,
            body: Some(body),
        }
    }

    /// API Gateway's event for the request.
    pub(crate) fn event(&self, key: &str) -> Value {
        event::of(
            self.method.as_str(),
            &self.path,
            &self.headers,
            self.body.as_ref(),
            key,
        )
    }

    pub(crate) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

#[derive(Clone)]
pub(crate) struct Caller {
    client: Client,
    base_url: String,
}

impl Caller {
    pub(crate) fn of(base_url: &str) -> Self {
        let client = http_client::builder()
            .expect("TLS")
            .build()
            .expect("a client");
        Self {
            client,
            base_url: base_url.to_owned(),
        }
    }

    /// Sends a request and returns the body. Panics unless the status is 200: other times mean
    /// nothing.
    pub(crate) async fn send(&self, key: &str, ask: &Ask) -> Value {
        let url = format!("{}{}", self.base_url, ask.path);
        let mut request = self
            .client
            .request(ask.method.clone(), url)
            .bearer_auth(key);
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        let body = ask
            .body
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let reply = request
            .body(body)
            .send()
            .await
            .expect("the service answers");
        let status = reply.status();
        let body = reply.bytes().await.expect("the whole body");
        assert!(
            status.is_success(),
            "{} {} was answered with {}: {}",
            ask.method,
            ask.path,
            status,
            String::from_utf8_lossy(&body)
        );
        serde_json::from_slice(&body).expect("JSON")
    }
}
