use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::Message;
use chrono::SecondsFormat;
use common::app::job::EventContext;
use common::aws::settle_queue::{PARTNER_VARIABLE, SettleQueues, TAX_VARIABLE};
use common::aws::{event_queue, photos};
use common::config::{ConfigError, Env};
use common::domain::Dependency;
use common::lock::Mutex;
use common::runtime::event_handler::EventHandler;
use common::runtime::sqs_batch::{SqsBatchResponse, SqsEvent, SqsMessage};
use count_changes::CountChanges;
use deliver_events::DeliverEvents;
use form_urlencoded::byte_serialize;
use mark_receipt_uploaded::{MarkReceiptUploaded, StorageEvent};
use publish_events::PublishEvents;
use serde_json::{Value, json};
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;
use sweep_unsettled::{SweepUnsettled, Tick};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::demo::past;
use crate::loopback::stopped;
use crate::s3::ObjectCreated;
use crate::streams::{StreamOptions, StreamReader};
use crate::tables::TABLES;

#[derive(Clone, Copy)]
pub struct QueueSource {
    pub batch_size: i32,
    pub concurrency: usize,
}

/// The deployed values of the tax authority's queue.
const SETTLING: QueueSource = QueueSource {
    batch_size: 1,
    concurrency: 2,
};
/// The deployed values of the events' queue.
pub const DELIVERING: QueueSource = QueueSource {
    batch_size: 1,
    concurrency: 100,
};
const POLL_SECONDS: i32 = 20;
/// Lambda begins with as many for a queue.
const POLLERS: usize = 5;
const SWEEP_EVERY: Duration = Duration::from_secs(60);
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(250);
/// Longer queues get no sweep under a speedup.
const MAX_WAITING: usize = 20;
const DEPENDENCIES: [Dependency; 2] = [Dependency::TaxAuthority, Dependency::Partner];
/// Lambda makes as many.
const MAX_ATTEMPTS: u32 = 3;
/// Also if a queue does not answer.
const WAIT_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Lambda's interval for a stream without changes.
const STREAM_POLL_INTERVAL: Duration = Duration::from_millis(250);

pub fn start(
    background: &dyn Fn(&str) -> Result<EventContext, ConfigError>,
    created: mpsc::UnboundedReceiver<ObjectCreated>,
    stop: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<()>>, ConfigError> {
    let (receipts, partners) = (
        background("settle-receipts")?,
        background("settle-partners")?,
    );
    let speedup = common::config::retry_speedup(&receipts.env)?;
    let uploads = background("mark-receipt-uploaded")?;
    let marker = MarkReceiptUploaded::connect(&uploads)?;
    let sweeps = background("sweep-unsettled")?;
    let sweeper = SweepUnsettled::connect(&sweeps)?;
    // Only its events go to a function.
    let bucket = uploads.env.required(photos::VARIABLE)?;
    let mut workers = vec![until_stopped(
        stop,
        deliver_created(created, bucket, marker),
    )];
    let (tax_queue, partner_queue) = (
        receipts.env.required(TAX_VARIABLE)?,
        partners.env.required(PARTNER_VARIABLE)?,
    );
    let every = speedup.apply(SWEEP_EVERY).max(MIN_SWEEP_INTERVAL);
    let queues = SettleQueues::from_env(&DEPENDENCIES, &sweeps.env, &sweeps.aws)?;
    workers.push(until_stopped(stop, sweep(sweeper, every, queues)));
    workers.extend(consumers::<SettleReceipts>(
        &receipts, &tax_queue, SETTLING, stop,
    )?);
    workers.extend(consumers::<SettlePartners>(
        &partners,
        &partner_queue,
        SETTLING,
        stop,
    )?);
    let deliverer = background("deliver-events")?;
    let event_queue = deliverer.env.required(event_queue::VARIABLE)?;
    workers.extend(consumers::<DeliverEvents>(
        &deliverer,
        &event_queue,
        DELIVERING,
        stop,
    )?);
    let counter = background("count-changes")?;
    let function = Arc::new(CountChanges::connect(&counter)?);
    for reader in stream_readers(&counter.env) {
        let function = Arc::clone(&function);
        let reading = read_stream(reader, function, |reply| {
            reply.batch_item_failures.is_empty()
        });
        workers.push(until_stopped(stop, reading));
    }
    let publisher = background("publish-events")?;
    let function = Arc::new(PublishEvents::connect(&publisher)?);
    if let Some(reader) = published_changes(&publisher.env) {
        let reading = read_stream(reader, function, |reply| {
            reply.batch_item_failures.is_empty()
        });
        workers.push(until_stopped(stop, reading));
    }
    Ok(workers)
}

fn consumers<F>(
    context: &EventContext,
    queue_url: &str,
    source: QueueSource,
    stop: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<()>>, ConfigError>
where
    F: EventHandler<Event = SqsEvent, Reply = SqsBatchResponse>,
{
    let environments = Arc::new(Environments {
        context: context.clone(),
        idle: Mutex::new(vec![F::connect(context)?]),
    });
    let room = Arc::new(Semaphore::new(source.concurrency));
    let consumer = |_| {
        let consuming = consume(
            context.aws.sqs(),
            queue_url.to_owned(),
            source.batch_size,
            Arc::clone(&room),
            Arc::clone(&environments),
        );
        until_stopped(stop, consuming)
    };
    Ok((0..POLLERS.min(source.concurrency)).map(consumer).collect())
}

fn until_stopped(
    stop: &watch::Receiver<bool>,
    work: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = work => {}
            () = stopped(stop) => {}
        }
    })
}

