//! Batches of messages from SQS, with partial failures.

use serde::{Deserialize, Serialize};

use crate::app::settlement::Worker;
use crate::aws::settle_queue::SettleMessage;
use crate::error::Error;

/// What SQS delivers; the parts that are used.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueEvent {
    /// The messages of a batch.
    #[serde(rename = "Records")]
    pub records: Vec<QueueMessage>,
}

/// One message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueMessage {
    /// Its id.
    pub message_id: String,
    /// A [`SettleMessage`], as JSON.
    pub body: String,
}

/// Which messages have to be delivered again.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchReply {
    /// Those that failed; the others are done.
    pub batch_item_failures: Vec<FailedItem>,
}

/// A message that has to be delivered again.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedItem {
    /// Its id.
    pub item_identifier: String,
}

/// A function that settles the submission that a message names.
pub trait Settle: Sync {
    /// Settles it, as far as it can be settled now.
    ///
    /// # Errors
    /// When the message has to be delivered again.
    fn settle(&self, message: &SettleMessage) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Settles the submissions of a batch, one after the other.
pub async fn settle_each(settler: &impl Settle, worker: &Worker, event: QueueEvent) -> BatchReply {
    let mut reply = BatchReply::default();
    for QueueMessage { message_id, body } in event.records {
        let settled = match serde_json::from_str::<SettleMessage>(&body) {
            Ok(message) => settler.settle(&message).await,
            Err(_) => worker.refuse_unreadable_message().await,
        };
        if settled.is_err() {
            reply.batch_item_failures.push(FailedItem { item_identifier: message_id });
        }
    }
    reply
}
