//! The chain of draws: drand's quicknet, or the simulated one of a local stack.

use std::num::NonZeroU32;

use common::config;
use common::domain::retry::RetrySpeedup;
use common::upstream::http_client::Addresses;
use draw::beacon::Relays;
use reqwest::Url;

use super::prelude::*;

/// The reply of a relay's `/info`, for another chain than quicknet.
pub const CHAIN_VARIABLE: &str = "BEACON_CHAIN";
/// The relay in place of drand's public ones.
pub const RELAY_VARIABLE: &str = "BEACON_URL";

#[derive(Deserialize)]
struct ChainInfo {
    hash: Digest,
    public_key: String,
    /// In seconds since 1970.
    genesis_time: i64,
    /// In seconds.
    period: NonZeroU32,
}

/// The chain for new draws.
pub(crate) fn configured(env: &Env) -> Result<Chain> {
    let Some(info) = env.optional(CHAIN_VARIABLE) else {
        return Ok(Chain::quicknet());
    };
    let malformed = ConfigError::Malformed {
        variable: CHAIN_VARIABLE,
        expected: "what a relay of the chain answers to /info, or not set, for drand's quicknet",
    };
    let read = || {
        let info: ChainInfo = serde_json::from_str(&info).ok()?;
        Some((DateTime::from_timestamp_secs(info.genesis_time)?, info))
    };
    let (genesis, info) = read().ok_or(malformed)?;
    Chain::new(info.hash, &info.public_key, genesis, info.period)
        .map_err(|error| failure!("not_configured", "{CHAIN_VARIABLE}: {error}"))
}

/// `None` if it is neither quicknet nor the one for new draws.
pub(crate) fn known(env: &Env, hash: Digest) -> Result<Option<Chain>> {
    let mut known = [Chain::quicknet(), configured(env)?].into_iter();
    Ok(known.find(|chain| chain.hash() == hash))
}

/// The chain of a draw, whose record has to name the round of the header and the chain's time of it.
pub(crate) fn of_draw(tables: &Tables, draw: &Draw) -> Result<Chain> {
    let header = super::header(draw)?;
    let chain = known(&tables.env, header.chain)?.ok_or_else(|| {
        failure!(
            "chain_unknown",
            "the draw {} waits for a round of the chain {}, which is not known here; set {CHAIN_VARIABLE} to what a relay \
             of that chain answers to /info",
            draw.name,
            draw.chain
        )
    })?;
    let round_at = chain.time_of(header.round).map(Timestamp::from);
    if draw.round == header.round && round_at == Some(draw.round_at) {
        return Ok(chain);
    }
    bail!(
        "draw_differs",
        "the record of the draw {} has another round, or another time of it, than its header and the chain; nothing was \
         done. The table of draws was changed without `ops`: ask the administrator of the stack who changed it",
        draw.name
    )
}

/// The relay that is named, that of the environment, or drand's own.
pub(crate) fn relays(env: &Env, named: Option<Url>) -> Result<Relays> {
    let malformed = ConfigError::Malformed {
        variable: RELAY_VARIABLE,
        expected: "a URL",
    };
    let configured = env
        .optional(RELAY_VARIABLE)
        .map(|url| url.parse().map_err(|_| malformed))
        .transpose()?;
    Ok(match named.or(configured) {
        // A relay proves what it says, so it can be at any address.
        Some(url) => Relays::new(vec![url], Addresses::Any),
        None => Relays::public(),
    })
}

/// Rounds of drand's quicknet are never sped up.
pub(crate) fn speedup(env: &Env, chain: &Chain) -> Result<RetrySpeedup, ConfigError> {
    if chain.is_quicknet() {
        Ok(RetrySpeedup::default())
    } else {
        config::retry_speedup(env)
    }
}

pub(crate) fn described(hash: &str) -> String {
    if hash == Chain::quicknet().hash().to_string() {
        return format!("drand quicknet, {hash}");
    }
    format!(
        "{hash}, which is NOT drand's quicknet: the holder of its key knows the winners in advance, so it is for rehearsals \
         only"
    )
}

pub fn public_address(header: &Header) -> Option<String> {
    let relay = draw::beacon::PUBLIC_RELAYS
        .first()
        .filter(|_| header.chain == Chain::quicknet().hash())?;
    Some(format!("{relay}/{}/public/{}", header.chain, header.round))
}