async fn deliver_created(
    mut created: mpsc::UnboundedReceiver<ObjectCreated>,
    bucket: String,
    marker: MarkReceiptUploaded,
) {
    while let Some(object) = created.recv().await {
        if object.bucket != bucket || object.access_key == past::ACCESS_KEY {
            continue;
        }
        for _ in 0..MAX_ATTEMPTS {
            if marker.handle(storage_event(&object)).await.is_ok() {
                break;
            }
            tokio::time::sleep(WAIT_AFTER_FAILURE).await;
        }
    }
}

/// S3 form-encodes keys.
fn storage_event(object: &ObjectCreated) -> StorageEvent {
    let key: String = byte_serialize(object.key.as_bytes()).collect();
    let record = json!({
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventTime": object.time.to_rfc3339_opts(SecondsFormat::Millis, true),
        "eventName": "ObjectCreated:Put",
        "s3": {
            "bucket": { "name": object.bucket },
            "object": { "key": key, "size": object.size, "eTag": object.etag },
        },
    });
    StorageEvent {
        records: vec![record],
    }
}

/// Each has caches of its own; the one that was busy last gets the next batch.
struct Environments<F> {
    context: EventContext,
    idle: Mutex<Vec<F>>,
}

impl<F> Environments<F>
where
    F: EventHandler<Event = SqsEvent, Reply = SqsBatchResponse>,
{
    async fn handle(&self, event: SqsEvent) -> Option<SqsBatchResponse> {
        let idle = self.idle.lock().pop();
        let function = match idle {
            Some(function) => function,
            None => F::connect(&self.context).ok()?,
        };
        let reply = function.handle(event).await;
        self.idle.lock().push(function);
        reply.ok()
    }
}

async fn consume<F>(
    client: Client,
    queue_url: String,
    batch_size: i32,
    room: Arc<Semaphore>,
    environments: Arc<Environments<F>>,
) where
    F: EventHandler<Event = SqsEvent, Reply = SqsBatchResponse>,
{
    // Dropped, they stop.
    let mut running = JoinSet::new();
    loop {
        while running.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let poll = client
            .receive_message()
            .queue_url(&queue_url)
            .wait_time_seconds(POLL_SECONDS);
        let Ok(received) = poll
            .max_number_of_messages(batch_size)
            .customize()
            .config_override(patient())
            .send()
            .await
        else {
            tokio::time::sleep(WAIT_AFTER_FAILURE).await;
            continue;
        };
        let messages = received.messages.unwrap_or_default();
        if !messages.is_empty() {
            let (client, queue_url) = (client.clone(), queue_url.clone());
            let environments = Arc::clone(&environments);
            running.spawn(async move {
                handle_batch(&client, &queue_url, &environments, &messages).await;
                drop(permit);
            });
        }
    }
}

