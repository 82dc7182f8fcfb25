//! Waits after steps without a decision, until an operator takes over.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// Minutes; shops may upload receipts hours later.
const MISSING_WAITS: [u64; 6] = [15, 60, 180, 360, 720, 1440];
/// Minutes; the last one repeats, as in the lists below.
const THROTTLED_WAITS: [u64; 5] = [2, 5, 15, 45, 120];
/// Minutes.
const UNAVAILABLE_WAITS: [u64; 5] = [1, 5, 15, 45, 120];
/// Seconds.
const PARTNER_WAITS: [u64; 8] = [5, 15, 30, 60, 120, 300, 900, 1_800];
/// Minutes.
const UNREADABLE_WAITS: [u64; 4] = [15, 60, 180, 360];
/// Share of a wait, either way: spreads submissions that failed together.
const JITTER: f64 = 0.2;
/// Spread of submissions that wait for one breaker.
const CIRCUIT_SPREAD: Duration = Duration::from_secs(10);
const GIVE_UP_AFTER: Duration = Duration::from_hours(24);

/// Divisor of retry waits: 1 in production.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySpeedup(u32);

impl Default for RetrySpeedup {
    fn default() -> Self {
        Self(1)
    }
}

impl RetrySpeedup {
    pub fn new(times: u32) -> Self {
        Self(times.max(1))
    }

