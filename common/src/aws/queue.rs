use std::time::Duration;

use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use serde::Serialize;

use crate::aws::Aws;
use crate::error::{During, StoreResult};

/// Limits of SQS.
pub(super) const MAX_BATCH: usize = 10;
pub(super) const MAX_DELAY: Duration = Duration::from_mins(15);

const SENDING: &str = "sending messages";

#[derive(Clone, Debug)]
pub(super) struct Queue {
    aws: Aws,
    url: String,
}

impl Queue {
    pub(super) fn new(aws: &Aws, url: String) -> Self {
        let aws = aws.clone();
        Self { aws, url }
    }

    /// Returns the indexes of those that the queue did not take.
    pub(super) async fn send<T: Serialize>(
        &self,
        messages: &[T],
        group: impl Fn(&T) -> Option<String>,
        delay: Duration,
    ) -> StoreResult<Vec<usize>> {
        let delay = seconds(delay);
        let entry = |(index, message): (usize, &T)| {
            SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(serde_json::to_string(message).during(SENDING)?)
                .set_message_group_id(group(message))
                .delay_seconds(delay)
                .build()
                .during(SENDING)
        };
        let entries: StoreResult<Vec<_>> = messages.iter().enumerate().map(entry).collect();
        let send = self.aws.sqs().send_message_batch().queue_url(&self.url);
        let reply = send.set_entries(Some(entries?)).send().await;
        let reply = reply.during(SENDING)?;
        let failed = reply.failed().iter();
        Ok(failed
            .filter_map(|failed| failed.id().parse().ok())
            .collect())
    }

    pub(super) async fn send_one(
        &self,
        message: &impl Serialize,
        delay: Duration,
    ) -> StoreResult<()> {
        let body = serde_json::to_string(message).during(SENDING)?;
        let send = self.aws.sqs().send_message().queue_url(&self.url);
        let send = send.message_body(body).delay_seconds(seconds(delay));
        send.send().await.map(drop).during(SENDING)
    }

    /// Approximate.
    pub(super) async fn count_waiting(&self) -> StoreResult<usize> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let asking = self.aws.sqs().get_queue_attributes().queue_url(&self.url);
        let reply = asking.attribute_names(name.clone()).send().await;
        let attributes = reply.during("counting messages")?.attributes;
        let waiting = attributes.and_then(|attributes| attributes.get(&name)?.parse().ok());
        Ok(waiting.unwrap_or(0))
    }
}

/// Rounded up: a message that arrives early does nothing.
fn seconds(delay: Duration) -> i32 {
    let seconds = delay.min(MAX_DELAY).as_millis().div_ceil(1_000);
    i32::try_from(seconds).unwrap_or(i32::MAX)
}
