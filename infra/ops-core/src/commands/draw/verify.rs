//! `ops draw verify`.

use common::config::Env;
use serde_json::json;

use crate::cli::VerifyArgs;
use crate::draws::chain;
use crate::draws::verify::{Trusted, Verified, verify};
use crate::failure::Failure;
use crate::format::{grouped, lines};
use crate::terminal::Report;

pub(super) fn run(args: &VerifyArgs, env: &Env) -> Result<Report, Failure> {
    let VerifyArgs { path, commitment, chain_key } = args;
    let trusted = Trusted { env, commitment: *commitment, chain_key: chain_key.as_deref() };
    let verified = verify(path, &trusted)?;
    Ok(report(&verified, commitment.is_some()))
}

fn report(verified: &Verified, is_compared: bool) -> Report {
    let Verified { committed, result, times, chain } = verified;
    let header = committed.header();
    let compared = if is_compared {
        "it is the one that you copied"
    } else {
        "compare it with the one that was published before the round"
    };
    let commitment = committed.commitment();
    let mut pairs = vec![
        ("entrants", grouped(header.rows.get())),
        ("entries", grouped(header.total.get())),
        ("period", format!("{} to {}", header.period.from.to_rfc3339(), header.period.to.to_rfc3339())),
        ("commitment", format!("{}: {compared}", commitment.in_groups())),
    ];
    pairs.extend(times.map(|times| ("published at", times.published_at.to_rfc3339())));
    pairs.push(("round", format!("{}, with the signature of the chain", result.round)));
    pairs.push(("chain", chain::described(&chain.hash())));
    let mut text = format!(
        "HOLDS: {}, {}: the order follows from the entries, the header and the round\n{}",
        header.campaign,
        header.draw,
        lines(&pairs)
    );
    for tier in &result.tiers {
        let rows: Vec<_> = tier.order.iter().take(10).map(|place| place.row.to_string()).collect();
        let (name, prizes, more) = (&tier.name, tier.prizes, if tier.order.len() > 10 { ", …" } else { "" });
        text.push_str(&format!("{name}: {prizes} of them, to the rows {}{more}\n", rows.join(", ")));
    }
    let tiers = result.tiers.iter();
    let tiers =
        tiers.map(|tier| json!({ "name": tier.name, "prizes": tier.prizes, "places": tier.order.len() }));
    let json = json!({
        "holds": true,
        "campaign": header.campaign,
        "draw": header.draw,
        "rows": header.rows,
        "total": header.total,
        "commitment": commitment.to_string(),
        "commitment_compared": is_compared,
        "chain": chain.hash(),
        "round": result.round,
        "tiers": tiers.collect::<Vec<_>>(),
    });
    Report::new(json, text)
}
