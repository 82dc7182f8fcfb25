//! Stops a plan at once, and starts it again.

use common::domain::instant::{PlanAct, PlanState};

use super::{FoundPlan, find, request};
use crate::draws::storage_time;
use crate::prelude::*;

/// One person stops it, whatever other operators do meanwhile.
pub(crate) async fn stop(
    tables: &Tables,
    scope: &Scope,
    why: &str,
    now: Timestamp,
) -> Result<PlanState> {
    let why = validate_reason(why, "the reason")?;
    let mut found = find(tables, scope).await?;
    let row = found.action("instant.stop", json!({})).because(&why);
    tables.audit.append(row, now).await?;
    let by = tables.audit.operator_in_full().await?;
    while found.state.open {
        let at = storage_time(tables).await?;
        let after = found.state.turned(false, at, by.clone());
        if tables.plans.change(scope, &found.state, &after).await? {
            return Ok(after);
        }
        found = find(tables, scope).await?;
    }
    Ok(found.state)
}

/// `None` while a second person has to ask for it.
pub(crate) async fn start(
    tables: &Tables,
    found: &FoundPlan,
    why: &str,
    now: Timestamp,
) -> Result<Option<PlanState>> {
    let why = validate_reason(why, "the reason")?;
    found.check_not_revealed()?;
    if found.state.round.is_none() {
        bail!(
            "plan_not_armed",
            "the plan has no round yet; `ops instant arm` opens it once its round is there"
        );
    }
    if found.state.open {
        return Ok(Some(found.state.clone()));
    }
    // A plan in place of another, which entrants know.
    let is_first = found.state.changes.is_empty();
    if found.state.follows_another && is_first {
        let agreed = request::agree(tables, found, PlanAct::Start, &why, now).await?;
        if agreed.is_none() {
            return Ok(None);
        }
    } else {
        let row = found.action("instant.start", json!({})).because(&why);
        tables.audit.append(row, now).await?;
    }
    let by = tables.audit.operator_in_full().await?;
    let after = found.state.turned(true, storage_time(tables).await?, by);
    found.change(tables, &after).await?;
    Ok(Some(after))
}
