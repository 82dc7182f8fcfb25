pub use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};

use crate::app::settlement::Worker;
use crate::aws::settle_queue::SettleMessage;
use crate::error::Error;

pub trait Settle: Sync {
    /// The message is delivered again after an error.
    fn settle(&self, message: &SettleMessage) -> impl Future<Output = Result<(), Error>> + Send;
}

pub async fn settle_each(
    settler: &impl Settle,
    worker: &Worker,
    event: SqsEvent,
) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    for SqsMessage {
        message_id, body, ..
    } in event.records
    {
        let settled = match serde_json::from_str::<SettleMessage>(&body.unwrap_or_default()) {
            Ok(message) => settler.settle(&message).await,
            Err(error) => worker.refuse_unreadable_message(error).await,
        };
        if settled.is_err() {
            response.add_failure(message_id.unwrap_or_default());
        }
    }
    response
}
