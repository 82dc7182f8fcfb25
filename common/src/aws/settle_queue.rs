//! The queues of messages that a submission can be settled. A message that is lost, or delivered twice, changes
//! nothing: what is due stands in the table.

use std::time::Duration;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use serde::{Deserialize, Serialize};

use crate::aws::Aws;
use crate::config::{ConfigError, Env};
use crate::domain::ids::SubmissionId;
use crate::domain::scope::Scope;
use crate::domain::settling::Dependency;
use crate::store::StoreError;

/// The environment variable that names the queue of work for the tax authority.
pub const TAX_VARIABLE: &str = "TAX_QUEUE_URL";
/// The environment variable that names the queue of work for partners.
pub const PARTNER_VARIABLE: &str = "PARTNER_QUEUE_URL";

/// SQS takes no more messages at once.
const MAX_BATCH: usize = 10;

/// Which submission can be settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleMessage {
    /// What it belongs to.
    #[serde(flatten)]
    pub scope: Scope,
    /// Its id.
    pub submission_id: SubmissionId,
}

/// A queue.
#[derive(Clone)]
pub struct SettleQueue {
    aws: Aws,
    url: String,
}

impl SettleQueue {
    /// The queue of a kind of work.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(dependency: Dependency, env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let variable = match dependency {
            Dependency::TaxAuthority => TAX_VARIABLE,
            Dependency::Partner => PARTNER_VARIABLE,
        };
        Ok(Self { aws: aws.clone(), url: env.required(variable)? })
    }

    /// Sends one message, to be delivered after a delay, which is rounded up to whole seconds: one that comes
    /// too early is passed over.
    ///
    /// # Errors
    /// When the queue does not answer.
    pub async fn send(&self, message: &SettleMessage, delay: Duration) -> Result<(), StoreError> {
        const ACTION: &str = "sending a message";
        let body = serde_json::to_string(message).map_err(StoreError::during(ACTION))?;
        let delay = i32::try_from(delay.as_millis().div_ceil(1_000)).unwrap_or(i32::MAX);
        let send = self.aws.sqs().send_message().queue_url(&self.url).message_body(body).delay_seconds(delay);
        send.send().await.map(drop).map_err(StoreError::during(ACTION))
    }

    /// Sends messages, and says how many were taken.
    ///
    /// # Errors
    /// When the queue does not answer.
    pub async fn send_all(&self, messages: &[SettleMessage]) -> Result<usize, StoreError> {
        const ACTION: &str = "sending messages";
        let mut taken = 0;
        for batch in messages.chunks(MAX_BATCH) {
            let mut send = self.aws.sqs().send_message_batch().queue_url(&self.url);
            for (index, message) in batch.iter().enumerate() {
                let body = serde_json::to_string(message).map_err(StoreError::during(ACTION))?;
                let entry = SendMessageBatchRequestEntry::builder().id(index.to_string()).message_body(body);
                send = send.entries(entry.build().map_err(StoreError::during(ACTION))?);
            }
            let reply = send.send().await.map_err(StoreError::during(ACTION))?;
            taken += reply.successful().len();
        }
        Ok(taken)
    }
}
