//! The handler of events from a queue, storage or the schedule.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::job::EventContext;
use crate::config::ConfigError;
use crate::error::Error;

/// A function that takes events.
pub trait EventHandler: Send + Sync + Sized + 'static {
    type Event: DeserializeOwned + Send;
    /// The reply to the event's source.
    type Reply: Serialize + Send;

    /// Connects to the tables and queues it uses.
    fn connect(context: &EventContext) -> Result<Self, ConfigError>;

    /// Fetches data before the first event that events would otherwise wait for. If that fails, the first event that
    /// needs the data fetches it.
    fn prepare(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Handles an event.
    ///
    /// # Errors
    /// When the event has to be sent again.
    fn handle(&self, event: Self::Event)
    -> impl Future<Output = Result<Self::Reply, Error>> + Send;
}
