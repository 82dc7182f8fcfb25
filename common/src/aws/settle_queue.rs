//! Queues that wake the settling functions. Lost or repeated messages change nothing: the table
//! knows which steps are due.

use std::time::Duration;

use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::aws::Aws;
use crate::config::{ConfigError, Env};
use crate::domain::{Assignee, Dependency, Scope, Submission, SubmissionId, Timestamp};
use crate::error::{During, StoreError, StoreResult};
use crate::telemetry;

pub const TAX_VARIABLE: &str = "TAX_QUEUE_URL";
pub const PARTNER_VARIABLE: &str = "PARTNER_QUEUE_URL";

/// Limits of SQS.
pub(super) const MAX_BATCH: usize = 10;
pub(super) const MAX_DELAY: Duration = Duration::from_mins(15);
/// A consumer may be waiting; the sweep makes up for a message that was not sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);
const SENDING: &str = "sending a message";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleMessage {
    #[serde(flatten)]
    pub scope: Scope,
    pub submission_id: SubmissionId,
}

impl SettleMessage {
    pub fn new(scope: &Scope, submission_id: SubmissionId) -> Self {
        Self {
            scope: scope.clone(),
            submission_id,
        }
    }
}

#[derive(Clone)]
pub struct SettleQueues {
    aws: Aws,
    urls: Vec<(Dependency, String)>,
}

impl SettleQueues {
    pub fn from_env(
        dependencies: &[Dependency],
        env: &Env,
        aws: &Aws,
    ) -> Result<Self, ConfigError> {
        let url = |dependency: &Dependency| {
            let variable = match dependency {
                Dependency::TaxAuthority => TAX_VARIABLE,
                Dependency::Partner => PARTNER_VARIABLE,
            };
            Ok((*dependency, env.required(variable)?))
        };
        Ok(Self {
            aws: aws.clone(),
            urls: dependencies.iter().map(url).collect::<Result<_, _>>()?,
        })
    }

    /// The message arrives when the next step is due; an operator's step gets none.
    pub async fn wake(&self, submission: &Submission, now: Timestamp) {
        let Some(pending) = submission.settling.as_ref() else {
            return;
        };
        if pending.assignee == Assignee::Service {
            let message = SettleMessage::new(&submission.scope, submission.submission_id);
            let delay = pending.next_step_at.since(now).min(MAX_DELAY);
            self.try_send(pending.progress.dependency(), &message, delay)
                .await;
        }
    }

    pub async fn requeue(&self, dependency: Dependency, message: &SettleMessage) {
        self.try_send(dependency, message, Duration::ZERO).await;
    }

    pub async fn wake_all(
        &self,
        dependency: Dependency,
        messages: &[SettleMessage],
    ) -> StoreResult<usize> {
        const ACTION: &str = "sending messages";
        let mut accepted = 0;
        for batch in messages.chunks(MAX_BATCH) {
            let mut send = self
                .aws
                .sqs()
                .send_message_batch()
                .queue_url(self.url(dependency)?);
            for (index, message) in batch.iter().enumerate() {
                let body = serde_json::to_string(message).during(ACTION)?;
                let entry = SendMessageBatchRequestEntry::builder()
                    .id(index.to_string())
                    .message_body(body);
                send = send.entries(entry.build().during(ACTION)?);
            }
            let reply = send.send().await.during(ACTION)?;
            accepted += reply.successful().len();
        }
        Ok(accepted)
    }

    pub async fn count_waiting(&self, dependency: Dependency) -> StoreResult<usize> {
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let asking = self
            .aws
            .sqs()
            .get_queue_attributes()
            .queue_url(self.url(dependency)?);
        let reply = asking.attribute_names(name.clone()).send().await;
        let attributes = reply.during("counting messages")?.attributes;
        let waiting = attributes.and_then(|attributes| attributes.get(&name)?.parse().ok());
        Ok(waiting.unwrap_or(0))
    }

    async fn try_send(&self, dependency: Dependency, message: &SettleMessage, delay: Duration) {
        let sent = timeout(SEND_TIMEOUT, self.send(dependency, message, delay)).await;
        if let Err(error) = sent.during(SENDING).flatten() {
            let error = telemetry::cause(&error);
            tracing::warn!(error, subject = %message.submission_id, "no message was sent");
        }
    }

    async fn send(
        &self,
        dependency: Dependency,
        message: &SettleMessage,
        delay: Duration,
    ) -> StoreResult<()> {
        let body = serde_json::to_string(message).during(SENDING)?;
        // Rounded up: an early message does nothing.
        let delay = i32::try_from(delay.as_millis().div_ceil(1_000)).unwrap_or(i32::MAX);
        let send = self
            .aws
            .sqs()
            .send_message()
            .queue_url(self.url(dependency)?);
        let send = send.message_body(body).delay_seconds(delay);
        send.send().await.map(drop).during(SENDING)
    }

    fn url(&self, dependency: Dependency) -> StoreResult<&str> {
        let url = self.urls.iter().find(|(other, _)| *other == dependency);
        let (_, url) = url
            .ok_or_else(|| StoreError::new(SENDING, "this function does not send to the queue"))?;
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::domain::Environment;
    use crate::telemetry::{Telemetry, written};

    #[test]
    fn unsent_message_is_logged_under_its_submission() {
        let variables = ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        let env = variables
            .map(|name| (name.to_owned(), "test".to_owned()))
            .into_iter()
            .collect();
        let aws = Aws::for_function(&env).expect("all variables");
        // There is no queue to send to.
        let queues = SettleQueues {
            aws,
            urls: Vec::new(),
        };
        let scope = Scope {
            campaign: "demo".parse().expect("a slug"),
            environment: Environment::Live,
        };
        let message = SettleMessage::new(&scope, SubmissionId::from_random([3; 24]));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let lines = written(Telemetry::CloudWatch("stack"), || {
            runtime.block_on(queues.requeue(Dependency::Partner, &message));
        });
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(line["subject"], message.submission_id.to_string());
    }
}
