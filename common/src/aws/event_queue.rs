//! The queue of events to deliver, fair between endpoints: a slow one holds up only its own.

use std::time::Duration;

use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::aws::settle_queue::{MAX_BATCH, MAX_DELAY};
use crate::aws::{Aws, MAX_CONCURRENCY};
use crate::config::{ConfigError, Env};
use crate::domain::webhook::{Delivery, EndpointId, Event, EventId, EventType};
use crate::domain::{Scope, Submission, SubmissionId, Timestamp};
use crate::error::{During, StoreError, StoreResult};

pub const VARIABLE: &str = "EVENT_QUEUE_URL";

const SENDING: &str = "sending events";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedEvent {
    #[serde(flatten)]
    pub scope: Scope,
    pub endpoint: EndpointId,
    pub event: EventId,
    pub submission_id: SubmissionId,
    /// `None` for an event with a record of its delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<NewEvent>,
    /// One of the few that an endpoint gets while it answers slowly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub despite_slow: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEvent {
    pub r#type: EventType,
    pub timestamp: Timestamp,
    pub revision: u32,
    pub body: String,
}

impl QueuedEvent {
    pub fn new(submission: &Submission, endpoint: &EndpointId, event: Event) -> Self {
        Self {
            scope: submission.scope.clone(),
            endpoint: endpoint.clone(),
            event: event.id,
            submission_id: submission.submission_id,
            new: Some(NewEvent {
                r#type: event.r#type,
                timestamp: event.timestamp,
                revision: submission.revision,
                body: event.body,
            }),
            despite_slow: false,
        }
    }

    pub fn again(delivery: &Delivery) -> Self {
        Self {
            scope: delivery.scope.clone(),
            endpoint: delivery.endpoint.clone(),
            event: delivery.event.clone(),
            submission_id: delivery.submission_id,
            new: None,
            despite_slow: false,
        }
    }

    pub fn key(&self) -> String {
        format!("{}#{}", self.endpoint, self.event)
    }
}

#[derive(Debug)]
pub struct UnsentEvents {
    pub indexes: Vec<usize>,
    pub error: StoreError,
}

impl UnsentEvents {
    fn join(mut self, other: Self) -> Self {
        self.indexes.extend(other.indexes);
        self
    }
}

#[derive(Clone, Debug)]
pub struct EventQueue {
    aws: Aws,
    url: String,
}

impl EventQueue {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self {
            aws: aws.clone(),
            url: env.required(VARIABLE)?,
        })
    }

    /// # Errors
    /// If the queue did not take all; others may have been sent.
    pub async fn publish(&self, events: &[QueuedEvent]) -> Result<(), UnsentEvents> {
        self.publish_over(Duration::ZERO, events).await
    }

    /// Spreads the events over at most `MAX_DELAY`.
    ///
    /// # Errors
    /// If the queue did not take all; others may have been sent.
    pub async fn publish_over(
        &self,
        span: Duration,
        events: &[QueuedEvent],
    ) -> Result<(), UnsentEvents> {
        let batches = events.chunks(MAX_BATCH);
        let between = span / u32::try_from(batches.len().max(1)).unwrap_or(u32::MAX);
        let batches: Vec<_> = (0..)
            .zip(batches)
            .map(|(number, batch)| {
                let first = usize::try_from(number).unwrap_or(usize::MAX) * MAX_BATCH;
                self.send(first, batch, between * number)
            })
            .collect();
        let sent: Vec<_> = stream::iter(batches)
            .buffered(MAX_CONCURRENCY)
            .collect()
            .await;
        let failed = sent.into_iter().filter_map(Result::err);
        failed.reduce(UnsentEvents::join).map_or(Ok(()), Err)
    }

    /// The sweep finds a delivery whose message was not sent.
    pub async fn retry(&self, delivery: &Delivery, delay: Duration) -> StoreResult<()> {
        let event = [QueuedEvent::again(delivery)];
        let sent = self.send(0, &event, delay).await;
        sent.map_err(|unsent| unsent.error)
    }

    async fn send(
        &self,
        first: usize,
        batch: &[QueuedEvent],
        delay: Duration,
    ) -> Result<(), UnsentEvents> {
        let unsent = |indexes, error| UnsentEvents { indexes, error };
        let all = || (first..first + batch.len()).collect();
        // Rounded up: a message that arrives early does nothing.
        let delay = delay.min(MAX_DELAY).as_millis().div_ceil(1_000);
        let delay = i32::try_from(delay).unwrap_or(i32::MAX);
        let entry = |(index, event): (usize, &QueuedEvent)| {
            let body = serde_json::to_string(event).during(SENDING)?;
            SendMessageBatchRequestEntry::builder()
                .id((first + index).to_string())
                .message_body(body)
                .message_group_id(event.endpoint.as_str())
                .delay_seconds(delay)
                .build()
                .during(SENDING)
        };
        let entries = batch.iter().enumerate().map(entry);
        let entries: StoreResult<Vec<_>> = entries.collect();
        let entries = entries.map_err(|error| unsent(all(), error))?;
        let send = self.aws.sqs().send_message_batch().queue_url(&self.url);
        let reply = send.set_entries(Some(entries)).send().await;
        let reply = reply
            .during(SENDING)
            .map_err(|error| unsent(all(), error))?;
        let failed = reply.failed().iter();
        let failed: Vec<_> = failed
            .filter_map(|failed| failed.id().parse().ok())
            .collect();
        if failed.is_empty() {
            return Ok(());
        }
        let error = StoreError::new(SENDING, "the queue refused some of them");
        Err(unsent(failed, error))
    }

    /// Approximate.
    pub async fn count_waiting(&self) -> StoreResult<usize> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let asking = self.aws.sqs().get_queue_attributes().queue_url(&self.url);
        let reply = asking.attribute_names(name.clone()).send().await;
        let attributes = reply.during("counting events")?.attributes;
        let waiting = attributes.and_then(|attributes| attributes.get(&name)?.parse().ok());
        Ok(waiting.unwrap_or(0))
    }
}
