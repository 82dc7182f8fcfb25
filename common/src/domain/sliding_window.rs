//! A limit over a moving span, by a log of hits.

use std::time::Duration;

use super::Timestamp;
use super::rate_limit_status::Remaining;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingWindow {
    pub limit: u32,
    pub span: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowDecision {
    /// The log to keep, oldest first, including this hit.
    Admitted(Vec<Timestamp>),
    Refused {
        /// Wait of a millisecond or more.
        retry_after: Duration,
    },
}

impl SlidingWindow {
    pub fn admit(self, log: &[Timestamp], now: Timestamp) -> WindowDecision {
        let mut counting = self.counting(log, now);
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        // The hit whose expiry makes room; after a lowered limit, several must expire first.
        let excess = counting.len().saturating_sub(limit.saturating_sub(1));
        match excess.checked_sub(1).and_then(|index| counting.get(index)) {
            Some(blocking) => WindowDecision::Refused {
                retry_after: blocking.after(self.span).since(now),
            },
            None => {
                counting.push(now);
                counting.sort_unstable();
                WindowDecision::Admitted(counting)
            }
        }
    }

    pub fn left(self, log: &[Timestamp], now: Timestamp) -> Remaining {
        let counting = self.counting(log, now);
        let hits = u32::try_from(counting.len()).unwrap_or(u32::MAX);
        let until = counting
            .first()
            .map_or(self.span, |oldest| oldest.after(self.span).since(now));
        Remaining {
            requests: self.limit.saturating_sub(hits),
            until,
        }
    }

    /// Oldest first. Hits from a fast clock count too.
    fn counting(self, log: &[Timestamp], now: Timestamp) -> Vec<Timestamp> {
        let mut counting: Vec<_> = log
            .iter()
            .copied()
            .filter(|hit| hit.after(self.span) > now)
            .collect();
        counting.sort_unstable();
        counting
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: SlidingWindow = SlidingWindow {
        limit: 3,
        span: Duration::from_millis(100),
    };

    fn log(hits: &[i64]) -> Vec<Timestamp> {
        hits.iter().copied().map(Timestamp::from_millis).collect()
    }

    #[test]
    fn a_full_window_says_how_long_to_wait() {
        assert_eq!(
            WINDOW.admit(&log(&[10, 50, 60]), Timestamp::from_millis(70)),
            WindowDecision::Refused {
                retry_after: Duration::from_millis(40)
            }
        );
        assert_eq!(
            WINDOW.admit(&log(&[10, 50, 60]), Timestamp::from_millis(110)),
            WindowDecision::Admitted(log(&[50, 60, 110]))
        );
    }

    #[test]
    fn a_lowered_limit_waits_for_more_than_one_hit_to_pass() {
        let lowered = SlidingWindow { limit: 1, ..WINDOW };
        assert_eq!(
            lowered.admit(&log(&[10, 50, 60]), Timestamp::from_millis(70)),
            WindowDecision::Refused {
                retry_after: Duration::from_millis(90)
            }
        );
    }

    #[test]
    fn what_is_left_grows_when_the_oldest_hit_falls_out() {
        let left = |requests, until| Remaining {
            requests,
            until: Duration::from_millis(until),
        };
        assert_eq!(
            WINDOW.left(&log(&[]), Timestamp::from_millis(70)),
            left(3, 100)
        );
        assert_eq!(
            WINDOW.left(&log(&[10, 50]), Timestamp::from_millis(70)),
            left(1, 40)
        );
        assert_eq!(
            WINDOW.left(&log(&[10, 50, 60]), Timestamp::from_millis(110)),
            left(1, 40)
        );
    }

    proptest! {
        #[test]
        fn no_span_ever_holds_more_than_the_limit(steps in prop::collection::vec(0i64..60, 1..80), limit in 1u32..6) {
            let window = SlidingWindow { limit, ..WINDOW };
            let (mut now, mut kept, mut admitted) = (0, Vec::new(), Vec::new());
            for step in steps {
                now += step;
                match window.admit(&kept, Timestamp::from_millis(now)) {
                    WindowDecision::Admitted(log) => {
                        kept = log;
                        admitted.push(now);
                    }
                    WindowDecision::Refused { retry_after } => {
                        let wait = i64::try_from(retry_after.as_millis()).expect("short");
                        prop_assert!(wait > 0);
                        let opens = Timestamp::from_millis(now + wait);
                        prop_assert!(matches!(window.admit(&kept, opens), WindowDecision::Admitted(_)));
                        let shut = Timestamp::from_millis(now + wait - 1);
                        let still_shut = matches!(window.admit(&kept, shut), WindowDecision::Refused { .. });
                        prop_assert!(still_shut);
                    }
                }
                prop_assert!(kept.len() <= usize::try_from(limit).expect("small"));
            }
            for (index, start) in admitted.iter().enumerate() {
                let within = admitted[index..].iter().filter(|hit| **hit - start < 100).count();
                prop_assert!(within <= usize::try_from(limit).expect("small"));
            }
        }
    }
}
