//! Sends messages for deliveries whose time has come, endpoint by endpoint. While an endpoint's
//! breaker is open, the longest waiting event alone tries it.

use common::app::job::EventContext;
use common::aws::event_queue::{EventQueue, QueuedEvent};
use common::config::ConfigError;
use common::domain::Timestamp;
use common::domain::webhook::{Endpoint, EndpointStatus};
use common::error::StoreResult;
use common::store::breakers::{BreakerState, Breakers};
use common::store::campaigns::Campaigns;
use common::store::webhook_deliveries::WebhookDeliveries;
use common::store::webhook_endpoints::WebhookEndpoints;

/// Messages in the queue after a sweep.
const MAX_MESSAGES: usize = 2_000;
const MAX_PER_ENDPOINT: usize = 500;

pub(crate) struct WebhookSweep {
    endpoints: WebhookEndpoints,
    deliveries: WebhookDeliveries,
    campaigns: Campaigns,
    breakers: Breakers,
    queue: EventQueue,
}

#[derive(Default)]
pub(crate) struct SweptEndpoints {
    pub(crate) failing: u64,
    pub(crate) sent: usize,
}

impl WebhookSweep {
    pub(crate) fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let (env, aws) = (&context.env, &context.aws);
        Ok(Self {
            endpoints: WebhookEndpoints::from_env(env, aws)?,
            deliveries: WebhookDeliveries::from_env(env, &aws.dynamodb())?,
            campaigns: Campaigns::from_env(env, &aws.dynamodb())?,
            breakers: Breakers::for_endpoints(env, &aws.dynamodb())?,
            queue: EventQueue::from_env(env, aws)?,
        })
    }

    pub(crate) async fn sweep(&self, now: Timestamp) -> StoreResult<SweptEndpoints> {
        let mut swept = SweptEndpoints::default();
        let mut waiting = None;
        for endpoint in self.endpoints.list_all().await? {
            if endpoint.status != EndpointStatus::Active {
                continue;
            }
            let due = self.due(&endpoint, now).await?;
            let is_failing = endpoint.is_failing(now);
            if due.is_empty() && !is_failing {
                continue;
            }
            let campaign = self.campaigns.get(&endpoint.scope.campaign).await?;
            if campaign.is_none_or(|campaign| campaign.archived) {
                continue;
            }
            swept.failing += u64::from(is_failing);
            if due.is_empty() {
                continue;
            }
            let in_queue = match waiting {
                Some(in_queue) => in_queue,
                None => self.queue.count_waiting().await?,
            };
            let room = MAX_MESSAGES.saturating_sub(in_queue);
            let due: Vec<_> = due.into_iter().take(room).collect();
            waiting = Some(in_queue + due.len());
            swept.sent += due.len();
            self.queue
                .publish(&due)
                .await
                .map_err(|unsent| unsent.error)?;
        }
        Ok(swept)
    }

    async fn due(&self, endpoint: &Endpoint, now: Timestamp) -> StoreResult<Vec<QueuedEvent>> {
        let id = &endpoint.endpoint;
        // Only a failing endpoint can have an open breaker.
        let breaker = match endpoint.failing_since {
            Some(_) => self.breakers.state(id.as_str()).await?,
            None => BreakerState::Closed,
        };
        let limit = match breaker {
            BreakerState::Closed => MAX_PER_ENDPOINT,
            BreakerState::OpenUntil(until) if until <= now => 1,
            BreakerState::OpenUntil(_) => return Ok(Vec::new()),
        };
        let due = self.deliveries.due(id, now, limit).await?;
        Ok(due.iter().map(QueuedEvent::again).collect())
    }
}
