//! Batches of changes from DynamoDB Streams, with partial failures.
//!
//! A batch names its shard only where the event source has a tumbling window, whose state stays empty here.

use aws_lambda_events::dynamodb::{EventRecord, StreamRecord, TimeWindowEventResponse};
use aws_lambda_events::streams::DynamoDbBatchItemFailure;
use serde::Deserialize;

use common::domain::numbers::Cells;
use common::domain::numbers::mark::{Change, SequenceNumber};
use common::store::numbers::of_item;
use common::telemetry;

pub type StreamBatchResponse = TimeWindowEventResponse;

/// Empty at the end of a window.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StreamBatch {
    /// Ordered as in their shard.
    #[serde(rename = "Records")]
    pub records: Vec<EventRecord>,
    /// Its name in the stream.
    #[serde(rename = "shardId")]
    pub shard_id: Option<String>,
    #[serde(rename = "eventSourceARN")]
    pub stream: Option<String>,
}

/// Adds to the numbers.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Ordered as in their shard.
    pub changes: Vec<Change>,
    /// They are not counted.
    pub unreadable: u64,
}

impl StreamBatch {
    /// Unique over all streams; `None` if the event source has no window.
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
            let mut cells = |image: serde_dynamo::Item| {
                of_item(image.into()).unwrap_or_else(|error| {
                    tracing::warn!(error = telemetry::cause(&error), %sequence, "a record cannot be read, and is not counted");
                    found.unreadable += 1;
                    Cells::default()
                })
            };
            let cells = Cells::change(cells(old_image), cells(new_image));
            found.changes.push(Change { sequence, cells });
        }
        found
    }
}

/// The stream delivers again from this change on; `None` confirms the whole batch.
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
