//! Delivers storage events, messages and the schedule, like Lambda.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::Message;
use chrono::SecondsFormat;
use common::app::job::EventContext;
use common::aws::photos;
use common::aws::settle_queue::{PARTNER_VARIABLE, SettleQueues, TAX_VARIABLE};
use common::config::{ConfigError, Env};
use common::domain::Dependency;
use common::runtime::event_handler::EventHandler;
use common::runtime::sqs_batch::{SqsBatchResponse, SqsEvent, SqsMessage};
use count_changes::CountChanges;
use form_urlencoded::byte_serialize;
use mark_receipt_uploaded::{MarkReceiptUploaded, StorageEvent};
use serde_json::json;
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;
use sweep_unsettled::{SweepUnsettled, Tick};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::demo::past;
use crate::loopback::stopped;
use crate::s3::ObjectCreated;
use crate::streams::StreamReader;
use crate::tables::TABLES;

/// The deployed value of the tax authority's queue.
const MAX_CONCURRENCY: usize = 2;
const POLL_SECONDS: i32 = 20;
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// Lower bound with a speedup.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(250);
/// Longer queues get no sweep under a speedup.
const MAX_WAITING: usize = 20;
const DEPENDENCIES: [Dependency; 2] = [Dependency::TaxAuthority, Dependency::Partner];
/// Lambda makes as many.
const MAX_ATTEMPTS: u32 = 3;
/// Delay between attempts, also if a queue does not answer.
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
    workers.extend(consumers::<SettleReceipts>(&receipts, &tax_queue, stop)?);
    workers.extend(consumers::<SettlePartners>(
        &partners,
        &partner_queue,
        stop,
    )?);
    let counter = background("count-changes")?;
    let function = Arc::new(CountChanges::connect(&counter)?);
    let readers = stream_readers(&counter.env);
    workers.extend(
        readers
            .into_iter()
            .map(|reader| until_stopped(stop, count(reader, Arc::clone(&function)))),
    );
    Ok(workers)
}

fn consumers<F>(
    context: &EventContext,
    queue_url: &str,
    stop: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<()>>, ConfigError>
where
    F: EventHandler<Event = SqsEvent, Reply = SqsBatchResponse>,
{
    let function = Arc::new(F::connect(context)?);
    let consumer = |_| {
        let consuming = consume(
            context.aws.sqs(),
            queue_url.to_owned(),
            Arc::clone(&function),
        );
        until_stopped(stop, consuming)
    };
    Ok((0..MAX_CONCURRENCY).map(consumer).collect())
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

async fn consume<F>(client: Client, queue_url: String, function: Arc<F>)
where
    F: EventHandler<Event = SqsEvent, Reply = SqsBatchResponse>,
{
    loop {
        let poll = client
            .receive_message()
            .queue_url(&queue_url)
            .wait_time_seconds(POLL_SECONDS);
        let Ok(received) = poll
            .max_number_of_messages(1)
            .customize()
            .config_override(patient())
            .send()
            .await
        else {
            tokio::time::sleep(WAIT_AFTER_FAILURE).await;
            continue;
        };
        for message in received.messages() {
            settle(&client, &queue_url, &*function, message).await;
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

/// A failed message is not deleted and comes again.
async fn settle<F>(client: &Client, queue_url: &str, function: &F, message: &Message)
where
    F: EventHandler<Event = SqsEvent, Reply = SqsBatchResponse>,
{
    let reply = function.handle(sqs_event(message)).await;
    if reply.is_ok_and(|reply| reply.batch_item_failures.is_empty()) {
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
    let url = env
        .optional("AWS_ENDPOINT_URL_DYNAMODB")
        .unwrap_or_default();
    let streamed = TABLES.iter().filter(|table| table.has_stream);
    streamed
        .filter_map(|table| StreamReader::new(&url, table.name))
        .collect()
}

/// A failed batch comes again; counted changes are skipped.
async fn count(mut reader: StreamReader, function: Arc<CountChanges>) {
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
            .is_ok_and(|reply| reply.batch_item_failures.is_empty())
        {
            reader.confirm();
        } else {
            let _ = writeln!(
                io::stderr(),
                "--- count-changes failed; the changes come again"
            );
            tokio::time::sleep(WAIT_AFTER_FAILURE).await;
        }
    }
}

fn sqs_event(message: &Message) -> SqsEvent {
    let mut record = SqsMessage::default();
    record.message_id = message.message_id().map(str::to_owned);
    record.body = message.body().map(str::to_owned);
    let mut event = SqsEvent::default();
    event.records.push(record);
    event
}

/// The next sweep finds what one missed.
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

/// True while messages wait. Fast sweeps would send more than are processed, until an important one
/// waits behind thousands.
async fn is_behind(queues: &SettleQueues) -> bool {
    for dependency in DEPENDENCIES {
        let waiting = queues.count_waiting(dependency).await;
        if waiting.is_ok_and(|waiting| waiting > MAX_WAITING) {
            return true;
        }
    }
    false
}
