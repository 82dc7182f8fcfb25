//! The deployed service connects to public https addresses only.

use std::io::ErrorKind;
use std::net::TcpListener;

use common::upstream::http_client::{Addresses, TransportError};
use common::upstream::partner::client::Partner;
use common::upstream::partner::error::{InvalidPart, PartnerError};

use super::{LONG, request, rules};

const FORBIDDEN: PartnerError = PartnerError::Transport(TransportError::ForbiddenAddress);

async fn error(url: &str) -> PartnerError {
    let client = Partner::new(Addresses::PublicOnly);
    client
        .ask(&rules(url), None, &request("sub-1", "OKAY0001"), LONG)
        .await
        .expect_err(url)
}

#[tokio::test]
async fn nothing_on_this_machine_is_reached_whatever_it_is_called() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    let spelled = [
        "2130706433",
        "0x7f.1",
        "017700000001",
        "127.1",
        "127.0.0.1.",
    ];
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
    ]
    .into_iter()
    .chain(spelled)
    {
        assert_eq!(
            error(&format!("https://{host}:{port}/")).await,
            FORBIDDEN,
            "{host}"
        );
    }
    assert_eq!(
        listener.accept().map(|_| ()).map_err(|error| error.kind()),
        Err(ErrorKind::WouldBlock)
    );
}

#[tokio::test]
async fn no_address_of_a_private_network_is_reached() {
    for host in [
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[fe80::1]",
    ] {
        assert_eq!(
            error(&format!("https://{host}/")).await,
            FORBIDDEN,
            "{host}"
        );
    }
}

#[tokio::test]
async fn only_https_is_spoken() {
    for url in ["http://127.0.0.1/", "http://partner.example/"] {
        assert_eq!(error(url).await, PartnerError::NotHttps, "{url}");
    }
    for url in ["", "partner.example", "ftp://partner.example/"] {
        let error = error(url).await;
        assert!(
            matches!(error, PartnerError::Misconfigured(InvalidPart::Url(_))),
            "{url}: {error:?}"
        );
    }
}
