//! Settles submissions with a receipt, and test codes with a delayed outcome.
//!
//! - `step` verifies the receipt and writes the outcome;
//! - `step_outcome` purely turns an answer into a transition;
//! - `evidence` finds code and time in a photo;
//! - `lookup` asks the tax authority, throttled by [`lookup_throttle`](common::app::lookup_throttle);
//! - `fairness` lets campaigns take turns.

mod evidence;
mod fairness;
mod lookup;
mod step;
mod step_outcome;

use common::app::job::EventContext;
use common::app::settlement::Worker;
use common::aws::StartSecret;
use common::aws::photos::Photos;
use common::aws::settle_queue::SettleMessage;
use common::config::ConfigError;
use common::domain::receipt::schedule::LOOKUP_INTERVAL;
use common::domain::{Dependency, Submission};
use common::error::Error;
use common::runtime::event_handler::EventHandler;
use common::runtime::sqs_batch::{Settle, SqsBatchResponse, SqsEvent, settle_each};
use common::store::turns::Turns;
use common::upstream::tax_authority::client::{Limits, TaxAuthority};
use photo::PhotoReader;

use crate::fairness::Choice;
use common::app::lookup_throttle::{SeenSlot, Throttle};

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
    const SECRETS: &[StartSecret] = &[StartSecret::Moments];

    fn connect(context: &EventContext) -> Result<Self, ConfigError> {
        let EventContext { env, aws, .. } = context;
        let worker = Worker::new(context, "settle-receipts", Dependency::TaxAuthority)?;
        let authority = TaxAuthority::from_env(env, Limits::default())?;
        Ok(Self {
            photos: Photos::from_env(env, aws)?,
            reader: PhotoReader::from_env(env)?,
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
        let Choice { other, seen, read } = self.choose(message).await;
        let Some(other) = other else {
            return self.take_turn(message, seen, read).await;
        };
        // Logged; the other submission stays due.
        let _ = self.take_turn(&other, seen, None).await;
        self.worker.requeue(message).await;
        Ok(())
    }
}

impl SettleReceipts {
    async fn take_turn(
        &self,
        message: &SettleMessage,
        seen: Option<SeenSlot>,
        read: Option<Submission>,
    ) -> Result<(), Error> {
        let step = Box::pin(self.step(message, seen.clone(), read));
        let result = self.worker.run_logged(message, step).await.map(drop);
        if let Some(seen) = seen {
            self.pass_turn(&seen, message).await;
        }
        result
    }
}
