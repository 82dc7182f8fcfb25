//! Points in time, to the millisecond.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z. Shown as ISO 8601 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(i64);

impl Moment {
    /// From milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, as DynamoDB's expiry wants them.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Whole minutes since the epoch.
    pub const fn as_minutes(self) -> i64 {
        self.0.div_euclid(60_000)
    }

    /// This much later.
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }

    /// How long ago `earlier` was; zero when it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The day it falls on in a time zone, `YYYY-MM-DD`.
    pub fn day_in(self, zone: &TimeZone) -> String {
        let timestamp = Timestamp::from_millisecond(self.0).unwrap_or_default();
        zone.to_datetime(timestamp).date().to_string()
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl From<Timestamp> for Moment {
    fn from(timestamp: Timestamp) -> Self {
        Self(timestamp.as_millisecond())
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timestamp = Timestamp::from_millisecond(self.0).unwrap_or_default();
        write!(f, "{timestamp:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_in_utc_with_three_decimals() {
        let moment = Moment::from_millis(1_767_214_800_007);
        assert_eq!(moment.to_string(), "2025-12-31T21:00:00.007Z");
        assert_eq!(Moment::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn seconds_and_minutes_are_whole_ones_that_have_passed() {
        let moment = Moment::from_millis(179_999);
        assert_eq!((moment.as_seconds(), moment.as_minutes()), (179, 2));
        let before = Moment::from_millis(-1);
        assert_eq!((before.as_seconds(), before.as_minutes()), (-1, -1));
    }

    #[test]
    fn the_day_is_the_zones_own() {
        let zone = TimeZone::get("Africa/Dar_es_Salaam").expect("a zone");
        let midnight = Moment::from_millis(1_767_214_800_000);
        assert_eq!(midnight.day_in(&zone), "2026-01-01");
        assert_eq!(Moment::from_millis(midnight.as_millis() - 1).day_in(&zone), "2025-12-31");
    }
}
