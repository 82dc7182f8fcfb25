//! The only place that reads the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::domain::Timestamp;

/// Clones share it.
#[derive(Clone, Debug)]
pub struct Clock(TimeSource);

#[derive(Clone, Debug)]
enum TimeSource {
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    pub fn system() -> Self {
        Self(TimeSource::System)
    }

    /// Stands still until moved, for tests.
    pub fn manual(start: Timestamp) -> Self {
        Self(TimeSource::Manual(Arc::new(AtomicI64::new(
            start.as_millis(),
        ))))
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            TimeSource::System => {
                #[expect(clippy::disallowed_methods, reason = "this is the clock")]
                let since_epoch = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                Timestamp::from_millis(0).after(since_epoch)
            }
            TimeSource::Manual(millis) => Timestamp::from_millis(millis.load(Ordering::SeqCst)),
        }
    }

    /// A manual clock jumps ahead instead.
    pub async fn sleep(&self, span: Duration) {
        match &self.0 {
            TimeSource::System => tokio::time::sleep(span).await,
            TimeSource::Manual(_) => self.advance(span),
        }
    }

    pub fn advance(&self, span: Duration) {
        if let TimeSource::Manual(millis) = &self.0 {
            let step = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            millis.fetch_add(step, Ordering::SeqCst);
        }
    }
}
