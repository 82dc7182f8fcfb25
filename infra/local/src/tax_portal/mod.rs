//! A stand-in for the tax authority's receipt portal, for this machine only. What it answers is chosen
//! by the code that is asked for: see [`cases::CASES`]. It shares nothing with the client of the
//! portal, so that a mistake in one shows in the other.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use chrono::NaiveDate;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub mod cases;
mod pages;
mod receipt;
mod serve;

/// A shop whose receipts the portal has.
#[derive(Clone, Debug)]
pub struct Shop {
    /// The trader's name.
    pub trader: String,
    /// The trader's taxpayer number.
    pub tin: String,
    /// The serial number of the shop's fiscal device.
    pub serial: String,
    /// What the shop sells that a campaign wants, in the words of its receipts.
    pub items: Vec<ShopItem>,
}

/// Something a shop sells.
#[derive(Clone, Debug)]
pub struct ShopItem {
    /// The receipt's words for it.
    pub description: String,
    /// The price of one, with tax, in cents of a shilling.
    pub price_cents: i64,
}

/// How many look-ups one address gets before it is turned away.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    /// Look-ups that are answered.
    pub requests: usize,
    /// Within how long.
    pub within: Duration,
}

/// What the portal has and how it behaves.
#[derive(Clone)]
pub struct Options {
    /// Where it listens; port 0 is any free one.
    pub address: SocketAddr,
    /// The shops, by the two digits after a code's first four letters, counted from 01.
    pub shops: Vec<Shop>,
    /// The day that its receipts are of.
    pub today: Arc<dyn Fn() -> NaiveDate + Send + Sync>,
    /// When it turns an address away; `None` for never.
    pub throttle: Option<Throttle>,
    /// How long it keeps a caller waiting who asks for a receipt that hangs.
    pub hang_for: Duration,
}

impl Options {
    /// On any free port of this machine, turning away who asks more than eight times in ten seconds.
    pub fn new(shops: Vec<Shop>, today: impl Fn() -> NaiveDate + Send + Sync + 'static) -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            shops,
            today: Arc::new(today),
            throttle: Some(Throttle { requests: 8, within: Duration::from_secs(10) }),
            hang_for: Duration::from_secs(120),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("address", &self.address)
            .field("shops", &self.shops)
            .field("throttle", &self.throttle)
            .field("hang_for", &self.hang_for)
            .finish_non_exhaustive()
    }
}

/// A portal that is being served until it is dropped.
#[derive(Debug)]
pub struct TaxPortal {
    /// Where it is, such as `http://127.0.0.1:4040`.
    pub base_url: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl TaxPortal {
    /// Serves a portal.
    ///
    /// # Errors
    /// When it cannot listen at its address.
    pub async fn serve(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address).await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State { options, memory: Mutex::default() });
        let service = Router::new().fallback(serve::answer).with_state(Arc::clone(&state));
        let service = service.into_make_service_with_connect_info::<SocketAddr>();
        let task = tokio::spawn(async move {
            // It ends only with its task.
            let _ = axum::serve(listener, service).await;
        });
        Ok(Self { base_url, state, task })
    }

    /// How often a code was looked up, not counting look-ups that were refused or turned away.
    pub fn asked(&self, code: &str) -> u32 {
        self.state.memory().asked.get(&code.to_ascii_uppercase()).copied().unwrap_or(0)
    }
}

impl Drop for TaxPortal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug)]
struct State {
    options: Options,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    asked: HashMap<String, u32>,
    recent: HashMap<IpAddr, VecDeque<Instant>>,
}

impl State {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a look-up of a code, and says the how-manieth it is.
    fn count(&self, code: &str) -> u32 {
        let mut memory = self.memory();
        let asked = memory.asked.entry(code.to_owned()).or_default();
        *asked = asked.saturating_add(1);
        *asked
    }

    /// Whether this look-up is one too many for its address.
    fn is_too_quick(&self, address: IpAddr, now: Instant) -> bool {
        let Some(throttle) = self.options.throttle else { return false };
        let mut memory = self.memory();
        let recent = memory.recent.entry(address).or_default();
        recent.retain(|earlier| now.duration_since(*earlier) < throttle.within);
        if recent.len() >= throttle.requests {
            return true;
        }
        recent.push_back(now);
        false
    }
}
