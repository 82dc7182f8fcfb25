//! Shares no code with the client, which would hide mistakes of both.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use axum::Router;
use chrono::NaiveDate;
use tokio::time::Instant;

use crate::simulator::{Simulator, SimulatorState};

pub mod cases;
mod pages;
pub(crate) mod receipt;
mod serve;

#[derive(Clone, Copy, Debug)]
pub struct Shop {
    pub trader: &'static str,
    pub tin: &'static str,
    pub serial: &'static str,
    /// Wanted products, with the price of one, with tax, in cents of a shilling.
    pub items: &'static [(&'static str, i64)],
}

#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    pub requests: usize,
    pub within: Duration,
}

pub struct TaxPortalOptions {
    /// A code's two digits are a shop's number, from 01.
    pub shops: &'static [Shop],
    pub today: Box<dyn Fn() -> NaiveDate + Send + Sync>,
    pub throttle: Option<Throttle>,
}

impl TaxPortalOptions {
    /// Limits to eight look-ups in ten seconds.
    pub fn new(
        shops: &'static [Shop],
        today: impl Fn() -> NaiveDate + Send + Sync + 'static,
    ) -> Self {
        Self {
            shops,
            today: Box::new(today),
            throttle: Some(Throttle {
                requests: 8,
                within: Duration::from_secs(10),
            }),
        }
    }
}

pub type TaxPortal = Simulator<TaxPortalOptions, RecentRequests>;
type PortalState = SimulatorState<TaxPortalOptions, RecentRequests>;

#[derive(Default)]
pub struct RecentRequests(VecDeque<Instant>);

impl TaxPortal {
    /// Neither refused nor throttled look-ups count as asked.
    pub async fn serve(options: TaxPortalOptions) -> io::Result<Self> {
        Self::start(options, Router::new().fallback(serve::answer)).await
    }
}

impl PortalState {
    fn is_too_quick(&self, now: Instant) -> bool {
        let Some(throttle) = self.options.throttle else {
            return false;
        };
        let RecentRequests(recent) = &mut *self.memory();
        recent.retain(|earlier| now.duration_since(*earlier) < throttle.within);
        let is_too_quick = recent.len() >= throttle.requests;
        if !is_too_quick {
            recent.push_back(now);
        }
        is_too_quick
    }
}