fn patient() -> aws_sdk_sqs::config::Builder {
    let longest = Duration::from_secs(30);
    let timeouts = aws_sdk_sqs::config::timeout::TimeoutConfig::builder()
        .operation_attempt_timeout(longest)
        .operation_timeout(longest)
        .build();
    aws_sdk_sqs::Config::builder().timeout_config(timeouts)
}

/// Failed messages come again.
async fn handle_batch<F>(
    client: &Client,
    queue_url: &str,
    environments: &Environments<F>,
    messages: &[Message],
) where
    F: EventHandler<Event = SqsEvent, Reply = SqsBatchResponse>,
{
    let Some(reply) = environments.handle(sqs_event(messages)).await else {
        return;
    };
    let failed = reply.batch_item_failures.iter();
    let failed: Vec<_> = failed
        .map(|failed| failed.item_identifier.as_str())
        .collect();
    for message in messages {
        if failed.contains(&message.message_id().unwrap_or_default()) {
            continue;
        }
        let handle = message.receipt_handle().unwrap_or_default();
        let _ = client
            .delete_message()
            .queue_url(queue_url)
            .receipt_handle(handle)
            .send()
            .await;
    }
}

pub fn stream_readers(env: &Env) -> Vec<StreamReader> {
    let options = StreamOptions {
        batch_size: 1_000,
        filter: |_| true,
    };
    let streamed = TABLES.iter().filter(|table| table.has_stream);
    streamed
        .filter_map(|table| reader(env, table.name, options))
        .collect()
}

pub fn published_changes(env: &Env) -> Option<StreamReader> {
    let options = StreamOptions {
        batch_size: 100,
        filter: |record| {
            let notify = record.pointer("/dynamodb/NewImage/notify/BOOL");
            notify == Some(&Value::Bool(true))
        },
    };
    reader(env, "submissions", options)
}

fn reader(env: &Env, table: &'static str, options: StreamOptions) -> Option<StreamReader> {
    let url = env.optional("AWS_ENDPOINT_URL_DYNAMODB");
    StreamReader::new(&url.unwrap_or_default(), table, options)
}

/// A failed batch comes again whole.
async fn read_stream<F: EventHandler>(
    mut reader: StreamReader,
    function: Arc<F>,
    is_complete: fn(&F::Reply) -> bool,
) {
    loop {
        let batch = reader
            .read()
            .await
            .and_then(|batch| serde_json::from_value(batch).ok());
        let Some(batch) = batch else {
            reader.confirm();
            tokio::time::sleep(STREAM_POLL_INTERVAL).await;
            continue;
        };
        if function
            .handle(batch)
            .await
            .is_ok_and(|reply| is_complete(&reply))
        {
            reader.confirm();
        } else {
            let _ = writeln!(
                io::stderr(),
                "--- a function of a stream failed; the changes come again"
            );
            tokio::time::sleep(WAIT_AFTER_FAILURE).await;
        }
    }
}

fn sqs_event(messages: &[Message]) -> SqsEvent {
    let mut event = SqsEvent::default();
    for message in messages {
        let mut record = SqsMessage::default();
        record.message_id = message.message_id().map(str::to_owned);
        record.body = message.body().map(str::to_owned);
        event.records.push(record);
    }
    event
}

async fn sweep(sweeper: SweepUnsettled, every: Duration, queues: SettleQueues) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let is_sped_up = every < SWEEP_EVERY;
    loop {
        ticks.tick().await;
        if is_sped_up && is_behind(&queues).await {
            continue;
        }
        // With a speedup, sweeps log nothing of their own.
        if let Err(error) = sweeper.handle(Tick::default()).await
            && is_sped_up
        {
            let _ = writeln!(io::stderr(), "--- sweep-unsettled failed: {error:?}");
        }
    }
}

/// Fast sweeps would send more than is processed.
async fn is_behind(queues: &SettleQueues) -> bool {
    for dependency in DEPENDENCIES {
        let waiting = queues.count_waiting(dependency).await;
        if waiting.is_ok_and(|waiting| waiting > MAX_WAITING) {
            return true;
        }
    }
    false
}
