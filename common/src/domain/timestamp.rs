use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Invalid;

/// Milliseconds since 1970, in the years 0 to 9999 of UTC; prints as RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    pub const MIN: Self = Self(
        NaiveDate::from_ymd_opt(0, 1, 1)
            .expect("a day")
            .and_time(NaiveTime::MIN)
            .and_utc(),
    );
    pub const MAX: Self = Self(
        NaiveDate::from_ymd_opt(9999, 12, 31)
            .expect("a day")
            .and_hms_milli_opt(23, 59, 59, 999)
            .expect("a time")
            .and_utc(),
    );

    pub const fn from_millis(millis: i64) -> Self {
        match DateTime::from_timestamp_millis(millis) {
            _ if millis < Self::MIN.as_millis() => Self::MIN,
            Some(time) if millis <= Self::MAX.as_millis() => Self(time),
            Some(_) | None => Self::MAX,
        }
    }

    pub const fn as_millis(self) -> i64 {
        self.0.timestamp_millis()
    }

    /// Unit of DynamoDB's expiry.
    pub const fn as_seconds(self) -> i64 {
        self.0.timestamp()
    }

    pub const fn as_minutes(self) -> i64 {
        self.0.timestamp().div_euclid(60)
    }

    pub fn after(self, span: Duration) -> Self {
        Self::from_millis(self.as_millis().saturating_add(millis(span)))
    }

    pub fn before(self, span: Duration) -> Self {
        Self::from_millis(self.as_millis().saturating_sub(millis(span)))
    }

    pub fn shifted(self, millis: i64) -> Self {
        Self::from_millis(self.as_millis().saturating_add(millis))
    }

    /// Zero if `earlier` is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        self.0
            .signed_duration_since(earlier.0)
            .to_std()
            .unwrap_or_default()
    }

    pub fn in_zone(self, zone: Tz) -> DateTime<Tz> {
        self.0.with_timezone(&zone)
    }

    /// `YYYY-MM-DD`.
    pub fn day_in(self, zone: Tz) -> String {
        self.in_zone(zone).date_naive().to_string()
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl From<DateTime<Utc>> for Timestamp {
    /// Truncates to milliseconds. A leap second counts as the second before it.
    fn from(time: DateTime<Utc>) -> Self {
        // Within a leap second, chrono counts beyond 999.
        let millis = i64::from(time.timestamp_subsec_millis() % 1_000);
        Self::from_millis(time.timestamp() * 1_000 + millis)
    }
}

impl From<Timestamp> for DateTime<Utc> {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time = DateTime::parse_from_rfc3339(text)
            .map_err(|_| Invalid("a date and time of RFC 3339"))?
            .to_utc();
        // The offset can move the year out of its four digits.
        if (0..=9999).contains(&time.year()) {
            Ok(time.into())
        } else {
            Err(Invalid("a date and time of RFC 3339"))
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.as_millis())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::{Africa, America, Pacific};
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Timestamp {
        text.parse().expect(text)
    }

    #[test]
    fn it_is_shown_in_utc_with_three_decimals() {
        let timestamp = Timestamp::from_millis(1_767_214_800_007);
        assert_eq!(timestamp.to_string(), "2025-12-31T21:00:00.007Z");
        assert_eq!(Timestamp::from(DateTime::<Utc>::from(timestamp)), timestamp);
        assert_eq!(
            Timestamp::from_millis(0).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
    }

    #[test]
    fn seconds_and_minutes_are_whole_ones_that_have_passed() {
        let timestamp = Timestamp::from_millis(179_999);
        assert_eq!((timestamp.as_seconds(), timestamp.as_minutes()), (179, 2));
        let before = Timestamp::from_millis(-1);
        assert_eq!((before.as_seconds(), before.as_minutes()), (-1, -1));
    }

    #[test]
    fn it_is_stored_as_milliseconds() {
        for millis in [-1, 0, 1_767_214_800_007] {
            let timestamp = Timestamp::from_millis(millis);
            assert_eq!(
                serde_json::to_string(&timestamp).expect("JSON"),
                millis.to_string()
            );
            assert_eq!(
                serde_json::from_str::<Timestamp>(&millis.to_string()).expect("JSON"),
                timestamp
            );
        }
    }

    #[test]
    fn the_day_is_the_zones_own() {
        let midnight = Timestamp::from_millis(1_767_214_800_000);
        assert_eq!(midnight.day_in(Africa::Dar_es_Salaam), "2026-01-01");
        let before = Timestamp::from_millis(midnight.as_millis() - 1);
        assert_eq!(before.day_in(Africa::Dar_es_Salaam), "2025-12-31");
    }

    #[test]
    fn a_day_without_a_midnight_begins_after_the_gap() {
        // In Egypt, clocks jump from midnight to one o'clock on 24 April 2026.
        let gap = read("2026-04-24T00:00:00+02:00");
        assert_eq!(gap.day_in(Africa::Cairo), "2026-04-24");
        assert_eq!(gap, read("2026-04-24T01:00:00+03:00"));
        assert_eq!(
            Timestamp::from_millis(gap.as_millis() - 1).day_in(Africa::Cairo),
            "2026-04-23"
        );
    }

    #[test]
    fn an_hour_that_comes_twice_belongs_to_its_day_both_times() {
        // In Egypt, clocks go back from midnight to 23:00 on 29 October 2026; in Canada, from 2:00 to 1:00.
        for text in ["2026-10-29T23:30:00+03:00", "2026-10-29T23:30:00+02:00"] {
            assert_eq!(read(text).day_in(Africa::Cairo), "2026-10-29", "{text}");
        }
        assert_eq!(
            read("2026-10-30T00:00:00+02:00").day_in(Africa::Cairo),
            "2026-10-30"
        );
        for text in ["2026-11-01T01:30:00-02:30", "2026-11-01T01:30:00-03:30"] {
            assert_eq!(read(text).day_in(America::St_Johns), "2026-11-01", "{text}");
        }
        // Until 2011, clocks went back there a minute after midnight, into the day before.
        let back = read("2010-11-07T00:01:00-02:30");
        assert_eq!(
            Timestamp::from_millis(back.as_millis() - 1).day_in(America::St_Johns),
            "2010-11-07"
        );
        assert_eq!(back.day_in(America::St_Johns), "2010-11-06");
    }

    #[test]
    fn texts_of_rfc_3339_are_read() {
        let expected = Timestamp::from_millis(1_767_214_800_000);
        for text in [
            "2025-12-31T21:00:00Z",
            "2025-12-31t21:00:00z",
            "2025-12-31 21:00:00.000Z",
            "2026-01-01T00:00:00+03:00",
            "2025-12-31T11:30:00-09:30",
            "2025-12-31T21:00:00.000999999999999Z",
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert_eq!(
            read("2025-12-31T21:00:00.5Z").as_millis(),
            expected.as_millis() + 500
        );
    }

    #[test]
    fn other_texts_are_not_read() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00+03",
            "2026-01-01T00:00:00+0300",
            "2026-01-01T00:00:00+03:00[Africa/Dar_es_Salaam]",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T23:59:61Z",
            "2026-01-01T00:00:00+24:00",
            "20260101T000000Z",
            "1767214800",
            "+10000-01-01T00:00:00Z",
            "-0001-01-01T00:00:00Z",
        ] {
            assert_eq!(
                text.parse::<Timestamp>(),
                Err(Invalid("a date and time of RFC 3339")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_leap_second_is_the_second_before_it() {
        assert_eq!(read("2016-12-31T23:59:60Z"), read("2016-12-31T23:59:59Z"));
        assert_eq!(
            read("2017-01-01T02:59:60.250+03:00"),
            read("2016-12-31T23:59:59.250Z")
        );
    }

    #[test]
    fn there_is_nothing_before_the_year_0_and_nothing_after_9999() {
        assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(read("9999-12-31T23:59:59.999999999Z"), Timestamp::MAX);
        assert_eq!(
            "9999-12-31T23:59:59-00:01".parse::<Timestamp>(),
            Err(Invalid("a date and time of RFC 3339"))
        );
        assert_eq!(
            "0000-01-01T00:00:00+00:01".parse::<Timestamp>(),
            Err(Invalid("a date and time of RFC 3339"))
        );
        for (edge, beyond) in [(Timestamp::MIN, -1), (Timestamp::MAX, 1)] {
            assert_eq!(Timestamp::from_millis(edge.as_millis()), edge);
            assert_eq!(Timestamp::from_millis(edge.as_millis() + beyond), edge);
        }
        assert_eq!(Timestamp::from(DateTime::<Utc>::MIN_UTC), Timestamp::MIN);
        assert_eq!(Timestamp::from(DateTime::<Utc>::MAX_UTC), Timestamp::MAX);
        assert_eq!(Timestamp::MAX.after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::MIN.since(Timestamp::MAX), Duration::ZERO);
        assert_eq!(
            serde_json::from_str::<Timestamp>("9223372036854775807").expect("JSON"),
            Timestamp::MAX
        );
        assert_eq!(Timestamp::MAX.day_in(Pacific::Kiritimati), "+10000-01-01");
        assert_eq!(Timestamp::MIN.day_in(Pacific::Honolulu), "-0001-12-31");
    }

    proptest! {
        #[test]
        fn no_number_and_no_text_makes_it_panic(
            millis in any::<i64>(), text in "[-+0-9]{1,6}-[0-9]{1,2}-[0-9]{1,2}[T ][0-9:]{0,9}(\\.[0-9]{0,12})?[-+Z]?[0-9:]{0,6}",
        ) {
            let timestamp = Timestamp::from_millis(millis);
            prop_assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
            let _ = (timestamp.day_in(America::New_York), timestamp.after(Duration::MAX), timestamp.since(Timestamp::MIN));
            let _ = text.parse::<Timestamp>();
        }
    }
}
