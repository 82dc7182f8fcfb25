//! Settles submissions with a receipt, and test codes with a delayed outcome.
//!
//! - `step` takes one step: verifies the receipt and writes the outcome;
//! - `step_outcome` is the pure part: turns an answer into a transition of the submission;
//! - `evidence` finds code and time in a photo, with [`photo`], which reads QR codes in a child process;
//! - `lookup` asks the tax authority, throttled by `throttle`;
//! - `fairness` lets campaigns take turns.

mod evidence;
#[cfg(test)]
mod example;
mod fairness;
mod lookup;
pub mod photo;
mod step;
mod step_outcome;
mod throttle;

use common::app::job::EventContext;
use common::app::settlement::Worker;
use common::aws::photos::Photos;
use common::aws::settle_queue::SettleMessage;
use common::config::{ConfigError, Env};
use common::domain::receipt::schedule::LOOKUP_INTERVAL;
use common::domain::settling::Dependency;
use common::error::Error;
use common::runtime::event_handler::EventHandler;
use common::runtime::sqs_batch::{Settle, SqsBatchResponse, SqsEvent, settle_each};
use common::store::turns::Turns;
use common::telemetry;
use common::upstream::tax_authority::client::{Limits, TaxAuthority};

use crate::fairness::Choice;
use crate::photo::{Limits as PhotoLimits, PhotoReader};
use crate::throttle::{SeenSlot, Throttle};

/// The environment variable with the tax authority's base URL.
pub const TAX_AUTHORITY: &str = "TAX_AUTHORITY_URL";
/// The environment variable with the path of the photo reader program; without it, this program reads photos itself.
pub const PHOTO_READER: &str = "PHOTO_READER";

/// Reads a photo and exits, if this process was started as a photo reader; otherwise returns at once. Every program
/// that settles receipts must call it first in `main`.
pub fn read_photo_if_asked() {
    photo::serve_if_asked(evidence::is_receipt);
}

pub struct SettleReceipts {
    worker: Worker,
    photos: Photos,
    reader: PhotoReader,
    authority: TaxAuthority,
    throttle: Throttle,
}

impl EventHandler for SettleReceipts {
    type Event = SqsEvent;
    type Reply = SqsBatchResponse;

    fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let EventContext { env, aws, .. } = context;
        let worker = Worker::new(context, "settle-receipts", Dependency::TaxAuthority)?;
        let base = env.required(TAX_AUTHORITY)?;
        let authority = TaxAuthority::new(&base, Limits::default()).map_err(|error| {
            tracing::error!(
                error = telemetry::cause(&error),
                "the tax authority's base URL is refused"
            );
            ConfigError::Malformed {
                variable: TAX_AUTHORITY,
                expected: "a base URL such as https://verify.tra.go.tz",
            }
        })?;
        Ok(Self {
            photos: Photos::from_env(env, aws)?,
            reader: photo_reader(env)?,
            authority,
            throttle: Throttle::new(
                Turns::from_env(env, &aws.dynamodb(), Dependency::TaxAuthority)?,
                worker.speedup().apply(LOOKUP_INTERVAL),
            ),
            worker,
        })
    }

    async fn handle(&self, event: SqsEvent) -> Result<SqsBatchResponse, Error> {
        Ok(settle_each(self, &self.worker, event).await)
    }
}

impl Settle for SettleReceipts {
    async fn settle(&self, message: &SettleMessage) -> Result<(), Error> {
        let Choice { other, seen } = self.choose(message).await;
        let Some(other) = other else {
            return self.take_turn(message, seen).await;
        };
        // A failure is already logged, and the other submission stays due. The message goes back to wait for its turn.
        let _ = self.take_turn(&other, seen).await;
        self.worker.requeue(message).await;
        Ok(())
    }
}

impl SettleReceipts {
    async fn take_turn(
        &self,
        message: &SettleMessage,
        seen: Option<SeenSlot>,
    ) -> Result<(), Error> {
        // Boxed because the future is large.
        let step = Box::pin(self.step(message, seen.clone()));
        let result = self.worker.run_logged(message, step).await.map(drop);
        if let Some(seen) = seen {
            self.pass_turn(&seen, message).await;
        }
        result
    }
}

/// The photo reader that the environment names.
///
/// # Errors
/// When it names none, and this program cannot tell where it is.
pub fn photo_reader(env: &Env) -> Result<PhotoReader, ConfigError> {
    let limits = PhotoLimits::default();
    match env.optional(PHOTO_READER) {
        Some(program) => Ok(PhotoReader::program(program, &[], limits)),
        None => PhotoReader::this_program(limits).map_err(|error| {
            tracing::error!(
                error = telemetry::cause(&error),
                "this program cannot tell where it is itself"
            );
            ConfigError::Malformed {
                variable: PHOTO_READER,
                expected: "set, because this program cannot tell where it is itself",
            }
        }),
    }
}
