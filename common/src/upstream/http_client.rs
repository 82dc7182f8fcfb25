//! A request is sent once, over a new connection: no pool, retries, redirects or proxy. TLS is
//! rustls over ring with browsers' roots.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Request, Response, retry};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::config::{ConfigError, Env};
use crate::domain::address::{is_public, literal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Public addresses only, for URLs that others choose.
    PublicOnly,
    /// Any address, for hosts that the operator chooses, and local stacks.
    Any,
}

/// `any` allows partners and endpoints at any address, for the local stack.
pub const ADDRESSES_VARIABLE: &str = "OUTBOUND_ADDRESSES";

/// [`Request::timeout_mut`] bounds a whole exchange.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    pub connect: Duration,
    /// Start of the request to the head of the reply; then each part of the body.
    pub read: Duration,
}

/// The first request sets up TLS; many functions make none.
#[derive(Debug)]
pub struct HttpClient {
    addresses: Addresses,
    timeouts: Timeouts,
    client: OnceLock<Client>,
}

/// No error or cause contains text of the request.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("takes no connection")]
    Connect(#[source] Cause),
    #[error("timed out while connecting")]
    ConnectTimeout,
    /// Untrusted certificate, failed handshake, or no TLS.
    #[error("does not speak TLS with a certificate that is trusted")]
    Tls(#[source] Cause),
    #[error("is at an address that is not public")]
    ForbiddenAddress,
    #[error("takes too long to answer")]
    Timeout,
    #[error("broke the connection or sent an invalid reply")]
    Broken(#[source] Cause),
    #[error("sends a reply that is too large")]
    TooLarge,
}

/// The library's error without the URL.
pub type Cause = Box<dyn Error + Send + Sync>;

impl TransportError {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Connect(_) => "connect",
            Self::ConnectTimeout => "connect_timeout",
            Self::Tls(_) => "tls",
            Self::ForbiddenAddress => "forbidden_address",
            Self::Timeout => "timeout",
            Self::Broken(_) => "broken",
            Self::TooLarge => "too_large",
        }
    }
}

/// Compares kinds: causes cannot be compared.
impl PartialEq for TransportError {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Eq for TransportError {}

impl HttpClient {
    pub const fn new(addresses: Addresses, timeouts: Timeouts) -> Self {
        Self {
            addresses,
            timeouts,
            client: OnceLock::new(),
        }
    }

    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    pub async fn send(&self, request: Request) -> Result<Response, TransportError> {
        // The resolver sees names only.
        if literal(request.url())
            .is_some_and(|address| !self.addresses.allow(&[(address, 0).into()]))
        {
            return Err(TransportError::ForbiddenAddress);
        }
        Ok(self.client()?.execute(request).await?)
    }

    fn client(&self) -> Result<&Client, TransportError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = builder()?
            .dns_resolver(Resolver(self.addresses))
            .connect_timeout(self.timeouts.connect)
            .read_timeout(self.timeouts.read)
            .pool_max_idle_per_host(0)
            // Some servers accept only `Content-Type`, not `content-type`.
            .http1_title_case_headers()
            .build()
            .map_err(|error| TransportError::Tls(error.into()))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// `reqwest` has no TLS provider built in and would panic.
pub fn builder() -> Result<ClientBuilder, TransportError> {
    static TLS: LazyLock<Result<ClientConfig, rustls::Error>> = LazyLock::new(|| {
        let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    });
    let tls = TLS
        .clone()
        .map_err(|error| TransportError::Tls(error.into()))?;
    let builder = Client::builder().tls_backend_preconfigured(tls);
    Ok(builder
        .no_proxy()
        .redirect(Policy::none())
        .referer(false)
        .retry(retry::never()))
}

pub async fn read(mut reply: Response, max_bytes: usize) -> Result<Vec<u8>, TransportError> {
    let mut body = Vec::new();
    while let Some(part) = reply.chunk().await? {
        if part.len() > max_bytes.saturating_sub(body.len()) {
            return Err(TransportError::TooLarge);
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

impl Addresses {
    pub fn from_env(env: &Env) -> Result<Self, ConfigError> {
        match env.optional(ADDRESSES_VARIABLE).as_deref() {
            None | Some("public") => Ok(Self::PublicOnly),
            Some("any") => Ok(Self::Any),
            Some(_) => Err(ConfigError::Malformed {
                variable: ADDRESSES_VARIABLE,
                expected: "`public` or `any`",
            }),
        }
    }

    /// One address that is not public makes all suspect.
    pub(super) fn allow(self, found: &[SocketAddr]) -> bool {
        self == Self::Any || found.iter().all(|address| is_public(address.ip()))
    }
}

/// The connection uses exactly the resolved addresses: resolving again could give others.
struct Resolver(Addresses);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0;
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if !allowed.allow(&found) {
                return Err(ForbiddenAddress.into());
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("not a public address")]
struct ForbiddenAddress;

impl From<reqwest::Error> for TransportError {
    fn from(error: reqwest::Error) -> Self {
        // A URL can contain a secret, or a receipt's time.
        let error = error.without_url();
        match (error.is_connect(), error.is_timeout()) {
            (true, true) => Self::ConnectTimeout,
            (true, false) if is_forbidden(&error) => Self::ForbiddenAddress,
            (true, false) if is_tls(&error) => Self::Tls(error.into()),
            (true, false) => Self::Connect(error.into()),
            (false, true) => Self::Timeout,
            (false, false) => Self::Broken(error.into()),
        }
    }
}

fn is_forbidden(error: &reqwest::Error) -> bool {
    std::iter::successors(error.source(), |&cause| cause.source())
        .any(|cause| cause.is::<ForbiddenAddress>())
}

/// `hyper-rustls` reports a failed handshake as a bare I/O error.
fn is_tls(error: &reqwest::Error) -> bool {
    error
        .source()
        .and_then(Error::source)
        .is_some_and(|cause| cause.is::<std::io::Error>())
}
