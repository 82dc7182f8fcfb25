use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::Timestamp;
use crate::lock::Mutex;

/// Delay of pausing a campaign or revoking a key.
pub const MAX_AGE: Duration = Duration::from_secs(5);

/// Only existing values are kept, so operators bound the size.
#[derive(Debug)]
pub struct Cache<K, V>(Mutex<HashMap<K, (Timestamp, Arc<V>)>>);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Eq + Hash + Clone, V> Cache<K, V> {
    pub fn peek(&self, key: &K, now: Timestamp, max_age: Duration) -> Option<Arc<V>> {
        let entries = self.0.lock();
        let (read_at, value) = entries.get(key)?;
        // A later time is from before the clock was set back.
        (*read_at <= now && now.since(*read_at) < max_age).then(|| Arc::clone(value))
    }

    pub fn peek_any(&self, key: &K) -> Option<Arc<V>> {
        self.0.lock().get(key).map(|(_, value)| Arc::clone(value))
    }

    pub fn set(&self, key: &K, now: Timestamp, value: Option<V>) -> Option<Arc<V>> {
        let value = value.map(Arc::new);
        match &value {
            Some(value) => self.0.lock().insert(key.clone(), (now, Arc::clone(value))),
            None => self.0.lock().remove(key),
        };
        value
    }

    pub async fn get<E>(
        &self,
        key: &K,
        now: Timestamp,
        max_age: Duration,
        read: impl Future<Output = Result<Option<V>, E>>,
    ) -> Result<Option<Arc<V>>, E> {
        match self.peek(key, now, max_age) {
            Some(value) => Ok(Some(value)),
            None => Ok(self.set(key, now, read.await?)),
        }
    }
}
