use std::time::Duration;

use common::app::job::{JobError, JobOutcome};
use common::aws::event_queue::{NewEvent, QueuedEvent};
use common::domain::Timestamp;
use common::domain::webhook::{Delivery, DeliveryFailure, DeliveryStatus, Endpoint, Event};
use common::error::{Error, StoreResult};
use common::store::breakers::{BreakerPermit, Grant};
use common::store::webhook_endpoints::OpenedEndpoint;
use common::telemetry;
use common::upstream::webhook;

use tokio::time::timeout;

use crate::DeliverEvents;

/// Receivers should answer at once and work later.
const SLOW: Duration = Duration::from_secs(1);
/// Waiting deliveries that follow the first success at once; the sweep sends the others.
const RELEASED_AT_ONCE: usize = 20;

impl DeliverEvents {
    pub(crate) async fn try_new(
        &self,
        message: &QueuedEvent,
        new: &NewEvent,
        opened: &OpenedEndpoint,
    ) -> Result<JobOutcome, JobError> {
        let now = self.context.now();
        let waiting = new_delivery(message, new, now);
        let grant = self.acquire(&waiting, now).await?;
        // Slow answers would take all calls at a time: the sweep sends a few of them.
        let Some(grant) = grant.filter(|grant| !grant.is_slow()) else {
            return self.park(&waiting).await;
        };
        let tried = Delivery {
            attempts: 1,
            ..waiting
        };
        match self.send(opened, &tried.event()).await {
            Ok(()) => Ok(self.succeed(&opened.endpoint, grant).await),
            Err(failure) => {
                let failed = self.fail(opened, tried, failure, grant).await?;
                self.deliveries.keep(&failed).await?;
                Ok(self.finish_failed(&failed).await)
            }
        }
    }

    /// Its endpoint was stopped or its campaign archived after it was published.
    pub(crate) async fn hold(
        &self,
        message: &QueuedEvent,
        outcome: &'static str,
    ) -> Result<JobOutcome, JobError> {
        match &message.new {
            Some(new) => {
                let waiting = new_delivery(message, new, self.context.now());
                self.park(&waiting).await
            }
            None => Ok(outcome.into()),
        }
    }

    async fn park(&self, waiting: &Delivery) -> Result<JobOutcome, JobError> {
        self.deliveries.keep(waiting).await?;
        Ok(JobOutcome {
            outcome: "parked",
            metrics: vec![("WebhookParked", 1)],
        })
    }

    pub(crate) async fn try_again(
        &self,
        message: &QueuedEvent,
        opened: &OpenedEndpoint,
    ) -> Result<JobOutcome, JobError> {
        let now = self.context.now();
        let Some(read) = self.deliveries.get(&message.key()).await? else {
            return Ok("no_delivery".into());
        };
        if !read.is_due(now) {
            return Ok("not_due".into());
        }
        if read.is_over(now) {
            return self.give_up(read).await;
        }
        let grant = self.acquire(&read, now).await?;
        let is_let_through = |grant: &Grant| message.despite_slow || !grant.is_slow();
        // The record stays as it is, for the sweep.
        let Some(grant) = grant.filter(is_let_through) else {
            return Ok("still_parked".into());
        };
        let Some(leased) = self.deliveries.lease(&read, now).await? else {
            return Ok("claimed_by_another".into());
        };
        match self.send(opened, &leased.event()).await {
            Ok(()) => {
                let delivered = leased.clone().delivered();
                self.deliveries.replace(&leased, &delivered).await?;
                Ok(self.succeed(&opened.endpoint, grant).await)
            }
            Err(failure) => {
                let failed = self.fail(opened, leased.clone(), failure, grant).await?;
                self.deliveries.replace(&leased, &failed).await?;
                Ok(self.finish_failed(&failed).await)
            }
        }
    }

    async fn give_up(&self, over: Delivery) -> Result<JobOutcome, JobError> {
        let given_up = over.clone().given_up();
        if !self.deliveries.replace(&over, &given_up).await? {
            return Ok("claimed_by_another".into());
        }
        Ok(JobOutcome {
            outcome: "given_up",
            metrics: vec![("WebhookGivenUp", 1)],
        })
    }

    /// `None` while the endpoint's breaker is open. Waiting events are tried in their order.
    async fn acquire(&self, delivery: &Delivery, now: Timestamp) -> StoreResult<Option<Grant>> {
        let (breaker, subject) = (delivery.endpoint.as_str(), delivery.event.as_str());
        match self.breakers.acquire(breaker, subject, true, now).await? {
            BreakerPermit::Granted(grant) => Ok(Some(grant)),
            BreakerPermit::CircuitOpen { .. } => Ok(None),
        }
    }

