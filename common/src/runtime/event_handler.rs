use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::job::EventContext;
use crate::aws::StartSecret;
use crate::config::ConfigError;
use crate::error::Error;

pub trait EventHandler: Send + Sync + Sized + 'static {
    type Event: DeserializeOwned + Send;
    type Reply: Serialize + Send;
    /// Fetched before the first event.
    const SECRETS: &[StartSecret] = &[];

    fn connect(context: &EventContext) -> Result<Self, ConfigError>;

    fn handle(&self, event: Self::Event)
    -> impl Future<Output = Result<Self::Reply, Error>> + Send;
}
