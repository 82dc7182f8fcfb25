//! `ops draw verify`.

use draw::{Event, LoggedPlace, TierResult};

use crate::cli::VerifyArgs;
use crate::draws::chain;
use crate::draws::verify::{Verified, verify};
use crate::prelude::*;

const MAX_NAMED: usize = 10;

const FACTS: &Columns = &[
    ("entrants", "/rows"),
    ("entries", "/total"),
    ("from", "/period/from"),
    ("to", "/period/to"),
    ("published at", "/published"),
];

pub(super) fn run(args: &VerifyArgs, env: &Env) -> Result<Report> {
    let verified = verify(args, env)?;
    Ok(report(&verified, args.commitment.is_some()))
}

fn report(verified: &Verified, is_compared: bool) -> Report {
    let Verified {
        committed,
        result,
        log,
        chain,
        given_at,
    } = verified;
    let header = committed.header();
    let given_at = given_at
        .with_timezone(header.period.to.offset())
        .to_rfc3339();
    let compared = if is_compared {
        "it is the one that you copied"
    } else {
        "compare it with the one that was published before the round"
    };
    let commitment = committed.commitment();
    let tiers = result.tiers.iter();
    let tiers = tiers.map(
        |tier| json!({ "name": tier.name, "prizes": tier.prizes, "places": tier.order.len() }),
    );
    let json = json!({
        "holds": true,
        "campaign": header.campaign,
        "draw": header.draw,
        "rows": header.rows,
        "total": header.total,
        "period": header.period,
        "commitment": commitment.to_string(),
        "commitment_compared": is_compared,
        "published": log.as_ref().map(|log| log.published_at),
        "chain": chain.hash(),
        "is_quicknet": chain.is_quicknet(),
        "round": result.round,
        "round_at": given_at,
        "tiers": tiers.collect::<Vec<_>>(),
    });
    let mut pairs = facts(FACTS, &json, Tz::UTC);
    pairs.extend([
        (
            "commitment",
            format!("{}: {compared}", commitment.in_groups()),
        ),
        (
            "round",
            format!(
                "{} was given at {given_at}: your copy of the commitment has to be older",
                result.round
            ),
        ),
        ("chain", chain::described(&chain.hash().to_string())),
    ]);
    let mut text = format!(
        "HOLDS: {}, {}: the order follows from the entries, the header and the round\n{}",
        header.campaign,
        header.draw,
        lines(&pairs)
    );
    for tier in &result.tiers {
        let places = log
            .iter()
            .flat_map(|log| &log.places)
            .filter(|place| place.tier == tier.name);
        text += &format!("\n{}", tier_text(tier, &places.collect::<Vec<_>>()));
    }
    Report::new(json, text)
}

/// Winners by reference; without a log, by line of the list.
fn tier_text(tier: &TierResult, places: &[&LoggedPlace]) -> String {
    let title = format!("{}: {} to win", tier.name, tier.prizes);
    if places.is_empty() {
        let lines = tier.order.iter().take(MAX_NAMED);
        let lines = joined(lines.map(|place| place.row.saturating_add(1)));
        let more = if tier.order.len() > MAX_NAMED {
            ", …"
        } else {
            ""
        };
        return format!("{title}, in the order of these lines of entries.csv: {lines}{more}\n");
    }
    let row = |place: &&LoggedPlace| json!({ "place": place.place, "ref": place.reference, "state": happened(place) });
    let rows: Vec<_> = places.iter().map(row).collect();
    let columns = [("PLACE", "/place"), ("REF", "/ref"), ("STATE", "/state")];
    format!("{title}\n{}", table(&columns, &rows, Tz::UTC))
}

fn happened(place: &LoggedPlace) -> String {
    if let Some(skip) = place.skip() {
        let given = skip.reason.as_deref();
        let reason = SkipReason::ALL
            .into_iter()
            .find(|reason| Some(reason.as_str()) == given)
            .map_or("", SkipReason::in_words);
        return format!("passed over: {reason}");
    }
    let words = match place.steps.last().map(|step| step.is) {
        Some(Event::HandedOver) => "has the prize",
        Some(Event::Identified) => "showed an identity card",
        Some(Event::Reached) => "answered the call",
        Some(Event::NoAnswer) => "called without an answer",
        Some(Event::Drawn | Event::Skipped) | None => "drawn",
    };
    words.to_owned()
}
