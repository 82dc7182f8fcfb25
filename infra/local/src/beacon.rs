//! Rounds of its own chain, in drand's format. The key is public.

use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use chrono::DateTime;
use common::clock::Clock;
use draw::beacon::SimulatedChain;
use serde_json::json;

use crate::loopback::{Loopback, Server};

/// A draw can continue after a restart.
const SEED: &[u8; 32] = b"the key of all simulated beacons";
/// 2026-01-01T00:00:00Z.
const GENESIS_SECONDS: i64 = 1_767_225_600;

struct Rounds {
    chain: SimulatedChain,
    clock: Clock,
}

/// Also returns the reply to its chain's `/info`.
pub async fn serve(clock: Clock) -> io::Result<(Server, String)> {
    let genesis = DateTime::from_timestamp_secs(GENESIS_SECONDS).unwrap_or_default();
    let rounds = Rounds {
        chain: SimulatedChain::new(SEED, genesis, NonZeroU32::MIN),
        clock,
    };
    let info = rounds.info();
    let router = Router::new()
        .route("/{chain}/info", get(info_of))
        .route("/{chain}/public/{round}", get(round_of))
        .with_state(Arc::new(rounds));
    Ok((Loopback::bind(0).await?.serve(router), info))
}

impl Rounds {
    fn info(&self) -> String {
        let chain = self.chain.chain();
        let info = json!({
            "public_key": chain.public_key(),
            "period": chain.period_seconds(),
            "genesis_time": chain.genesis().timestamp(),
            "hash": chain.hash(),
            "schemeID": "bls-unchained-g1-rfc9380",
        });
        info.to_string()
    }
}

async fn info_of(
    State(rounds): State<Arc<Rounds>>,
    Path(chain): Path<String>,
) -> Result<String, StatusCode> {
    if chain == rounds.chain.chain().hash().to_string() {
        Ok(rounds.info())
    } else {
        Err(StatusCode::NOT_FOUND)
    }
}

async fn round_of(
    State(rounds): State<Arc<Rounds>>,
    Path((chain, round)): Path<(String, NonZeroU64)>,
) -> Result<String, StatusCode> {
    let known = rounds.chain.chain();
    let at = known
        .time_of(round)
        .filter(|_| chain == known.hash().to_string())
        .ok_or(StatusCode::NOT_FOUND)?;
    if at > DateTime::from(rounds.clock.now()) {
        return Err(StatusCode::TOO_EARLY);
    }
    Ok(rounds.chain.reply(round))
}
