//! Lost or repeated messages change nothing: the table knows which steps are due.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::aws::Aws;
use crate::aws::queue::{MAX_BATCH, Queue};
use crate::config::{ConfigError, Env};
use crate::domain::{Assignee, Dependency, Scope, Submission, SubmissionId, Timestamp};
use crate::error::{During, StoreError, StoreResult};
use crate::telemetry;

pub const TAX_VARIABLE: &str = "TAX_QUEUE_URL";
pub const PARTNER_VARIABLE: &str = "PARTNER_QUEUE_URL";

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
    queues: Vec<(Dependency, Queue)>,
}

impl SettleQueues {
    pub fn from_env(
        dependencies: &[Dependency],
        env: &Env,
        aws: &Aws,
    ) -> Result<Self, ConfigError> {
        let queue = |dependency: &Dependency| {
            let variable = match dependency {
                Dependency::TaxAuthority => TAX_VARIABLE,
                Dependency::Partner => PARTNER_VARIABLE,
            };
            Ok((*dependency, Queue::new(aws, env.required(variable)?)))
        };
        Ok(Self {
            queues: dependencies.iter().map(queue).collect::<Result<_, _>>()?,
        })
    }

    /// An operator's step gets none.
    pub async fn wake(&self, submission: &Submission, now: Timestamp) {
        let Some(pending) = submission.settling.as_ref() else {
            return;
        };
        if pending.assignee == Assignee::Service {
            let message = SettleMessage::new(&submission.scope, submission.submission_id);
            let delay = pending.next_step_at.since(now);
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
        let mut accepted = 0;
        for batch in messages.chunks(MAX_BATCH) {
            let sending = self
                .queue(dependency)?
                .send(batch, |_| None, Duration::ZERO);
            accepted += batch.len() - sending.await?.len();
        }
        Ok(accepted)
    }

    pub async fn count_waiting(&self, dependency: Dependency) -> StoreResult<usize> {
        self.queue(dependency)?.count_waiting().await
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
        self.queue(dependency)?.send_one(message, delay).await
    }

    fn queue(&self, dependency: Dependency) -> StoreResult<&Queue> {
        let queue = self.queues.iter().find(|(other, _)| *other == dependency);
        let (_, queue) = queue
            .ok_or_else(|| StoreError::new(SENDING, "this function does not send to the queue"))?;
        Ok(queue)
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
        // There is no queue to send to.
        let queues = SettleQueues { queues: Vec::new() };
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
