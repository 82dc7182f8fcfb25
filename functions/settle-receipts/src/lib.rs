//! Settles submissions with a receipt, and test codes that ask to be settled late.
//!
//! - `step` does the step that is due: learns what there is to learn, and writes down what follows;
//! - `conclusion` is the pure part of it: from an answer to the next state;
//! - `evidence` finds code and time in a photo, with [`photo`], which reads QR codes in a process of its own;
//! - `look_up` asks the tax authority, at the pace that `pace` keeps;
//! - `fairness` shares the few look-ups out by campaign.

mod conclusion;
mod evidence;
#[cfg(test)]
mod example;
mod fairness;
mod look_up;
mod pace;
pub mod photo;
mod step;

use std::time::Duration;

use common::app::settlement::Worker;
use common::aws::photos::Photos;
use common::aws::settle_queue::SettleMessage;
use common::config::{ConfigError, Env};
use common::domain::receipt::schedule::LOOK_UP_INTERVAL;
use common::domain::settling::Dependency;
use common::error::Error;
use common::runtime::event_handler::{EventContext, EventHandler};
use common::runtime::sqs_batch::{BatchReply, QueueEvent, Settle, settle_each};
use common::store::look_up_slots::LookUpSlots;
use common::upstream::tax_authority::client::{Limits, TaxAuthority};

use crate::fairness::Choice;
use crate::pace::{Pace, Seen};
use crate::photo::{Limits as PhotoLimits, PhotoReader};

/// The environment variable with the tax authority's base URL.
pub const TAX_AUTHORITY: &str = "TAX_AUTHORITY_URL";
/// The environment variable that names the program that reads photos, when it is not this one.
pub const PHOTO_READER: &str = "PHOTO_READER";

/// Reads a photo and ends the process, if it was started to do so; returns at once otherwise. To be called
/// first in the `main` of every program that settles receipts.
pub fn read_photo_if_asked() {
    photo::serve_if_asked(evidence::is_receipt);
}

/// The function.
pub struct SettleReceipts {
    worker: Worker,
    photos: Photos,
    reader: PhotoReader,
    authority: TaxAuthority,
    pace: Pace,
}

impl EventHandler for SettleReceipts {
    type Event = QueueEvent;
    type Reply = BatchReply;

    fn connect(background: &EventContext) -> Result<Self, ConfigError> {
        let EventContext { env, aws, .. } = background;
        let worker = Worker::new(background, "settle-receipts", Dependency::TaxAuthority)?;
        let base = env.required(TAX_AUTHORITY)?;
        let authority = TaxAuthority::new(&base, Limits::default()).map_err(|_| ConfigError::Malformed {
            variable: TAX_AUTHORITY,
            expected: "a base URL such as https://verify.tra.go.tz",
        })?;
        Ok(Self {
            photos: Photos::from_env(env, aws)?,
            reader: photo_reader(env)?,
            authority,
            pace: Pace::new(
                LookUpSlots::from_env(env, &aws.dynamodb())?,
                worker.hasten().apply(LOOK_UP_INTERVAL),
            ),
            worker,
        })
    }

    async fn handle(&self, event: QueueEvent) -> Result<BatchReply, Error> {
        Ok(settle_each(self, &self.worker, event).await)
    }
}

impl Settle for SettleReceipts {
    async fn settle(&self, message: &SettleMessage) -> Result<(), Error> {
        let Choice { other, seen } = self.choose(message).await;
        let Some(other) = other else { return self.logged_step(message, seen).await };
        // Should its step fail, it stays due; the message is about another one, which waits for its turn.
        let _ = self.logged_step(&other, seen).await;
        self.worker.send(message, Duration::ZERO).await;
        Ok(())
    }
}

impl SettleReceipts {
    async fn logged_step(&self, message: &SettleMessage, seen: Option<Seen>) -> Result<(), Error> {
        // Boxed: it holds all that a step can meet.
        self.worker.run_logged(message, Box::pin(self.step(message, seen))).await.map(drop)
    }
}

/// The reader of photos: another program where the environment names one, else this one.
fn photo_reader(env: &Env) -> Result<PhotoReader, ConfigError> {
    let limits = PhotoLimits::default();
    match env.optional(PHOTO_READER) {
        Some(program) => Ok(PhotoReader::program(program, &[], limits)),
        None => PhotoReader::this_program(limits).map_err(|_| ConfigError::Malformed {
            variable: PHOTO_READER,
            expected: "set, because this program cannot tell where it is itself",
        }),
    }
}
