//! Delivers events to the endpoints of webhooks. After a failure, the delivery is recorded, and
//! later messages only name it. A crash repeats the message: an event can arrive twice, under the
//! same id.

mod tries;

use std::sync::Arc;

use common::app::job::{EventContext, Job, JobError, JobOutcome};
use common::aws::StartSecret;
use common::aws::event_queue::{EventQueue, QueuedEvent};
use common::cache::{self, Cache};
use common::config::{self, ConfigError};
use common::domain::webhook::{EndpointId, EndpointStatus};
use common::domain::{CampaignSlug, RetryContext, RetrySpeedup};
use common::error::{Error, StoreError};
use common::random;
use common::runtime::event_handler::EventHandler;
use common::runtime::sqs_batch::{SqsBatchResponse, SqsEvent, SqsMessage};
use common::store::breakers::Breakers;
use common::store::campaigns::Campaigns;
use common::store::webhook_deliveries::WebhookDeliveries;
use common::store::webhook_endpoints::{OpenedEndpoint, WebhookEndpoints};
use common::upstream::http_client::{Addresses, HttpClient};
use common::upstream::webhook;
use futures_util::future::join_all;

pub struct DeliverEvents {
    context: EventContext,
    endpoints: WebhookEndpoints,
    deliveries: WebhookDeliveries,
    campaigns: Campaigns,
    breakers: Breakers,
    queue: EventQueue,
    client: HttpClient,
    speedup: RetrySpeedup,
    opened: Cache<EndpointId, OpenedEndpoint>,
    archived: Cache<CampaignSlug, bool>,
}

impl EventHandler for DeliverEvents {
    type Event = SqsEvent;
    type Reply = SqsBatchResponse;
    const SECRETS: &[StartSecret] = &[StartSecret::Deployment];

    fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let EventContext { env, aws, .. } = context;
        Ok(Self {
            endpoints: WebhookEndpoints::from_env(env, aws)?,
            deliveries: WebhookDeliveries::from_env(env, &aws.dynamodb())?,
            campaigns: Campaigns::from_env(env, &aws.dynamodb())?,
            breakers: Breakers::for_endpoints(env, &aws.dynamodb())?,
            queue: EventQueue::from_env(env, aws)?,
            client: webhook::client(Addresses::from_env(env)?),
            speedup: config::retry_speedup(env)?,
            context: context.clone(),
            opened: Cache::default(),
            archived: Cache::default(),
        })
    }

    /// One message in a batch, so that a slow endpoint holds up no other.
    async fn handle(&self, event: SqsEvent) -> Result<SqsBatchResponse, Error> {
        let messages = event.records.into_iter().map(|record| async {
            let SqsMessage {
                message_id, body, ..
            } = record;
            let delivered = self.deliver(&body.unwrap_or_default()).await;
            delivered.err().map(|_| message_id.unwrap_or_default())
        });
        let mut response = SqsBatchResponse::default();
        for message in join_all(messages).await.into_iter().flatten() {
            response.add_failure(message);
        }
        Ok(response)
    }
}

impl DeliverEvents {
    async fn deliver(&self, body: &str) -> Result<JobOutcome, Error> {
        let message = serde_json::from_str::<QueuedEvent>(body);
        let known = message.as_ref().ok();
        let subject = known.map(|message| message.submission_id.to_string());
        let job = Job {
            function: "deliver-events",
            started: self.context.now(),
            scope: known.map(|message| &message.scope),
            subject: subject.as_deref(),
        };
        let delivering = async {
            match &message {
                Ok(message) => self.try_message(message).await,
                Err(error) => Err(StoreError::new("reading a message", error.to_string()).into()),
            }
        };
        self.context.run_logged(job, Box::pin(delivering)).await
    }

    async fn try_message(&self, message: &QueuedEvent) -> Result<JobOutcome, JobError> {
        let Some(opened) = self.open(message).await? else {
            return Ok("endpoint_removed".into());
        };
        match opened.endpoint.status {
            EndpointStatus::Active => {}
            EndpointStatus::Unproven | EndpointStatus::Stopped => {
                return self.hold(message, "endpoint_stopped").await;
            }
        }
        if self.is_archived(&message.scope.campaign).await? {
            return self.hold(message, "campaign_archived").await;
        }
        match &message.new {
            Some(new) => self.try_new(message, new, &opened).await,
            None => self.try_again(message, &opened).await,
        }
    }

    /// Fresh for a delivery that failed before: its endpoint may have been mended.
    async fn open(&self, message: &QueuedEvent) -> Result<Option<Arc<OpenedEndpoint>>, Error> {
        let (now, id) = (self.context.now(), &message.endpoint);
        if message.new.is_none() {
            self.opened.set(id, now, None);
        }
        let opening = self.endpoints.open(&message.scope, id, now);
        Ok(self.opened.get(id, now, cache::MAX_AGE, opening).await?)
    }

    async fn is_archived(&self, slug: &CampaignSlug) -> Result<bool, Error> {
        let reading = async {
            let campaign = self.campaigns.get(slug).await?;
            Ok::<_, StoreError>(Some(campaign.is_none_or(|campaign| campaign.archived)))
        };
        let now = self.context.now();
        let archived = self
            .archived
            .get(slug, now, cache::MAX_AGE, reading)
            .await?;
        Ok(archived.is_some_and(|archived| *archived))
    }

    fn retry(&self) -> RetryContext {
        RetryContext {
            now: self.context.now(),
            speedup: self.speedup,
            jitter: random::unit_f64(),
        }
    }
}
