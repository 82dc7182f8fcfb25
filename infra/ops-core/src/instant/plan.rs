//! Makes a plan: one commitment, recorded and published before its round.

use common::domain::campaign::PublishedPlan;
use common::domain::instant::{InstantRules, Plan, PlanState, StoredPlan};
use draw::beacon::Chain;

use super::header::{Chosen, Draft};
use crate::draws::chain;
use crate::draws::files::{COMMITMENT, HEADER, NewFolder};
use crate::draws::freeze::MIN_NOTICE;
use crate::draws::storage_time;
use crate::prelude::*;

/// A plan that breaks no rule.
pub(crate) struct DraftedPlan {
    scope: Scope,
    name: String,
    before: Option<PlanState>,
    pub(crate) plan: Plan,
    pub(crate) round_at: Timestamp,
}

/// Checks everything, and writes nothing.
pub(crate) async fn draft(
    tables: &Tables,
    campaign: &Campaign,
    scope: &Scope,
    at: Timestamp,
    now: Timestamp,
) -> Result<DraftedPlan> {
    let rules = campaign.instant.as_ref().ok_or_else(|| {
        failure!(
            "no_instant_prizes",
            "the campaign {} has no instant prizes; write `instant:` into its file and apply it",
            campaign.slug
        )
    })?;
    let before = tables.plans.state(scope).await?;
    before.as_ref().map_or(Ok(()), check_finished)?;
    let chain = chain::configured(&tables.env)?;
    let notice = chain::speedup(&tables.env, &chain)?.apply(MIN_NOTICE);
    // By both clocks: the storage's decides when it is armed.
    let soonest = storage_time(tables).await?.max(now).after(notice);
    if at < soonest {
        bail!(
            "round_too_near",
            "nothing was planned: the round has to come 10 minutes after the commitment is published, so give a time from {} \
             on with --at",
            local_time(soonest.after(Duration::from_secs(60)), campaign.timezone)
        );
    }
    let name = now.to_string();
    let secret = super::plan_secret(tables, scope, &name).await?;
    let (round, round_at) = round(&chain, at)?;
    let chosen = Chosen {
        scope: scope.clone(),
        secret: secret.digest(),
        chain: chain.hash(),
        round,
    };
    let plan = checked(campaign, rules, chosen, round_at, now)?;
    Ok(DraftedPlan {
        scope: scope.clone(),
        name,
        before,
        plan,
        round_at,
    })
}

fn round(chain: &Chain, at: Timestamp) -> Result<(NonZeroU64, Timestamp)> {
    let round = chain.first_round_from(at.into());
    let found = round.and_then(|round| Some((round, chain.time_of(round)?.into())));
    found.ok_or_else(|| {
        failure!(
            "round_unknown",
            "the beacon has no round at that time; give an earlier time with --at"
        )
    })
}

fn checked(
    campaign: &Campaign,
    rules: &InstantRules,
    chosen: Chosen,
    round_at: Timestamp,
    now: Timestamp,
) -> Result<Plan> {
    let draft = Draft::new(rules, campaign.timezone, chosen);
    let mut problems: Vec<_> = draft
        .problems(campaign.window, now)
        .iter()
        .map(|problem| format!("instant.{problem}"))
        .collect();
    let first = draft.header.days.first();
    if first.is_some_and(|day| day.start() <= round_at) {
        problems.push(format!(
            "--at is {}, and the round has to come before the first day begins, so give an earlier --at or a later day",
            local_time(round_at, campaign.timezone)
        ));
    }
    let plan = Plan::new(draft.header).map_err(|found| {
        found
            .into_iter()
            .map(|problem| problem.to_string())
            .collect::<Vec<_>>()
    });
    match plan {
        Ok(plan) if problems.is_empty() => Ok(plan),
        plan => {
            if problems.is_empty() {
                problems.extend(plan.err().unwrap_or_default());
            }
            bail!(
                "plan_invalid",
                "nothing was planned: {}; correct the campaign's file and apply it",
                problems.join("; ")
            )
        }
    }
}

/// A plan that gave prizes has to be revealed before another is made, or it never is.
fn check_finished(state: &PlanState) -> Result<()> {
    if state.open {
        bail!(
            "plan_open",
            "nothing was planned: a plan is open; `ops instant stop` stops it"
        );
    }
    if state.round.is_some() && state.revealed_at.is_none() {
        bail!(
            "plan_not_revealed",
            "nothing was planned: the plan before was armed, so its entrants wait for its proof; `ops instant reveal` ends it"
        );
    }
    Ok(())
}

impl DraftedPlan {
    /// Records the plan, publishes it, and writes its files.
    pub(crate) async fn publish(
        self,
        tables: &Tables,
        output: &Path,
        now: Timestamp,
    ) -> Result<()> {
        let Self {
            scope,
            name,
            before,
            plan,
            ..
        } = self;
        let folder = NewFolder::begin(output)?;
        let commitment = plan.commitment();
        folder.write(HEADER, plan.json().as_bytes())?;
        folder.write(COMMITMENT, commitment.to_string().as_bytes())?;
        let header = plan.header();
        let details = json!({
            "commitment": commitment,
            "chain": header.chain,
            "round": header.round,
            "prizes": header.prizes,
            "days": header.days.len(),
        });
        let action = Action::new("instant.plan")
            .in_scope(&scope)
            .on("instant prizes");
        tables.audit.append(action.with(details), now).await?;
        let stored = StoredPlan {
            commitment,
            name,
            header: plan.json().to_owned(),
            salts: random::bytes::<32>().into(),
            planned_at: now,
            planned_by: tables.audit.operator().await?,
        };
        let published = PublishedPlan {
            commitment,
            prizes: header.prizes.clone(),
        };
        let mark = tables.campaigns.record_plan(&scope, &published);
        let created = tables.plans.create(&scope, &stored, before.as_ref(), mark);
        if !created.await? {
            bail!(
                "plan_moved",
                "nothing was planned: another operator made or changed a plan at the same time; look at it with `ops instant show`"
            );
        }
        let files = super::files(tables, &scope, commitment)?;
        files.publish_text(HEADER, plan.json()).await?;
        files
            .publish_text(COMMITMENT, &commitment.to_string())
            .await?;
        folder.finish()
    }
}
