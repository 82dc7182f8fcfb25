//! Untrusted HTTP servers of a chain's rounds.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use common::upstream::http_client::{Addresses, HttpClient, Timeouts, TransportError, read};
use reqwest::{Method, Request, StatusCode};
use tokio::time::{Instant, sleep};
use url::Url;

use super::chain::{Chain, InvalidRound, VerifiedRound};

/// Run by different companies.
pub const PUBLIC_RELAYS: [&str; 3] = [
    "https://api.drand.sh",
    "https://api2.drand.sh",
    "https://drand.cloudflare.com",
];

/// A reply has about 250 bytes.
const MAX_REPLY_BYTES: usize = 4096;
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    read: Duration::from_secs(5),
};
/// A relay may send byte by byte.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause between tours; relays have a round a second or two after its time.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Relays {
    client: HttpClient,
    urls: Vec<Url>,
    pause: Duration,
}

#[derive(Debug)]
pub struct Unavailable {
    pub round: NonZeroU64,
    pub relays: Vec<(String, RelayFailure)>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelayFailure {
    #[error("{0}")]
    Transport(#[from] TransportError),
    #[error("does not have the round yet, or not this chain")]
    NotYet,
    #[error("answers with status {}", .0.as_u16())]
    Status(StatusCode),
    #[error("sends a reply that {0}")]
    Invalid(#[from] InvalidRound),
}

impl Relays {
    #[expect(clippy::expect_used, reason = "the constants are tested")]
    pub fn public() -> Self {
        let urls = PUBLIC_RELAYS.map(|url| url.parse().expect("a URL"));
        Self::new(urls.into(), Addresses::PublicOnly)
    }

    /// Rounds are below them, at `{chain hash}/public/{round}`.
    pub fn new(urls: Vec<Url>, addresses: Addresses) -> Self {
        Self::with_times(urls, addresses, TIMEOUTS, PAUSE)
    }

    pub(super) fn with_times(
        urls: Vec<Url>,
        addresses: Addresses,
        timeouts: Timeouts,
        pause: Duration,
    ) -> Self {
        Self {
            client: HttpClient::new(addresses, timeouts),
            urls,
            pause,
        }
    }

    /// Each once.
    pub async fn fetch(
        &self,
        chain: &Chain,
        round: NonZeroU64,
    ) -> Result<VerifiedRound, Unavailable> {
        let mut relays = Vec::new();
        for url in &self.urls {
            match self.ask(url, chain, round).await {
                Ok(verified) => return Ok(verified),
                Err(failure) => relays.push((host(url), failure)),
            }
        }
        Err(Unavailable { round, relays })
    }

    /// Asks until a relay has the round, from the round's time on and within `patience`.
    pub async fn fetch_within(
        &self,
        patience: Duration,
        chain: &Chain,
        round: NonZeroU64,
    ) -> Result<VerifiedRound, Unavailable> {
        let give_up_at = Instant::now() + patience;
        loop {
            match self.fetch(chain, round).await {
                Err(_) if Instant::now() + self.pause <= give_up_at => sleep(self.pause).await,
                settled => return settled,
            }
        }
    }

    async fn ask(
        &self,
        relay: &Url,
        chain: &Chain,
        round: NonZeroU64,
    ) -> Result<VerifiedRound, RelayFailure> {
        let mut request = Request::new(Method::GET, round_url(relay, chain, round));
        *request.timeout_mut() = Some(EXCHANGE_TIMEOUT);
        let reply = self.client.send(request).await?;
        match reply.status() {
            StatusCode::OK => Ok(chain.verify_reply(round, &read(reply, MAX_REPLY_BYTES).await?)?),
            StatusCode::NOT_FOUND | StatusCode::TOO_EARLY => Err(RelayFailure::NotYet),
            status => Err(RelayFailure::Status(status)),
        }
    }
}

fn round_url(relay: &Url, chain: &Chain, round: NonZeroU64) -> Url {
    let mut url = relay.clone();
    // The client refuses URLs without a path.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend([
            chain.hash().to_string().as_str(),
            "public",
            &round.to_string(),
        ]);
    }
    url
}

/// The host only: an operator's own URL may have a secret.
fn host(url: &Url) -> String {
    url.host_str().unwrap_or("a URL without a host").to_owned()
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { round, relays } = self;
        write!(f, "no relay gives round {round} of the beacon")?;
        for (host, failure) in relays {
            write!(f, "; {host} {failure}")?;
        }
        f.write_str("; run this again, name another relay, or a file with the reply of any")
    }
}

impl std::error::Error for Unavailable {}
