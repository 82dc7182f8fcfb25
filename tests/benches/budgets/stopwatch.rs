//! Statistics of measured times.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Durations(Vec<Duration>);

impl Durations {
    pub(crate) fn push(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// `percent` is from 0 to 100.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1).expect("measured at least once");
        sorted[last * percent / 100]
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }
}

/// Milliseconds with two decimals.
pub(crate) fn millis(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1000.0)
}

pub(crate) fn per_second(times: u64, taken: Duration) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate for people: the last digits do not matter"
    )]
    let times = times as f64;
    times / taken.as_secs_f64()
}
