//! Where the deployed service goes: to public addresses, over https.

use std::io::ErrorKind;
use std::net::TcpListener;

use common::upstream::partner::answer::{NoAnswer, PartnerAnswer};
use common::upstream::partner::client::{Addresses, Partner};

use super::{LONG, question, rules};

async fn ask(url: &str) -> NoAnswer {
    let client = Partner::new(Addresses::PublicOnly);
    match client.ask(&rules(url), None, &question("sub-1", "OKAY0001"), LONG).await {
        PartnerAnswer::NoAnswer(why) => why,
        PartnerAnswer::Verdict(verdict) => panic!("{url}: {verdict:?}"),
    }
}

#[tokio::test]
async fn nothing_on_this_machine_is_reached_whatever_it_is_called() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        assert_eq!(ask(&format!("https://{host}:{port}/")).await, NoAnswer::ForbiddenAddress, "{host}");
    }
    for host in ["2130706433", "0x7f.1", "017700000001", "127.1"] {
        let why = ask(&format!("https://{host}:{port}/")).await;
        let is_refused =
            matches!(why, NoAnswer::ForbiddenAddress | NoAnswer::Misconfigured | NoAnswer::Connect);
        assert!(is_refused, "{host}: {why:?}");
    }
    assert_eq!(listener.accept().map(|_| ()).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
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
        assert_eq!(ask(&format!("https://{host}/")).await, NoAnswer::ForbiddenAddress, "{host}");
    }
}

#[tokio::test]
async fn only_https_is_spoken() {
    for url in ["http://127.0.0.1/", "http://partner.example/"] {
        assert_eq!(ask(url).await, NoAnswer::NotHttps, "{url}");
    }
    for url in ["", "partner.example", "ftp://partner.example/"] {
        assert_eq!(ask(url).await, NoAnswer::Misconfigured, "{url}");
    }
}
