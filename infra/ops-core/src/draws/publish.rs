//! Publishes the commitment of a recorded draw.

use super::abandon::is_decided;
use super::prelude::*;

pub(super) async fn publish(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    files: &DrawFiles,
    folder: Option<NewFolder>,
) -> Result<()> {
    files.publish_text(HEADER, &draw.header).await?;
    files.publish_text(COMMITMENT, &draw.commitment).await?;
    if let Some(folder) = folder {
        folder.finish()?;
    }
    let (_, published_at) = published_in_time(tables, scope, draw, files).await?;
    let (draws, name) = (&tables.draws, &draw.name);
    draws.publish(scope, name, published_at).await?;
    Ok(())
}

/// The chain of the draw, and the time of publishing by the storage's clock.
///
/// # Errors
/// When it was not between the period's end and the round, by the chain's constants; when the draw
/// is abandoned; when another list was published under its name.
pub(super) async fn published_in_time(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    files: &DrawFiles,
) -> Result<(Chain, Timestamp)> {
    let chain = chain::of_draw(tables, draw)?;
    let published = files.published().await?;
    // The record could have been changed since.
    if draw.is_abandoned() || is_decided(tables, scope, draw, &published).await? {
        return Err(abandoned(draw));
    }
    // A person with the right to write the table could choose one of their records after the round.
    if files.has_rival(draw.round_at).await? {
        bail!(
            "evidence_differs",
            "another commitment was published under the name {} before the round, so the table of draws was changed without \
             `ops`: keep the evidence beside {}, and ask the administrator of the stack who did it; `ops draw abandon` gives \
             the draw up",
            draw.name,
            files.evidence_url()
        );
    }
    let times = [ENTRIES, HEADER, COMMITMENT].map(|name| published.get(name).copied());
    let published_at = times.into_iter().flatten().max();
    let period = super::header(draw)?.period;
    if published_at.is_some_and(|at| DateTime::from(at) <= period.to.to_utc()) {
        bail!(
            "draw_early",
            "the commitment of the draw {} was published before its period ended, so later entries are in no draw; \
             `ops draw abandon` gives the draw up",
            draw.name
        );
    }
    published_at
        .filter(|at| times.iter().all(Option::is_some) && *at < draw.round_at)
        .map(|at| (chain, at))
        .ok_or_else(|| published_late(draw))
}

pub(super) fn abandoned(draw: &Draw) -> Failure {
    failure!(
        "draw_abandoned",
        "the draw {} was abandoned by two people, so it has no winners, and its name is not used again; freeze the period \
         under another name. `ops draw abandon` finishes what was interrupted",
        draw.name
    )
}

pub(super) fn unpublished(draw: &Draw) -> Failure {
    failure!(
        "draw_unpublished",
        "the freeze of {} was interrupted before its commitment was published; run `ops draw freeze` for it again, which \
         finishes it",
        draw.name
    )
}

pub(super) fn published_late(draw: &Draw) -> Failure {
    failure!(
        "draw_late",
        "the commitment of the draw {} was not published before its round, so it proves nothing: the \
         winners could be known; freeze the period under another name",
        draw.name
    )
}
