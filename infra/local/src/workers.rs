//! Delivers storage events, queue messages and the schedule to their functions, like Lambda.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, QueueAttributeName};
use chrono::SecondsFormat;
use common::app::job::EventContext;
use common::aws::photos;
use common::aws::settle_queue::{PARTNER_VARIABLE, TAX_VARIABLE};
use common::config::{ConfigError, Env};
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

use crate::demo::samples;
use crate::dynamodb::stopped;
use crate::s3::ObjectCreated;
use crate::streams::StreamReader;
use crate::tables::TABLES;

/// Concurrent invocations per queue, as deployed for the tax authority's.
const MAX_CONCURRENCY: usize = 2;
/// SQS's maximum long poll.
const POLL_SECONDS: i32 = 20;
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// Lower bound with a speedup: each sweep costs some calls.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(250);
/// With a speedup, no sweep runs while more messages than this wait in a queue.
const MAX_WAITING: usize = 20;
/// Attempts per storage event, as many as Lambda makes.
const MAX_ATTEMPTS: u32 = 3;
/// Delay between attempts, and after a queue that did not answer.
const WAIT_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// While a stream has no changes; Lambda polls four times a second.
const STREAM_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Starts all workers; they end when `stop` changes. `background` connects a function by its name.
///
/// # Errors
/// Names the variable that is missing.
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
    let sweeper = SweepUnsettled::connect(&background("sweep-unsettled")?)?;
    // Only the photos' bucket sends events to a function.
    let bucket = uploads.env.required(photos::VARIABLE)?;
    let mut workers = vec![until_stopped(
        stop,
        deliver_created(created, bucket, marker),
    )];
    let (tax_queue, partner_queue) = (
        receipts.env.required(TAX_VARIABLE)?,
        partners.env.required(PARTNER_VARIABLE)?,
    );
    let schedule = Schedule {
        every: speedup.apply(SWEEP_EVERY).max(MIN_SWEEP_INTERVAL),
        queues: vec![
            (receipts.aws.sqs(), tax_queue.clone()),
            (partners.aws.sqs(), partner_queue.clone()),
        ],
    };
    workers.push(until_stopped(stop, schedule.sweep(sweeper)));
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

/// The consumers of one queue.
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
        if object.bucket != bucket || samples::is_unannounced(&object.key) {
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

/// The event as S3 sends it, with a form-encoded key.
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

/// Timeouts longer than a long poll.
fn patient() -> aws_sdk_sqs::config::Builder {
    let longest = Duration::from_secs(30);
    let timeouts = aws_sdk_sqs::config::timeout::TimeoutConfig::builder()
        .operation_attempt_timeout(longest)
        .operation_timeout(longest)
        .build();
    aws_sdk_sqs::Config::builder().timeout_config(timeouts)
}

/// Passes one message to its function; a message that failed is not deleted and comes again.
async fn settle<F>(client: &Client, queue_url: &str, function: &F, message: &Message)
where
    F: EventHandler<Event = SqsEvent, Reply = SqsBatchResponse>,
{
    let reply = function.handle(sqs_event(message)).await;
    if reply.is_ok_and(|reply| reply.batch_item_failures.is_empty()) {
        let handle = message.receipt_handle().unwrap_or_default();
        // A message that is not deleted comes again, which is harmless.
        let _ = client
            .delete_message()
            .queue_url(queue_url)
            .receipt_handle(handle)
            .send()
            .await;
    }
}

/// A reader for each stream of the database that the environment names.
pub fn stream_readers(env: &Env) -> Vec<StreamReader> {
    let url = env
        .optional("AWS_ENDPOINT_URL_DYNAMODB")
        .unwrap_or_default();
    let streamed = TABLES.iter().filter(|table| table.has_stream);
    streamed
        .filter_map(|table| StreamReader::new(&url, table.name))
        .collect()
}

/// Passes on batches of changes. A failed batch is delivered again; changes that are already counted are skipped.
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

/// A batch of one message.
fn sqs_event(message: &Message) -> SqsEvent {
    let mut record = SqsMessage::default();
    record.message_id = message.message_id().map(str::to_owned);
    record.body = message.body().map(str::to_owned);
    let mut event = SqsEvent::default();
    event.records.push(record);
    event
}

/// The schedule of sweeps.
struct Schedule {
    every: Duration,
    /// The queues, each with a client that may read its attributes.
    queues: Vec<(Client, String)>,
}

impl Schedule {
    async fn sweep(self, sweeper: SweepUnsettled) {
        let mut ticks = tokio::time::interval(self.every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.is_sped_up() && self.is_behind().await {
                continue;
            }
            // The next sweep finds what this one missed. With a speedup, sweeps write no log line of their own.
            if let Err(error) = sweeper.handle(Tick::default()).await
                && self.is_sped_up()
            {
                let _ = writeln!(io::stderr(), "--- sweep-unsettled failed: {error:?}");
            }
        }
    }

    fn is_sped_up(&self) -> bool {
        self.every < SWEEP_EVERY
    }

    /// True while messages wait: with a speedup, sweeps would send messages faster than they are processed, until an
    /// important one waits behind thousands.
    async fn is_behind(&self) -> bool {
        for (client, queue_url) in &self.queues {
            let asked = client.get_queue_attributes().queue_url(queue_url);
            let name = QueueAttributeName::ApproximateNumberOfMessages;
            let reply = asked.attribute_names(name.clone()).send().await;
            let attributes = reply
                .ok()
                .and_then(|reply| reply.attributes)
                .unwrap_or_default();
            let waiting = attributes
                .get(&name)
                .and_then(|waiting| waiting.parse().ok())
                .unwrap_or(0);
            if waiting > MAX_WAITING {
                return true;
            }
        }
        false
    }
}
