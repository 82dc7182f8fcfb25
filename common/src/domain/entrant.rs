//! What is known of one phone in one scope, and what that forbids.

use std::time::Duration;

use super::campaign::{Campaign, PhoneLimits, WrongCodeLimit};
use super::message::MessageKey;
use super::moment::Moment;
use super::sliding_window::{Admission, SlidingWindow};

/// One phone's standing. The default is a phone never seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entrant {
    /// On the campaign's blocklist.
    pub blocked: bool,
    /// Submissions that count, in the whole campaign.
    pub total: u32,
    /// Submissions that count, of the day asked about.
    pub today: u32,
    /// Entries earned by accepted submissions.
    pub entries: u64,
    /// When the latest wrong codes came, oldest first, and those that a partner has not judged yet.
    pub wrong_codes: Vec<Moment>,
    /// Until when codes are refused unheard.
    pub throttled_until: Option<Moment>,
}

impl Entrant {
    /// What refuses the phone before its code is looked at.
    pub fn barred(&self, now: Moment) -> Option<MessageKey> {
        if self.blocked {
            Some(MessageKey::Blocked)
        } else if self.is_throttled(now) {
            Some(MessageKey::RateLimited)
        } else {
            None
        }
    }

    /// Whether the phone has sent too many wrong codes.
    pub fn is_throttled(&self, now: Moment) -> bool {
        self.throttled_until.is_some_and(|until| now < until)
    }

    /// What refuses one more submission after its code is found good.
    pub fn over_limit(&self, limits: PhoneLimits) -> Option<MessageKey> {
        if limits.phone_daily.is_some_and(|limit| self.today >= limit) {
            Some(MessageKey::DailyLimit)
        } else if limits.phone_total.is_some_and(|limit| self.total >= limit) {
            Some(MessageKey::EntryLimit)
        } else {
            None
        }
    }

    /// The log of wrong codes with one more, and until when that throttles the phone.
    pub fn with_wrong_code(&self, campaign: &Campaign, now: Moment) -> WrongCodes {
        let WrongCodeLimit { count, minutes } = campaign.wrong_codes;
        let span = Duration::from_secs(u64::from(minutes) * 60);
        let window = SlidingWindow { limit: count, span };
        let log = match window.admit(&self.wrong_codes, now) {
            Admission::Admitted(log) => log,
            // A wrong code is judged only while there is room, so this is a limit just lowered.
            Admission::Refused { .. } => self.wrong_codes.clone(),
        };
        let throttled_until = match window.admit(&log, now) {
            Admission::Admitted(_) => None,
            Admission::Refused { retry_after } => Some(now.after(retry_after)),
        };
        WrongCodes { log, throttled_until }
    }

    /// The log without a code of this moment that was not wrong after all, which makes room for another;
    /// `None` when the log no longer has it.
    pub fn without_code(&self, sent_at: Moment) -> Option<WrongCodes> {
        let mut log = self.wrong_codes.clone();
        log.remove(log.iter().position(|at| *at == sent_at)?);
        Some(WrongCodes { log, throttled_until: None })
    }
}

/// A phone's wrong codes after one more, or one less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongCodes {
    /// When they came, oldest first.
    pub log: Vec<Moment>,
    /// Until when codes are refused unheard; `None` while there is room for another.
    pub throttled_until: Option<Moment>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: i64 = 60_000;

    fn campaign(count: u32, minutes: u32) -> Campaign {
        Campaign { wrong_codes: WrongCodeLimit { count, minutes }, ..Campaign::example() }
    }

    fn at(millis: i64) -> Moment {
        Moment::from_millis(millis)
    }

    /// A phone that sends one more wrong code.
    fn guess(entrant: &mut Entrant, campaign: &Campaign, now: Moment) {
        let WrongCodes { log, throttled_until } = entrant.with_wrong_code(campaign, now);
        entrant.wrong_codes = log;
        entrant.throttled_until = throttled_until;
    }

    #[test]
    fn the_blocklist_comes_before_the_throttle() {
        let throttled = Entrant { throttled_until: Some(at(10)), ..Entrant::default() };
        assert_eq!(throttled.barred(at(9)), Some(MessageKey::RateLimited));
        assert_eq!(throttled.barred(at(10)), None, "the end of the wait is not part of it");
        let blocked = Entrant { blocked: true, ..throttled };
        assert_eq!(blocked.barred(at(9)), Some(MessageKey::Blocked));
        assert_eq!(blocked.barred(at(10)), Some(MessageKey::Blocked));
    }

    #[test]
    fn the_last_wrong_code_of_the_limit_throttles_until_the_first_is_old_enough() {
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
        assert_eq!(freed, WrongCodes { log: vec![at(0)], throttled_until: None });
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
                if entrant.barred(at(now)).is_none() {
                    guess(&mut entrant, &campaign, at(now));
                    heard.push(now);
                }
                let recent = heard.iter().filter(|then| now - **then < MINUTE).count();
                prop_assert!(recent <= limit);
                prop_assert_eq!(entrant.barred(at(now)).is_some(), recent == limit, "throttled when full, not before");
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
