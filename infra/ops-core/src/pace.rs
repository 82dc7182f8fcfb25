//! The pace of settling pending submissions, over all campaigns of the deployment.

use std::fmt;

use common::domain::receipt::schedule::LOOKUPS_PER_MINUTE;
use common::domain::settling::PARTNER_STEPS_PER_MINUTE;

use crate::prelude::*;

/// The variable of the deployment's parameter `PartnerConcurrency`.
pub const PARTNER_CONCURRENCY: &str = "PARTNER_CONCURRENCY";
/// The template's default.
const DEFAULT_PARTNER_CONCURRENCY: u32 = 10;

/// `None` if the environment does not say.
#[derive(Clone, Copy, Debug)]
pub struct PartnerConcurrency(Option<u32>);

impl PartnerConcurrency {
    pub fn from_env(env: &Env) -> Result<Self, ConfigError> {
        let expected = "a whole number, the deployment's PartnerConcurrency";
        let malformed = |_| ConfigError::Malformed {
            variable: PARTNER_CONCURRENCY,
            expected,
        };
        env.optional(PARTNER_CONCURRENCY)
            .map(|text| text.parse())
            .transpose()
            .map(Self)
            .map_err(malformed)
    }

    /// Rates at answer times of `timeout_seconds` and 1 s, with the sweep's bound.
    pub fn rate(self, timeout_seconds: u32) -> String {
        let rates = [timeout_seconds, 1]
            .map(|seconds| u64::from(self.at_once()) * 60 / u64::from(seconds.max(1)));
        let [slow, fast] = rates.map(grouped);
        let is_bounded = rates[1] > PARTNER_STEPS_PER_MINUTE.into();
        let bound = if is_bounded {
            format!(
                "; what waits after an outage is sent at {PARTNER_STEPS_PER_MINUTE} a minute at most"
            )
        } else {
            String::new()
        };
        format!(
            "{slow} a minute while an answer takes {timeout_seconds} s, {fast} at 1 s (PartnerConcurrency of the \
             deployment: {self}){bound}"
        )
    }

    /// Minutes until a backlog is settled: its answers together, and the sweep's sending.
    pub fn minutes_for(self, backlog: u64, answer_seconds: u64) -> u64 {
        let asked = answer_seconds.div_ceil(u64::from(self.at_once().max(1)) * 60);
        asked.max(backlog.div_ceil(PARTNER_STEPS_PER_MINUTE.into()))
    }

    fn at_once(self) -> u32 {
        self.0.unwrap_or(DEFAULT_PARTNER_CONCURRENCY)
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

/// A time in whole minutes.
pub fn looked_up_by(now: Timestamp, receipts: u64) -> Timestamp {
    now.after(Duration::from_mins(receipts.div_ceil(LOOKUPS_PER_MINUTE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_receipts_are_looked_up_in_a_minute() {
        let (now, at) = (Timestamp::from_millis(0), |minutes: i64| {
            Timestamp::from_millis(minutes * 60_000)
        });
        for (receipts, minutes) in [(1, 1), (40, 1), (41, 2), (70_000, 1_750)] {
            assert_eq!(looked_up_by(now, receipts), at(minutes), "{receipts}");
        }
    }

    #[test]
    fn backlog_is_settled_as_fast_as_its_answers_come() {
        let minutes = |at_once, backlog, seconds: u64| {
            PartnerConcurrency(at_once).minutes_for(backlog, backlog * seconds)
        };
        assert_eq!(minutes(Some(10), 7_500, 8), 100);
        assert_eq!(minutes(None, 7_500, 8), 100, "the default");
        assert_eq!(minutes(Some(10), 7_501, 8), 101);
        assert_eq!(minutes(Some(100), 72_000, 1), 113, "the sweep is slower");
        assert_eq!(
            PartnerConcurrency(Some(10)).minutes_for(7_500, 600 + 7_499 * 8),
            101,
            "answers of several campaigns"
        );
    }

    #[test]
    fn a_concurrency_that_is_not_a_number_is_refused_by_name() {
        let env = |value: &str| {
            [(PARTNER_CONCURRENCY.to_owned(), value.to_owned())]
                .into_iter()
                .collect()
        };
        let error = PartnerConcurrency::from_env(&env("ten")).expect_err("no number");
        assert!(error.to_string().contains(PARTNER_CONCURRENCY), "{error}");
        assert_eq!(
            PartnerConcurrency::from_env(&env("25"))
                .expect("a number")
                .to_string(),
            "25"
        );
    }
}
