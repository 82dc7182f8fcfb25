//! A simulation of the tax authority's receipt portal, for local use only. Its behavior depends on the receipt code:
//! see [`cases::CASES`]. It shares no code with the portal's client, so that a mistake in one does not hide in the
//! other.

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
    pub trader: String,
    /// The trader's taxpayer number.
    pub tin: String,
    /// The serial number of the shop's fiscal device.
    pub serial: String,
    /// The shop's products that a campaign wants, as receipts name them.
    pub items: Vec<ShopItem>,
}

/// A product of a shop.
#[derive(Clone, Debug)]
pub struct ShopItem {
    /// As on receipts.
    pub description: String,
    /// Price of one, with tax, in cents of a shilling.
    pub price_cents: i64,
}

/// Rate limit for each client address.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    /// Look-ups answered within the period.
    pub requests: usize,
    /// The period.
    pub within: Duration,
}

#[derive(Clone)]
pub struct TaxPortalOptions {
    /// The listening address; port 0 picks a free one.
    pub address: SocketAddr,
    /// The shops, in the order of the two digits after a code's first four letters, from 01.
    pub shops: Vec<Shop>,
    /// The date on its receipts.
    pub today: Arc<dyn Fn() -> NaiveDate + Send + Sync>,
    /// `None` for no limit.
    pub throttle: Option<Throttle>,
    /// Delay before answering for a receipt that hangs.
    pub hang_for: Duration,
}

impl TaxPortalOptions {
    /// Any free loopback port, with a limit of eight look-ups in ten seconds.
    pub fn new(shops: Vec<Shop>, today: impl Fn() -> NaiveDate + Send + Sync + 'static) -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            shops,
            today: Arc::new(today),
            throttle: Some(Throttle {
                requests: 8,
                within: Duration::from_secs(10),
            }),
            hang_for: Duration::from_secs(120),
        }
    }
}

impl fmt::Debug for TaxPortalOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaxPortalOptions")
            .field("address", &self.address)
            .field("shops", &self.shops)
            .field("throttle", &self.throttle)
            .field("hang_for", &self.hang_for)
            .finish_non_exhaustive()
    }
}

/// A portal that serves until it is dropped.
#[derive(Debug)]
pub struct TaxPortal {
    /// Such as `http://127.0.0.1:4040`.
    pub base_url: String,
    state: Arc<PortalState>,
    task: JoinHandle<()>,
}

impl TaxPortal {
    /// Starts a portal.
    ///
    /// # Errors
    /// If it cannot listen at its address.
    pub async fn serve(options: TaxPortalOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address).await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(PortalState {
            options,
            memory: Mutex::default(),
        });
        let service = Router::new()
            .fallback(serve::answer)
            .with_state(Arc::clone(&state));
        let service = service.into_make_service_with_connect_info::<SocketAddr>();
        let task = tokio::spawn(async move {
            // Ends only when the task is aborted.
            let _ = axum::serve(listener, service).await;
        });
        Ok(Self {
            base_url,
            state,
            task,
        })
    }

    /// How often a code was looked up, not counting refused or throttled look-ups.
    pub fn asked(&self, code: &str) -> u32 {
        self.state
            .memory()
            .asked
            .get(&code.to_ascii_uppercase())
            .copied()
            .unwrap_or(0)
    }
}

impl Drop for TaxPortal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug)]
struct PortalState {
    options: TaxPortalOptions,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    asked: HashMap<String, u32>,
    recent: HashMap<IpAddr, VecDeque<Instant>>,
}

impl PortalState {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a look-up of a code and returns its number, from 1.
    fn count(&self, code: &str) -> u32 {
        let mut memory = self.memory();
        let asked = memory.asked.entry(code.to_owned()).or_default();
        *asked = asked.saturating_add(1);
        *asked
    }

    /// True if this look-up exceeds its address's limit.
    fn is_too_quick(&self, address: IpAddr, now: Instant) -> bool {
        let Some(throttle) = self.options.throttle else {
            return false;
        };
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