    async fn send(&self, opened: &OpenedEndpoint, event: &Event) -> Result<(), DeliveryFailure> {
        let OpenedEndpoint { endpoint, secrets } = opened;
        let now = self.context.now();
        let sending = webhook::send(&self.client, endpoint, secrets, event, now);
        let mut sending = std::pin::pin!(sending);
        if let Ok(sent) = timeout(SLOW, &mut sending).await {
            return sent;
        }
        let id = &endpoint.endpoint;
        if let Err(error) = self.breakers.record_slow(id.as_str(), now).await {
            let error = telemetry::cause(&error);
            tracing::warn!(error, endpoint = %id, "a slow answer was not recorded");
        }
        sending.await
    }

    /// The event arrived; a failure here costs at most a later try of others.
    async fn succeed(&self, endpoint: &Endpoint, grant: Grant) -> JobOutcome {
        let (now, id) = (self.context.now(), &endpoint.endpoint);
        let recovers = grant.follows_failures() || endpoint.failing_since.is_some();
        let recording = async {
            self.breakers.record_success(id.as_str(), grant).await?;
            if endpoint.is_success_news(now) {
                self.endpoints.record_success(endpoint, now).await?;
                self.opened.set(id, now, None);
            }
            if recovers {
                self.release_waiting(endpoint, now).await?;
            }
            StoreResult::Ok(())
        };
        if let Err(error) = recording.await {
            let error = telemetry::cause(&error);
            tracing::warn!(error, endpoint = %id, "a delivery's success was not recorded");
        }
        JobOutcome {
            outcome: "delivered",
            metrics: vec![("WebhookDelivered", 1)],
        }
    }

    async fn release_waiting(&self, endpoint: &Endpoint, now: Timestamp) -> StoreResult<()> {
        let id = &endpoint.endpoint;
        let mut waiting = self.deliveries.due(id, now, RELEASED_AT_ONCE).await?;
        // Not after a short failure: one event that always fails would be tried without a wait.
        if endpoint.is_failing(now) {
            waiting.extend(self.deliveries.hasten(id, now, RELEASED_AT_ONCE).await?);
        }
        let again: Vec<_> = waiting.iter().map(QueuedEvent::again).collect();
        self.queue
            .publish(&again)
            .await
            .map_err(|unsent| unsent.error)
    }

    /// An error repeats the message, or leaves the try unfinished.
    async fn fail(
        &self,
        opened: &OpenedEndpoint,
        tried: Delivery,
        failure: DeliveryFailure,
        grant: Grant,
    ) -> Result<Delivery, Error> {
        let (now, endpoint) = (self.context.now(), &opened.endpoint);
        let id = &endpoint.endpoint;
        tracing::warn!(
            endpoint = %id,
            event = %tried.event,
            subject = %tried.submission_id,
            status = failure.status,
            reason = failure.reason,
            attempts = tried.attempts,
            "an event was not delivered"
        );
        self.breakers
            .record_failure(id.as_str(), grant, now)
            .await?;
        if self.endpoints.record_failure(endpoint, now).await? {
            self.opened.set(id, now, None);
        }
        if failure.is_gone() && self.endpoints.stop(endpoint, now).await? {
            self.opened.set(id, now, None);
            tracing::error!(endpoint = %id, "an endpoint answered 410 and was stopped");
        }
        Ok(tried.failed(endpoint, failure, self.retry()))
    }

    async fn finish_failed(&self, failed: &Delivery) -> JobOutcome {
        let now = self.context.now();
        let mut metrics = vec![("WebhookFailed", 1)];
        if failed.status == DeliveryStatus::GivenUp {
            let is_gone = failed
                .last_failure
                .as_ref()
                .is_some_and(DeliveryFailure::is_gone);
            metrics.push(if is_gone {
                ("WebhookStopped", 1)
            } else {
                ("WebhookGivenUp", 1)
            });
        }
        // The sweep makes up for a lost message, and sends later ones.
        let wait = failed.next_at.map(|next| next.since(now));
        if let Some(wait) = wait.filter(|wait| *wait <= SOON)
            && let Err(error) = self.queue.retry(failed, wait).await
        {
            let error = telemetry::cause(&error);
            tracing::warn!(error, event = %failed.event, "no message was sent");
        }
        JobOutcome {
            outcome: "not_delivered",
            metrics,
        }
    }
}

/// Longer waits are left to the sweep.
const SOON: Duration = Duration::from_mins(10);

fn new_delivery(message: &QueuedEvent, new: &NewEvent, now: Timestamp) -> Delivery {
    Delivery {
        scope: message.scope.clone(),
        endpoint: message.endpoint.clone(),
        event: message.event.clone(),
        r#type: new.r#type,
        timestamp: new.timestamp,
        submission_id: message.submission_id,
        revision: new.revision,
        body: new.body.clone(),
        attempts: 0,
        last_failure: None,
        next_at: Some(now),
        status: DeliveryStatus::Parked,
        created_at: now,
    }
}
