//! Publishes changes of submissions: a message for each endpoint that wants the event. A batch can
//! come twice or in parts; the same change makes the same event id.

use aws_lambda_events::dynamodb::EventRecord;
use aws_lambda_events::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use common::app::job::{EventContext, Job, JobError, JobOutcome};
use common::aws::event_queue::{EventQueue, QueuedEvent};
use common::cache::{self, Cache};
use common::config::ConfigError;
use common::domain::Scope;
use common::domain::webhook::{Endpoint, Event, EventType};
use common::error::{Error, StoreError, StoreResult};
use common::runtime::event_handler::EventHandler;
use common::store::submissions::{PublishedChange, published_change};
use common::store::webhook_endpoints::WebhookEndpoints;
use common::telemetry;
use serde::Deserialize;

pub type PublishResponse = DynamoDbEventResponse;

pub struct PublishEvents {
    context: EventContext,
    endpoints: WebhookEndpoints,
    queue: EventQueue,
    /// An endpoint that joins others misses events for some seconds.
    by_scope: Cache<Scope, Vec<Endpoint>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamEvent {
    #[serde(rename = "Records")]
    pub records: Vec<EventRecord>,
}

#[derive(Default)]
struct Batch {
    events: Vec<QueuedEvent>,
    records: Vec<usize>,
    unreadable: u64,
    failure: Option<(usize, StoreError)>,
}

impl EventHandler for PublishEvents {
    type Event = StreamEvent;
    type Reply = PublishResponse;

    fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoints: WebhookEndpoints::from_env(&context.env, &context.aws)?,
            queue: EventQueue::from_env(&context.env, &context.aws)?,
            context: context.clone(),
            by_scope: Cache::default(),
        })
    }

    async fn handle(&self, event: StreamEvent) -> Result<PublishResponse, Error> {
        let mut response = PublishResponse::default();
        if event.records.is_empty() {
            return Ok(response);
        }
        let sequence = |record: &EventRecord| record.change.sequence_number.clone();
        let sequences: Vec<_> = event.records.iter().map(sequence).collect();
        let job = Job {
            function: "publish-events",
            started: self.context.now(),
            scope: None,
            subject: None,
        };
        let mut failed_record = None;
        let publishing = self.publish(event.records, &mut failed_record);
        // Logged; the stream repeats the batch from the failed record on.
        let _ = self.context.run_logged(job, publishing).await;
        let failed = failed_record.and_then(|record| sequences.into_iter().nth(record));
        if let Some(sequence) = failed.flatten() {
            let mut failure = DynamoDbBatchItemFailure::default();
            failure.item_identifier = Some(sequence);
            response.batch_item_failures.push(failure);
        }
        Ok(response)
    }
}

impl PublishEvents {
    async fn publish(
        &self,
        records: Vec<EventRecord>,
        failed_record: &mut Option<usize>,
    ) -> Result<JobOutcome, JobError> {
        let mut batch = self.read(records).await;
        let sent = self.queue.publish(&batch.events).await;
        let mut published = batch.events.len();
        if let Err(unsent) = sent {
            published -= unsent.indexes.len();
            let records = unsent.indexes.iter();
            let first = records
                .filter_map(|event| batch.records.get(*event))
                .min()
                .copied();
            // Records after a failed one were not read.
            batch.failure = first.map(|first| (first, unsent.error)).or(batch.failure);
        }
        let published = u64::try_from(published).unwrap_or(u64::MAX);
        let metrics = vec![
            ("EventsPublished", published),
            ("EventsUnreadable", batch.unreadable),
        ];
        match batch.failure {
            Some((record, error)) => {
                *failed_record = Some(record);
                Err(JobError {
                    error: error.into(),
                    metrics,
                })
            }
            None => Ok(JobOutcome {
                outcome: "published",
                metrics,
            }),
        }
    }

    async fn read(&self, records: Vec<EventRecord>) -> Batch {
        let mut batch = Batch::default();
        for (index, record) in records.into_iter().enumerate() {
            let images = record.change;
            let PublishedChange { submission, events } =
                match published_change(images.old_image.into(), images.new_image.into()) {
                    Ok(Some(change)) => change,
                    Ok(None) => continue,
                    Err(error) => {
                        let error = telemetry::cause(&error);
                        tracing::warn!(error, "a change cannot be read, and is not published");
                        batch.unreadable += 1;
                        continue;
                    }
                };
            let endpoints = match self.endpoints_of(&submission.scope, &events).await {
                Ok(endpoints) => endpoints,
                Err(error) => {
                    batch.failure = Some((index, error));
                    break;
                }
            };
            for (endpoint, r#type) in endpoints {
                let event = Event::new(&submission, r#type);
                let message = QueuedEvent::new(&submission, &endpoint.endpoint, event);
                batch.events.push(message);
                batch.records.push(index);
            }
        }
        batch
    }

    async fn endpoints_of(
        &self,
        scope: &Scope,
        events: &[EventType],
    ) -> StoreResult<Vec<(Endpoint, EventType)>> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.context.now();
        let reading = async {
            let endpoints = self.endpoints.list_readable(scope).await?;
            // An empty list is not kept: the first endpoint may just have been added.
            Ok(Some(endpoints).filter(|endpoints| !endpoints.is_empty()))
        };
        let all = self
            .by_scope
            .get(scope, now, cache::MAX_AGE, reading)
            .await?;
        let all = all.iter().flat_map(|all| all.iter());
        let wanted = all.flat_map(|endpoint| {
            let events = events.iter().filter(|event| endpoint.receives(**event));
            events.map(|event| (endpoint.clone(), *event))
        });
        Ok(wanted.collect())
    }
}
