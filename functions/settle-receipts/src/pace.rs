//! The pace of look-ups: the tax authority turns fast callers away, and all environments of the service are one caller.
//!
//! Clocks of environments differ, so the pace does not rely on them. An environment can take a slot one interval after it
//! *saw* the slot before, by its own stopwatch. That slot was taken before it was seen, so two look-ups begin at least an
//! interval apart, whatever the clocks say. While an environment waits it keeps reading the last slot, to see early that
//! another one took a slot; then the interval starts again.
//!
//! The clock has one use: after a long rest, nobody waits. A slot that was taken more than an interval and
//! [`MAX_CLOCK_DIFFERENCE`] ago is not waited for. Clocks that differ by no more than that never bring two look-ups closer
//! together, and delay nobody: the longest wait for a slot that nobody else wants is one interval.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::domain::scope::Scope;
use common::domain::settling::MAX_CLOCK_DIFFERENCE;
use common::domain::timestamp::Timestamp;
use common::store::StoreError;
use common::store::look_up_slots::{LookUpSlots, Slot, Take};
use tokio::time::{Instant, sleep, sleep_until};

/// Intervals that a step waits for a slot before it makes room for others. With photo and look-up this is well within the
/// step's time.
const MAX_INTERVALS: u32 = 10;
/// Reads of the last slot in one interval. When many environments wait, half of the time between two reads is lost.
const READS_PER_INTERVAL: u32 = 20;
/// The shortest time between two reads, however short the interval.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(20);
/// A slot that took longer to take is not used: its look-up would begin close to that of the next slot.
const MAX_TAKE_TIME: Duration = Duration::from_millis(500);

/// Keeps an interval between the beginnings of look-ups.
#[derive(Debug)]
pub(crate) struct Throttle {
    slots: LookUpSlots,
    min_interval: Duration,
    /// The last slot that this environment saw, also in earlier steps.
    last_seen: Mutex<Option<Seen>>,
}

/// The last slot, and when this environment first saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    slot: Option<Slot>,
    at: Instant,
}

/// Whether a look-up may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// Now.
    Granted,
    /// No slot was free in time.
    TooBusy,
}

impl Seen {
    /// The scope that had the last turn.
    pub(crate) fn scope(&self) -> Option<&Scope> {
        self.slot.as_ref()?.scope.as_ref()
    }

    fn slot_number(&self) -> Option<u64> {
        self.slot.as_ref().map(|slot| slot.number)
    }

    /// When the next slot can be taken.
    fn next_at(&self, min_interval: Duration, now: Timestamp) -> Instant {
        let is_long_ago = |slot: &Slot| now.since(slot.taken_at) >= min_interval + MAX_CLOCK_DIFFERENCE;
        if self.slot.as_ref().is_none_or(is_long_ago) { self.at } else { self.at + min_interval }
    }
}

impl Throttle {
    pub(crate) fn new(slots: LookUpSlots, min_interval: Duration) -> Self {
        Self { slots, min_interval, last_seen: Mutex::default() }
    }

    /// Reads the last slot.
    ///
    /// # Errors
    /// When the table does not answer.
    pub(crate) async fn see(&self) -> Result<Seen, StoreError> {
        Ok(self.first_seen(self.slots.last().await?))
    }

    /// Records the turn of a scope whose step took no slot. If this environment saw a new slot meanwhile, that slot has
    /// moved the turn already.
    ///
    /// # Errors
    /// When the table does not answer.
    pub(crate) async fn pass_turn(
        &self,
        seen: &Seen,
        scope: &Scope,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_last = self.last_seen().is_none_or(|last| last.slot_number() == seen.slot_number());
        if is_last && seen.scope() != Some(scope) {
            self.slots.pass_turn(seen.slot.as_ref(), scope, now).await?;
        }
        Ok(())
    }

    /// Waits for the next slot and takes it for a receipt of this scope. Gives up after [`MAX_INTERVALS`], or if the slot
    /// would be later than `until`.
    ///
    /// # Errors
    /// When the table does not answer; then no slot was taken, or one that stays unused.
    pub(crate) async fn acquire(
        &self,
        scope: &Scope,
        mut seen: Seen,
        until: Instant,
        clock: impl Fn() -> Timestamp,
    ) -> Result<Permit, StoreError> {
        let until = until.min(Instant::now() + self.min_interval * MAX_INTERVALS);
        let read_interval = (self.min_interval / READS_PER_INTERVAL).max(MIN_READ_INTERVAL);
        loop {
            let next_at = seen.next_at(self.min_interval, clock());
            if next_at > until {
                return Ok(Permit::TooBusy);
            }
            if Instant::now() + read_interval < next_at {
                sleep(read_interval).await;
                seen = self.see().await?;
                continue;
            }
            sleep_until(next_at).await;
            let began = Instant::now();
            seen = match self.slots.take(seen.slot.as_ref(), scope, clock()).await? {
                Take::Taken(slot) => {
                    let was_quick = began.elapsed() <= MAX_TAKE_TIME;
                    // Environments that wait have seen it by then, and come first.
                    let seen = self.remember(Seen { slot: Some(slot), at: Instant::now() + read_interval });
                    if was_quick {
                        return Ok(Permit::Granted);
                    }
                    seen
                }
                Take::Missed(slot) => self.first_seen(slot),
            };
        }
    }

    /// The slot with the time when this environment first saw it: now, unless it is the one that it saw last.
    fn first_seen(&self, slot: Option<Slot>) -> Seen {
        let mut seen = Seen { slot, at: Instant::now() };
        if let Some(last) = self.last_seen().filter(|last| last.slot_number() == seen.slot_number()) {
            seen.at = last.at;
        }
        self.remember(seen)
    }

    fn last_seen(&self) -> Option<Seen> {
        self.last_seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, seen: Seen) -> Seen {
        *self.last_seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen.clone());
        seen
    }
}

#[cfg(test)]
mod tests {
    use common::domain::receipt::schedule::LOOK_UP_INTERVAL;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    /// The wait after a slot that was taken this many seconds ago, by the clocks of two environments.
    fn wait(seconds_ago: Option<i64>) -> Duration {
        let taken_at = |seconds: i64| Timestamp::from_millis(NOW.as_millis() - seconds * 1_000);
        let slot = seconds_ago.map(|ago| Slot { number: 7, taken_at: taken_at(ago), scope: None });
        let seen = Seen { slot, at: Instant::now() };
        seen.next_at(LOOK_UP_INTERVAL, NOW).duration_since(seen.at)
    }

    #[test]
    fn the_wait_is_an_interval_whatever_a_clock_says_that_is_a_minute_off() {
        for ago in [-60, -30, 0, 1, 30, 61] {
            assert_eq!(wait(Some(ago)), LOOK_UP_INTERVAL, "{ago}");
        }
    }

    #[test]
    fn after_a_long_rest_nobody_waits() {
        assert_eq!(wait(Some(62)), Duration::ZERO);
        assert_eq!(wait(None), Duration::ZERO);
    }
}
