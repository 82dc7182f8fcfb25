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
    /// When the latest wrong codes came, oldest first.
    pub wrong_codes: Vec<Moment>,
    /// Until when codes are refused unheard.
    pub throttled_until: Option<Moment>,
}

impl Entrant {
    /// What refuses the phone before its code is looked at.
    pub fn barred(&self, now: Moment) -> Option<MessageKey> {
        if self.blocked {
            Some(MessageKey::Blocked)
        } else if self.throttled_until.is_some_and(|until| now < until) {
            Some(MessageKey::RateLimited)
        } else {
            None
        }
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
}

/// A phone's wrong codes after one more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongCodes {
    /// When they came, oldest first.
    pub log: Vec<Moment>,
    /// Until when codes are refused unheard; `None` while there is room for another.
    pub throttled_until: Option<Moment>,
}
