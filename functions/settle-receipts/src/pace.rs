//! The pace of look-ups: the tax authority turns away whoever asks too quickly, and all environments of the service are
//! one caller to it.
//!
//! Clocks of environments differ, so the pace rests on none. A slot can be taken a gap after an environment has *seen*
//! the one before, by the time that passes in that environment itself. The one before was taken earlier than it was
//! seen, so two look-ups begin a gap apart, whatever the clocks say. Who waits looks every now and then, to see early
//! that another environment has taken a slot: then the gap begins anew.
//!
//! A clock serves one thing alone: not to wait after a long rest. A slot that was taken more than a gap and
//! [`MAX_CLOCK_DIFFERENCE`] ago is not waited for. So clocks that are as much as that apart never bring two look-ups
//! closer together, and hold nobody up: the longest wait for a slot that nobody else wants is one gap.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use common::store::StoreError;
use common::store::look_up_slots::{LookUpSlots, Slot, Take};
use tokio::time::{Instant, sleep, sleep_until};

/// Gaps for which a step waits for a slot; then it makes room for others. With photo and look-up, it is well within the
/// step's time.
const MAX_GAPS: u32 = 10;
/// Who waits looks so many times in a gap: what is lost of the pace when many wait is half of such a part.
const LOOKS_IN_A_GAP: u32 = 20;
/// However short the gap is made: a look costs a read.
const MIN_LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// How far the clocks of two environments are apart at most.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);
/// A slot whose taking took longer is not used: its look-up would begin close to that of the next slot.
const MAX_TAKE_TIME: Duration = Duration::from_millis(500);

/// Lets look-ups begin one after the other, with a gap between them.
#[derive(Debug)]
pub(crate) struct Pace {
    slots: LookUpSlots,
    gap: Duration,
    /// The last slot that this environment saw. What was seen before stays seen when a new step begins.
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
    /// It may, now.
    Granted,
    /// No slot was free in time.
    TooBusy,
}

impl Seen {
    /// Whose look-up had the last slot.
    pub(crate) fn scope(&self) -> Option<&Scope> {
        self.slot.as_ref()?.scope.as_ref()
    }

    /// When the next slot can be taken.
    fn next_at(&self, gap: Duration, now: Timestamp) -> Instant {
        let is_long_ago = |slot: &Slot| now.since(slot.taken_at) >= gap + MAX_CLOCK_DIFFERENCE;
        if self.slot.as_ref().is_none_or(is_long_ago) { self.at } else { self.at + gap }
    }
}

impl Pace {
    pub(crate) fn new(slots: LookUpSlots, gap: Duration) -> Self {
        Self { slots, gap, last_seen: Mutex::default() }
    }

    /// Looks which slot was taken last.
    ///
    /// # Errors
    /// When the table does not answer.
    pub(crate) async fn see(&self) -> Result<Seen, StoreError> {
        Ok(self.first_seen(self.slots.last().await?))
    }

    /// Waits for the next slot and takes it, for a receipt of this scope; gives up after [`MAX_GAPS`], or when
    /// it would be later than `until`.
    ///
    /// # Errors
    /// When the table does not answer; no slot was taken then, or one that stays unused.
    pub(crate) async fn take(
        &self,
        scope: &Scope,
        mut seen: Seen,
        until: Instant,
        clock: impl Fn() -> Timestamp,
    ) -> Result<Permit, StoreError> {
        let until = until.min(Instant::now() + self.gap * MAX_GAPS);
        let look_interval = (self.gap / LOOKS_IN_A_GAP).max(MIN_LOOK_INTERVAL);
        loop {
            let next_at = seen.next_at(self.gap, clock());
            if next_at > until {
                return Ok(Permit::TooBusy);
            }
            if Instant::now() + look_interval < next_at {
                sleep(look_interval).await;
                seen = self.see().await?;
                continue;
            }
            sleep_until(next_at).await;
            let began = Instant::now();
            seen = match self.slots.take(seen.slot.as_ref(), scope, clock()).await? {
                Take::Taken(slot) => {
                    let was_quick = began.elapsed() <= MAX_TAKE_TIME;
                    // Those that wait see it by then, and come first.
                    let seen = self.remember(Seen { slot: Some(slot), at: Instant::now() + look_interval });
                    if was_quick {
                        return Ok(Permit::Granted);
                    }
                    seen
                }
                Take::Missed(slot) => self.first_seen(slot),
            };
        }
    }

    /// When this environment saw a slot first: now, unless it is the one that it saw last.
    fn first_seen(&self, slot: Option<Slot>) -> Seen {
        let last_seen = self.last_seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let same = last_seen.filter(|last_seen| last_seen.slot == slot);
        same.unwrap_or_else(|| self.remember(Seen { slot, at: Instant::now() }))
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

    /// How long a slot is waited for that was taken so many seconds ago, by the clocks of two environments.
    fn wait(seconds_ago: Option<i64>) -> Duration {
        let taken_at = |seconds: i64| Timestamp::from_millis(NOW.as_millis() - seconds * 1_000);
        let slot = seconds_ago.map(|ago| Slot { number: 7, taken_at: taken_at(ago), scope: None });
        let seen = Seen { slot, at: Instant::now() };
        seen.next_at(LOOK_UP_INTERVAL, NOW).duration_since(seen.at)
    }

    #[test]
    fn a_slot_is_waited_for_a_gap_whatever_a_clock_says_that_is_a_minute_off() {
        for ago in [-60, -30, 0, 1, 30, 61] {
            assert_eq!(wait(Some(ago)), LOOK_UP_INTERVAL, "{ago}");
        }
    }

    #[test]
    fn after_a_long_rest_nothing_is_waited_for() {
        assert_eq!(wait(Some(62)), Duration::ZERO);
        assert_eq!(wait(None), Duration::ZERO);
    }
}
