//! Reopens a decision, with a reason.

use common::domain::submission::OperatorDecision;
use common::domain::timestamp::Timestamp;

use super::Reviewer;
use crate::audit::words;
use crate::corrections::{self, Corrected};
use crate::failure::Failure;
use crate::tables::Tables;

/// The next step of having a submission decided again: an accepted one is revoked, a rejected one waits for an operator again.
///
/// # Errors
/// As [`corrections::correct`], or when no reason is given.
pub async fn reopen(
    tables: &Tables,
    name: &str,
    reviewer: &Reviewer,
    why: &str,
    now: Timestamp,
) -> Result<Corrected, Failure> {
    let decision = OperatorDecision {
        by: reviewer.by.clone(),
        at: now,
        why: Some(words(why, "the reason")?),
        confirmed: None,
        identity: None,
    };
    corrections::reopen(tables, name, decision).await
}
