//! Instant prizes by winning moments: a plan is published before its round, and its secret after
//! its end. The computation is in `common::domain::instant`, the files in the crate `draw`.
//!
//! | what | where |
//! | --- | --- |
//! | the header out of a campaign file | `header` |
//! | publishing a plan, arming it | `plan`, `arm` |
//! | stopping and starting | `switch` |
//! | two people who ask for the same | `request` |
//! | publishing secret and entries | `reveal`, `rows` |
//! | verifying a folder, without a stack | `verify` |

pub(crate) mod arm;
pub(crate) mod header;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod reveal;
mod rows;
pub(crate) mod switch;
pub(crate) mod verify;

use common::aws::evidence::{DAYS, plans_folder};
use common::aws::{concurrently, moments_secret};
use common::domain::instant::{MomentsSecret, Plan, PlanSecret, PlanState, StoredPlan};
use draw::beacon::Chain;
use draw::{Digest, LoggedDay};

use crate::draws::chain;
use crate::draws::files::{COMMITMENT, DrawFiles, HEADER};
use crate::prelude::*;

pub(crate) const SECRET: &str = "secret.txt";
pub(crate) const ROWS: &str = "rows.csv";

/// The plan of a scope that counts.
pub(crate) struct FoundPlan {
    pub(crate) scope: Scope,
    pub(crate) state: PlanState,
    pub(crate) stored: StoredPlan,
    pub(crate) plan: Plan,
}

pub(crate) async fn find(tables: &Tables, scope: &Scope) -> Result<FoundPlan> {
    let state = tables.plans.state(scope).await?.ok_or_else(|| {
        failure!(
            "plan_unknown",
            "{} has no plan of instant prizes; `ops instant plan` makes one",
            scope_in_words(scope)
        )
    })?;
    let stored = tables.plans.get(scope, state.plan).await?;
    let stored = stored.ok_or_else(|| plan_differs(scope, &"it is missing"))?;
    let plan = stored.plan().map_err(|error| plan_differs(scope, &error))?;
    if plan.header().scope() != *scope {
        return Err(plan_differs(scope, &"it is of another campaign"));
    }
    Ok(FoundPlan {
        scope: scope.clone(),
        state,
        stored,
        plan,
    })
}

impl FoundPlan {
    pub(crate) fn files(&self, tables: &Tables) -> Result<DrawFiles> {
        files(tables, &self.scope, self.state.plan)
    }

    pub(crate) fn chain(&self, env: &Env) -> Result<Chain> {
        known_chain(env, &self.plan)
    }

    pub(crate) fn round_at(&self, chain: &Chain) -> Result<Timestamp> {
        let at = chain.time_of(self.plan.header().round);
        let at = at.map(Timestamp::from);
        at.ok_or_else(|| plan_differs(&self.scope, &"its round has no time"))
    }

    /// When both files were there, by the storage's clock; `None` if one is missing.
    pub(crate) async fn published_at(&self, tables: &Tables) -> Result<Option<Timestamp>> {
        let files = self.files(tables)?;
        let published = files.published().await?;
        let times = [HEADER, COMMITMENT].map(|name| published.get(name).copied());
        if times.iter().any(Option::is_none) {
            return Ok(None);
        }
        if files.read_text(HEADER).await? != self.stored.header {
            return Err(plan_differs(&self.scope, &"another header was published"));
        }
        Ok(times.into_iter().flatten().max())
    }

    /// Days whose wins were logged, in order, by the storage's clock.
    pub(crate) async fn logged_days(&self, tables: &Tables) -> Result<Vec<LoggedDay>> {
        let files = self.files(tables)?;
        let published = files.published().await?;
        let days = (0_u64..).zip(&self.plan.header().days);
        let logged = days.filter_map(|(day, of_plan)| {
            let name = format!("{DAYS}{day}");
            // What came before the day's end says nothing of it.
            let at = published.get(&name).filter(|at| **at >= of_plan.end())?;
            Some((name, day, u64::try_from(at.as_millis()).ok()?))
        });
        let read = logged.map(async |(name, day, logged_at)| {
            let text = files.read_text(&name).await?;
            // A file that is none says nothing: the day counts as not logged.
            let sha256 = text.parse().ok();
            Ok::<_, Failure>(sha256.map(|sha256| LoggedDay {
                day,
                sha256,
                logged_at,
            }))
        });
        Ok(concurrently(read).await?.into_iter().flatten().collect())
    }

    /// Writes the state that follows, unless an operator was faster.
    pub(crate) async fn change(&self, tables: &Tables, after: &PlanState) -> Result<()> {
        if tables.plans.change(&self.scope, &self.state, after).await? {
            return Ok(());
        }
        bail!(
            "plan_moved",
            "another operator changed the plan in the meantime; look at it with `ops instant show` and try again"
        )
    }

    pub(crate) fn action(&self, name: &'static str, details: Value) -> Action {
        let details = extended(details, [("commitment", json!(self.state.plan))]);
        Action::new(name)
            .in_scope(&self.scope)
            .on("instant prizes")
            .with(details)
    }

    pub(crate) fn check_not_revealed(&self) -> Result<()> {
        if self.state.rows.is_empty() {
            return Ok(());
        }
        bail!(
            "plan_revealed",
            "the secret of this plan may be published, so its moments are known, and it never gives a prize again; make a new \
             plan with `ops instant plan`"
        )
    }
}

fn files(tables: &Tables, scope: &Scope, commitment: Digest) -> Result<DrawFiles> {
    let folder = format!("{}{commitment}/", plans_folder(scope));
    Ok(DrawFiles::in_folder(tables, folder)?)
}

fn known_chain(env: &Env, plan: &Plan) -> Result<Chain> {
    let hash = plan.header().chain;
    chain::known(env, hash)?.ok_or_else(|| {
        failure!(
            "chain_unknown",
            "the plan names the chain {hash}, which is not drand's quicknet: the holder of its key knows its rounds in \
             advance. If you trust that person, set {} to what a relay of that chain answers to /info",
            chain::CHAIN_VARIABLE
        )
    })
}

async fn plan_secret(tables: &Tables, scope: &Scope, name: &str) -> Result<PlanSecret> {
    let secret: MomentsSecret =
        moments_secret::fetch(&tables.env, tables.audit.unguarded()).await?;
    secret.plan_secret(scope, name).ok_or_else(|| {
        failure!(
            "secret_unusable",
            "no secret can be derived for the plan; report this"
        )
    })
}

fn plan_differs(scope: &Scope, why: &dyn std::fmt::Display) -> Failure {
    failure!(
        "plan_differs",
        "the record of the plan of {} is not what it is committed to: {why}; nothing was done. The table `instant` or the \
         evidence was changed without `ops`: ask the administrator of the stack who changed it",
        scope_in_words(scope)
    )
}
