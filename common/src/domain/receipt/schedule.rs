//! How often the tax authority is asked, and when again for a record that it did not give.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::settling::RetrySpeedup;
use crate::domain::timestamp::Timestamp;

/// Look-ups in a minute, of all campaigns and environments together: "two at a time, three seconds apart" is what the
/// authority bears from one address.
pub const LOOK_UPS_PER_MINUTE: u64 = 40;
/// Between the beginnings of two look-ups.
pub const LOOK_UP_INTERVAL: Duration = Duration::from_millis(60_000 / LOOK_UPS_PER_MINUTE);

/// Why there is no record yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupFailure {
    /// The authority does not know the receipt, or not yet: shops send theirs hours later.
    Missing,
    /// We asked too often.
    Throttled,
    /// Something is wrong there, or on the way.
    Trouble,
}

/// What was met so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupFailures {
    /// How often the authority did not know the receipt.
    pub missing: u32,
    /// How often it was too busy for us, in a row.
    pub throttled: u32,
    /// How often something was wrong, in a row.
    pub trouble: u32,
    /// Since when it has given no answer at all.
    pub silent_since: Option<Timestamp>,
}

/// What to do after an obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Ask again after this wait.
    AskAgain(Duration),
    /// The receipt does not exist: a shop that sends it at all has done so by now.
    DoesNotExist,
    /// There has been no answer for so long that a person has to know.
    Unanswered,
}

/// Waits before asking again for a receipt that is not there yet, in minutes.
const WHILE_MISSING: [u64; 6] = [15, 60, 180, 360, 720, 1440];
/// Waits before asking again after having been too quick, in minutes; the last one repeats.
const WHILE_THROTTLED: [u64; 5] = [2, 5, 15, 45, 120];
/// Waits before asking again after trouble, in minutes; the last one repeats.
const WHILE_IN_TROUBLE: [u64; 5] = [1, 5, 15, 45, 120];
/// How long no answer is borne before a person is told.
const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

impl LookupFailures {
    /// What to do after one more obstacle, and the tally with it.
    pub fn after(
        self,
        obstacle: LookupFailure,
        now: Timestamp,
        hasten: RetrySpeedup,
    ) -> (Self, RetryDecision) {
        let silent_since = self.silent_since.unwrap_or(now);
        let lookup_failures = match obstacle {
            LookupFailure::Missing => Self { missing: self.missing + 1, ..Self::default() },
            LookupFailure::Throttled => {
                Self { throttled: self.throttled + 1, silent_since: Some(silent_since), ..self }
            }
            LookupFailure::Trouble => {
                Self { trouble: self.trouble + 1, silent_since: Some(silent_since), ..self }
            }
        };
        let plan = match obstacle {
            LookupFailure::Missing => {
                nth(&WHILE_MISSING, self.missing).map_or(RetryDecision::DoesNotExist, RetryDecision::AskAgain)
            }
            LookupFailure::Throttled | LookupFailure::Trouble
                if now.since(silent_since) >= hasten.apply(GIVE_UP_AFTER) =>
            {
                RetryDecision::Unanswered
            }
            LookupFailure::Throttled => {
                RetryDecision::AskAgain(nth_or_last(&WHILE_THROTTLED, self.throttled))
            }
            LookupFailure::Trouble => RetryDecision::AskAgain(nth_or_last(&WHILE_IN_TROUBLE, self.trouble)),
        };
        (lookup_failures, plan)
    }
}

fn nth(minutes: &[u64], index: u32) -> Option<Duration> {
    let minutes = minutes.get(usize::try_from(index).ok()?)?;
    Some(Duration::from_secs(minutes * 60))
}

fn nth_or_last(minutes: &[u64], index: u32) -> Duration {
    let last = minutes.last().copied().unwrap_or_default();
    nth(minutes, index).unwrap_or(Duration::from_secs(last * 60))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Timestamp = Timestamp::from_millis(0);

    /// The waits in minutes when every answer is this obstacle, and how it ends.
    fn course(obstacle: LookupFailure, hasten: RetrySpeedup) -> (Vec<u64>, RetryDecision) {
        let (mut lookup_failures, mut now, mut waits) = (LookupFailures::default(), START, Vec::new());
        loop {
            let (next, plan) = lookup_failures.after(obstacle, now, hasten);
            let RetryDecision::AskAgain(wait) = plan else { return (waits, plan) };
            lookup_failures = next;
            now = now.after(hasten.apply(wait));
            waits.push(wait.as_secs() / 60);
            assert!(waits.len() < 100, "it never ends");
        }
    }

    #[test]
    fn a_receipt_that_never_comes_is_asked_for_six_more_times() {
        let expected = (vec![15, 60, 180, 360, 720, 1440], RetryDecision::DoesNotExist);
        assert_eq!(course(LookupFailure::Missing, RetrySpeedup::default()), expected);
    }

    #[test]
    fn a_day_of_silence_is_told_to_a_person() {
        let (waits, end) = course(LookupFailure::Trouble, RetrySpeedup::default());
        assert_eq!((waits.get(..6), end), (Some(&[1, 5, 15, 45, 120, 120][..]), RetryDecision::Unanswered));
        assert!((1_440..1_440 + 120).contains(&waits.iter().sum::<u64>()), "{waits:?}");
        let (waits, end) = course(LookupFailure::Throttled, RetrySpeedup::default());
        assert_eq!((waits.get(..6), end), (Some(&[2, 5, 15, 45, 120, 120][..]), RetryDecision::Unanswered));
        assert_eq!(
            course(LookupFailure::Throttled, RetrySpeedup::by(100)).0,
            waits,
            "haste changes no number of tries"
        );
    }

    #[test]
    fn an_answer_ends_the_silence() {
        let (lookup_failures, _) =
            LookupFailures::default().after(LookupFailure::Trouble, START, RetrySpeedup::default());
        let (lookup_failures, _) =
            lookup_failures.after(LookupFailure::Missing, START, RetrySpeedup::default());
        assert_eq!(lookup_failures, LookupFailures { missing: 1, ..LookupFailures::default() });
    }

    fn any_obstacle() -> impl Strategy<Value = LookupFailure> {
        prop::sample::select(vec![LookupFailure::Missing, LookupFailure::Throttled, LookupFailure::Trouble])
    }

    proptest! {
        #[test]
        fn whatever_is_met_it_ends(obstacles in prop::collection::vec(any_obstacle(), 400)) {
            let (mut lookup_failures, mut now) = (LookupFailures::default(), START);
            let ended = obstacles.into_iter().any(|obstacle| {
                let (next, plan) = lookup_failures.after(obstacle, now, RetrySpeedup::default());
                lookup_failures = next;
                if let RetryDecision::AskAgain(wait) = plan { now = now.after(wait) }
                !matches!(plan, RetryDecision::AskAgain(_))
            });
            prop_assert!(ended);
        }
    }
}
