//! One request to an address that an operator named, as a caller of the API would make it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;
use tokio_rustls::rustls::pki_types::ServerName;

use super::connection::{self, Connection, Fault, within};
use super::partner::endpoint::Endpoint;

/// No reply of the service is as large.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Makes requests.
#[derive(Clone)]
pub struct Fetcher {
    limit: Duration,
}

/// A request.
#[derive(Clone)]
pub struct Fetch<'a> {
    /// The method.
    pub method: Method,
    /// Where to, with scheme and host.
    pub url: &'a str,
    /// The headers, besides host and length.
    pub headers: &'a [(HeaderName, HeaderValue)],
    /// The body; none when it is empty.
    pub body: Vec<u8>,
}

/// A reply.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Vec<u8>,
}

/// There was no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The URL is none of http or https.
    #[error("is not a URL of http or https")]
    Url,
    /// Nobody takes a connection there.
    #[error("takes no connection")]
    Connect,
    /// It does not speak TLS, or with a certificate that is not trusted.
    #[error("does not speak TLS with a certificate that is trusted")]
    Tls,
    /// It takes too long.
    #[error("takes too long to answer")]
    Late,
    /// What it sends is no HTTP, or too much.
    #[error("sends something that is no HTTP reply, or too much of it")]
    Broken,
}

impl From<Fault> for FetchError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Connect => Self::Connect,
            Fault::Tls => Self::Tls,
            Fault::ConnectTimeout | Fault::ReadTimeout => Self::Late,
            Fault::Broken | Fault::TooLarge => Self::Broken,
        }
    }
}

impl Fetcher {
    /// Makes requests that take at most `limit` each.
    pub fn new(limit: Duration) -> Self {
        Self { limit }
    }

    /// Makes one.
    ///
    /// # Errors
    /// When there is no reply.
    pub async fn fetch(&self, fetch: Fetch<'_>) -> Result<Fetched, FetchError> {
        within(self.limit, FetchError::Late, self.exchange(fetch)).await
    }

    async fn exchange(&self, fetch: Fetch<'_>) -> Result<Fetched, FetchError> {
        let endpoint = Endpoint::parse(fetch.url).map_err(|_| FetchError::Url)?;
        let server = match endpoint.is_https {
            true => {
                let name = ServerName::try_from(endpoint.name.clone()).map_err(|_| FetchError::Url)?;
                Some(name)
            }
            false => None,
        };
        let addresses = connection::resolve(&endpoint.name, endpoint.port).await?;
        let connection = Connection::open(&addresses, server.as_ref()).await?;
        let length = fetch.body.len();
        let mut request = Request::new(Full::new(Bytes::from(fetch.body)));
        *request.method_mut() = fetch.method;
        *request.uri_mut() = endpoint.target.clone();
        let headers = request.headers_mut();
        headers.extend(fetch.headers.iter().cloned());
        headers.insert(HOST, endpoint.authority.clone());
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        let reply = connection.send(request).await?;
        let (status, headers) = (reply.status, reply.headers.clone());
        let body = reply.read(MAX_BYTES, self.limit).await?;
        Ok(Fetched { status, headers, body })
    }
}
