//! Reasons why nothing was frozen, in words.

use draw::FreezeError;

use crate::draws::prelude::*;

pub(super) fn already_frozen(draw: &Draw, zone: Tz) -> Failure {
    failure!(
        "draw_frozen",
        "the draw {} is frozen since {}, by {}, and a draw is frozen once; `ops draw show` shows it",
        draw.name,
        zoned_time(draw.frozen_at, zone),
        draw.frozen_by.name()
    )
}

pub(super) fn stopped() -> Failure {
    failure!(
        "interrupted",
        "the freeze was stopped; `ops draw show` tells whether the draw is recorded: if it is, run this again, which \
         finishes it"
    )
}

/// Another freeze or an erasure has taken the lock.
pub(super) fn given_up() -> Failure {
    failure!(
        "changed_meanwhile",
        "nothing was frozen: another freeze of the campaign began, or an entrant's data was erased, at the same time; run \
                   this again"
    )
}

pub(super) fn too_late() -> Failure {
    failure!(
        "round_too_far",
        "the time of the round is too late: the beacon has no such round; give an earlier one"
    )
}

pub(in crate::draws) fn not_frozen(error: impl Into<FreezeError>) -> Failure {
    let error = error.into();
    let code = match error {
        FreezeError::NoEntries => "period_without_entries",
        FreezeError::Header(_) => "draw_invalid",
        FreezeError::Opening(_) | FreezeError::RepeatedHash => "entries_invalid",
        FreezeError::Io(_) => "file_failed",
    };
    Failure::new(code, format!("nothing was frozen: {error}"))
}
