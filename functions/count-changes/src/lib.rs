//! Counts changes of submissions and entrants from DynamoDB Streams. Each is counted once, although
//! a batch can come twice, in parts, or after later ones: the transaction that counts also moves
//! the shard's checkpoint. Unreadable records are skipped.

pub mod stream_batch;

use std::collections::HashMap;

use common::app::job::{EventContext, Job, JobError, JobOutcome};
use common::config::ConfigError;
use common::domain::statistics::checkpoint::{ShardCheckpoint, next_step};
use common::error::{Error, StoreError};
use common::lock::Mutex;
use common::runtime::event_handler::EventHandler;
use common::store::statistics::{CountResult, Statistics};

use crate::stream_batch::{Changes, StreamBatch, StreamBatchResponse, retry_from};

/// Only a batch and its repetition run at the same time, so more refusals are a fault.
const MAX_ATTEMPTS: u32 = 10;

pub struct CountChanges {
    context: EventContext,
    statistics: Statistics,
    /// By shard. An outdated one costs a refused transaction.
    checkpoints: Mutex<HashMap<String, ShardCheckpoint>>,
}

impl EventHandler for CountChanges {
    type Event = StreamBatch;
    type Reply = StreamBatchResponse;

    fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        Ok(Self {
            statistics: Statistics::from_env(&context.env, &context.aws.dynamodb())?,
            context: context.clone(),
            checkpoints: Mutex::default(),
        })
    }

    async fn handle(&self, batch: StreamBatch) -> Result<StreamBatchResponse, Error> {
        if batch.records.is_empty() {
            return Ok(retry_from(None));
        }
        let job = Job {
            function: "count-changes",
            started: self.context.now(),
            scope: None,
            subject: None,
        };
        let shard = batch.shard();
        let changes = batch.into_changes();
        let counting = async {
            let shard = shard
                .as_deref()
                .ok_or_else(|| Error::internal(WITHOUT_SHARD))?;
            self.count(shard, &changes).await
        };
        let counted = self.context.run_logged(job, counting).await;
        let checkpoint = shard
            .as_ref()
            .and_then(|shard| self.checkpoints.lock().get(shard).cloned());
        let mut changes = changes.changes.iter();
        let uncounted = changes.find(|change| change.is_uncounted(checkpoint.as_ref()));
        Ok(retry_from(
            uncounted
                .filter(|_| counted.is_err())
                .map(|change| &change.sequence),
        ))
    }
}

const WITHOUT_SHARD: &str = "the batch names no shard: give its event source mapping TumblingWindowInSeconds, as the template has it";

impl CountChanges {
    async fn count(&self, shard: &str, changes: &Changes) -> Result<JobOutcome, JobError> {
        let mut checkpoint = self.checkpoints.lock().get(shard).cloned();
        let (mut transactions, mut refused) = (0, 0);
        while let Some(step) = next_step(&changes.changes, checkpoint.as_ref()) {
            let next = step.checkpoint.clone();
            checkpoint = match self
                .statistics
                .count(shard, checkpoint.as_ref(), step, self.context.now())
                .await?
            {
                CountResult::Counted => {
                    transactions += 1;
                    Some(next)
                }
                CountResult::OtherCheckpoint(_) if refused == MAX_ATTEMPTS => {
                    return Err(
                        StoreError::new("counting changes", "the checkpoint kept moving").into(),
                    );
                }
                CountResult::OtherCheckpoint(found) => {
                    refused += 1;
                    found
                }
            };
            let mut checkpoints = self.checkpoints.lock();
            match &checkpoint {
                Some(checkpoint) => checkpoints.insert(shard.to_owned(), checkpoint.clone()),
                None => checkpoints.remove(shard),
            };
        }
        let delivered = u64::try_from(changes.changes.len()).unwrap_or(u64::MAX);
        Ok(JobOutcome {
            outcome: "counted",
            metrics: vec![
                ("ChangesDelivered", delivered),
                ("ChangesUnreadable", changes.unreadable),
                ("CountingTransactions", transactions),
            ],
        })
    }
}
