//! The rule of two people for plans.

use common::domain::instant::{PlanAct, PlanRequest, PlanState};

use super::FoundPlan;
use crate::approvals::confirmed;
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
    let row = |is_proposal: bool| {
        let row = found.action(name, json!({ "proposal": is_proposal }));
        row.because(why)
    };
    let first = found.state.request.as_ref();
    let both = match first.filter(|first| first.act == act) {
        Some(PlanRequest {
            decision: first, ..
        }) => {
            let (row, at_stake) = (row(true), "it takes two people");
            Box::pin(confirmed(tables, &row, first, &decision, at_stake)).await?
        }
        None => None,
    };
    tables.audit.append(row(both.is_none()), now).await?;
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
