//! A tumbling window makes the event source name the shard; its state stays empty.

use aws_lambda_events::dynamodb::{EventRecord, StreamRecord, TimeWindowEventResponse};
use aws_lambda_events::streams::DynamoDbBatchItemFailure;
use serde::Deserialize;

use common::domain::statistics::Counters;
use common::domain::statistics::checkpoint::{Change, SequenceNumber};
use common::store::statistics::of_item;
use common::telemetry;

pub type StreamBatchResponse = TimeWindowEventResponse;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamBatch {
    #[serde(rename = "Records")]
    pub records: Vec<EventRecord>,
    #[serde(rename = "shardId")]
    pub shard_id: Option<String>,
    #[serde(rename = "eventSourceARN")]
    pub stream: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub changes: Vec<Change>,
    pub unreadable: u64,
}

impl StreamBatch {
    /// Unique over all streams.
    pub fn shard(&self) -> Option<String> {
        Some(format!(
            "{}#{}",
            self.stream.as_ref()?,
            self.shard_id.as_ref()?
        ))
    }

    pub fn into_changes(self) -> Changes {
        let mut found = Changes::default();
        for record in self.records {
            let StreamRecord {
                old_image,
                new_image,
                sequence_number,
                ..
            } = record.change;
            let sequence = sequence_number.as_deref().map(str::parse::<SequenceNumber>);
            let Some(Ok(sequence)) = sequence else {
                tracing::error!(
                    event_id = record.event_id,
                    "a change has no sequence number"
                );
                found.unreadable += 1;
                continue;
            };
            let mut counters = |image: serde_dynamo::Item| {
                of_item(image.into()).unwrap_or_else(|error| {
                    tracing::warn!(error = telemetry::cause(&error), %sequence, "a record cannot be read, and is not counted");
                    found.unreadable += 1;
                    Counters::default()
                })
            };
            let counters = Counters::change(counters(old_image), counters(new_image));
            found.changes.push(Change { sequence, counters });
        }
        found
    }
}

/// Repeats the stream from this change on; `None` confirms the batch.
pub fn retry_from(sequence: Option<&SequenceNumber>) -> StreamBatchResponse {
    let mut response = StreamBatchResponse::default();
    response
        .batch_item_failures
        .extend(sequence.map(|sequence| {
            let mut failure = DynamoDbBatchItemFailure::default();
            failure.item_identifier = Some(sequence.to_string());
            failure
        }));
    response
}
