//! A queue as Lambda polls it: each message is handed to a function, and comes again when that fails.

use common::aws::Aws;
use common::config::Env;
use serde_json::{Value, json};

use crate::event;

/// How long a poll waits for a message.
const POLL_SECONDS: i32 = 1;

/// A queue.
#[derive(Clone)]
pub struct Queue {
    aws: Aws,
    url: String,
}

impl Queue {
    /// The queue that a variable names.
    pub fn from_env(env: &Env, variable: &'static str) -> Self {
        let aws = Aws::for_function(env).expect("the stack sets every variable");
        Self { aws, url: env.required(variable).expect("the stack sets it") }
    }

    /// Hands the next message to a function, if one comes within a second. It is deleted unless the function
    /// names it as failed or gives no answer; it is visible again at once then.
    pub async fn deliver(&self, function: impl AsyncFnOnce(&Value) -> Option<Value>) {
        let sqs = self.aws.sqs();
        let poll = sqs.receive_message().queue_url(&self.url).wait_time_seconds(POLL_SECONDS);
        let received = poll.max_number_of_messages(1).send().await.expect("the queue answers");
        let Some(message) = received.messages().first() else { return };
        let handle = message.receipt_handle().expect("a handle");
        let (id, body) = (message.message_id().expect("an id"), message.body().expect("a body"));
        let answer = function(&event::of_queue(id, handle, body)).await;
        let failed = answer.is_none_or(|answer| answer["batchItemFailures"] != json!([]));
        if failed {
            let again = sqs.change_message_visibility().queue_url(&self.url).receipt_handle(handle);
            again.visibility_timeout(0).send().await.expect("the queue answers");
        } else {
            let delete = sqs.delete_message().queue_url(&self.url).receipt_handle(handle);
            delete.send().await.expect("the queue answers");
        }
    }

    /// About how many messages wait.
    pub async fn waiting(&self) -> usize {
        let name = "ApproximateNumberOfMessages";
        let asked = self.aws.sqs().get_queue_attributes().queue_url(&self.url).attribute_names(name.into());
        let attributes = asked.send().await.expect("the queue answers").attributes.unwrap_or_default();
        attributes.values().next().and_then(|waiting| waiting.parse().ok()).expect("a number")
    }
}
