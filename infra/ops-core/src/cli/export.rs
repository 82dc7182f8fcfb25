//! The arguments of `ops export`.

use std::path::PathBuf;
use std::str::FromStr;

use chrono::{NaiveDate, TimeZone};
use chrono_tz::Tz;
use clap::{Args, Subcommand};
use common::domain::scope::{CampaignSlug, Environment};
use common::domain::submission::State;
use common::domain::timestamp::Timestamp;

#[derive(Subcommand)]
pub(crate) enum ExportCommand {
    /// Export submissions, one row each
    Submissions {
        #[command(flatten)]
        args: ExportArgs,
        /// Only submissions in these states: pending, accepted, rejected, unknown
        #[arg(long, value_name = "STATE", value_delimiter = ',', num_args = 1.., value_parser = state)]
        state: Vec<State>,
    },
    /// Export phones with their entries, one row each; --from and --to pick those with a submission in that time
    Entrants(ExportArgs),
    /// Export accepted submissions that won an instant prize
    Winners(ExportArgs),
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// Slug of the campaign
    #[arg(long, value_name = "SLUG")]
    pub(crate) campaign: CampaignSlug,
    /// Environment: test or live
    #[arg(long, default_value = "live", value_name = "ENVIRONMENT")]
    pub(crate) environment: Environment,
    /// Only from this day on, or from this time, such as 2026-11-22 or 2026-11-22T08:00:00+03:00; days are the campaign's
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<Moment>,
    /// Only up to the end of this day, or up to before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<Moment>,
    /// Export whole phone numbers instead of masked ones, such as 255712345678
    #[arg(long)]
    pub(crate) phones: bool,
    /// File to write, ending in .csv; must not exist yet
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// A day or a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Day(NaiveDate),
    Time(Timestamp),
}

impl Moment {
    /// The first time that is meant.
    pub(crate) fn begin(self, zone: Tz) -> Timestamp {
        match self {
            Self::Day(day) => midnight(day, zone),
            Self::Time(time) => time,
        }
    }

    /// The first time after what is meant.
    pub(crate) fn end(self, zone: Tz) -> Timestamp {
        match self {
            Self::Day(day) => day.succ_opt().map_or(Timestamp::MAX, |next| midnight(next, zone)),
            Self::Time(time) => time,
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let day = text.parse().map(Self::Day).ok();
        day.or_else(|| text.parse().map(Self::Time).ok()).ok_or_else(|| {
            "write a day such as 2026-11-22, or a time such as 2026-11-22T08:00:00+03:00".to_owned()
        })
    }
}

/// The first moment of a day. Where clocks go forward at midnight, the day begins an hour later.
fn midnight(day: NaiveDate, zone: Tz) -> Timestamp {
    let first = (0..24).find_map(|hour| zone.from_local_datetime(&day.and_hms_opt(hour, 0, 0)?).earliest());
    first.map_or(Timestamp::MAX, |first| first.to_utc().into())
}

pub(crate) fn state(text: &str) -> Result<State, String> {
    let names = State::ALL.map(State::as_str);
    let found = State::ALL.into_iter().find(|state| state.as_str() == text);
    found.ok_or_else(|| format!("it is one of {}", names.join(", ")))
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
        assert_eq!(moment("2026-11-22").begin(zone).to_string(), "2026-11-21T21:00:00.000Z");
        assert_eq!(moment("2026-11-22").end(zone).to_string(), "2026-11-22T21:00:00.000Z");
        let time = moment("2026-11-22T08:00:00+03:00");
        assert_eq!(time.begin(zone).to_string(), "2026-11-22T05:00:00.000Z");
        assert_eq!(time.end(zone), time.begin(zone));
        // Clocks in Cairo went from 00:00 to 01:00 on that day.
        assert_eq!(moment("2026-04-24").begin(Tz::Africa__Cairo).to_string(), "2026-04-23T22:00:00.000Z");
    }

    #[test]
    fn other_words_are_refused() {
        for text in ["", "22.11.2026", "2026-11-22T08:00:00", "2026-02-30", "today"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
        assert!(state("won").expect_err("no state").contains("pending, accepted, rejected, unknown"));
    }
}
