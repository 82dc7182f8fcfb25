//! Shares no code with the client, which would hide mistakes of both.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::routing::post;

use crate::simulator::Simulator;

pub mod cases;
mod serve;

pub const PATH: &str = "/redeem";

#[derive(Clone)]
pub struct PartnerOptions {
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

pub type SimulatedPartner = Simulator<PartnerOptions, Redemptions>;

#[derive(Default)]
pub struct Redemptions {
    owners: HashMap<String, String>,
    codes: Vec<String>,
}

impl SimulatedPartner {
    /// [`PATH`] is below its base URL.
    pub async fn serve(options: PartnerOptions) -> io::Result<Self> {
        Self::start(options, Router::new().route(PATH, post(serve::answer))).await
    }

    pub fn url(&self) -> String {
        format!("{}{PATH}", self.base_url)
    }

    pub fn redeemed(&self, reference: &str) -> u32 {
        self.redemptions().get(reference).copied().unwrap_or(0)
    }

    pub fn redemptions(&self) -> HashMap<String, u32> {
        let mut redemptions = HashMap::new();
        for owner in self.state.memory().owners.values() {
            *redemptions.entry(owner.clone()).or_default() += 1;
        }
        redemptions
    }

    pub fn codes(&self) -> Vec<String> {
        self.state.memory().codes.clone()
    }
}

impl Redemptions {
    /// False if another reference redeemed the code.
    fn redeem(&mut self, code: &str, reference: &str) -> bool {
        let owner = self.owners.entry(code.to_owned());
        owner.or_insert_with(|| reference.to_owned()) == reference
    }
}
