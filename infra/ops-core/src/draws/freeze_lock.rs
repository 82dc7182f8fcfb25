//! The lock of a scope's freezes. The newest freeze has it, so an interrupted one blocks no other.
//! It leads to the openings of a draw that is not recorded.

use common::domain::draw::FreezeLock;

use super::openings::busy;
use super::prelude::*;

/// Time for reading and asking, and again for uploading: longer than two uploads can take.
const FREEZE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const MAX_TRIES: u32 = 10;

/// # Errors
/// When a freeze can be running.
pub(crate) async fn check_released(tables: &Tables, scope: &Scope, now: Timestamp) -> Result<()> {
    match tables.draws.freeze_lock(scope).await? {
        Some(FreezeLock {
            draw,
            expires_at: Some(expires_at),
            ..
        }) if now < expires_at => {
            bail!(
                "draw_busy",
                "a freeze of the draw {draw} of {} can be running; run this again once it has ended, or, if it was interrupted, \
                 at {expires_at} or later",
                scope_in_words(scope)
            )
        }
        Some(_) | None => Ok(()),
    }
}

/// Begins a freeze, and gives up any other.
pub(super) async fn begin(
    tables: &Tables,
    scope: &Scope,
    draw: &DrawName,
    now: Timestamp,
) -> Result<FreezeLock> {
    let before = give_up_all(tables, scope).await?;
    let lock = FreezeLock {
        id: new_id(),
        draw: draw.clone(),
        expires_at: Some(now.after(FREEZE_TIMEOUT)),
        commitment: None,
    };
    let locks = tables.freeze_locks()?;
    if locks
        .change_freeze_lock(scope, before.as_ref(), &lock)
        .await?
    {
        Ok(lock)
    } else {
        Err(busy(draw))
    }
}

/// Notes where openings are uploaded. `None` if the freeze was given up.
pub(super) async fn begin_upload(
    tables: &Tables,
    scope: &Scope,
    lock: &FreezeLock,
    commitment: &str,
    now: Timestamp,
) -> Result<Option<FreezeLock>> {
    let uploading = FreezeLock {
        id: new_id(),
        expires_at: Some(now.after(FREEZE_TIMEOUT)),
        commitment: Some(commitment.to_owned()),
        ..lock.clone()
    };
    let locks = tables.freeze_locks()?;
    let is_ours = locks
        .change_freeze_lock(scope, Some(lock), &uploading)
        .await?;
    Ok(is_ours.then_some(uploading))
}

/// Gives up what is not recorded. Returns the released lock.
pub(super) async fn give_up_all(tables: &Tables, scope: &Scope) -> Result<Option<FreezeLock>> {
    for _ in 0..MAX_TRIES {
        match tables.draws.freeze_lock(scope).await? {
            Some(lock) if lock.expires_at.is_some() => {
                give_up(tables, scope, &lock).await?;
            }
            released => return Ok(released),
        }
    }
    bail!(
        "draw_busy",
        "freezes of other operators keep beginning; run this again"
    )
}

/// Gives up a freeze, which cannot be recorded any more, and deletes its openings.
pub(super) async fn give_up(tables: &Tables, scope: &Scope, lock: &FreezeLock) -> Result<()> {
    let locks = tables.freeze_locks()?;
    // The commitment stays until its openings are gone.
    let stopped = FreezeLock {
        id: new_id(),
        ..lock.clone()
    };
    let is_stopped = locks
        .change_freeze_lock(scope, Some(lock), &stopped)
        .await?;
    if let Some(commitment) = &lock.commitment {
        // It was recorded if the answer to that was lost.
        let recorded = tables.draws.get(scope, &lock.draw).await?;
        if recorded.is_none_or(|draw| draw.commitment != *commitment) {
            let files = DrawFiles::committed_to(tables, scope, &lock.draw, commitment)?;
            files.delete_openings(tables).await?;
        }
    }
    if is_stopped {
        let released = FreezeLock {
            expires_at: None,
            commitment: None,
            ..stopped.clone()
        };
        locks
            .change_freeze_lock(scope, Some(&stopped), &released)
            .await?;
    }
    Ok(())
}

fn new_id() -> String {
    hex::encode(random::bytes::<16>())
}
