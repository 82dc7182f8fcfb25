//! Gives up a draw that has no winners. Two people agree on it, and it is published beside the
//! commitment, so that a second draw cannot go unseen.

use common::domain::draw::Draw;
use common::domain::scope::Scope;
use common::domain::submission::OperatorDecision;
use common::domain::timestamp::Timestamp;
use serde_json::json;

use super::files::{ABANDONED, DrawFiles};
use crate::audit::{Action, words};
use crate::failure::Failure;
use crate::tables::Tables;

/// Asks for it; as the second person, confirms and publishes it. Returns the draw after it.
pub(crate) async fn abandon(
    tables: &Tables,
    scope: &Scope,
    draw: Draw,
    why: &str,
    now: Timestamp,
) -> Result<Draw, Failure> {
    let why = words(why, "--why")?;
    if draw.outcome.is_some() || draw.contact_changes > 0 {
        return Err(has_winners(&draw));
    }
    let decision = OperatorDecision {
        by: tables.audit.operator_name().await?,
        at: now,
        why: Some(why.clone()),
        confirmed: None,
        identity: Some(tables.audit.identity().await?.to_owned()),
    };
    // After the round its winners can be computed, so both have to ask knowing the same.
    let is_outdated = |first: &OperatorDecision| first.at < draw.round_at && draw.round_at <= now;
    let decision = match &draw.abandonment {
        Some(first) if !draw.is_abandoned() && !is_outdated(first) => first
            .confirmed_by(&decision)
            .ok_or_else(|| second_needed(first))?,
        // Publishing was interrupted, if two people have agreed.
        Some(_) | None => decision,
    };
    let details = json!({ "proposal": decision.confirmed.is_none() });
    let action = Action::new("draw.abandon").in_scope(scope).on(&draw.name);
    let action = action.because(&why).with(details);
    tables.audit.append(action, now).await?;
    let draws = &tables.draws;
    let is_written = draws.abandon(scope, &draw.name, &decision).await?;
    let draw = super::find(tables, scope, &draw.name).await?;
    if let Some(both) = draw.abandonment.as_ref().filter(|_| draw.is_abandoned()) {
        let text = json!({
            "draw": draw.name,
            "commitment": draw.commitment,
            "abandoned_at": both.at.to_string(),
            "why": both.why,
            "by": both.by,
            "confirmed_by": both.confirmed.as_ref().map(|second| &second.by),
        });
        let files = DrawFiles::new(tables, scope, &draw.name, &draw.commitment)?;
        files.publish_text(ABANDONED, &text.to_string()).await?;
    } else if !is_written {
        return Err(has_winners(&draw));
    }
    Ok(draw)
}

fn has_winners(draw: &Draw) -> Failure {
    let message = format!(
        "the draw {} has winners, so it cannot be abandoned; `ops draw run` finishes a run that was interrupted",
        draw.name
    );
    Failure::new("draw_drawn", message)
}

fn second_needed(first: &OperatorDecision) -> Failure {
    let message = format!(
        "{} asked for it at {}; nothing happens until a second operator runs the same command, with their own AWS identity \
         and name",
        first.by, first.at
    );
    Failure::new("second_person_needed", message)
}
