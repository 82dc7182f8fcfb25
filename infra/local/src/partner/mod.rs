//! A simulated partner that validates codes; [`cases::CASES`] has its behavior. It shares no code
//! with the client, so that a mistake in one does not hide in the other.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::routing::post;

use crate::loopback::{Loopback, Server};

pub mod cases;
mod serve;

pub const PATH: &str = "/redeem";

#[derive(Clone)]
pub struct PartnerOptions {
    /// Required header and value.
    pub secret: Option<(String, String)>,
    pub slow_for: Duration,
}

impl Default for PartnerOptions {
    fn default() -> Self {
        Self {
            secret: None,
            slow_for: Duration::from_secs(20),
        }
    }
}

pub struct SimulatedPartner {
    /// [`PATH`] is below it.
    pub base_url: String,
    state: Arc<PartnerState>,
    _server: Server,
}

struct PartnerState {
    options: PartnerOptions,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    asked: HashMap<String, u32>,
    owners: HashMap<String, String>,
    codes: Vec<String>,
}

impl SimulatedPartner {
    pub async fn serve(options: PartnerOptions) -> io::Result<Self> {
        let state = Arc::new(PartnerState {
            options,
            memory: Mutex::default(),
        });
        let router = Router::new()
            .route(PATH, post(serve::answer))
            .with_state(Arc::clone(&state));
        let server = Loopback::bind(0).await?.serve(router);
        Ok(Self {
            base_url: server.url.clone(),
            state,
            _server: server,
        })
    }

    pub fn url(&self) -> String {
        format!("{}{PATH}", self.base_url)
    }

    pub fn redeemed(&self, reference: &str) -> u32 {
        self.redemptions().get(reference).copied().unwrap_or(0)
    }

    /// Redemptions by reference, without zeros.
    pub fn redemptions(&self) -> HashMap<String, u32> {
        let mut redemptions = HashMap::new();
        for owner in self.state.memory().owners.values() {
            *redemptions.entry(owner.clone()).or_default() += 1;
        }
        redemptions
    }

    pub fn redeemed_by(&self, code: &str) -> Option<String> {
        let code = cases::normalize(code);
        self.state.memory().owners.get(&code).cloned()
    }

    pub fn codes(&self) -> Vec<String> {
        self.state.memory().codes.clone()
    }

    /// Requests under a reference, whatever the reply.
    pub fn asked(&self, reference: &str) -> u32 {
        let memory = self.state.memory();
        memory.asked.get(reference).copied().unwrap_or(0)
    }
}

impl PartnerState {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request's number under its reference, from 1.
    fn count(&self, reference: &str, code: &str) -> u32 {
        let mut memory = self.memory();
        memory.codes.push(code.to_owned());
        let asked = memory.asked.entry(reference.to_owned()).or_default();
        *asked = asked.saturating_add(1);
        *asked
    }

    /// False if another reference redeemed the code.
    fn redeem(&self, code: &str, reference: &str) -> bool {
        let mut memory = self.memory();
        let owner = memory.owners.entry(code.to_owned());
        owner.or_insert_with(|| reference.to_owned()) == reference
    }
}
