//! The pace of look-ups: the tax authority turns away whoever asks too quickly.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Between the beginnings of two look-ups.
pub(crate) const GAP: Duration = Duration::from_secs(3);

/// Lets one after the other begin, with a gap between them.
#[derive(Debug)]
pub(crate) struct Pace {
    gap: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    pub(crate) fn new(gap: Duration) -> Self {
        Self { gap, next: Mutex::new(None) }
    }

    /// Waits for one's turn.
    pub(crate) async fn turn(&self) {
        // Kept while waiting, so that turns come in the order of asking.
        let mut next = self.next.lock().await;
        if let Some(next) = *next {
            sleep_until(next).await;
        }
        *next = Some(Instant::now() + self.gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_a_gap_apart_however_many_ask_at_once() {
        let pace = Pace::new(GAP);
        let start = Instant::now();
        let turn = || async {
            pace.turn().await;
            start.elapsed()
        };
        let (first, second, third) = tokio::join!(turn(), turn(), turn());
        assert_eq!([first, second, third], [Duration::ZERO, GAP, GAP * 2]);
        tokio::time::advance(GAP * 9).await;
        assert_eq!(turn().await, GAP * 11, "whoever comes late does not wait");
    }
}
