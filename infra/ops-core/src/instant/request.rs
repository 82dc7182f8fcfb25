//! The rule of two people for plans.

use common::domain::instant::{PlanAct, PlanRequest, PlanState};

use super::FoundPlan;
use crate::draws::{is_proposal, logged};
use crate::prelude::*;

/// The decision of two people, or `None` after it was proposed. A row of the log comes first.
pub(crate) async fn agree(
    tables: &Tables,
    found: &FoundPlan,
    act: PlanAct,
    why: &str,
    now: Timestamp,
) -> Result<Option<OperatorDecision>> {
    let name = match act {
        PlanAct::Start => "instant.start",
        PlanAct::Reveal => "instant.reveal",
    };
    let decision = tables.audit.decision(why.to_owned(), now).await?;
    let first = found.state.request.as_ref();
    let first = first.filter(|first| first.act == act);
    let both = match first {
        Some(first) if is_logged(tables, found, name, &first.decision).await? => {
            let both = first.decision.confirmed_by(&decision);
            Some(both.ok_or_else(|| {
                failure!(
                    "second_person_needed",
                    "{} asked for it at {}; nothing happens until a second operator asks for the same, with their own AWS \
                     identity and name",
                    first.decision.by,
                    first.decision.at
                )
            })?)
        }
        Some(_) | None => None,
    };
    let row = found.action(name, json!({ "proposal": both.is_none() }));
    tables.audit.append(row.because(why), now).await?;
    if both.is_none() {
        let request = PlanRequest { act, decision };
        let after = PlanState {
            request: Some(request),
            ..found.state.next()
        };
        found.change(tables, &after).await?;
    }
    Ok(both)
}

/// True if the audit log has the request. A person with the right to write the record could have
/// made it up.
async fn is_logged(
    tables: &Tables,
    found: &FoundPlan,
    name: &str,
    first: &OperatorDecision,
) -> Result<bool> {
    let (since, commitment) = (found.stored.planned_at, found.state.plan.to_string());
    let rows = logged(tables, &found.scope, since, &commitment, name).await?;
    let is_theirs = |(row, details): &(AuditRow, Value)| {
        is_proposal(details)
            && row.at == first.at
            && Some(&row.entry.who) == first.identity.as_ref()
    };
    Ok(rows.iter().any(is_theirs))
}