    pub fn apply(self, wait: Duration) -> Duration {
        wait / self.0
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RetryContext {
    pub now: Timestamp,
    pub speedup: RetrySpeedup,
    /// 0 to 1. Look-ups ignore it: their slots keep them apart.
    pub jitter: f64,
}

impl RetryContext {
    pub fn after(self, wait: Duration) -> Timestamp {
        self.now.after(self.speedup.apply(wait))
    }

    pub fn after_circuit(self, retry_at: Timestamp) -> Timestamp {
        let spread = self
            .speedup
            .apply(CIRCUIT_SPREAD)
            .mul_f64(self.jitter.clamp(0.0, 1.0));
        self.now.after(retry_at.since(self.now) + spread)
    }

    pub fn gives_up(self, unanswered_since: Timestamp) -> bool {
        self.now.since(unanswered_since) >= self.speedup.apply(GIVE_UP_AFTER)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupFailure {
    Missing,
    Throttled,
    Failed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupFailures {
    pub missing: u32,
    /// Count in a row, like `trouble`.
    pub throttled: u32,
    pub trouble: u32,
    pub unanswered_since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    RetryAfter(Duration),
    /// Every shop has uploaded its receipts by now.
    DoesNotExist,
    GiveUp,
}

impl LookupFailures {
    pub fn after(self, failure: LookupFailure, retry: RetryContext) -> (Self, RetryDecision) {
        let since = self.unanswered_since.unwrap_or(retry.now);
        let unanswered_since = Some(since);
        let (failures, wait) = match failure {
            LookupFailure::Missing => {
                let failures = Self {
                    missing: self.missing + 1,
                    ..Self::default()
                };
                let decision = nth(&MISSING_WAITS, self.missing)
                    .map(minutes)
                    .map(RetryDecision::RetryAfter);
                return (failures, decision.unwrap_or(RetryDecision::DoesNotExist));
            }
            LookupFailure::Throttled => (
                Self {
                    throttled: self.throttled + 1,
                    unanswered_since,
                    ..self
                },
                nth_or_last(&THROTTLED_WAITS, self.throttled),
            ),
            LookupFailure::Failed => (
                Self {
                    trouble: self.trouble + 1,
                    unanswered_since,
                    ..self
                },
                nth_or_last(&UNAVAILABLE_WAITS, self.trouble),
            ),
        };
        let decision = match retry.gives_up(since) {
            true => RetryDecision::GiveUp,
            false => RetryDecision::RetryAfter(minutes(wait)),
        };
        (failures, decision)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerProgress {
    pub attempts: u32,
    /// A request whose answer was lost may have redeemed the code.
    pub maybe_redeemed: bool,
    pub unanswered_since: Option<Timestamp>,
}

impl PartnerProgress {
    pub fn backoff(self, jitter: f64) -> Duration {
        jittered(
            Duration::from_secs(nth_or_last(&PARTNER_WAITS, self.attempts)),
            jitter,
        )
    }
}

pub(super) fn jittered(wait: Duration, jitter: f64) -> Duration {
    wait.mul_f64(1.0 - JITTER + 2.0 * JITTER * jitter.clamp(0.0, 1.0))
}

pub fn unreadable_backoff(reads: u32) -> Duration {
    minutes(nth_or_last(&UNREADABLE_WAITS, reads))
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_mins(minutes)
}

fn nth(waits: &[u64], index: u32) -> Option<u64> {
    waits.get(usize::try_from(index).ok()?).copied()
}

fn nth_or_last(waits: &[u64], index: u32) -> u64 {
    nth(waits, index)
        .or(waits.last().copied())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Timestamp = Timestamp::from_millis(0);

    fn retry(now: Timestamp, speedup: RetrySpeedup) -> RetryContext {
        RetryContext {
            now,
            speedup,
            jitter: 0.5,
        }
    }

    /// Waits in minutes if every look-up fails like this, and the last decision.
    fn waits(failure: LookupFailure, speedup: RetrySpeedup) -> (Vec<u64>, RetryDecision) {
        let (mut failures, mut now, mut waits) = (LookupFailures::default(), START, Vec::new());
        loop {
            let (next, decision) = failures.after(failure, retry(now, speedup));
            let RetryDecision::RetryAfter(wait) = decision else {
                return (waits, decision);
            };
            failures = next;
            now = retry(now, speedup).after(wait);
            waits.push(wait.as_secs() / 60);
            assert!(waits.len() < 100, "it never ends");
        }
    }

    #[test]
    fn a_receipt_that_never_comes_is_looked_up_six_more_times() {
        let expected = (
            vec![15, 60, 180, 360, 720, 1440],
            RetryDecision::DoesNotExist,
        );
        assert_eq!(
            waits(LookupFailure::Missing, RetrySpeedup::default()),
            expected
        );
    }

    #[test]
    fn an_operator_takes_over_after_a_day_without_an_answer() {
        let (trouble, end) = waits(LookupFailure::Failed, RetrySpeedup::default());
        assert_eq!(
            (trouble.get(..6), end),
            (Some(&[1, 5, 15, 45, 120, 120][..]), RetryDecision::GiveUp)
        );
        assert!(
            (1_440..1_440 + 120).contains(&trouble.iter().sum::<u64>()),
            "{trouble:?}"
        );
        let (throttled, end) = waits(LookupFailure::Throttled, RetrySpeedup::default());
        assert_eq!(
            (throttled.get(..6), end),
            (Some(&[2, 5, 15, 45, 120, 120][..]), RetryDecision::GiveUp)
        );
        let sped_up = waits(LookupFailure::Throttled, RetrySpeedup::new(100)).0;
        assert_eq!(
            sped_up, throttled,
            "a speed-up changes no number of attempts"
        );
    }

    #[test]
    fn an_answer_ends_the_time_without_one() {
        let now = retry(START, RetrySpeedup::default());
        let (failures, _) = LookupFailures::default().after(LookupFailure::Failed, now);
        let (failures, _) = failures.after(LookupFailure::Missing, now);
        assert_eq!(
            failures,
            LookupFailures {
                missing: 1,
                ..LookupFailures::default()
            }
        );
    }

    #[test]
    fn an_unreadable_record_is_read_less_and_less_often() {
        let waits = [0, 1, 2, 3, 4, 99].map(|reads| unreadable_backoff(reads).as_secs() / 60);
        assert_eq!(waits, [15, 60, 180, 360, 360, 360]);
    }

    fn any_failure() -> impl Strategy<Value = LookupFailure> {
        prop::sample::select(vec![
            LookupFailure::Missing,
            LookupFailure::Throttled,
            LookupFailure::Failed,
        ])
    }

    proptest! {
        #[test]
        fn lookups_end_whatever_fails(failures in prop::collection::vec(any_failure(), 400)) {
            let (mut counted, mut now) = (LookupFailures::default(), START);
            let ended = failures.into_iter().any(|failure| {
                let (next, decision) = counted.after(failure, retry(now, RetrySpeedup::default()));
                counted = next;
                if let RetryDecision::RetryAfter(wait) = decision { now = now.after(wait) }
                !matches!(decision, RetryDecision::RetryAfter(_))
            });
            prop_assert!(ended);
        }

        #[test]
        fn waits_for_a_partner_grow_and_stay_near_their_plan(attempts in 0u32..40, jitter in 0.0f64..=1.0) {
            let wait = |attempts, jitter| {
                PartnerProgress { attempts, ..PartnerProgress::default() }.backoff(jitter)
            };
            let plan = wait(attempts, 0.5);
            prop_assert!(wait(attempts, jitter) >= plan.mul_f64(0.79));
            prop_assert!(wait(attempts, jitter) <= plan.mul_f64(1.21));
            prop_assert!(wait(attempts + 1, 0.5) >= plan);
            prop_assert!(plan <= Duration::from_secs(1_800));
        }
    }
}
