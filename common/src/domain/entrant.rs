//! One phone in one scope. Only guesses are slowed down. Phones are not verified, so anyone can
//! send wrong codes under another's number: photos are never refused for them, and pending
//! submissions wait.

use std::time::Duration;

use super::campaign::WrongCodeLimit;
use super::sliding_window::WindowDecision;
use super::{Campaign, MessageKey, PhoneLimits, SlidingWindow, Timestamp};

/// Each receipt costs a look-up at the tax authority, which tolerates about forty a minute.
pub const MAX_OPEN_RECEIPTS: u32 = 20;

/// The default is an unknown phone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entrant {
    pub blocked: bool,
    pub total: u32,
    /// Submissions that count on the requested day.
    pub today: u32,
    pub entries: u64,
    /// Oldest first; includes codes that a partner still checks.
    pub wrong_codes: Vec<Timestamp>,
    pub throttled_until: Option<Timestamp>,
    /// Without those waiting for an operator.
    pub open_receipts: u32,
    /// Set if only the used limits were kept.
    pub erased_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhoneChecks {
    /// True for a code or a typed receipt, which can be guessed.
    pub throttle: bool,
    pub open_receipts: bool,
}

impl Entrant {
    pub fn barred(&self, checks: PhoneChecks, now: Timestamp) -> Option<MessageKey> {
        if self.blocked {
            Some(MessageKey::Blocked)
        } else if (checks.throttle && self.is_throttled(now))
            || (checks.open_receipts && self.open_receipts >= MAX_OPEN_RECEIPTS)
        {
            Some(MessageKey::RateLimited)
        } else {
            None
        }
    }

    pub fn is_throttled(&self, now: Timestamp) -> bool {
        self.throttled_until.is_some_and(|until| now < until)
    }

    pub fn over_limit(&self, limits: PhoneLimits) -> Option<MessageKey> {
        if limits.phone_daily.is_some_and(|limit| self.today >= limit) {
            Some(MessageKey::DailyLimit)
        } else if limits.phone_total.is_some_and(|limit| self.total >= limit) {
            Some(MessageKey::EntryLimit)
        } else {
            None
        }
    }

    pub fn with_wrong_code(&self, campaign: &Campaign, now: Timestamp) -> WrongCodes {
        let log = match wrong_code_window(campaign).admit(&self.wrong_codes, now) {
            WindowDecision::Admitted(log) => log,
            // Codes are checked only while there is room, so the limit was just lowered.
            WindowDecision::Refused { .. } => self.wrong_codes.clone(),
        };
        Self::wrong_codes(log, campaign, now)
    }

    /// Adds a code now found wrong; `None` if logged already or too old.
    pub fn with_earlier_wrong_code(
        &self,
        campaign: &Campaign,
        sent_at: Timestamp,
        now: Timestamp,
    ) -> Option<WrongCodes> {
        let window = wrong_code_window(campaign);
        if self.wrong_codes.contains(&sent_at) || sent_at.after(window.span) <= now {
            return None;
        }
        let mut log = self.wrong_codes.clone();
        log.push(sent_at);
        log.sort_unstable();
        // The latest of several late ones decide when there is room again.
        let excess = log
            .len()
            .saturating_sub(usize::try_from(window.limit).unwrap_or(usize::MAX));
        log.drain(..excess);
        Some(Self::wrong_codes(log, campaign, now))
    }

    fn wrong_codes(log: Vec<Timestamp>, campaign: &Campaign, now: Timestamp) -> WrongCodes {
        let window = wrong_code_window(campaign);
        let throttled_until = match window.admit(&log, now) {
            WindowDecision::Admitted(_) => None,
            WindowDecision::Refused { retry_after } => Some(now.after(retry_after)),
        };
        WrongCodes {
            log,
            throttled_until,
        }
    }

    pub fn without_code(&self, sent_at: Timestamp) -> Option<WrongCodes> {
        let mut log = self.wrong_codes.clone();
        log.remove(log.iter().position(|at| *at == sent_at)?);
        Some(WrongCodes {
            log,
            throttled_until: None,
        })
    }
}

