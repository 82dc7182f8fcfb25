use common::upstream::http_client::{self, Addresses, HttpClient, Timeouts, TransportError};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use reqwest::{Body, Request, Url};
use tokio::time::{Instant, sleep};

use crate::prelude::*;

pub(super) const SUBMISSIONS: &str = "/api/v1/submissions";

/// API Gateway gives up after 30 s.
const REPLY_TIMEOUT: Duration = Duration::from_secs(35);
/// More than any reply has.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;
const MAX_SHOWN: usize = 600;
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Enough for background work; a storage event can be a minute late.
const MAX_WAIT: Duration = Duration::from_secs(120);

#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Such as `reading the campaign`.
    pub what: &'static str,
    pub took_ms: u64,
}

pub(super) struct Caller<'a> {
    client: HttpClient,
    pub(super) base_url: &'a str,
    key: HeaderValue,
    pub(super) steps: Vec<Step>,
}

pub(super) struct Reply {
    what: &'static str,
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    pub(super) json: Value,
}

impl<'a> Caller<'a> {
    pub(super) fn new(base_url: &'a str, key: &str) -> Result<Self> {
        let timeouts = Timeouts {
            connect: REPLY_TIMEOUT,
            read: REPLY_TIMEOUT,
        };
        let mut bearer = header_value("issuing a key", &format!("Bearer {key}"))?;
        bearer.set_sensitive(true);
        Ok(Self {
            client: HttpClient::new(Addresses::Any, timeouts),
            base_url,
            key: bearer,
            steps: Vec::new(),
        })
    }

    pub(super) async fn get(
        &mut self,
        what: &'static str,
        path: &str,
        status: u16,
    ) -> Result<Reply> {
        self.call(what, Method::GET, path, None, status).await
    }

    pub(super) async fn post(
        &mut self,
        what: &'static str,
        path: &str,
        body: Value,
    ) -> Result<Reply> {
        self.call(what, Method::POST, path, Some(body), 200).await
    }

    /// The reply must have this status. Each code has its own idempotency key.
    pub(super) async fn call(
        &mut self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Option<Value>,
        status: u16,
    ) -> Result<Reply> {
        let url = format!("{}{path}", self.base_url);
        let mut headers = HeaderMap::from_iter([(AUTHORIZATION, self.key.clone())]);
        if let Some(body) = &body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let code = body.get("code").and_then(Value::as_str);
            if let Some(code) = code.filter(|_| path == SUBMISSIONS) {
                headers.insert("idempotency-key", header_value(what, code)?);
            }
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let reply = self.send(what, method, &url, headers, body).await?;
        reply.status(&[status])
    }

    pub(super) async fn send(
        &mut self,
        what: &'static str,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: impl Into<Body>,
    ) -> Result<Reply> {
        let started = Instant::now();
        let url = Url::parse(url)
            .map_err(|error| failed(what, &format!("the URL is invalid: {error}")))?;
        let host = url.authority().to_owned();
        let mut request = Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        *request.timeout_mut() = Some(REPLY_TIMEOUT);
        let reply = self
            .reply(what, request)
            .await
            .map_err(|error| failed(what, &format!("{host} {error}")))?;
        self.add_step(what, started);
        Ok(reply)
    }

    fn add_step(&mut self, what: &'static str, started: Instant) {
        let took_ms = started.elapsed().as_millis().try_into();
        self.steps.push(Step {
            what,
            took_ms: took_ms.unwrap_or(u64::MAX),
        });
    }

    async fn reply(&self, what: &'static str, request: Request) -> Result<Reply, TransportError> {
        let reply = self.client.send(request).await?;
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let body = http_client::read(reply, MAX_REPLY_BYTES).await?;
        Ok(Reply {
            what,
            status,
            headers,
            json: serde_json::from_slice(&body).unwrap_or_default(),
            body,
        })
    }

    /// `state` is set by background work.
    pub(super) async fn wait_for(
        &mut self,
        what: &'static str,
        path: &str,
        state: &str,
    ) -> Result<()> {
        let started = Instant::now();
        let before = self.steps.len();
        loop {
            let reply = self.get(what, path, 200).await?;
            self.steps.truncate(before);
            if reply.json.get("state").is_some_and(|found| found == state)
                || started.elapsed() >= MAX_WAIT
            {
                self.add_step(what, started);
                return reply.field("/state", state).map(drop);
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

impl Reply {
    pub(super) fn status(self, expected: &[u16]) -> Result<Self> {
        let holds = expected.contains(&self.status);
        let names: Vec<_> = expected.iter().map(u16::to_string).collect();
        self.check(
            holds,
            &format!("the status should be {}", names.join(" or ")),
        )
    }

    pub(super) fn field(self, pointer: &str, value: impl Into<Value>) -> Result<Self> {
        let value = value.into();
        let holds = self.json.pointer(pointer) == Some(&value);
        self.check(holds, &format!("`{pointer}` should be {value}"))
    }

    /// `None` accepts any value.
    pub(super) fn header(self, name: &str, value: Option<&str>) -> Result<Self> {
        let found = self.headers.get(name);
        let holds = found.is_some_and(|found| value.is_none_or(|value| found == value));
        let expected = value.map(|value| format!(": {value}")).unwrap_or_default();
        self.check(
            holds,
            &format!("there should be a header `{name}{expected}`"),
        )
    }

    fn check(self, holds: bool, expected: &str) -> Result<Self> {
        if holds {
            Ok(self)
        } else {
            Err(self.unexpected(expected))
        }
    }

    pub(super) fn text(&self, pointer: &str) -> Result<String> {
        let text = self.json.pointer(pointer).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| self.unexpected(&format!("there should be a text `{pointer}`")))
    }

    fn unexpected(&self, expected: &str) -> Failure {
        let text = String::from_utf8_lossy(&self.body);
        let text: String = text.chars().take(MAX_SHOWN).collect();
        let why = format!(
            "{expected}, and the reply is {} {}. The functions' logs name the causes by the reply's `request_id`",
            self.status,
            printable(&text)
        );
        failed(self.what, &why)
    }
}

fn header_value(what: &'static str, text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(|error| failed(what, &error.to_string()))
}

fn failed(what: &'static str, why: &str) -> Failure {
    failure!("smoke_failed", "{what}: {why}")
}
