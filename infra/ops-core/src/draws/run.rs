//! Draws the winners of a frozen draw, at each run the same.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;

use common::config;
use common::domain::draw::DrawOutcome;
use draw::RoundSignature;
use draw::beacon::VerifiedRound;
use reqwest::Url;

use super::assign_winners::Drawing;
use super::prelude::*;

/// Relays are a few seconds late at most.
const RELAY_TIMEOUT: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_secs(1);

/// The source of the round, if it is not the usual relay.
#[derive(Clone, Debug)]
pub enum RoundSource {
    Relay(Url),
    /// A relay's reply.
    File(PathBuf),
    Reply(String),
}

impl From<OsString> for RoundSource {
    fn from(text: OsString) -> Self {
        let url = text.to_str().and_then(|text| text.parse::<Url>().ok());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        url.map_or_else(|| Self::File(text.into()), Self::Relay)
    }
}

/// Draws, unless it was done before. Returns `result.json`.
pub async fn run(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    source: Option<RoundSource>,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<String> {
    let files = DrawFiles::new(tables, scope, draw)?;
    if draw.outcome.is_some() {
        published_in_time(tables, scope, draw, &files).await?;
        let committed = files.committed(draw).await?;
        return Ok(recorded(tables, draw, &committed)?.1);
    }
    if draw.published_at.is_none() && clock.now() < draw.round_at {
        return Err(unpublished(draw));
    }
    if !draw.is_published_in_time() {
        return Err(published_late(draw));
    }
    let (chain, _) = published_in_time(tables, scope, draw, &files).await?;
    let zone = tables.zone(scope).await?;
    if !matches!(source, Some(RoundSource::File(_) | RoundSource::Reply(_))) {
        wait(draw, zone, clock, terminal).await;
    }
    let round = round(&tables.env, &chain, draw.round, source).await?;
    let committed = files.committed(draw).await?;
    let result = committed.run(round.number(), round.signature());
    let result = result.map_err(unreadable(draw))?;
    let json = serde_json::to_string(&result).map_err(unreadable(draw))?;
    // The signature proves that the round was given, also to a clock that is behind.
    let now = clock.now().max(draw.round_at);
    let details = json!({ "round": draw.round, "randomness": result.randomness });
    let row = Action::new("draw.run")
        .in_scope(scope)
        .on(&draw.name)
        .with(details);
    tables.audit.append(row, now).await?;
    if !files.offer_text(RESULT, &json).await? && files.read_text(RESULT).await? != json {
        terminal.note(&format!(
            "{}{RESULT} was written without `ops`, and is not what the round leads to; it changes nothing. Ask the \
             administrator of the stack who wrote it",
            files.evidence_url()
        ));
    }
    let outcome = DrawOutcome {
        signature: result.signature.into(),
        randomness: result.randomness.to_string(),
        drawn_at: now,
        drawn_by: tables.audit.operator().await?,
    };
    let drawing = Drawing {
        tables,
        scope,
        draw,
        committed,
        result,
    };
    // Places that an earlier run has filled stay.
    drawing.assign_winners(now).await?;
    if !tables.draws.finish(scope, &draw.name, &outcome).await? {
        let draw = super::find(tables, scope, &draw.name).await?;
        if draw.outcome.is_none() {
            return Err(abandoned(&draw));
        }
    }
    Ok(json)
}

/// The result of a drawn draw, and its JSON: computed from the recorded signature of its round. A
/// file of the evidence could have been there before.
pub(super) fn recorded(
    tables: &Tables,
    draw: &Draw,
    committed: &Committed,
) -> Result<(DrawResult, String)> {
    let forged = || {
        failure!(
            "draw_differs",
            "the record of the draw {} has a signature that is not of its round. The table of draws was changed without `ops`: \
             ask the administrator of the stack who changed it",
            draw.name
        )
    };
    let signature = draw.outcome.as_ref().map(|outcome| &outcome.signature);
    let signature: RoundSignature = signature
        .and_then(|hex| hex.parse().ok())
        .ok_or_else(forged)?;
    let round = chain::of_draw(tables, draw)?.verify(draw.round, signature);
    let round = round.map_err(|_| forged())?;
    let result = committed.run(round.number(), round.signature());
    let result = result.map_err(unreadable(draw))?;
    let json = serde_json::to_string(&result).map_err(unreadable(draw))?;
    Ok((result, json))
}

/// A verified round that was given already.
pub(crate) async fn round(
    env: &Env,
    chain: &Chain,
    number: NonZeroU64,
    source: Option<RoundSource>,
) -> Result<VerifiedRound> {
    let relay = match source {
        Some(RoundSource::File(path)) => {
            let reply = fs::read(&path).map_err(Failure::from_io(&path, "reading"))?;
            return verified(chain, number, &reply, &path.display());
        }
        Some(RoundSource::Reply(reply)) => {
            return verified(chain, number, reply.as_bytes(), &"the reply");
        }
        Some(RoundSource::Relay(relay)) => Some(relay),
        None => None,
    };
    let timeout = config::retry_speedup(env)?.apply(RELAY_TIMEOUT);
    let relays = chain::relays(env, relay)?;
    let fetched = relays.fetch_within(timeout, chain, number).await;
    fetched.map_err(|error| failure!("round_unavailable", "{error} (--beacon URL-OR-FILE)"))
}

fn verified(
    chain: &Chain,
    number: NonZeroU64,
    reply: &[u8],
    source: &dyn Display,
) -> Result<VerifiedRound> {
    chain.verify_reply(number, reply).map_err(|error| {
        failure!(
            "signature_invalid",
            "{source} {error}; take the whole reply of a relay, from its address {}/public/{number}",
            chain.hash()
        )
    })
}

/// Waits for the round. Writes nothing, so Ctrl-C can end it.
async fn wait(draw: &Draw, zone: Tz, clock: &Clock, terminal: &mut Terminal<'_>) {
    let mut shown = None;
    while clock.now() < draw.round_at {
        let left = draw.round_at.since(clock.now());
        let minutes = left.as_secs().div_ceil(60);
        if shown.replace(minutes) != Some(minutes) {
            let (round, time) = (draw.round, local_time(draw.round_at, zone));
            terminal.note(&format!(
                "round {round} at {time}, in {minutes} min; Ctrl-C stops waiting, and this can be run again at any time"
            ));
        }
        clock.sleep(TICK.min(left)).await;
    }
}
