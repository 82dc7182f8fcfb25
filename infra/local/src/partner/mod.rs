//! A stand-in for a partner that judges codes, for this machine only. What it answers is chosen by the
//! code that it is asked about: see [`cases::CASES`]. It shares nothing with the client that asks it, so
//! that a mistake in one shows in the other.

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

/// Where codes are redeemed.
pub const PATH: &str = "/redeem";

/// How the partner behaves.
#[derive(Clone)]
pub struct Options {
    /// Where it listens; port 0 is any free one.
    pub address: SocketAddr,
    /// The header and the value that prove who asks; anybody may when absent.
    pub secret: Option<(String, String)>,
    /// How long it takes over a code that it is slow with.
    pub slow_for: Duration,
    /// How long it waits after each byte of an answer that drips.
    pub drip_every: Duration,
}

impl Options {
    /// On any free port of this machine, open to anybody.
    pub fn new() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            secret: None,
            slow_for: Duration::from_secs(20),
            drip_every: Duration::from_secs(1),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("address", &self.address)
            .field("slow_for", &self.slow_for)
            .field("drip_every", &self.drip_every)
            .finish_non_exhaustive()
    }
}

/// A partner that is being served until it is dropped.
#[derive(Debug)]
pub struct SimulatedPartner {
    /// Where it is, such as `http://127.0.0.1:4050`; codes are redeemed at [`PATH`] below it.
    pub base_url: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl SimulatedPartner {
    /// Serves a partner.
    ///
    /// # Errors
    /// When it cannot listen at its address.
    pub async fn serve(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address).await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State { options, memory: Mutex::default() });
        let service = Router::new().route(PATH, post(serve::answer)).with_state(Arc::clone(&state));
        let task = tokio::spawn(async move {
            // It ends only with its task.
            let _ = axum::serve(listener, service).await;
        });
        Ok(Self { base_url, state, task })
    }

    /// Where codes are redeemed.
    pub fn url(&self) -> String {
        format!("{}{PATH}", self.base_url)
    }

    /// How many redemptions were made under a reference.
    pub fn redeemed(&self, reference: &str) -> u32 {
        self.state.memory().redemptions.get(reference).copied().unwrap_or(0)
    }

    /// How many redemptions were made, by reference; those without any are left out.
    pub fn redemptions(&self) -> HashMap<String, u32> {
        self.state.memory().redemptions.clone()
    }

    /// The reference under which a code was redeemed.
    pub fn redeemed_by(&self, code: &str) -> Option<String> {
        self.state.memory().owners.get(&cases::normal(code)).cloned()
    }

    /// The codes that the partner was asked about, in order and exactly as they came.
    pub fn codes(&self) -> Vec<String> {
        self.state.memory().codes.clone()
    }

    /// How often a question came under a reference, whatever was answered.
    pub fn asked(&self, reference: &str) -> u32 {
        self.state.memory().asked.get(reference).copied().unwrap_or(0)
    }
}

impl Drop for SimulatedPartner {
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
    /// How often was asked, by reference.
    asked: HashMap<String, u32>,
    /// Who redeemed each code: its reference.
    owners: HashMap<String, String>,
    /// Redemptions by reference.
    redemptions: HashMap<String, u32>,
    /// The codes of all questions, as they came.
    codes: Vec<String>,
}

impl State {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a question, and says the how-manieth it is under its reference.
    fn count(&self, reference: &str, code: &str) -> u32 {
        let mut memory = self.memory();
        memory.codes.push(code.to_owned());
        let asked = memory.asked.entry(reference.to_owned()).or_default();
        *asked = asked.saturating_add(1);
        *asked
    }

    /// Redeems a code, unless another reference did. Twice under one reference is once.
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
