//! A simulated receipt portal of the tax authority; [`cases::CASES`] has its behavior. It shares no
//! code with the portal's client, so that a mistake in one does not hide in the other.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use chrono::NaiveDate;
use tokio::time::Instant;

use crate::loopback::{Loopback, Server};

pub mod cases;
mod pages;
mod receipt;
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
    /// `None` for no limit.
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

pub struct TaxPortal {
    pub base_url: String,
    state: Arc<PortalState>,
    _server: Server,
}

struct PortalState {
    options: TaxPortalOptions,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    asked: HashMap<String, u32>,
    recent: VecDeque<Instant>,
}

impl TaxPortal {
    pub async fn serve(options: TaxPortalOptions) -> io::Result<Self> {
        let state = Arc::new(PortalState {
            options,
            memory: Mutex::default(),
        });
        let router = Router::new()
            .fallback(serve::answer)
            .with_state(Arc::clone(&state));
        let server = Loopback::bind(0).await?.serve(router);
        Ok(Self {
            base_url: server.url.clone(),
            state,
            _server: server,
        })
    }

    /// Counts neither refused nor throttled look-ups.
    pub fn asked(&self, code: &str) -> u32 {
        let memory = self.state.memory();
        let asked = memory.asked.get(&code.to_ascii_uppercase());
        asked.copied().unwrap_or(0)
    }
}

impl PortalState {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The look-up's number, from 1.
    fn count(&self, code: &str) -> u32 {
        let mut memory = self.memory();
        let asked = memory.asked.entry(code.to_owned()).or_default();
        *asked = asked.saturating_add(1);
        *asked
    }

    fn is_too_quick(&self, now: Instant) -> bool {
        let Some(throttle) = self.options.throttle else {
            return false;
        };
        let recent = &mut self.memory().recent;
        recent.retain(|earlier| now.duration_since(*earlier) < throttle.within);
        let is_too_quick = recent.len() >= throttle.requests;
        if !is_too_quick {
            recent.push_back(now);
        }
        is_too_quick
    }
}
