//! Throttles look-ups: the tax authority turns fast callers away, and all environments are one
//! caller. Clocks differ, so an environment takes a slot one interval after it *saw* the previous
//! one, by its own stopwatch. A slot is taken before it is seen, so look-ups start an interval
//! apart at least. Clocks matter only after a pause: a slot older than an interval and
//! [`MAX_CLOCK_DIFFERENCE`] causes no wait. An operator's clock differs by more: see
//! [`Throttle::on_operators_machine`].

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::domain::settling::MAX_CLOCK_DIFFERENCE;
use crate::domain::{Scope, Timestamp};
use crate::error::StoreResult;
use crate::lock::Mutex;
use crate::store::turns::{Turn, TurnResult, Turns};

/// Photo and look-up still fit into a step's time.
const MAX_INTERVALS: u32 = 10;
/// Many environments lose half of the time between reads.
const READS_PER_INTERVAL: u32 = 20;
/// Applies to short intervals.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(20);
/// A slower slot stays unused: its look-up would be too close to the next.
const MAX_TAKE_TIME: Duration = Duration::from_millis(500);
/// AWS refuses requests of a clock that is further off.
const OPERATORS_CLOCK_ERROR: Duration = Duration::from_mins(15);

#[derive(Debug)]
pub struct Throttle {
    turns: Turns,
    min_interval: Duration,
    /// Error of this clock beyond [`MAX_CLOCK_DIFFERENCE`].
    clock_error: Duration,
    last_seen: Mutex<Option<SeenSlot>>,
}

#[derive(Clone, Debug)]
pub struct SeenSlot {
    slot: Option<Turn>,
    at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotPermit {
    Granted,
    TooBusy,
}

impl SeenSlot {
    pub fn scope(&self) -> Option<&Scope> {
        self.slot.as_ref()?.scope.as_ref()
    }

    fn slot_number(&self) -> Option<u64> {
        self.slot.as_ref().map(|slot| slot.number)
    }

    fn next_at(&self, min_interval: Duration, clock_error: Duration, now: Timestamp) -> Instant {
        let max_wait = min_interval + MAX_CLOCK_DIFFERENCE + clock_error;
        let is_long_ago = |slot: &Turn| now.since(slot.taken_at) >= max_wait;
        if self.slot.as_ref().is_none_or(is_long_ago) {
            self.at
        } else {
            self.at + min_interval
        }
    }
}

impl Throttle {
    pub fn new(turns: Turns, min_interval: Duration) -> Self {
        Self {
            turns,
            min_interval,
            clock_error: Duration::ZERO,
            last_seen: Mutex::default(),
        }
    }

    pub fn on_operators_machine(self) -> Self {
        Self {
            clock_error: OPERATORS_CLOCK_ERROR,
            ..self
        }
    }

    pub async fn see(&self) -> StoreResult<SeenSlot> {
        Ok(self.first_seen(self.turns.last().await?))
    }

    /// A newer slot has already moved the turn.
    pub async fn pass_turn(
        &self,
        seen: &SeenSlot,
        scope: &Scope,
        now: Timestamp,
    ) -> StoreResult<()> {
        let is_last = self
            .last_seen
            .lock()
            .as_ref()
            .is_none_or(|last| last.slot_number() == seen.slot_number());
        if is_last && seen.scope() != Some(scope) {
            self.turns.pass(seen.slot.as_ref(), scope, now).await?;
        }
        Ok(())
    }

    /// Gives up after `MAX_INTERVALS`, or if it were after `until`.
    pub async fn acquire(
        &self,
        scope: &Scope,
        mut seen: SeenSlot,
        until: Instant,
        clock: impl Fn() -> Timestamp,
    ) -> StoreResult<SlotPermit> {
        let until = until.min(Instant::now() + self.min_interval * MAX_INTERVALS);
        let read_interval = (self.min_interval / READS_PER_INTERVAL).max(MIN_READ_INTERVAL);
        loop {
            let next_at = seen.next_at(self.min_interval, self.clock_error, clock());
            if next_at > until {
                return Ok(SlotPermit::TooBusy);
            }
            if Instant::now() + read_interval < next_at {
                sleep(read_interval).await;
                seen = self.see().await?;
                continue;
            }
            sleep_until(next_at).await;
            let began = Instant::now();
            let taken_at = clock().after(self.clock_error);
            seen = match self.turns.take(seen.slot.as_ref(), scope, taken_at).await? {
                TurnResult::Taken(slot) => {
                    let was_quick = began.elapsed() <= MAX_TAKE_TIME;
                    // Waiting environments have seen it by then and go first.
                    let seen = self.remember(SeenSlot {
                        slot: Some(slot),
                        at: Instant::now() + read_interval,
                    });
                    if was_quick {
                        return Ok(SlotPermit::Granted);
                    }
                    seen
                }
                TurnResult::Missed(slot) => self.first_seen(slot),
            };
        }
    }

    /// Now, unless it is unchanged since the last read.
    fn first_seen(&self, slot: Option<Turn>) -> SeenSlot {
        let mut seen = SeenSlot {
            slot,
            at: Instant::now(),
        };
        if let Some(last) = self
            .last_seen
            .lock()
            .clone()
            .filter(|last| last.slot_number() == seen.slot_number())
        {
            seen.at = last.at;
        }
        self.remember(seen)
    }

    fn remember(&self, seen: SeenSlot) -> SeenSlot {
        *self.last_seen.lock() = Some(seen.clone());
        seen
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::receipt::schedule::LOOKUP_INTERVAL;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    /// Wait after a slot this many seconds ago; negative if the other clock is ahead.
    fn wait(seconds_ago: Option<i64>, clock_error: Duration) -> Duration {
        let taken_at = |seconds: i64| Timestamp::from_millis(NOW.as_millis() - seconds * 1_000);
        let slot = seconds_ago.map(|ago| Turn {
            number: 7,
            taken_at: taken_at(ago),
            scope: None,
        });
        let seen = SeenSlot {
            slot,
            at: Instant::now(),
        };
        seen.next_at(LOOKUP_INTERVAL, clock_error, NOW)
            .duration_since(seen.at)
    }

    #[test]
    fn wait_is_an_interval_though_a_clock_is_a_minute_off() {
        for ago in [-60, -30, 0, 1, 30, 61] {
            assert_eq!(wait(Some(ago), Duration::ZERO), LOOKUP_INTERVAL, "{ago}");
        }
    }

    #[test]
    fn after_a_long_rest_nobody_waits() {
        assert_eq!(wait(Some(62), Duration::ZERO), Duration::ZERO);
        assert_eq!(wait(None, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn operator_waits_though_the_clock_is_a_quarter_of_an_hour_fast() {
        assert_eq!(wait(Some(961), OPERATORS_CLOCK_ERROR), LOOKUP_INTERVAL);
        assert_eq!(wait(Some(962), OPERATORS_CLOCK_ERROR), Duration::ZERO);
    }
}
