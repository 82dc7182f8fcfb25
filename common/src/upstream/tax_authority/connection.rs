//! One GET over a connection of its own: TCP, TLS by rustls over ring, HTTP/1.1. What fails is named
//! by kind; the cause is dropped, since its text could hold the request.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use super::answer::Trouble;

/// Where connections go.
pub(super) struct Host {
    /// Its name or address, without the brackets of IPv6.
    pub(super) name: String,
    pub(super) port: u16,
    /// How to speak TLS with it; `None` where plain HTTP is spoken.
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// TLS that trusts the roots that browsers trust.
pub(super) fn tls() -> Result<TlsConnector, rustls::Error> {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// A connection. Dropping it, or a reply over it, closes it.
pub(super) struct Connection {
    sender: http1::SendRequest<Empty<Bytes>>,
    driver: JoinSet<()>,
}

impl Connection {
    /// Connects within `limit`, TLS included.
    pub(super) async fn open(host: &Host, limit: Duration) -> Result<Self, Trouble> {
        let connecting = async {
            let address = (host.name.as_str(), host.port);
            let tcp = TcpStream::connect(address).await.map_err(|_| Trouble::Connect)?;
            match &host.tls {
                None => Self::over(tcp).await,
                Some((tls, name)) => {
                    Self::over(tls.connect(name.clone(), tcp).await.map_err(|_| Trouble::Tls)?).await
                }
            }
        };
        within(limit, Trouble::ConnectTimeout, connecting).await
    }

    async fn over(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Self, Trouble> {
        let (sender, connection) = http1::Builder::new()
            .title_case_headers(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|_| Trouble::Broken)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // What goes wrong here shows in the request and in its body.
            let _ = connection.await;
        });
        Ok(Self { sender, driver })
    }

    /// Sends the request and waits at most `limit` for the head of the reply.
    pub(super) async fn get(
        mut self,
        target: Uri,
        headers: HeaderMap,
        limit: Duration,
    ) -> Result<Reply, Trouble> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = target;
        *request.headers_mut() = headers;
        let sending = async { self.sender.send_request(request).await.map_err(|_| Trouble::Broken) };
        let (head, body) = within(limit, Trouble::ReadTimeout, sending).await?.into_parts();
        Ok(Reply { status: head.status.as_u16(), headers: head.headers, body, _driver: self.driver })
    }
}

/// A reply whose body has not been read yet.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    body: Incoming,
    _driver: JoinSet<()>,
}

impl Reply {
    /// The body, if it has at most so many bytes; waits at most `limit` for each part of it.
    pub(super) async fn read(mut self, most_bytes: usize, limit: Duration) -> Result<Vec<u8>, Trouble> {
        let mut bytes = Vec::new();
        loop {
            let part = async { self.body.frame().await.transpose().map_err(|_| Trouble::Broken) };
            let Some(frame) = within(limit, Trouble::ReadTimeout, part).await? else { return Ok(bytes) };
            let Ok(part) = frame.into_data() else { continue };
            if part.len() > most_bytes.saturating_sub(bytes.len()) {
                return Err(Trouble::TooLarge);
            }
            bytes.extend_from_slice(&part);
        }
    }
}

async fn within<T>(
    limit: Duration,
    late: Trouble,
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(late))
}
