//! The handler of events from a queue, storage or the schedule.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::job::EventContext;
use crate::config::ConfigError;
use crate::error::Error;

pub trait EventHandler: Send + Sync + Sized + 'static {
    type Event: DeserializeOwned + Send;
    /// For the event's source.
    type Reply: Serialize + Send;
    /// Fetches the deployment's secret before the first event.
    const NEEDS_SECRET: bool = false;

    fn connect(context: &EventContext) -> Result<Self, ConfigError>;

    /// # Errors
    /// When the event has to be sent again.
    fn handle(&self, event: Self::Event)
    -> impl Future<Output = Result<Self::Reply, Error>> + Send;
}
