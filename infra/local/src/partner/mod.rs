//! A simulated partner that validates codes, for local use only. Its behavior depends on the code: see
//! [`cases::CASES`]. It shares no code with the client, so that a mistake in one does not hide in the other.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub mod cases;
mod serve;

pub const PATH: &str = "/redeem";

#[derive(Clone)]
pub struct PartnerOptions {
    /// The listening address; port 0 picks a free one.
    pub address: SocketAddr,
    /// The header and value that authenticate callers; `None` admits everyone.
    pub secret: Option<(String, String)>,
    /// Delay of a slow reply.
    pub slow_for: Duration,
    /// Delay after each byte of a dripping reply.
    pub drip_every: Duration,
}

impl PartnerOptions {
    /// Any free loopback port, without authentication.
    pub fn new() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            secret: None,
            slow_for: Duration::from_secs(20),
            drip_every: Duration::from_secs(1),
        }
    }
}

impl Default for PartnerOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PartnerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartnerOptions")
            .field("address", &self.address)
            .field("slow_for", &self.slow_for)
            .field("drip_every", &self.drip_every)
            .finish_non_exhaustive()
    }
}

/// A partner that serves until it is dropped.
#[derive(Debug)]
pub struct SimulatedPartner {
    /// Such as `http://127.0.0.1:4050`; codes are redeemed at [`PATH`] below it.
    pub base_url: String,
    state: Arc<PartnerState>,
    task: JoinHandle<()>,
}

impl SimulatedPartner {
    /// Starts a partner.
    ///
    /// # Errors
    /// If it cannot listen at its address.
    pub async fn serve(options: PartnerOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address).await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(PartnerState {
            options,
            memory: Mutex::default(),
        });
        let service = Router::new()
            .route(PATH, post(serve::answer))
            .with_state(Arc::clone(&state));
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

    /// The URL for redeeming codes.
    pub fn url(&self) -> String {
        format!("{}{PATH}", self.base_url)
    }

    /// The number of redemptions under a reference.
    pub fn redeemed(&self, reference: &str) -> u32 {
        self.state
            .memory()
            .redemptions
            .get(reference)
            .copied()
            .unwrap_or(0)
    }

    /// The number of redemptions by reference, without zeros.
    pub fn redemptions(&self) -> HashMap<String, u32> {
        self.state.memory().redemptions.clone()
    }

    /// The reference that redeemed a code.
    pub fn redeemed_by(&self, code: &str) -> Option<String> {
        self.state
            .memory()
            .owners
            .get(&cases::normal(code))
            .cloned()
    }

    /// The codes of all requests, in order and exactly as sent.
    pub fn codes(&self) -> Vec<String> {
        self.state.memory().codes.clone()
    }

    /// The number of requests under a reference, whatever the reply.
    pub fn asked(&self, reference: &str) -> u32 {
        self.state
            .memory()
            .asked
            .get(reference)
            .copied()
            .unwrap_or(0)
    }
}

impl Drop for SimulatedPartner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug)]
struct PartnerState {
    options: PartnerOptions,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// Requests by reference.
    asked: HashMap<String, u32>,
    /// The reference that redeemed each code.
    owners: HashMap<String, String>,
    redemptions: HashMap<String, u32>,
    /// The codes of all requests, as sent.
    codes: Vec<String>,
}

impl PartnerState {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request; returns its number under its reference, from 1.
    fn count(&self, reference: &str, code: &str) -> u32 {
        let mut memory = self.memory();
        memory.codes.push(code.to_owned());
        let asked = memory.asked.entry(reference.to_owned()).or_default();
        *asked = asked.saturating_add(1);
        *asked
    }

    /// Redeems a code unless another reference did; idempotent for one reference. Returns false if another one did.
    fn redeem(&self, code: &str, reference: &str) -> bool {
        let mut memory = self.memory();
        if let Some(owner) = memory.owners.get(code) {
            return owner == reference;
        }
        memory.owners.insert(code.to_owned(), reference.to_owned());
        let redemptions = memory.redemptions.entry(reference.to_owned()).or_default();
        *redemptions = redemptions.saturating_add(1);
        true
    }
}
