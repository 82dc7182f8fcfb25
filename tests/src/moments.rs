//! A plan of winning moments, published, armed and open, without its walk.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use common::aws::moments_secret;
use common::clock::Clock;
use common::config::Env;
use common::domain::campaign::PublishedPlan;
use common::domain::digest::Digest;
use common::domain::draw::Operator;
use common::domain::instant::{
    Algorithm, Caps, Day, Header, Plan, PlanRound, PlanState, Schedule, StoredPlan,
};
use common::domain::scope::{Environment, Scope};
use common::domain::timestamp::Timestamp;
use common::domain::win::Win;
use common::runtime::event_handler::EventHandler;
use sweep_unsettled::{SweepUnsettled, Tick};

use crate::campaign::TestCampaign;
use crate::service::{Service, Tables, connect};

pub const NO_CAPS: Caps = Caps {
    day: 1_000_000,
    total: 1_000_000,
};
const HOUR: Duration = Duration::from_hours(1);

#[derive(Clone)]
pub struct OpenPlan {
    service: Service,
    pub scope: Scope,
    pub schedule: Schedule,
}

/// What happens every minute.
pub async fn sweep(env: &Env, clock: &Clock) {
    let sweeper: SweepUnsettled = connect(env, clock, "sweep-unsettled");
    let swept = sweeper.handle(Tick::default()).await;
    swept.expect("it sweeps");
}

impl OpenPlan {
    /// All moments are due: its day was the hour before.
    pub async fn due(campaign: &TestCampaign, prizes: &[u32], caps: Caps) -> Self {
        let now = campaign.service.clock.now();
        Self::from_hour(
            campaign,
            now.before(HOUR + Duration::from_secs(1)),
            prizes,
            caps,
        )
        .await
    }

    /// A day of one hour from the next full second on, in the live environment.
    pub async fn from_hour(
        campaign: &TestCampaign,
        start: Timestamp,
        prizes: &[u32],
        caps: Caps,
    ) -> Self {
        Self::over(campaign, start, (HOUR, &[1]), prizes, caps).await
    }

    /// [`Self::from_hour`], with a day of whole seconds and its curve.
    pub async fn over(
        campaign: &TestCampaign,
        start: Timestamp,
        (span, curve): (Duration, &[u32]),
        prizes: &[u32],
        caps: Caps,
    ) -> Self {
        let (service, scope) = (&campaign.service, campaign.scope(Environment::Live));
        let secret = moments_secret::current(&service.aws()).await;
        let secret = secret
            .expect("the stack has it")
            .plan_secret(&scope, "test");
        let secret = secret.expect("32 bytes");
        let from = start.as_seconds() + 1;
        let header = Header {
            algorithm: Algorithm::V1,
            campaign: scope.campaign.clone(),
            caps,
            chain: Digest::from_parts(&[b"a chain"]),
            curves: BTreeMap::from([("curve".to_owned(), curve.to_vec())]),
            days: vec![Day {
                curve: "curve".to_owned(),
                from,
                prizes: prizes.to_vec(),
                to: from + i64::try_from(span.as_secs()).expect("short"),
            }],
            environment: scope.environment,
            prizes: (0..prizes.len()).map(|n| format!("Prize {n}")).collect(),
            round: NonZeroU64::MIN,
            secret: secret.digest(),
        };
        let plan = Plan::new(header).expect("no problem");
        let round = PlanRound {
            signature: [0; 48].into(),
        };
        let stored = StoredPlan {
            commitment: plan.commitment(),
            name: "test".to_owned(),
            header: plan.json().to_owned(),
            salts: [7; 32].into(),
            planned_at: start,
            planned_by: Operator {
                who: "asha".to_owned(),
                by: None,
            },
        };
        let published = PublishedPlan {
            commitment: plan.commitment(),
            prizes: plan.header().prizes.clone(),
        };
        let Tables {
            store, campaigns, ..
        } = &service.tables;
        let mark = campaigns.record_plan(&scope, &published);
        let created = store.plans().create(&scope, &stored, None, mark).await;
        assert!(created.expect("it answers"));
        let schedule = Schedule::new(plan, &secret, round.randomness()).expect("its secret");
        let plan = Self {
            service: service.clone(),
            scope,
            schedule,
        };
        plan.change(|state| {
            state.open = true;
            state.round = Some(round);
        })
        .await;
        plan
    }

    pub async fn state(&self) -> PlanState {
        let state = self.service.tables.store.plans().state(&self.scope).await;
        state.expect("it answers").expect("a state")
    }

    /// As an operator does.
    pub async fn change(&self, change: impl FnOnce(&mut PlanState)) {
        let before = self.state().await;
        let mut after = before.next();
        change(&mut after);
        let plans = self.service.tables.store.plans();
        let changed = plans.change(&self.scope, &before, &after).await;
        assert!(changed.expect("it answers"));
    }

    /// Prizes given, by prize.
    pub async fn given(&self) -> Vec<u32> {
        let mut given = self.state().await.given;
        given.truncate(self.schedule.plan().header().prizes.len());
        given
    }

    pub async fn wins(&self) -> Vec<Win> {
        let wins = self.service.tables.store.wins().list(&self.scope).await;
        wins.expect("it answers")
    }
}
