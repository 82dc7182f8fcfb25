//! Draws the winners of a frozen draw, once its round is there. Every run gives the same winners.

use std::time::Duration;

use beacon::{Chain, VerifiedRound};
use common::clock::Clock;
use common::config::{self, Env};
use common::domain::draw::contact::Contact;
use common::domain::draw::{Draw, DrawOutcome};
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use draw::{Committed, DrawResult, Evidence};
use reqwest::Url;
use serde_json::json;

use super::chain;
use super::contacts::{committed, read_result};
use super::files::{DrawFiles, ENTRIES, RESULT};
use super::freeze::{published_late, unpublished};
use super::winners::Winners;
use crate::audit::Action;
use crate::failure::Failure;
use crate::format::seconds;
use crate::tables::Tables;
use crate::terminal::{Progress, Terminal};

/// Relays are a few seconds late at most.
const RELAY_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two looks at the clock.
const TICK: Duration = Duration::from_secs(1);

/// Where the round comes from.
pub(crate) enum RoundSource {
    /// A relay; `None` for that of the environment or drand's own.
    Relay(Option<Url>),
    /// Pasted text: a signature, or a relay's whole reply.
    Pasted(String),
}

/// A draw with its winners.
pub(crate) struct RunReport {
    pub(crate) draw: Draw,
    pub(crate) contacts: Vec<Contact>,
    /// `result.json`.
    pub(crate) result: String,
}

/// Draws, or shows what was drawn before.
pub(crate) async fn run(
    tables: &Tables,
    env: &Env,
    scope: &Scope,
    draw: Draw,
    source: RoundSource,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<RunReport, Failure> {
    let files = DrawFiles::new(tables, env, scope, &draw.name, &draw.commitment)?;
    if draw.outcome.is_some() {
        let (_, result) = read_result(&committed(&files, &draw).await?, &files, &draw).await?;
        let contacts = tables.draws.contacts(scope, &draw.name).await?;
        return Ok(RunReport { draw, contacts, result });
    }
    if draw.published_at.is_none() && clock.now() < draw.round_at {
        return Err(unpublished(&draw));
    }
    if !draw.is_published_in_time() {
        return Err(published_late(&draw));
    }
    let chain = chain::of_draw(env, &draw)?;
    let round = match source {
        RoundSource::Pasted(text) => pasted(&chain, &draw, &text)?,
        RoundSource::Relay(relay) => fetch(env, &chain, &draw, relay, clock, terminal).await?,
    };
    let result = compute(&files, &draw, &round).await?;
    let json = serde_json::to_string(&result).map_err(|error| unreadable(&draw, &error))?;
    let now = clock.now();
    let details = json!({ "round": draw.round, "randomness": result.randomness });
    let row = Action::new("draw.run").in_scope(scope).on(&draw.name).with(details);
    tables.audit.append(row, now).await?;
    files.publish_text(RESULT, &json).await?;
    record(tables, env, scope, &draw, result, now).await?;
    let draw = super::find(tables, scope, &draw.name).await?;
    let contacts = tables.draws.contacts(scope, &draw.name).await?;
    Ok(RunReport { draw, contacts, result: json })
}

/// Records the winners, then that the draw is done. Places that an earlier run has filled stay as they are.
async fn record(
    tables: &Tables,
    env: &Env,
    scope: &Scope,
    draw: &Draw,
    result: DrawResult,
    now: Timestamp,
) -> Result<(), Failure> {
    let outcome = DrawOutcome {
        signature: result.signature.into(),
        randomness: result.randomness.to_string(),
        drawn_at: now,
        drawn_by: tables.audit.operator().await?,
    };
    let mut winners = Winners::open(tables, env, scope, draw, result).await?;
    winners.draw(now).await?;
    tables.draws.finish(scope, &draw.name, &outcome).await?;
    Ok(())
}

fn pasted(chain: &Chain, draw: &Draw, text: &str) -> Result<VerifiedRound, Failure> {
    chain.verify_pasted(draw.round, text).map_err(|error| {
        let message = format!(
            "what is given to --signature {error}; copy the signature of round {} of the chain {}",
            draw.round, draw.chain
        );
        Failure::new("signature_invalid", message)
    })
}

/// Waits for the round's time, and asks relays for it. It writes nothing, so Ctrl-C ends it at any time.
async fn fetch(
    env: &Env,
    chain: &Chain,
    draw: &Draw,
    relay: Option<Url>,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<VerifiedRound, Failure> {
    let relays = chain::relays(env, relay)?;
    let wait = draw.round_at.since(clock.now());
    if !wait.is_zero() {
        terminal.note(&format!(
            "round {} comes in {}; Ctrl-C stops waiting, and this can be run again at any time",
            draw.round,
            seconds(wait)
        ));
    }
    let mut progress = Progress::new(clock, "seconds waited:", wait.as_secs());
    while clock.now() < draw.round_at {
        clock.sleep(TICK.min(draw.round_at.since(clock.now()))).await;
        let left = draw.round_at.since(clock.now()).as_secs();
        progress.show(terminal, wait.as_secs().saturating_sub(left));
    }
    progress.end(terminal);
    let timeout = config::retry_speedup(env)?.apply(RELAY_TIMEOUT);
    let fetched = relays.fetch_within(timeout, chain, draw.round).await;
    fetched.map_err(|error| Failure::new("round_unavailable", format!("{error}, with --signature")))
}

/// Verifies the evidence on the way.
async fn compute(files: &DrawFiles, draw: &Draw, round: &VerifiedRound) -> Result<DrawResult, Failure> {
    let (mut entries, mut openings) = (files.read(ENTRIES).await?, files.read_openings().await?.0);
    let evidence = Evidence {
        entries: &mut entries,
        header: draw.header.as_bytes(),
        commitment: &draw.commitment,
        openings: Some(&mut openings),
    };
    let committed = Committed::read(evidence).map_err(|error| unreadable(draw, &error))?;
    committed.run(round.number(), round.signature()).map_err(|error| unreadable(draw, &error))
}

pub(super) fn unreadable(draw: &Draw, error: &dyn std::error::Error) -> Failure {
    let message = format!(
        "the evidence of the draw {} is not what it is committed to: {error}; nothing was done. Keep it, and ask the \
         administrator of the stack who changed it",
        draw.name
    );
    Failure::new("evidence_differs", message)
}
