//! The plan never changes, and its state is as old as the campaign. An entry while nothing is open
//! reads and writes nothing for it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::aws::{Aws, moments_secret};
use crate::cache::{self, Cache};
use crate::config::{ConfigError, Env};
use crate::domain::instant::{Claim, DayMoments, PlanState, RefusedClaim, Schedule};
use crate::domain::{Campaign, Scope, Submission, Timestamp};
use crate::error::{StoreError, StoreResult};
use crate::lock::Mutex;
use crate::store::batch::{BatchGet, BatchItems};
use crate::store::submission_writes::{SettleResult, SubmissionStore};

const DERIVING: &str = "deriving winning moments";

pub struct WinningMoments {
    aws: Aws,
    store: SubmissionStore,
    states: Cache<Scope, Option<PlanState>>,
    plans: Mutex<HashMap<Scope, Arc<KnownPlan>>>,
}

struct KnownPlan {
    schedule: Schedule,
    moments: Mutex<Option<Arc<DayMoments>>>,
}

pub struct Claims<'a> {
    moments: &'a WinningMoments,
    scope: &'a Scope,
    may_win: bool,
    /// Returned by a refused claim.
    fresh: Option<PlanState>,
}

impl WinningMoments {
    pub fn from_env(env: &Env, aws: &Aws, store: &SubmissionStore) -> Result<Self, ConfigError> {
        env.required(moments_secret::VARIABLE)?;
        Ok(Self {
            aws: aws.clone(),
            store: store.clone(),
            states: Cache::default(),
            plans: Mutex::default(),
        })
    }

    /// Nothing for a campaign without a plan.
    pub fn add_to(&self, batch: &mut BatchGet, scope: &Scope, campaign: Option<&Campaign>) {
        if campaign.is_some_and(|campaign| has_plan(campaign, scope)) {
            self.store.plans().add_to(batch, scope);
        }
    }

    pub fn cache_prefetched(
        &self,
        items: &BatchItems,
        scope: &Scope,
        now: Timestamp,
    ) -> StoreResult<()> {
        if let Some(state) = self.store.plans().find_in(items, scope)? {
            self.states.set(scope, now, Some(state));
        }
        Ok(())
    }

    pub fn claims<'a>(&'a self, scope: &'a Scope, campaign: &Campaign) -> Claims<'a> {
        Claims {
            moments: self,
            scope,
            may_win: has_plan(campaign, scope),
            fresh: None,
        }
    }

    /// An acceptance without another prize wins if one is open. Returns the submission as written.
    pub async fn settle(
        &self,
        store: &SubmissionStore,
        before: &Submission,
        after: &Submission,
        wrong_code_in: Option<&Campaign>,
        mut claims: Claims<'_>,
        now: Timestamp,
    ) -> StoreResult<(SettleResult, Submission)> {
        loop {
            let claim = claims.next_for(after, now).await?;
            let after = won(after.clone(), claim.as_ref());
            let settling = store.settle_with(before, &after, wrong_code_in, claim.as_ref());
            match settling.await? {
                Ok(settled) => return Ok((settled, after)),
                Err(refused) => claims.refused(refused),
            }
        }
    }

    async fn read_state(&self, scope: &Scope, now: Timestamp) -> StoreResult<Option<PlanState>> {
        let state = self.store.plans().state(scope).await?;
        self.states.set(scope, now, Some(state.clone()));
        Ok(state)
    }

    async fn open_claim(
        &self,
        scope: &Scope,
        state: &PlanState,
        at: Timestamp,
    ) -> StoreResult<Option<Claim>> {
        if !state.open {
            return Ok(None);
        }
        let plan = self.plan(scope, state).await?;
        let claim = plan
            .moments_at(at)
            .and_then(|moments| plan.schedule.claim(&moments, at, &state.given));
        Ok(claim)
    }

    async fn plan(&self, scope: &Scope, state: &PlanState) -> StoreResult<Arc<KnownPlan>> {
        let known = self.plans.lock().get(scope).cloned();
        if let Some(known) = known.filter(|known| known.schedule.plan().commitment() == state.plan)
        {
            return Ok(known);
        }
        let failed = |cause: &'static str| StoreError::new(DERIVING, cause);
        let round = state
            .round
            .ok_or_else(|| failed("an open plan has no round"))?;
        let stored = self.store.plans().get(scope, state.plan).await?;
        let stored = stored.ok_or_else(|| failed("the plan that counts is not there"))?;
        let plan = stored
            .plan()
            .map_err(|cause| StoreError::new(DERIVING, cause))?;
        let secret = moments_secret::current(&self.aws).await?;
        let schedule = (plan.header().scope() == *scope)
            .then(|| secret.plan_secret(scope, &stored.name))
            .flatten()
            .and_then(|secret| Schedule::new(plan, &secret, round.randomness()));
        let known = Arc::new(KnownPlan {
            schedule: schedule.ok_or_else(|| failed("the plan was made with another secret"))?,
            moments: Mutex::default(),
        });
        let mut plans = self.plans.lock();
        plans.insert(scope.clone(), Arc::clone(&known));
        drop(plans);
        Ok(known)
    }
}

impl KnownPlan {
    fn moments_at(&self, at: Timestamp) -> Option<Arc<DayMoments>> {
        let day = self.schedule.day_at(at)?;
        let mut known = self.moments.lock();
        if let Some(moments) = known.as_ref().filter(|moments| moments.day() == day) {
            return Some(Arc::clone(moments));
        }
        let moments = Arc::new(self.schedule.moments_at(at)?);
        *known = Some(Arc::clone(&moments));
        drop(known);
        Some(moments)
    }
}

impl Claims<'_> {
    /// For a first acceptance without another prize. The state is read again before a claim: one
    /// that fails costs more. An error is never a loss: the entry is not written, and its retry
    /// decides anew.
    pub async fn next_for(
        &mut self,
        entry: &Submission,
        now: Timestamp,
    ) -> StoreResult<Option<Claim>> {
        let has_prize = entry.status.instant_win().is_some();
        if !self.may_win || has_prize || !entry.is_first_acceptance() {
            return Ok(None);
        }
        let (moments, scope, at) = (self.moments, self.scope, entry.updated_at);
        if self.fresh.is_none()
            && let Some(seen) = moments.states.peek(scope, now, cache::MAX_AGE)
        {
            let claim = match seen.as_ref() {
                Some(state) => moments.open_claim(scope, state, at).await?,
                None => None,
            };
            if claim.is_none() {
                return Ok(None);
            }
        }
        let state = match self.fresh.take() {
            Some(state) => Some(state),
            None => moments.read_state(scope, now).await?,
        };
        match state {
            Some(state) => moments.open_claim(scope, &state, at).await,
            None => Ok(None),
        }
    }

    pub fn refused(&mut self, refused: RefusedClaim) {
        match refused {
            RefusedClaim::Capped => self.may_win = false,
            RefusedClaim::Taken(state) => self.fresh = state.map(|state| *state),
        }
    }
}

#[must_use]
pub fn won(entry: Submission, claim: Option<&Claim>) -> Submission {
    match claim {
        Some(claim) => Submission {
            status: entry.status.clone().winning(claim.text.clone()),
            ..entry
        },
        None => entry,
    }
}

fn has_plan(campaign: &Campaign, scope: &Scope) -> bool {
    campaign.instant_plan(scope.environment).is_some()
}
