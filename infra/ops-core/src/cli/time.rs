use std::str::FromStr;

use chrono::{NaiveDateTime, NaiveTime, TimeDelta, TimeZone};

use crate::prelude::*;

/// A day or a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    Day(NaiveDate),
    /// A time in the campaign's zone.
    Local(NaiveDateTime),
    Time(Timestamp),
}

impl Moment {
    /// The first time that is meant.
    pub fn begin(self, zone: Tz) -> Timestamp {
        match self {
            Self::Day(day) => in_zone(day.into(), zone),
            Self::Local(time) => in_zone(time, zone),
            Self::Time(time) => time,
        }
    }

    /// The first time after what is meant.
    pub fn end(self, zone: Tz) -> Timestamp {
        match self {
            Self::Day(day) => day
                .succ_opt()
                .map_or(Timestamp::MAX, |next| in_zone(next.into(), zone)),
            Self::Local(_) | Self::Time(_) => self.begin(zone),
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let local = |form| {
            NaiveDateTime::parse_from_str(text, form)
                .map(Self::Local)
                .ok()
        };
        let local = || LOCAL_FORMS.into_iter().find_map(local);
        let moment = text.parse().map(Self::Day).ok().or_else(local);
        moment.or_else(|| text.parse().map(Self::Time).ok()).ok_or_else(|| {
            "write a day such as 2026-11-22, or a time such as 2026-11-22T08:00, in the campaign's zone unless an offset such as \
             +03:00 follows"
                .to_owned()
        })
    }
}

/// A time of the campaign's present day, or a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOfDay {
    Today(NaiveTime),
    Moment(Moment),
}

impl TimeOfDay {
    pub fn resolve(self, zone: Tz, now: Timestamp) -> Timestamp {
        match self {
            Self::Today(time) => {
                let today = now.in_zone(zone).date_naive();
                in_zone(today.and_time(time), zone)
            }
            Self::Moment(moment) => moment.begin(zone),
        }
    }
}

impl FromStr for TimeOfDay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(time) = text
            .parse()
            .or_else(|_| NaiveTime::parse_from_str(text, "%H:%M"))
        {
            return Ok(Self::Today(time));
        }
        match text.parse() {
            Ok(moment @ (Moment::Local(_) | Moment::Time(_))) => Ok(Self::Moment(moment)),
            Ok(Moment::Day(_)) | Err(_) => Err(
                "write a time such as 21:30, 2026-11-23T21:30 or 2026-11-23T18:30:00Z".to_owned(),
            ),
        }
    }
}

const LOCAL_FORMS: [&str; 4] = [
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
];

/// A time on the clocks of a zone, the first one if there are two. Where clocks go forward over it, the time is an hour later.
fn in_zone(time: NaiveDateTime, zone: Tz) -> Timestamp {
    let later = |hours| time.checked_add_signed(TimeDelta::hours(hours));
    let first = (0..24).find_map(|hours| zone.from_local_datetime(&later(hours)?).earliest());
    first.map_or(Timestamp::MAX, |first| first.to_utc().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        text.parse().expect(text)
    }

    #[test]
    fn a_day_is_the_zones_own_and_includes_its_end() {
        let zone = Tz::Africa__Dar_es_Salaam;
        assert_eq!(
            moment("2026-11-22").begin(zone).to_string(),
            "2026-11-21T21:00:00.000Z"
        );
        assert_eq!(
            moment("2026-11-22").end(zone).to_string(),
            "2026-11-22T21:00:00.000Z"
        );
        let time = moment("2026-11-22T08:00:00+03:00");
        assert_eq!(time.begin(zone).to_string(), "2026-11-22T05:00:00.000Z");
        assert_eq!(time.end(zone), time.begin(zone));
        for local in [
            "2026-11-22T08:00",
            "2026-11-22T08:00:00",
            "2026-11-22 08:00",
            "2026-11-22 08:00:00",
        ] {
            assert_eq!(
                (moment(local).begin(zone), moment(local).end(zone)),
                (time.begin(zone), time.begin(zone))
            );
        }
        // Cairo's clocks jumped from 00:00 to 01:00.
        assert_eq!(
            moment("2026-04-24").begin(Tz::Africa__Cairo).to_string(),
            "2026-04-23T22:00:00.000Z"
        );
    }

    #[test]
    fn time_of_day_is_of_the_zones_present_day() {
        let zone = Tz::Africa__Dar_es_Salaam;
        let now = "2026-11-22T22:00:00Z".parse().expect("a time");
        let time = |text: &str| {
            text.parse::<TimeOfDay>()
                .expect(text)
                .resolve(zone, now)
                .to_string()
        };
        assert_eq!(
            time("21:30"),
            "2026-11-23T18:30:00.000Z",
            "it is the 23rd there already"
        );
        assert_eq!(time("21:30:15"), "2026-11-23T18:30:15.000Z");
        assert_eq!(time("2026-11-24T21:30"), "2026-11-24T18:30:00.000Z");
        assert_eq!(time("2026-11-24T21:30:00Z"), "2026-11-24T21:30:00.000Z");
        for text in ["", "2026-11-24", "25:00", "9", "tonight"] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
        }
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["", "22.11.2026", "2026-11-22T8", "2026-02-30", "today"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
