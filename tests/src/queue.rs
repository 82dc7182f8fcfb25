//! Consumes a queue like Lambda: failed messages become visible again.

use common::aws::Aws;
use common::config::Env;
use serde_json::{Value, json};

use crate::event;

const POLL_SECONDS: i32 = 1;

#[derive(Clone)]
pub struct Queue {
    aws: Aws,
    url: String,
}

impl Queue {
    pub fn from_env(env: &Env, variable: &'static str) -> Self {
        let aws = Aws::for_function(env).expect("the stack sets every variable");
        Self {
            aws,
            url: env.required(variable).expect("the stack sets it"),
        }
    }

    /// Hands over the next message, if one comes within a second. Deletes it, or makes it visible
    /// at once if it failed or got no answer.
    pub async fn deliver(&self, function: impl AsyncFnOnce(&Value) -> Option<Value>) {
        let sqs = self.aws.sqs();
        let poll = sqs
            .receive_message()
            .queue_url(&self.url)
            .wait_time_seconds(POLL_SECONDS);
        // Polls can fail on a busy machine; the caller polls again.
        let Ok(received) = poll.max_number_of_messages(1).send().await else {
            return;
        };
        let Some(message) = received.messages().first() else {
            return;
        };
        let handle = message.receipt_handle().expect("a handle");
        let (id, body) = (
            message.message_id().expect("an id"),
            message.body().expect("a body"),
        );
        let answer = function(&event::of_queue(id, handle, body)).await;
        // The message comes again after its visibility timeout.
        if answer.is_some_and(|answer| answer["batchItemFailures"] == json!([])) {
            let _ = sqs
                .delete_message()
                .queue_url(&self.url)
                .receipt_handle(handle)
                .send()
                .await;
        } else {
            let again = sqs
                .change_message_visibility()
                .queue_url(&self.url)
                .receipt_handle(handle);
            let _ = again.visibility_timeout(0).send().await;
        }
    }

    /// Messages, delayed ones included.
    pub async fn messages(&self) -> usize {
        let names = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesDelayed",
        ]
        .map(Into::into);
        let asked = self.aws.sqs().get_queue_attributes().queue_url(&self.url);
        let reply = asked
            .set_attribute_names(Some(names.into()))
            .send()
            .await
            .expect("it answers");
        let counts = reply.attributes.expect("both");
        counts
            .values()
            .map(|count| count.parse::<usize>().expect("a number"))
            .sum()
    }

    /// Approximate number; `None` if the queue does not answer.
    pub async fn waiting(&self) -> Option<usize> {
        let name = "ApproximateNumberOfMessages";
        let asked = self
            .aws
            .sqs()
            .get_queue_attributes()
            .queue_url(&self.url)
            .attribute_names(name.into());
        asked
            .send()
            .await
            .ok()?
            .attributes?
            .values()
            .next()?
            .parse()
            .ok()
    }
}
