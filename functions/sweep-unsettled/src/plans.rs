//! Live plans of instant prizes: counts those that are not armed, though their first day is near,
//! and logs each day of the armed ones after its end, so that its wins cannot be changed until the reveal.

use std::collections::HashMap;
use std::time::Duration;

use common::app::job::EventContext;
use common::aws::evidence::Evidence;
use common::config::ConfigError;
use common::domain::digest::Digest;
use common::domain::instant::{Plan, PlanState, StoredPlan};
use common::domain::{Campaign, Environment, Scope, Timestamp};
use common::error::{StoreError, StoreResult};
use common::lock::Mutex;
use common::store::campaigns::Campaigns;
use common::store::instant::Wins;
use common::store::instant_plans::Plans;

use crate::kept;

/// Before the first day.
const NOTICE: Duration = Duration::from_hours(1);
/// After a day, for entries that are being written.
const LOGGED_AFTER: Duration = Duration::from_mins(10);

pub(crate) struct PlanSweep {
    campaigns: Campaigns,
    plans: Plans,
    wins: Wins,
    evidence: Evidence,
    /// Armed plans, by commitment: nothing is asked about a day that is logged.
    known: Mutex<HashMap<Digest, ArmedPlan>>,
}

struct ArmedPlan {
    stored: StoredPlan,
    plan: Plan,
    /// Indices of days, ascending.
    not_logged: Vec<usize>,
}

impl PlanSweep {
    pub(crate) fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let (env, client) = (&context.env, &context.aws.dynamodb());
        Ok(Self {
            campaigns: Campaigns::from_env(env, client)?,
            plans: Plans::from_env(env, client)?,
            wins: Wins::from_env(env, client)?,
            evidence: Evidence::from_env(env, &context.aws)?,
            known: Mutex::default(),
        })
    }

    /// The number of plans that are not armed. A failure with one plan does not keep another's day
    /// from being logged.
    pub(crate) async fn sweep(
        &self,
        now: Timestamp,
        failures: &mut Vec<StoreError>,
    ) -> Option<u64> {
        let mut not_armed = 0;
        for campaign in kept(self.campaigns.list().await, failures)? {
            let swept = self.sweep_plan(campaign, now).await;
            not_armed += u64::from(kept(swept, failures).unwrap_or_default());
        }
        Some(not_armed)
    }

    /// True if it is not armed, though its first day is near.
    async fn sweep_plan(&self, campaign: Campaign, now: Timestamp) -> StoreResult<bool> {
        let Some(published) = campaign.instant_plan(Environment::Live) else {
            return Ok(false);
        };
        let is_logged = {
            let known = self.known.lock();
            let armed = known.get(&published.commitment);
            armed.is_some_and(ArmedPlan::is_logged)
        };
        if is_logged {
            return Ok(false);
        }
        let scope = Scope {
            campaign: campaign.slug,
            environment: Environment::Live,
        };
        let Some(state) = self.plans.state(&scope).await? else {
            return Ok(false);
        };
        if state.round.is_some() {
            self.log_days(&scope, &state, now).await?;
            return Ok(false);
        }
        let plan = self.read(&scope, state.plan).await?;
        Ok(plan.is_some_and(|(_, plan)| {
            let days = &plan.header().days;
            let begins = days
                .first()
                .is_some_and(|day| now >= day.start().before(NOTICE));
            !campaign.archived && begins && days.last().is_some_and(|day| now < day.end())
        }))
    }

    async fn read(
        &self,
        scope: &Scope,
        commitment: Digest,
    ) -> StoreResult<Option<(StoredPlan, Plan)>> {
        let stored = self.plans.get(scope, commitment).await?;
        let read = |stored: StoredPlan| {
            let plan = stored.plan();
            let plan = plan.map_err(|error| StoreError::new("reading a plan", error))?;
            Ok((stored, plan))
        };
        stored.map(read).transpose()
    }

    async fn log_days(&self, scope: &Scope, state: &PlanState, now: Timestamp) -> StoreResult<()> {
        let known = self.known.lock().remove(&state.plan);
        let mut armed = match known {
            Some(armed) => armed,
            None => match self.read(scope, state.plan).await? {
                Some((stored, plan)) => {
                    let logged = self.evidence.logged_days(scope, state.plan).await?;
                    let days = 0..plan.header().days.len();
                    ArmedPlan {
                        not_logged: days.filter(|day| !logged.contains(day)).collect(),
                        stored,
                        plan,
                    }
                }
                None => return Ok(()),
            },
        };
        // A day whose records cannot be read does not keep the next from being logged.
        let mut failure = None;
        for day in armed.due(now) {
            match self.log_day(scope, state, &armed, day).await {
                Ok(()) => armed.not_logged.retain(|one| *one != day),
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            // The bucket is asked again.
            Some(error) => Err(error),
            None => {
                self.known.lock().insert(state.plan, armed);
                Ok(())
            }
        }
    }

    async fn log_day(
        &self,
        scope: &Scope,
        state: &PlanState,
        armed: &ArmedPlan,
        index: usize,
    ) -> StoreResult<()> {
        let header = armed.plan.header();
        let (Some(first), Some(day)) = (header.days.first(), header.days.get(index)) else {
            return Ok(());
        };
        let wins = self.wins.list_accepted(scope, day.start()..day.end());
        let wins = wins.await?;
        let wins = wins.iter().filter(|win| win.is_by_moment());
        let wins = wins.filter_map(|win| {
            let reference = armed.stored.reference_digest(win.reference);
            let entrant = armed.stored.pseudonym(&win.entrant_id);
            Some((win.accepted_at, reference, entrant, win.moment?.prize))
        });
        let stops = state.stops(first.start(), Timestamp::MAX);
        if let Some(digest) = header.day_digest(index, wins, &stops) {
            let evidence = &self.evidence;
            let is_new = evidence.log_day(scope, state.plan, index, digest).await?;
            tracing::info!(%scope, day = index, %digest, is_new, "the wins of a day were logged");
        }
        Ok(())
    }
}

impl ArmedPlan {
    fn is_logged(&self) -> bool {
        self.not_logged.is_empty()
    }

    /// Days that ended and are to be logged.
    fn due(&self, now: Timestamp) -> Vec<usize> {
        let days = &self.plan.header().days;
        let ended = |index: usize| {
            days.get(index)
                .is_some_and(|day| day.end().after(LOGGED_AFTER) <= now)
        };
        let days = self.not_logged.iter().copied();
        days.filter(|index| ended(*index)).collect()
    }
}
