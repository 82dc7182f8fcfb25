//! A slow endpoint holds up only its own events.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::aws::queue::{MAX_BATCH, Queue};
use crate::aws::{Aws, MAX_CONCURRENCY};
use crate::config::{ConfigError, Env};
use crate::domain::webhook::{Delivery, EndpointId, Event, EventId, EventType};
use crate::domain::{Scope, Submission, SubmissionId, Timestamp};
use crate::error::{StoreError, StoreResult};

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
    queue: Queue,
}

impl EventQueue {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let queue = Queue::new(aws, env.required(VARIABLE)?);
        Ok(Self { queue })
    }

    /// # Errors
    /// If the queue did not take all; others may have been sent.
    pub async fn publish(&self, events: &[QueuedEvent]) -> Result<(), UnsentEvents> {
        self.publish_over(Duration::ZERO, events).await
    }

    /// Spreads the events over at most 15 minutes.
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
        let group = |event: &QueuedEvent| Some(event.endpoint.to_string());
        let (indexes, error) = match self.queue.send(batch, group, delay).await {
            Ok(failed) if failed.is_empty() => return Ok(()),
            Ok(failed) => {
                let failed = failed.into_iter().map(|index| first + index);
                let error = StoreError::new(SENDING, "the queue refused some of them");
                (failed.collect(), error)
            }
            Err(error) => ((first..first + batch.len()).collect(), error),
        };
        Err(UnsentEvents { indexes, error })
    }

    /// Approximate.
    pub async fn count_waiting(&self) -> StoreResult<usize> {
        self.queue.count_waiting().await
    }
}
