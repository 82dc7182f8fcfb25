//! Publishes the commitment of a recorded draw.

use common::domain::draw::Draw;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;

use super::chain;
use super::files::{COMMITMENT, DrawFiles, HEADER, NewFolder};
use crate::failure::Failure;
use crate::tables::Tables;

pub(super) async fn publish(
    tables: &Tables,
    scope: &Scope,
    draw: Draw,
    files: &DrawFiles,
    folder: Option<NewFolder>,
) -> Result<Draw, Failure> {
    files.publish_text(HEADER, &draw.header).await?;
    files.publish_text(COMMITMENT, &draw.commitment).await?;
    if let Some(folder) = folder {
        folder.finish()?;
    }
    let published_at = published_in_time(tables, &draw, files).await?;
    tables
        .draws
        .publish(scope, &draw.name, published_at)
        .await?;
    Ok(Draw {
        published_at: Some(published_at),
        ..draw
    })
}

/// The time of publishing, by the storage's clock.
///
/// # Errors
/// When it was not before the round, by the chain's constants.
pub(super) async fn published_in_time(
    tables: &Tables,
    draw: &Draw,
    files: &DrawFiles,
) -> Result<Timestamp, Failure> {
    chain::of_draw(tables, draw)?;
    let published_at = files.published_at().await?;
    if published_at < draw.round_at {
        Ok(published_at)
    } else {
        Err(published_late(draw))
    }
}

pub(super) fn unpublished(draw: &Draw) -> Failure {
    let message = format!(
        "the freeze of {} was interrupted before its commitment was published; run `ops draw freeze` for it again, which \
         finishes it",
        draw.name
    );
    Failure::new("draw_unpublished", message)
}

pub(super) fn published_late(draw: &Draw) -> Failure {
    let message = format!(
        "the commitment of the draw {} was not published before its round, so it proves nothing: the \
         winners could be known; freeze the period under another name",
        draw.name
    );
    Failure::new("draw_late", message)
}
