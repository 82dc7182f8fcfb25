//! The client against failing hosts.

use std::error::Error;
use std::future::pending;
use std::time::Duration;

use http::HeaderValue;
use reqwest::{Method, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::http_client::{Addresses, HttpClient, Timeouts, TransportError, read};

/// Part of path, query, header and body of every request.
const SECRET: &str = "hush0123";
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);
const MAX_BYTES: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Host {
    Closed,
    Silent,
    Says(&'static str),
}

/// Starts a host; returns scheme and host of its URL.
async fn serve(scheme: &str, host: Host) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("{scheme}://{}", listener.local_addr().expect("an address"));
    if !matches!(host, Host::Closed) {
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let Host::Says(text) = host else {
                return pending().await;
            };
            let mut head = [0; 1024];
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(text.as_bytes()).await;
        });
    }
    base
}

fn client(addresses: Addresses, connect: Duration, read: Duration) -> HttpClient {
    HttpClient::new(addresses, Timeouts { connect, read })
}

fn request(base: &str) -> Request {
    let url = format!("{base}/{SECRET}?secret={SECRET}")
        .parse()
        .expect("a URL");
    let mut request = Request::new(Method::POST, url);
    request
        .headers_mut()
        .insert("authorization", HeaderValue::from_static(SECRET));
    *request.body_mut() = Some(SECRET.into());
    request
}

async fn error(client: &HttpClient, base: &str) -> TransportError {
    match client.send(request(base)).await {
        Ok(reply) => read(reply, MAX_BYTES).await.expect_err(base),
        Err(error) => error,
    }
}

#[tokio::test]
async fn error_names_what_failed_and_nothing_of_the_request() {
    let large = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhush0123";
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha";
    for (scheme, host, connect, read, expected) in [
        ("http", Host::Closed, LONG, LONG, "connect"),
        ("https", Host::Silent, SHORT, LONG, "connect_timeout"),
        (
            "https",
            Host::Says("HTTP/1.1 400 Bad Request\r\n\r\n"),
            LONG,
            LONG,
            "tls",
        ),
        ("https", Host::Says(""), LONG, LONG, "tls"),
        ("http", Host::Silent, LONG, SHORT, "timeout"),
        ("http", Host::Says(""), LONG, LONG, "broken"),
        ("http", Host::Says("hush0123\r\n\r\n"), LONG, LONG, "broken"),
        ("http", Host::Says(half), LONG, LONG, "broken"),
        ("http", Host::Says(large), LONG, LONG, "too_large"),
    ] {
        let error = error(
            &client(Addresses::Any, connect, read),
            &serve(scheme, host).await,
        )
        .await;
        assert_eq!(error.as_str(), expected, "{host:?}: {error:?}");
        let has_cause = matches!(expected, "connect" | "tls" | "broken");
        assert_eq!(error.source().is_some(), has_cause, "{host:?}: {error:?}");
        let first: &dyn Error = &error;
        for error in std::iter::successors(Some(first), |&error| error.source()) {
            let text = format!("{error} {error:?}");
            assert!(!text.contains(SECRET), "{host:?}: {text}");
        }
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_found_takes_no_connection() {
    // Resolvers refuse so long a label without a query.
    let url = format!("http://{}.invalid", "x".repeat(64));
    let error = error(&client(Addresses::PublicOnly, LONG, LONG), &url).await;
    assert_eq!(error.as_str(), "connect");
}

#[tokio::test]
async fn a_name_is_asked_only_when_all_its_addresses_are_public() {
    let base = serve(
        "http",
        Host::Says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    )
    .await;
    let named = base.replace("127.0.0.1", "localhost");
    for url in [&base, &named] {
        let refused = error(&client(Addresses::PublicOnly, LONG, LONG), url).await;
        assert_eq!(refused, TransportError::ForbiddenAddress, "{url}");
    }
    let reply = client(Addresses::Any, LONG, LONG)
        .send(request(&named))
        .await
        .expect("a reply");
    assert_eq!(read(reply, MAX_BYTES).await.expect("a body"), b"");
}

#[test]
fn one_address_that_is_not_public_makes_all_suspect() {
    let addresses = |texts: &[&str]| -> Vec<_> {
        texts
            .iter()
            .map(|text| text.parse().expect("an address"))
            .collect()
    };
    assert!(Addresses::PublicOnly.allow(&addresses(&["1.1.1.1:443", "[2600::1]:443"])));
    for texts in [
        &["1.1.1.1:443", "10.0.0.1:443"][..],
        &["[::1]:443"],
        &["[::ffff:169.254.169.254]:80"],
    ] {
        assert!(!Addresses::PublicOnly.allow(&addresses(texts)), "{texts:?}");
        assert!(Addresses::Any.allow(&addresses(texts)), "{texts:?}");
    }
}
