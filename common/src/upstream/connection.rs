//! One request over a connection of its own: TCP, TLS by rustls over ring, HTTP/1.1. What fails is
//! named by kind; the cause is dropped, since its text could hold the request.

use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// What goes wrong between two machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// No TCP connection, or no address for the host's name.
    Connect,
    /// The host did not take the connection or the TLS handshake in time.
    ConnectTimeout,
    /// No TLS: the certificate is not trusted, the handshake failed, or our side could not be set up.
    Tls,
    /// Nothing came for too long.
    ReadTimeout,
    /// The connection broke, or what came over it was not HTTP.
    Broken,
    /// The body is larger than agreed.
    TooLarge,
}

/// TLS that trusts the roots that browsers trust. Made when it is first spoken, which many functions never do.
fn tls() -> Result<TlsConnector, Fault> {
    static CONNECTOR: LazyLock<Result<TlsConnector, rustls::Error>> = LazyLock::new(|| {
        let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    });
    CONNECTOR.clone().map_err(|_| Fault::Tls)
}

/// The addresses of a host, given by its name or its address, without the brackets of IPv6.
pub(super) async fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, Fault> {
    Ok(tokio::net::lookup_host((name, port)).await.map_err(|_| Fault::Connect)?.collect())
}

/// A connection for a request with a body `B`. Dropping it, or a reply over it, closes it.
pub(super) struct Connection<B> {
    sender: http1::SendRequest<B>,
    driver: JoinSet<()>,
}

impl<B> Connection<B>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Connects to the first of these addresses that takes it, and to no other. TLS is spoken with the server of
    /// this name, or not at all when there is none.
    pub(super) async fn open(
        addresses: &[SocketAddr],
        server: Option<&ServerName<'static>>,
    ) -> Result<Self, Fault> {
        let tcp = TcpStream::connect(addresses).await.map_err(|_| Fault::Connect)?;
        match server {
            None => Self::over(tcp).await,
            Some(name) => Self::over(tls()?.connect(name.clone(), tcp).await.map_err(|_| Fault::Tls)?).await,
        }
    }

    async fn over(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Result<Self, Fault> {
        let (sender, connection) = http1::Builder::new()
            .title_case_headers(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|_| Fault::Broken)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // What goes wrong here shows in the request and in its body.
            let _ = connection.await;
        });
        Ok(Self { sender, driver })
    }

    /// Sends a request and waits for the head of the reply.
    pub(super) async fn send(mut self, request: Request<B>) -> Result<Reply, Fault> {
        let reply = self.sender.send_request(request).await.map_err(|_| Fault::Broken)?;
        let (head, body) = reply.into_parts();
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
    pub(super) async fn read(mut self, most_bytes: usize, limit: Duration) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        loop {
            let part = async { self.body.frame().await.transpose().map_err(|_| Fault::Broken) };
            let Some(frame) = within(limit, Fault::ReadTimeout, part).await? else { return Ok(bytes) };
            let Ok(part) = frame.into_data() else { continue };
            if part.len() > most_bytes.saturating_sub(bytes.len()) {
                return Err(Fault::TooLarge);
            }
            bytes.extend_from_slice(&part);
        }
    }
}

/// Waits for some work, but not longer than `limit`.
pub(super) async fn within<T, E>(
    limit: Duration,
    late: E,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(late))
}