fn wrong_code_window(campaign: &Campaign) -> SlidingWindow {
    let WrongCodeLimit { count, minutes } = campaign.wrong_codes;
    SlidingWindow {
        limit: count,
        span: Duration::from_secs(u64::from(minutes) * 60),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongCodes {
    pub log: Vec<Timestamp>,
    pub throttled_until: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: i64 = 60_000;

    fn campaign(count: u32, minutes: u32) -> Campaign {
        Campaign {
            wrong_codes: WrongCodeLimit { count, minutes },
            ..Campaign::example()
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn guess(entrant: &mut Entrant, campaign: &Campaign, now: Timestamp) {
        let WrongCodes {
            log,
            throttled_until,
        } = entrant.with_wrong_code(campaign, now);
        entrant.wrong_codes = log;
        entrant.throttled_until = throttled_until;
    }

    const CODE: PhoneChecks = PhoneChecks {
        throttle: true,
        open_receipts: false,
    };
    const PHOTO: PhoneChecks = PhoneChecks {
        throttle: false,
        open_receipts: true,
    };

    #[test]
    fn the_blocklist_comes_before_the_throttle() {
        let throttled = Entrant {
            throttled_until: Some(at(10)),
            ..Entrant::default()
        };
        assert_eq!(throttled.barred(CODE, at(9)), Some(MessageKey::RateLimited));
        assert_eq!(
            throttled.barred(CODE, at(10)),
            None,
            "the end of the wait is not part of it"
        );
        assert_eq!(throttled.barred(PHOTO, at(9)), None, "a photo is no guess");
        let blocked = Entrant {
            blocked: true,
            ..throttled
        };
        for checks in [CODE, PHOTO, PhoneChecks::default()] {
            assert_eq!(blocked.barred(checks, at(9)), Some(MessageKey::Blocked));
            assert_eq!(blocked.barred(checks, at(10)), Some(MessageKey::Blocked));
        }
    }

    #[test]
    fn only_another_receipt_is_refused_for_open_receipts() {
        let with = |open_receipts| Entrant {
            open_receipts,
            ..Entrant::default()
        };
        assert_eq!(with(19).barred(PHOTO, at(0)), None);
        assert_eq!(with(20).barred(PHOTO, at(0)), Some(MessageKey::RateLimited));
        assert_eq!(with(20).barred(CODE, at(0)), None);
    }

    #[test]
    fn a_code_found_wrong_late_counts_from_when_it_was_sent() {
        let campaign = campaign(2, 1);
        let entrant = Entrant {
            wrong_codes: vec![at(20)],
            ..Entrant::default()
        };
        let late = entrant
            .with_earlier_wrong_code(&campaign, at(10), at(30))
            .expect("it counts");
        assert_eq!(
            late,
            WrongCodes {
                log: vec![at(10), at(20)],
                throttled_until: Some(at(MINUTE + 10))
            }
        );
        assert_eq!(
            entrant.with_earlier_wrong_code(&campaign, at(20), at(30)),
            None,
            "it is logged"
        );
        assert_eq!(
            entrant.with_earlier_wrong_code(&campaign, at(10), at(MINUTE + 10)),
            None,
            "too long ago"
        );
    }

    #[test]
    fn last_wrong_code_throttles_until_the_first_is_old_enough() {
        let campaign = campaign(3, 1);
        let mut entrant = Entrant::default();
        guess(&mut entrant, &campaign, at(0));
        guess(&mut entrant, &campaign, at(10));
        assert_eq!(entrant.throttled_until, None);
        guess(&mut entrant, &campaign, at(20));
        assert_eq!(entrant.throttled_until, Some(at(MINUTE)));
        guess(&mut entrant, &campaign, at(MINUTE));
        assert_eq!(entrant.wrong_codes, [at(10), at(20), at(MINUTE)]);
        assert_eq!(entrant.throttled_until, Some(at(MINUTE + 10)));
    }

    #[test]
    fn a_code_that_was_not_wrong_makes_room_for_another() {
        let campaign = campaign(2, 1);
        let mut entrant = Entrant::default();
        guess(&mut entrant, &campaign, at(0));
        guess(&mut entrant, &campaign, at(10));
        assert!(entrant.is_throttled(at(11)));
        let freed = entrant.without_code(at(10)).expect("it is there");
        assert_eq!(
            freed,
            WrongCodes {
                log: vec![at(0)],
                throttled_until: None
            }
        );
        assert_eq!(entrant.without_code(at(5)), None);
    }

    proptest! {
        #[test]
        fn no_span_ever_hears_more_wrong_codes_than_the_limit(
            steps in prop::collection::vec(0..MINUTE, 1..60), count in 1u32..6
        ) {
            let campaign = campaign(count, 1);
            let limit = usize::try_from(count).expect("small");
            let (mut entrant, mut now, mut heard) = (Entrant::default(), 0, Vec::new());
            for step in steps {
                now += step;
                if entrant.barred(CODE, at(now)).is_none() {
                    guess(&mut entrant, &campaign, at(now));
                    heard.push(now);
                }
                let recent = heard.iter().filter(|then| now - **then < MINUTE).count();
                prop_assert!(recent <= limit);
                prop_assert_eq!(
                    entrant.barred(CODE, at(now)).is_some(), recent == limit, "throttled when full, not before"
                );
                prop_assert!(entrant.wrong_codes.len() <= limit, "the log does not grow");
            }
        }

        #[test]
        fn a_limit_just_lowered_throttles_at_once_and_forgets_nothing(
            log in prop::collection::vec(0..MINUTE, 2..12), count in 1u32..3
        ) {
            let mut log: Vec<_> = log.into_iter().map(at).collect();
            log.sort_unstable();
            let entrant = Entrant { wrong_codes: log.clone(), ..Entrant::default() };
            let wrong = entrant.with_wrong_code(&campaign(count, 1), at(MINUTE - 1));
            prop_assert!(wrong.throttled_until.is_some_and(|until| until > at(MINUTE - 1)));
            prop_assert!(log.iter().all(|hit| wrong.log.contains(hit)));
        }

        #[test]
        fn wrong_codes_throttle_alike_in_any_order(
            sent in prop::collection::btree_set(0..MINUTE, 1..8), count in 1u32..6, turn in 0usize..8
        ) {
            let campaign = campaign(count, 1);
            let now = at(MINUTE - 1);
            let mut order: Vec<_> = sent.iter().map(|millis| at(*millis)).collect();
            let mut at_once = Entrant::default();
            for sent_at in &order {
                if let Some(WrongCodes { log, throttled_until }) =
                    at_once.with_earlier_wrong_code(&campaign, *sent_at, now)
                {
                    (at_once.wrong_codes, at_once.throttled_until) = (log, throttled_until);
                }
            }
            let pivot = turn % order.len();
            order.rotate_left(pivot);
            let mut late = Entrant::default();
            for sent_at in order {
                if let Some(WrongCodes { log, throttled_until }) =
                    late.with_earlier_wrong_code(&campaign, sent_at, now)
                {
                    (late.wrong_codes, late.throttled_until) = (log, throttled_until);
                }
            }
            prop_assert_eq!(&late, &at_once);
            let full = sent.len() >= usize::try_from(count).expect("small");
            prop_assert_eq!(late.is_throttled(now), full);
        }

        #[test]
        fn a_limit_refuses_from_its_number_on_and_the_days_comes_first(
            today in 0u32..4, earlier in 0u32..4, daily in prop::option::of(0u32..4), whole in prop::option::of(0u32..8)
        ) {
            let entrant = Entrant { today, total: today + earlier, ..Entrant::default() };
            let limits = PhoneLimits { phone_daily: daily, phone_total: whole };
            let expected = if daily.is_some_and(|daily| today >= daily) {
                Some(MessageKey::DailyLimit)
            } else {
                whole.filter(|whole| today + earlier >= *whole).map(|_| MessageKey::EntryLimit)
            };
            prop_assert_eq!(entrant.over_limit(limits), expected);
        }
    }
}
