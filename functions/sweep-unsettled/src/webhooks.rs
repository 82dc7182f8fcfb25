//! While an endpoint's breaker is open, the longest waiting event alone tries it; one that answers
//! slowly gets a few.

use std::time::Duration;

use common::app::job::EventContext;
use common::aws::event_queue::{EventQueue, QueuedEvent};
use common::config::{self, ConfigError};
use common::domain::Timestamp;
use common::domain::webhook::{Delivery, Endpoint, EndpointStatus};
use common::error::StoreResult;
use common::store::breakers::{BreakerState, Breakers};
use common::store::campaigns::Campaigns;
use common::store::webhook_deliveries::WebhookDeliveries;
use common::store::webhook_endpoints::WebhookEndpoints;

/// Messages in the queue after a sweep.
const MAX_MESSAGES: usize = 2_000;
const MAX_PER_ENDPOINT: usize = 500;
/// Also while the queue is full of others' events.
const MIN_PER_ENDPOINT: usize = 50;
/// Tries of ten seconds at most, a batch of ten every twelve seconds.
const MAX_PER_SLOW_ENDPOINT: usize = 50;
/// A minute passes between two sweeps.
const SPAN: Duration = Duration::from_secs(55);

pub(crate) struct WebhookSweep {
    endpoints: WebhookEndpoints,
    deliveries: WebhookDeliveries,
    campaigns: Campaigns,
    breakers: Breakers,
    queue: EventQueue,
    span: Duration,
}

#[derive(Default)]
pub(crate) struct SweptEndpoints {
    pub(crate) failing: u64,
    pub(crate) oldest_due: Duration,
    pub(crate) sent: usize,
    in_queue: Option<usize>,
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
            span: config::retry_speedup(env)?.apply(SPAN),
        })
    }

    /// One endpoint's fault does not stop the others; the first is returned.
    pub(crate) async fn sweep(&self, now: Timestamp) -> (SweptEndpoints, StoreResult<()>) {
        let mut swept = SweptEndpoints::default();
        let endpoints = match self.endpoints.list_all_readable().await {
            Ok(endpoints) => endpoints,
            Err(error) => return (swept, Err(error)),
        };
        let mut result = Ok(());
        for endpoint in endpoints {
            if endpoint.status == EndpointStatus::Active {
                let one = self.sweep_one(&endpoint, now, &mut swept).await;
                result = result.and(one);
            }
        }
        (swept, result)
    }

    async fn sweep_one(
        &self,
        endpoint: &Endpoint,
        now: Timestamp,
        swept: &mut SweptEndpoints,
    ) -> StoreResult<()> {
        let id = &endpoint.endpoint;
        let due = self.deliveries.due(id, now, MAX_PER_ENDPOINT).await?;
        let is_failing = endpoint.is_failing(now);
        if due.is_empty() && !is_failing {
            return Ok(());
        }
        let campaign = self.campaigns.get(&endpoint.scope.campaign).await?;
        if campaign.is_none_or(|campaign| campaign.archived) {
            return Ok(());
        }
        swept.failing += u64::from(is_failing);
        let since = due.first().and_then(|oldest| oldest.next_at);
        let oldest_due = since.map_or(Duration::ZERO, |since| now.since(since));
        swept.oldest_due = swept.oldest_due.max(oldest_due);
        let due = self.messages(endpoint, &due, now).await?;
        if due.is_empty() {
            return Ok(());
        }
        let in_queue = match swept.in_queue {
            Some(in_queue) => in_queue,
            None => self.queue.count_waiting().await?,
        };
        let room = MAX_MESSAGES.saturating_sub(in_queue);
        let due: Vec<_> = due.into_iter().take(room.max(MIN_PER_ENDPOINT)).collect();
        swept.in_queue = Some(in_queue + due.len());
        swept.sent += due.len();
        let sent = self.queue.publish_over(self.span, &due).await;
        sent.map_err(|unsent| unsent.error)
    }

    /// Those that are over ask nothing of the endpoint.
    async fn messages(
        &self,
        endpoint: &Endpoint,
        due: &[Delivery],
        now: Timestamp,
    ) -> StoreResult<Vec<QueuedEvent>> {
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let id = &endpoint.endpoint;
        let state = self.breakers.state(id.as_str(), now).await?;
        let limit = match state {
            BreakerState::Closed => MAX_PER_ENDPOINT,
            BreakerState::Slow => MAX_PER_SLOW_ENDPOINT,
            // A test or a late answer succeeded after it opened.
            BreakerState::OpenUntil(_) if endpoint.failing_since.is_none() => {
                self.breakers.close(id.as_str()).await?;
                MAX_PER_ENDPOINT
            }
            BreakerState::OpenUntil(until) if until <= now => 1,
            BreakerState::OpenUntil(_) => 0,
        };
        let message = |delivery: &Delivery| QueuedEvent {
            despite_slow: state == BreakerState::Slow,
            ..QueuedEvent::again(delivery)
        };
        let (over, due): (Vec<&Delivery>, Vec<_>) =
            due.iter().partition(|delivery| delivery.is_over(now));
        let sent = due.into_iter().take(limit).chain(over);
        Ok(sent.map(message).collect())
    }
}
