//! Relays that lie, are late or are down.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::upstream::http_client::{Addresses, Timeouts, TransportError};
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use url::Url;

use super::{
    Chain, InvalidRound, PUBLIC_RELAYS, RelayFailure, Relays, SimulatedChain, Unavailable,
    VerifiedRound,
};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(1);
const ROUND: NonZeroU64 = NonZeroU64::MIN.saturating_add(41);
const NEXT: NonZeroU64 = NonZeroU64::MIN.saturating_add(42);

#[derive(Clone, Debug)]
enum Answer {
    /// Status and body.
    Says(u16, String),
    /// Nothing, on an open connection.
    Silence,
}

fn simulated(seed: u8) -> SimulatedChain {
    SimulatedChain::new(
        &[seed; 32],
        "2026-01-01T00:00:00Z".parse().expect("a time"),
        NonZeroU32::MIN,
    )
}

fn ok(body: String) -> Answer {
    Answer::Says(200, body)
}

/// A relay with these answers; the last one counts on. Returns how often it was asked.
async fn relay(path: &str, answers: Vec<Answer>) -> (Url, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!(
        "http://{}{path}",
        listener.local_addr().expect("an address")
    );
    let expected = format!(
        "GET {path}/{}/public/{ROUND} HTTP/1.1",
        simulated(1).chain().hash()
    );
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut head = [0; 1024];
            let length = stream.read(&mut head).await.expect("a request");
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            assert!(head.starts_with(&expected), "{head}");
            let at = counter
                .fetch_add(1, Ordering::Relaxed)
                .min(answers.len() - 1);
            match &answers[at] {
                Answer::Says(status, body) => {
                    let reply = format!(
                        "HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(reply.as_bytes()).await.expect("a reader");
                }
                Answer::Silence => open.push(stream),
            }
        }
    });
    (url.parse().expect("a URL"), asked)
}

/// Refuses connections while the socket is held.
fn refusing() -> (Url, TcpSocket) {
    let held = TcpSocket::new_v4().expect("a socket");
    held.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let url = format!("http://{}", held.local_addr().expect("an address"));
    (url.parse().expect("a URL"), held)
}

fn relays(urls: Vec<Url>, read: Duration) -> Relays {
    Relays::with_times(
        urls,
        Addresses::Any,
        Timeouts {
            connect: LONG,
            read,
        },
        Duration::from_millis(1),
    )
}

async fn ask(answer: Answer) -> Result<VerifiedRound, RelayFailure> {
    let (url, _) = relay("", vec![answer]).await;
    let fetched = relays(vec![url], LONG)
        .fetch(simulated(1).chain(), ROUND)
        .await;
    fetched.map_err(|Unavailable { relays, .. }| relays.into_iter().next().expect("one relay").1)
}

#[tokio::test]
async fn honest_relay_gives_the_round() {
    let chain = simulated(1);
    let verified = ask(ok(chain.reply(ROUND))).await.expect("the round");
    assert_eq!(
        (verified.number(), verified.signature()),
        (ROUND, chain.sign(ROUND))
    );
}

#[tokio::test]
async fn relay_that_lies_about_the_randomness_changes_nothing() {
    let chain = simulated(1);
    let mut reply: serde_json::Value = serde_json::from_str(&chain.reply(ROUND)).expect("JSON");
    reply["randomness"] = "00".repeat(32).into();
    let verified = ask(ok(reply.to_string())).await.expect("the round");
    assert_eq!(verified.signature(), chain.sign(ROUND));
}

#[tokio::test]
async fn invalid_reply_is_named() {
    let says = |status| Answer::Says(status, String::new());
    for (answer, expected) in [
        (says(404), RelayFailure::NotYet),
        (says(425), RelayFailure::NotYet),
        (says(302), RelayFailure::Status(StatusCode::FOUND)),
        (
            says(500),
            RelayFailure::Status(StatusCode::INTERNAL_SERVER_ERROR),
        ),
        (
            ok("x".repeat(5000)),
            RelayFailure::Transport(TransportError::TooLarge),
        ),
        (
            ok(simulated(1).reply(NEXT)),
            RelayFailure::Invalid(InvalidRound::OtherRound { found: 43 }),
        ),
        (
            ok(simulated(2).reply(ROUND)),
            RelayFailure::Invalid(InvalidRound::Forged),
        ),
    ] {
        assert_eq!(ask(answer.clone()).await, Err(expected), "{answer:?}");
    }
}

#[tokio::test]
async fn relays_are_asked_until_one_gives_the_round() {
    let chain = simulated(1);
    let (silent, _) = relay("", vec![Answer::Silence]).await;
    let (late, _) = relay("", vec![Answer::Says(404, String::new())]).await;
    let (liar, _) = relay("", vec![ok(simulated(2).reply(ROUND))]).await;
    let (honest, _) = relay("/beacon", vec![ok(chain.reply(ROUND))]).await;
    let (unasked, asked) = relay("", vec![ok(chain.reply(ROUND))]).await;
    let (refusing, _held) = refusing();
    let urls = vec![refusing, silent, late, liar, honest, unasked];
    let verified = relays(urls, SHORT)
        .fetch(chain.chain(), ROUND)
        .await
        .expect("the round");
    assert_eq!(verified.number(), ROUND);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn every_relay_is_named_with_what_it_did() {
    let (silent, _) = relay("", vec![Answer::Silence]).await;
    let (liar, _) = relay("", vec![ok(simulated(2).reply(ROUND))]).await;
    let (refusing, _held) = refusing();
    let urls = vec![refusing, silent, liar];
    let error = relays(urls, SHORT)
        .fetch(simulated(1).chain(), ROUND)
        .await
        .expect_err("no relay");
    assert_eq!(
        error.to_string(),
        "no relay gives round 42 of the beacon; 127.0.0.1 takes no connection; 127.0.0.1 takes too long to answer; \
         127.0.0.1 sends a reply that has a signature that is not of this chain and round; run this again, name \
         another relay, or a file with the reply of any"
    );
}

#[tokio::test]
async fn relay_that_is_late_is_asked_again() {
    let chain = simulated(1);
    let not_yet = Answer::Says(404, String::new());
    let (late, asked) = relay("", vec![not_yet.clone(), not_yet, ok(chain.reply(ROUND))]).await;
    let relays = relays(vec![late], LONG);
    assert!(
        relays
            .fetch_within(Duration::ZERO, chain.chain(), ROUND)
            .await
            .is_err()
    );
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let verified = relays
        .fetch_within(LONG, chain.chain(), ROUND)
        .await
        .expect("the round");
    assert_eq!(
        (verified.number(), asked.load(Ordering::Relaxed)),
        (ROUND, 3)
    );
}

#[tokio::test]
async fn public_relays_are_asked_at_public_addresses_alone() {
    let relays = Relays::new(vec![refusing().0], Addresses::PublicOnly);
    let error = relays
        .fetch(&Chain::quicknet(), ROUND)
        .await
        .expect_err("not public");
    assert_eq!(
        error.relays[0].1,
        RelayFailure::Transport(TransportError::ForbiddenAddress)
    );
    assert_eq!(
        format!("{:?}", Relays::public()).matches("drand").count(),
        PUBLIC_RELAYS.len()
    );
}
