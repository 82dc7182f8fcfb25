use std::time::Duration;

use common::app::settlement::take_turn;
use common::aws::settle_queue::SettleMessage;
use common::domain::{Environment, Submission};

use crate::SettleReceipts;
use common::app::lookup_throttle::SeenSlot;

const TURN_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Choice {
    pub(crate) other: Option<SettleMessage>,
    pub(crate) seen: Option<SeenSlot>,
    pub(crate) read: Option<Submission>,
}

impl SettleReceipts {
    /// Test submissions look nothing up.
    pub(crate) async fn choose(&self, message: &SettleMessage) -> Choice {
        if message.scope.environment == Environment::Test {
            return Choice::default();
        }
        let choosing = async {
            let seen = self.throttle.see().await?;
            let last = seen.scope();
            Ok(Choice {
                other: self.worker.next_campaign_before(message, last).await?,
                seen: Some(seen),
                read: None,
            })
        };
        match self.worker.choose(message, choosing).await {
            Some((read, choice)) => Choice {
                read: Some(read),
                ..choice
            },
            None => Choice::default(),
        }
    }

    /// A failure may give the campaign the next turn too.
    pub(crate) async fn pass_turn(&self, seen: &SeenSlot, message: &SettleMessage) {
        let now = self.worker.now();
        let passing = self.throttle.pass_turn(seen, &message.scope, now);
        take_turn(message, "a turn was not recorded", TURN_TIMEOUT, passing).await;
    }
}
