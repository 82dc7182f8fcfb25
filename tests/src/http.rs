//! An HTTP client that checks replies against the API description.

use std::pin::Pin;
use std::sync::LazyLock;

use bytes::Bytes;
use common::upstream::http_client;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::{Client, Request};
use serde_json::{Value, json};

use crate::contract::{self, Described};
use crate::text;

/// Keeps no connection, which would belong to one test's runtime.
static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    http_client::builder()
        .expect("TLS")
        .pool_max_idle_per_host(0)
        .build()
        .expect("a client")
});

/// Fifty at a time: more take longer than a call may on a slow machine, and each has two connections
/// with both ends in this process, where many systems limit open files to 1,024.
pub async fn crowd<T>(requests: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let sent = stream::iter(requests).buffer_unordered(50);
    sent.collect().await
}

#[derive(Clone, Debug)]
pub struct RequestBuilder {
    url: String,
    /// True if the API description applies.
    to_api: bool,
    method: Method,
    headers: Vec<(String, Vec<u8>)>,
    body: Bytes,
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

/// A request to the API. Sending it panics if the reply breaks the description.
pub fn request(method: &str, url: String) -> RequestBuilder {
    RequestBuilder {
        to_api: true,
        ..request_to_storage(method, url)
    }
}

pub fn request_to_storage(method: &str, url: String) -> RequestBuilder {
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    RequestBuilder {
        url,
        to_api: false,
        method,
        headers: Vec::new(),
        body: Bytes::new(),
    }
}

impl RequestBuilder {
    /// Adds a header, also a second time.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(header, _)| !header.eq_ignore_ascii_case(name));
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.raw(body.to_string())
            .without("content-type")
            .header("content-type", "application/json")
    }

    pub fn raw(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Panics if the reply breaks the description.
    pub async fn send(self) -> Reply {
        self.send_and_name().await.0
    }

    /// Sends it again and again, and counts status 200.
    pub async fn count_successes(&self, times: usize) -> usize {
        let mut successes = 0;
        for _ in 0..times {
            successes += usize::from(self.clone().send().await.status == 200);
        }
        successes
    }

    /// [`Self::send`], with the described reply.
    pub async fn send_and_name(self) -> (Reply, Option<Described>) {
        let (method, to_api) = (self.method.to_string(), self.to_api);
        let mut request = Request::new(self.method, self.url.parse().expect("a URL"));
        for (name, value) in &self.headers {
            let name: HeaderName = name.parse().expect("a header's name");
            request.headers_mut().append(
                name,
                HeaderValue::from_bytes(value).expect("a header's value"),
            );
        }
        *request.body_mut() = Some(self.body.into());
        let path = request.url().path().to_owned();
        let response = CLIENT.execute(request).await.expect("the service answers");
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.bytes().await.expect("the whole body");
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let reply = Reply {
            status,
            headers,
            text,
        };
        let described = to_api
            .then(|| contract::check(&method, &path, &reply))
            .flatten();
        (reply, described)
    }
}

/// Sends it.
impl IntoFuture for RequestBuilder {
    type Output = Reply;
    type IntoFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {}", self.text))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .get(name)
            .map(|value| value.to_str().expect("text"))
    }

    pub fn field(&self, name: &str) -> Value {
        self.json()[name].clone()
    }

    /// Fields in one line, as in [`text::fields`].
    #[track_caller]
    pub fn fields(&self, names: &str) -> String {
        text::fields(&self.json(), names)
    }

    /// Status and body in lines, with placeholders for varying values.
    pub fn snapshot(&self) -> String {
        let mut body = self.json();
        replace(&mut body);
        format!("{} {body:#}", self.status.as_u16())
    }

    /// An error's code; panics otherwise.
    pub fn error_code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no error in {}", self.text))
            .to_owned()
    }

    /// [`Self::error_code`]; `None` without a body.
    pub(crate) fn error_code_unless_empty(&self) -> Option<String> {
        let body: Value = serde_json::from_str(&self.text).ok()?;
        body["error"]["code"].as_str().map(str::to_owned)
    }

    /// True if a limit refused it, with this `Retry-After` in seconds.
    pub fn is_rate_limited(&self, retry_after: &str) -> bool {
        self.status == 429 && self.header("retry-after") == Some(retry_after)
    }

    /// Such as `422 validation_failed phone`.
    pub fn refusal(&self) -> String {
        let code = format!("{} {}", self.status.as_u16(), self.error_code());
        match self.json()["error"]["field"].as_str() {
            Some(field) => format!("{code} {field}"),
            None => code,
        }
    }
}

fn replace(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let kind = match name.as_str() {
                    "id" => "[uuid]",
                    "ref" => "[ref]",
                    "created_at" | "updated_at" => "[time]",
                    "date" => "[date]",
                    "request_id" => "[request id]",
                    "docs_url" => "[docs]",
                    "campaign" | "slug" => "[slug]",
                    _ => {
                        replace(value);
                        continue;
                    }
                };
                *value = json!(kind);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(replace),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
