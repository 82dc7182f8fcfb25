//! Reopens a decision: with a reason, and by another person than the one who took it.

use common::domain::submission::correction::{Correction, NotCorrectable};
use common::domain::submission::{OperatorDecision, State};
use common::domain::timestamp::Timestamp;

use super::Reviewer;
use crate::audit::words;
use crate::corrections::{Corrected, correct, not_correctable};
use crate::failure::Failure;
use crate::submissions::one;
use crate::tables::Tables;

/// Lets a settled submission wait for an operator again; an accepted one is revoked before.
///
/// # Errors
/// When the reviewer took the decision, or the submission cannot be corrected.
pub async fn reopen(
    tables: &Tables,
    name: &str,
    reviewer: &Reviewer,
    why: &str,
    now: Timestamp,
) -> Result<Corrected, Failure> {
    let before = one(tables, name).await?;
    let is_own = |decision: &OperatorDecision| decision.is_by(&reviewer.identity, &reviewer.by);
    if before.status.is_terminal() && before.decision.as_ref().is_some_and(is_own) {
        let message = format!(
            "you decided {} yourself, so nothing was changed; ask a second person to reopen it, with their own AWS identity \
             and name",
            before.reference
        );
        return Err(Failure::new("second_person_needed", message));
    }
    // Before it is revoked.
    if before.status.is_terminal() && before.phone.is_none() {
        return Err(not_correctable(&before, NotCorrectable::Erased));
    }
    let why = words(why, "the reason")?;
    let decision = OperatorDecision {
        by: reviewer.by.clone(),
        at: now,
        why: Some(why),
        confirmed: None,
        identity: None,
    };
    let name = before.submission_id.to_string();
    if before.status.state() == State::Accepted {
        let revoked =
            correct(tables, &name, Correction::Revoke { free_code: false }, decision.clone()).await?;
        if let Corrected::Proposed { .. } = revoked {
            return Ok(revoked);
        }
    }
    correct(tables, &name, Correction::Reopen, decision).await
}
