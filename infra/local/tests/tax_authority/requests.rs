//! The client's requests, and errors with misbehaving servers.

use std::future::pending;
use std::time::Duration;

use common::domain::ReceiptTime;
use common::upstream::tax_authority::answer::{LookupAnswer, PortalError};
use common::upstream::tax_authority::client::{Limits, TaxAuthority};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

async fn ask(base: &str, limits: Limits) -> LookupAnswer {
    let client = TaxAuthority::new(base, limits).expect("a client");
    let time = ReceiptTime::new(9, 8, 7).expect("a time");
    client
        .lookup(&"ab12cd3456".parse().expect("a code"), time)
        .await
}

async fn trouble(base: &str, limits: Limits) -> &'static str {
    match ask(base, limits).await {
        LookupAnswer::Unavailable(error) => error.as_str(),
        answer => panic!("{answer:?}"),
    }
}

/// Answers connections in turn, then stays silent; returns the requests.
async fn server(replies: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    let requests = tokio::spawn(async move {
        let mut requests = Vec::new();
        for reply in replies {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            requests.push(head(&mut stream).await);
            let _ = stream.write_all(reply.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        requests
    });
    (host, requests)
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a request"));
    }
    String::from_utf8(head).expect("text")
}

#[tokio::test]
async fn the_request_is_the_portals_own() {
    let (host, requests) = server(vec![
        "HTTP/1.1 302 Found\r\nSet-Cookie: a=b\r\nLocation: /Home/Missing\r\nContent-Length: 0\r\n\r\n"
            .to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(),
    ])
    .await;
    assert_eq!(
        ask(&format!("http://{host}"), Limits::default()).await,
        LookupAnswer::NotFoundYet
    );
    let browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                   Chrome/138.0.0.0 Safari/537.36";
    let expected = |target: &str| {
        format!(
            "GET {target} HTTP/1.1\nAccept: text/html,application/xhtml+xml\nHost: {host}\n\
             Referer: http://{host}/AB12CD3456_090807\nUser-Agent: {browser}"
        )
    };
    let sent: Vec<String> = requests
        .await
        .expect("requests")
        .iter()
        .map(|head| sorted(head))
        .collect();
    assert_eq!(
        sent,
        [
            expected("/Verify/Verified?Secret=09%3A08%3A07"),
            expected("/Home/Missing")
        ]
    );
}

fn sorted(head: &str) -> String {
    let mut lines: Vec<&str> = head.trim_end().split("\r\n").collect();
    lines[1..].sort_unstable();
    lines.join("\n")
}

#[tokio::test]
async fn a_redirect_without_a_place_leads_nowhere() {
    for location in [
        "",
        "Location: Home/Missing\r\n",
        "Location: \r\n",
        "Location: http://[\r\n",
    ] {
        let (host, _) = server(vec![format!(
            "HTTP/1.1 302 Found\r\n{location}Content-Length: 0\r\n\r\n"
        )])
        .await;
        let answer = ask(&format!("http://{host}"), Limits::default()).await;
        assert_eq!(
            answer,
            LookupAnswer::Unavailable(PortalError::BadRedirect),
            "{location}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_trouble() {
    for reply in [
        "",
        "what?\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    ] {
        let (host, _) = server(vec![reply.to_owned()]).await;
        let trouble = trouble(&format!("http://{host}"), Limits::default()).await;
        assert_eq!(trouble, "broken", "{reply}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_trouble() {
    // Held, not listened on.
    let held = TcpSocket::new_v4().expect("a socket");
    held.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let host = held.local_addr().expect("an address");
    let trouble = trouble(&format!("http://{host}"), Limits::default()).await;
    assert_eq!(trouble, "connect");
}

#[tokio::test]
async fn a_server_without_tls_is_trouble() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        pending::<()>().await;
    });
    let trouble = trouble(&format!("https://{host}"), Limits::default()).await;
    assert_eq!(trouble, "tls");
}

/// Writes this after a request's first bytes, and leaves the connection open.
async fn silent_after(text: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        let mut streams = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.read_u8().await;
            let _ = stream.write_all(text).await;
            streams.push(stream);
        }
    });
    host
}

#[tokio::test]
async fn silence_is_given_up_wherever_it_begins() {
    let short = Duration::from_millis(50);
    let long = Duration::from_secs(60);
    let limits = Limits {
        connect: long,
        read: short,
        whole: long,
    };
    let silent = silent_after(b"").await;
    assert_eq!(
        trouble(&format!("http://{silent}"), limits).await,
        "read_timeout"
    );
    let half = silent_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").await;
    assert_eq!(
        trouble(&format!("http://{half}"), limits).await,
        "read_timeout"
    );
    let limits = Limits {
        connect: short,
        read: long,
        whole: long,
    };
    assert_eq!(
        trouble(&format!("https://{silent}"), limits).await,
        "connect_timeout"
    );
    let limits = Limits {
        connect: long,
        read: long,
        whole: short,
    };
    assert_eq!(
        trouble(&format!("http://{silent}"), limits).await,
        "deadline"
    );
}
