//! Settles submissions: takes hints from the queue, and does for each the step that is due.
//!
//! - `step` begins a step, learns what there is to learn, and writes down what follows;
//! - `conclusion` is the pure part of it: from an answer to the next state;
//! - [`photo`] reads QR codes out of photos, in a process of its own;
//! - `pace` keeps look-ups apart.

mod conclusion;
#[cfg(test)]
mod example;
mod pace;
pub mod photo;
mod step;

use common::background::{Background, EventFunction, Failed, Finding, Work};
use common::config::ConfigError;
use common::error::Error;
use common::settle_queue::Hint;
use serde::{Deserialize, Serialize};

use crate::step::Desk;

pub use crate::step::{PHOTO_READER, TAX_AUTHORITY};

/// Reads a photo and ends the process, if it was started to do so; returns at once otherwise. To be called
/// first in the `main` of every program that settles submissions.
pub fn read_photo_if_asked() {
    photo::serve_if_asked(step::is_receipt);
}

/// The function.
pub struct SettleSubmission {
    background: Background,
    desk: Desk,
}

/// What the queue sends; the parts that are used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueEvent {
    /// The messages of a batch.
    #[serde(rename = "Records")]
    pub records: Vec<QueueMessage>,
}

/// One message.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueMessage {
    /// Its id.
    pub message_id: String,
    /// A hint, as JSON.
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

impl EventFunction for SettleSubmission {
    type Event = QueueEvent;
    type Reply = BatchReply;

    fn connect(background: &Background) -> Result<Self, ConfigError> {
        let desk = Desk::from_env(&background.env, &background.aws)?;
        Ok(Self { background: background.clone(), desk })
    }

    async fn handle(&self, event: QueueEvent) -> Result<BatchReply, Error> {
        let mut reply = BatchReply::default();
        for message in event.records {
            if self.settle(&message).await.is_err() {
                reply.batch_item_failures.push(FailedItem { item_identifier: message.message_id });
            }
        }
        Ok(reply)
    }
}

impl SettleSubmission {
    async fn settle(&self, message: &QueueMessage) -> Result<(), Error> {
        let Ok(hint) = serde_json::from_str::<Hint>(&message.body) else {
            let unreadable = async { Err(Error::internal("the message is no hint").into()) };
            return self.logged(None, unreadable).await.map(drop);
        };
        let next = self.desk.next_in_turn(&hint, self.background.now()).await;
        let Some(next) = next else { return self.step(&hint).await.map(drop) };
        // Should its step fail, it stays due; the message is about the other one, which waits its turn.
        let _ = self.step(&next).await;
        self.desk.hint_again(&hint).await;
        Ok(())
    }

    async fn step(&self, hint: &Hint) -> Result<Finding, Error> {
        // Boxed: it holds all that a step can meet.
        self.logged(Some(hint), Box::pin(self.desk.step(hint, || self.background.now()))).await
    }

    async fn logged(
        &self,
        hint: Option<&Hint>,
        work: impl Future<Output = Result<Finding, Failed>>,
    ) -> Result<Finding, Error> {
        let subject = hint.map(|hint| hint.submission_id.to_string());
        let (function, started) = ("settle-submission", self.background.now());
        let scope = hint.map(|hint| &hint.scope);
        self.background.watch(Work { function, started, scope, subject: subject.as_deref() }, work).await
    }
}
