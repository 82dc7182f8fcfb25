use std::time::Duration;

use common::app::job::EventContext;
use common::config::ConfigError;
use common::domain::{Campaign, Environment, Scope, Timestamp};
use common::error::StoreResult;
use common::store::campaigns::Campaigns;
use common::store::instant_plans::Plans;

/// Before the first day.
const NOTICE: Duration = Duration::from_hours(1);

pub(crate) struct PlanSweep {
    campaigns: Campaigns,
    plans: Plans,
}

impl PlanSweep {
    pub(crate) fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let (env, client) = (&context.env, &context.aws.dynamodb());
        Ok(Self {
            campaigns: Campaigns::from_env(env, client)?,
            plans: Plans::from_env(env, client)?,
        })
    }

    pub(crate) async fn not_armed(&self, now: Timestamp) -> StoreResult<u64> {
        let mut found = 0;
        for campaign in self.campaigns.list().await? {
            found += u64::from(self.is_late(campaign, now).await?);
        }
        Ok(found)
    }

    async fn is_late(&self, campaign: Campaign, now: Timestamp) -> StoreResult<bool> {
        if campaign.archived || campaign.instant_plan(Environment::Live).is_none() {
            return Ok(false);
        }
        let scope = Scope {
            campaign: campaign.slug,
            environment: Environment::Live,
        };
        let state = self.plans.state(&scope).await?;
        let Some(state) = state.filter(|state| state.round.is_none()) else {
            return Ok(false);
        };
        let stored = self.plans.get(&scope, state.plan).await?;
        let plan = stored.and_then(|stored| stored.plan().ok());
        Ok(plan.is_some_and(|plan| {
            let days = &plan.header().days;
            let begins = days
                .first()
                .is_some_and(|day| now >= day.start().before(NOTICE));
            begins && days.last().is_some_and(|day| now < day.end())
        }))
    }
}
