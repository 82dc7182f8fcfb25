//! How fast pending submissions are settled, over all campaigns of the deployment.

use std::fmt;
use std::time::Duration;

use common::config::{ConfigError, Env};
use common::domain::settling::PARTNER_STEPS_PER_MINUTE;
use common::domain::timestamp::Timestamp;

use crate::format::grouped;

/// The variable with the deployment's parameter `PartnerConcurrency`. Env files of earlier releases do not have it.
pub const PARTNER_CONCURRENCY: &str = "PARTNER_CONCURRENCY";
/// The parameter's default in the template.
const DEFAULT_PARTNER_CONCURRENCY: u32 = 10;

/// Retries to partners at a time; `None` if the environment does not say.
#[derive(Clone, Copy, Debug)]
pub struct PartnerConcurrency(Option<u32>);

impl PartnerConcurrency {
    /// The concurrency that the environment names.
    ///
    /// # Errors
    /// When it is not a number.
    pub fn from_env(env: &Env) -> Result<Self, ConfigError> {
        let expected = "a whole number, the deployment's PartnerConcurrency";
        let malformed = |_| ConfigError::Malformed { variable: PARTNER_CONCURRENCY, expected };
        env.optional(PARTNER_CONCURRENCY).map(|text| text.parse()).transpose().map(Self).map_err(malformed)
    }

    /// The rate at which a backlog is settled, for a partner that takes up to `timeout_seconds` for an answer.
    pub fn rate(self, timeout_seconds: u32) -> String {
        let [slow, fast] = [timeout_seconds, 1].map(|seconds| grouped(self.per_minute(seconds)));
        let is_capped = self.answers_per_minute(1) > PARTNER_STEPS_PER_MINUTE.into();
        let cap = if is_capped { format!("; never above {PARTNER_STEPS_PER_MINUTE}") } else { String::new() };
        format!(
            "{slow} a minute while an answer takes {timeout_seconds} s, {fast} at 1 s (PartnerConcurrency of the \
             deployment: {self}{cap})"
        )
    }

    /// Submissions of a backlog that are settled in a minute while an answer takes this long.
    pub fn per_minute(self, answer_seconds: u32) -> u64 {
        self.answers_per_minute(answer_seconds).min(PARTNER_STEPS_PER_MINUTE.into())
    }

    fn answers_per_minute(self, answer_seconds: u32) -> u64 {
        let at_once = self.0.unwrap_or(DEFAULT_PARTNER_CONCURRENCY);
        u64::from(at_once) * 60 / u64::from(answer_seconds.max(1))
    }
}

impl fmt::Display for PartnerConcurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(at_once) => write!(f, "{at_once}"),
            None => write!(f, "{DEFAULT_PARTNER_CONCURRENCY} unless it was set"),
        }
    }
}

/// When a backlog is done at a rate, in whole minutes.
pub fn done_by(now: Timestamp, backlog: u64, per_minute: u64) -> Timestamp {
    now.after(Duration::from_mins(backlog.div_ceil(per_minute.max(1))))
}

#[cfg(test)]
mod tests {
    use common::domain::receipt::schedule::LOOK_UPS_PER_MINUTE;

    use super::*;

    #[test]
    fn forty_receipts_are_looked_up_in_a_minute_and_one_more_in_the_next() {
        let (now, at) = (Timestamp::from_millis(0), |minutes: i64| Timestamp::from_millis(minutes * 60_000));
        for (receipts, minutes) in [(1, 1), (40, 1), (41, 2), (70_000, 1_750)] {
            assert_eq!(done_by(now, receipts, LOOK_UPS_PER_MINUTE), at(minutes), "{receipts}");
        }
    }

    #[test]
    fn a_backlog_is_settled_no_faster_than_the_sweep_fills_the_queue() {
        let rates = |at_once| [8, 1].map(|seconds| PartnerConcurrency(Some(at_once)).per_minute(seconds));
        assert_eq!(rates(2), [15, 120]);
        assert_eq!(rates(10), [75, 600]);
        assert_eq!(rates(11), [82, 640]);
        assert_eq!(rates(1_000), [640, 640]);
        assert_eq!(PartnerConcurrency(None).per_minute(0), 600);
    }

    #[test]
    fn a_concurrency_that_is_not_a_number_is_refused_by_name() {
        let env = |value: &str| [(PARTNER_CONCURRENCY.to_owned(), value.to_owned())].into_iter().collect();
        let error = PartnerConcurrency::from_env(&env("ten")).expect_err("no number");
        assert!(error.to_string().contains(PARTNER_CONCURRENCY), "{error}");
        assert_eq!(PartnerConcurrency::from_env(&env("25")).expect("a number").to_string(), "25");
    }
}
