//! Arms a plan: its round is there, and with it all moments.

use common::domain::instant::{PlanRound, PlanState};

use super::FoundPlan;
use crate::draws::chain;
use crate::draws::freeze::MIN_NOTICE;
use crate::draws::run::{RoundSource, round};
use crate::draws::storage_time;
use crate::prelude::*;

/// Opens the plan too, unless two people have to start it. Returns the state after.
pub(crate) async fn arm(
    tables: &Tables,
    found: &FoundPlan,
    source: Option<RoundSource>,
    zone: Tz,
    now: Timestamp,
) -> Result<PlanState> {
    if found.state.round.is_some() {
        bail!(
            "plan_armed",
            "the plan was armed before; `ops instant show` says whether it is open"
        );
    }
    let chain = found.chain(&tables.env)?;
    let round_at = found.round_at(&chain)?;
    let at = storage_time(tables).await?;
    if at < round_at {
        bail!(
            "round_not_there",
            "round {} comes at {}; run this again then",
            found.plan.header().round,
            local_time(round_at, zone)
        );
    }
    let notice = chain::speedup(&tables.env, &chain)?.apply(MIN_NOTICE);
    let published_at = found.published_at(tables).await?;
    if published_at.is_none_or(|at| at.after(notice) > round_at) {
        bail!(
            "plan_late",
            "the plan was not published 10 minutes before its round, by the storage's clock, so it proves nothing: the moments \
             could be known; make another with `ops instant plan`"
        );
    }
    let number = found.plan.header().round;
    let verified = round(&tables.env, &chain, number, source).await?;
    let armed = PlanRound {
        signature: verified.signature(),
    };
    let opens = !found.state.follows_another;
    let details = json!({ "round": number, "randomness": armed.randomness(), "opens": opens });
    let row = found.action("instant.arm", details);
    tables.audit.append(row, now).await?;
    let state = PlanState {
        round: Some(armed),
        ..found.state.clone()
    };
    let after = if opens {
        state.turned(true, at, tables.audit.operator_in_full().await?)
    } else {
        state.next()
    };
    found.change(tables, &after).await?;
    Ok(after)
}
