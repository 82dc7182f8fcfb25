//! The client's requests, and errors with misbehaving servers.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use common::domain::partner::{Method, PartnerSecret};
use common::domain::{FaultOwner, InvalidReply, MessageKey};
use common::upstream::http_client::{Addresses, TransportError};
use common::upstream::partner::client::Partner;
use common::upstream::partner::error::PartnerError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{LONG, ask_within, error, request, rules};

/// Answers one connection; returns the request.
async fn server(reply: impl Into<Vec<u8>>) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!(
        "http://{}/redeem?a=b",
        listener.local_addr().expect("an address")
    );
    let reply = reply.into();
    let request = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let request = sent(&mut stream).await;
        let _ = stream.write_all(&reply).await;
        let _ = stream.shutdown().await;
        request
    });
    (url, request)
}

async fn sent(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.expect("a request"));
    }
    let head = String::from_utf8_lossy(&bytes).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    for _ in 0..length.map_or(0, |length| length.parse().expect("a number")) {
        bytes.push(stream.read_u8().await.expect("a body"));
    }
    String::from_utf8(bytes).expect("text")
}

fn reply(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn the_request_is_as_agreed() {
    let (url, sent) = server(reply("200 OK", "{\"status\":0}")).await;
    let mut rules = rules(&url);
    rules.method = Method::Put;
    rules.headers = [("x-client".to_owned(), "demo".to_owned())].into();
    rules.secret = Some(PartnerSecret {
        header: "Authorization".to_owned(),
        name: "partners/demo".to_owned(),
    });
    let client = Partner::new(Addresses::Any);
    let answer = client
        .ask(
            &rules,
            Some("Bearer hush\n"),
            &request("sub-1", "K7M2"),
            LONG,
        )
        .await;
    assert_eq!(answer.expect("a verdict").outcome, MessageKey::Entered);
    let sent = sent.await.expect("a request");
    let (head, body) = sent.split_once("\r\n\r\n").expect("head and body");
    let mut lines: Vec<&str> = head.split("\r\n").collect();
    lines[1..].sort_unstable();
    let host = url.split('/').nth(2).expect("a host");
    assert_eq!(
        lines,
        [
            "PUT /redeem?a=b HTTP/1.1",
            "Accept: application/json",
            "Authorization: Bearer hush",
            "Content-Length: 59",
            "Content-Type: application/json",
            &format!("Host: {host}"),
            "Idempotency-Key: sub-1",
            "User-Agent: campaign-entry-service",
            "X-Client: demo",
        ]
    );
    assert_eq!(
        body,
        r#"{"code":"K7M2","phone":"+255712345678","reference":"sub-1"}"#
    );
}

#[tokio::test]
async fn a_code_is_accepted_under_a_status_of_success_alone() {
    let body = "{\"status\":0}";
    for status in ["200 OK", "201 Created", "299 Fine"] {
        let (url, _) = server(reply(status, body)).await;
        assert!(ask_within(&url, LONG).await.is_ok(), "{status}");
    }
    for (status, expected) in [
        ("301 Moved", PartnerError::Redirected),
        ("307 Elsewhere", PartnerError::Redirected),
        ("400 Bad", PartnerError::Status(400)),
        ("429 Busy", PartnerError::Status(429)),
        ("500 Oops", PartnerError::Status(500)),
    ] {
        let (url, _) = server(reply(status, body)).await;
        assert_eq!(error(&url).await, expected, "{status}");
    }
    let (url, _) = server("HTTP/1.1 204 No Content\r\n\r\n").await;
    assert_eq!(
        error(&url).await,
        PartnerError::Unreadable(InvalidReply::NotJson)
    );
}

#[tokio::test]
async fn a_code_is_refused_under_any_status_that_is_about_the_code() {
    let refusal = "{\"status\":21,\"text\":\"Used\"}";
    for status in [
        "200 OK",
        "302 Found",
        "400 Bad",
        "404 Gone",
        "409 Conflict",
        "422 No",
    ] {
        let (url, _) = server(reply(status, refusal)).await;
        let verdict = ask_within(&url, LONG).await.expect(status);
        assert_eq!(verdict.outcome, MessageKey::AlreadyUsed, "{status}");
    }
    for (status, code) in [
        ("401 Who", 401),
        ("403 No", 403),
        ("408 Late", 408),
        ("429 Busy", 429),
        ("503 Down", 503),
    ] {
        let (url, _) = server(reply(status, refusal)).await;
        assert_eq!(error(&url).await, PartnerError::Status(code), "{status}");
    }
}

#[tokio::test]
async fn unknown_body_under_such_a_status_blames_the_code() {
    let long = format!("{{\"status\":21,\"text\":\"{}\"}}", " ".repeat(64 * 1024));
    for body in [
        "",
        "<h1>Not found</h1>",
        "{\"error\":1}",
        "{\"status\":77}",
        &long,
    ] {
        let (url, _) = server(reply("404 Gone", body)).await;
        assert_eq!(
            error(&url).await.fault_owner(),
            FaultOwner::Campaign,
            "{body:.20}"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (elsewhere, visit) = server(reply("200 OK", "{\"status\":0}")).await;
    let moved = format!("HTTP/1.1 302 Found\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\n\r\n");
    let (url, _) = server(moved).await;
    assert_eq!(error(&url).await, PartnerError::Redirected);
    assert!(!visit.is_finished());
}

#[tokio::test]
async fn a_reply_has_at_most_64_kilobytes() {
    let answer = "{\"status\":0}";
    let body = |bytes: usize| " ".repeat(bytes - answer.len()) + answer;
    let (url, _) = server(reply("200 OK", &body(64 * 1024))).await;
    assert!(ask_within(&url, LONG).await.is_ok());
    let (url, _) = server(reply("200 OK", &body(64 * 1024 + 1))).await;
    assert_eq!(error(&url).await, TransportError::TooLarge.into());
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error() {
    for reply in [
        "",
        "what?\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"status\":0}",
    ] {
        let (url, _) = server(reply).await;
        assert_eq!(error(&url).await.as_str(), "broken", "{reply}");
    }
    // Held, not listened on.
    let held = TcpSocket::new_v4().expect("a socket");
    held.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let url = format!("http://{}/", held.local_addr().expect("an address"));
    assert_eq!(error(&url).await.as_str(), "connect");
}

#[tokio::test]
async fn silence_is_given_up_at_the_limit() {
    // Never replies.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = listener.local_addr().expect("an address");
    for scheme in ["http", "https"] {
        let answer = ask_within(&format!("{scheme}://{host}/"), Duration::from_millis(50)).await;
        assert_eq!(answer, Err(TransportError::Timeout.into()), "{scheme}");
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_not_trusted() {
    let certificate = CertificateDer::from(include_bytes!("self-signed.cert.der").as_slice());
    let key =
        PrivateKeyDer::try_from(include_bytes!("self-signed.key.der").as_slice()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a certificate with its key");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let handshakes = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        TlsAcceptor::from(Arc::new(config))
            .accept(stream)
            .await
            .is_ok()
    });
    assert_eq!(
        error(&format!("https://127.0.0.1:{port}/redeem"))
            .await
            .as_str(),
        "tls"
    );
    assert!(!handshakes.await.expect("a handshake"));
}

#[tokio::test]
async fn a_server_without_tls_is_not_asked_over_https() {
    for (says, hangs_up) in [("HTTP/1.1 400 Bad Request\r\n\r\n", false), ("", true)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let host = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.write_all(says.as_bytes()).await;
            if !hangs_up {
                pending::<()>().await;
            }
        });
        assert_eq!(
            error(&format!("https://{host}/")).await.as_str(),
            "tls",
            "{says}"
        );
    }
}
