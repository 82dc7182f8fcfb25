//! Sends the requests of the smoke test and describes unexpected replies.

use std::time::Duration;

use common::upstream::http_client::{self, Addresses, HttpClient, Timeouts, TransportError};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::{Body, Request, Url};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::failure::Failure;
use crate::format::printable;

/// Longer than any reply takes: API Gateway gives up after 30 s.
const REPLY_TIMEOUT: Duration = Duration::from_secs(35);
/// More than any reply of the service has.
const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;
/// Characters of an unexpected reply that are shown.
const MAX_SHOWN: usize = 600;
/// The polling interval for background work.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Background work is done by then; a storage event can be a minute late.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// The advice after an unexpected reply.
const LOGS: &str = ". The functions' logs name the causes by the reply's `request_id`";

/// One check that passed.
#[derive(Clone, Debug)]
pub struct Step {
    /// What was done, such as `reading the campaign`.
    pub what: &'static str,
    /// Duration in milliseconds, waiting included.
    pub took_ms: u128,
}

/// Sends requests as a brand's server does.
pub(super) struct Caller<'a> {
    client: HttpClient,
    base_url: &'a str,
    key: String,
    pub(super) steps: Vec<Step>,
}

/// A request to the API.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    /// Without the key.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Option<Value>,
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

pub(super) struct SmokeReply {
    what: &'static str,
    reply: Reply,
    json: Value,
}

impl<'a> Ask<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            headers: Vec::new(),
            body: None,
        }
    }

    pub(super) fn post(path: &'a str, body: Value) -> Self {
        Self {
            method: Method::POST,
            path,
            headers: Vec::new(),
            body: Some(body),
        }
    }

    /// Adds an Idempotency-Key.
    pub(super) fn once(mut self, key: &str) -> Self {
        let value = HeaderValue::from_str(key).ok();
        self.headers
            .extend(value.map(|value| (HeaderName::from_static("idempotency-key"), value)));
        self
    }
}

impl<'a> Caller<'a> {
    pub(super) fn new(base_url: &'a str, key: String) -> Self {
        let timeouts = Timeouts {
            connect: REPLY_TIMEOUT,
            read: REPLY_TIMEOUT,
        };
        let client = HttpClient::new(Addresses::Any, timeouts);
        Self {
            client,
            base_url,
            key,
            steps: Vec::new(),
        }
    }

    /// Sends a request with the key.
    pub(super) async fn ask(
        &mut self,
        what: &'static str,
        ask: Ask<'_>,
    ) -> Result<SmokeReply, Failure> {
        let mut ask = ask;
        if let Ok(mut bearer) = HeaderValue::from_str(&format!("Bearer {}", self.key)) {
            bearer.set_sensitive(true);
            ask.headers.push((AUTHORIZATION, bearer));
        }
        self.ask_without_key(what, ask).await
    }

    /// Sends a request without the key.
    pub(super) async fn ask_without_key(
        &mut self,
        what: &'static str,
        ask: Ask<'_>,
    ) -> Result<SmokeReply, Failure> {
        let url = format!("{}{}", self.base_url, ask.path);
        let mut headers = HeaderMap::from_iter(ask.headers);
        let body = ask.body.map(|body| body.to_string()).unwrap_or_default();
        if !body.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        self.send(what, ask.method, &url, headers, body).await
    }

    /// Sends a request to any URL.
    pub(super) async fn send(
        &mut self,
        what: &'static str,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: impl Into<Body>,
    ) -> Result<SmokeReply, Failure> {
        let started = Instant::now();
        let url = Url::parse(url)
            .map_err(|error| failed(what, &format!("the URL is invalid: {error}")))?;
        let host = url.authority().to_owned();
        let mut request = Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        *request.timeout_mut() = Some(REPLY_TIMEOUT);
        let reply = self
            .reply(request)
            .await
            .map_err(|error| failed(what, &format!("{host} {error}")))?;
        self.steps.push(Step {
            what,
            took_ms: started.elapsed().as_millis(),
        });
        let json = serde_json::from_slice(&reply.body).unwrap_or_default();
        Ok(SmokeReply { what, reply, json })
    }

    async fn reply(&self, request: Request) -> Result<Reply, TransportError> {
        let reply = self.client.send(request).await?;
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        Ok(Reply {
            status,
            headers,
            body: http_client::read(reply, MAX_REPLY_BYTES).await?,
        })
    }

    /// Polls until the field has the value, which background work sets.
    pub(super) async fn wait_for(
        &mut self,
        what: &'static str,
        path: &str,
        field: &str,
        value: &Value,
    ) -> Result<SmokeReply, Failure> {
        let started = Instant::now();
        let before = self.steps.len();
        loop {
            let answer = self.ask(what, Ask::get(path)).await?;
            self.steps.truncate(before);
            let took = started.elapsed();
            if answer.json.get(field) == Some(value) || took >= MAX_WAIT {
                self.steps.push(Step {
                    what,
                    took_ms: took.as_millis(),
                });
                return answer.status(200)?.field(field, value);
            }
            sleep(LOOK_EVERY).await;
        }
    }
}

impl SmokeReply {
    /// Checks the status.
    pub(super) fn status(self, status: u16) -> Result<Self, Failure> {
        let is_right = self.reply.status == status;
        self.check(is_right, &format!("the status should be {status}"))
    }

    /// Checks a field, given by its name or a JSON Pointer.
    pub(super) fn field(self, field: &str, value: &Value) -> Result<Self, Failure> {
        let found = match field.starts_with('/') {
            true => self.json.pointer(field),
            false => self.json.get(field),
        };
        let is_right = found == Some(value);
        self.check(is_right, &format!("`{field}` should be {value}"))
    }

    /// Checks that there is such a header, and its value if one is given.
    pub(super) fn header(self, name: &str, value: Option<&str>) -> Result<Self, Failure> {
        let found = self
            .reply
            .headers
            .get(name)
            .and_then(|found| found.to_str().ok());
        let is_there = found.is_some() && value.is_none_or(|value| found == Some(value));
        let expected = value.map(|value| format!(": {value}")).unwrap_or_default();
        self.check(
            is_there,
            &format!("there should be a header `{name}{expected}`"),
        )
    }

    /// Fails unless `holds`; the error says what was expected and shows the reply.
    pub(super) fn check(self, holds: bool, expected: &str) -> Result<Self, Failure> {
        match holds {
            true => Ok(self),
            false => Err(failed(
                self.what,
                &format!("{expected}, and the reply is {}{LOGS}", self.shown()),
            )),
        }
    }

    /// The string at a JSON Pointer in the reply.
    pub(super) fn text(&self, pointer: &str) -> Result<String, Failure> {
        let text = self
            .json
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned);
        text.ok_or_else(|| {
            failed(
                self.what,
                &format!("`{pointer}` is missing in {}{LOGS}", self.shown()),
            )
        })
    }

    pub(super) fn json(&self) -> &Value {
        &self.json
    }

    pub(super) fn is_one_of(&self, statuses: &[u16]) -> bool {
        statuses.contains(&self.reply.status)
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.reply.body);
        let text: String = text.chars().take(MAX_SHOWN).collect();
        format!("{} {}", self.reply.status, printable(&text))
    }
}

fn failed(what: &'static str, why: &str) -> Failure {
    Failure::new("smoke_failed", format!("{what}: {why}"))
}
