//! The published header of a draw: what was decided before anybody could know who wins.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroU64;

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::strict::MAX_INTEGER;

const MAX_NAME_CHARACTERS: usize = 64;

/// Computations by their published name. Another computation gets another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    #[serde(rename = "svc-draw-v1")]
    V1,
}

/// From the first moment on, and before the second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    pub from: DateTime<FixedOffset>,
    pub to: DateTime<FixedOffset>,
}

/// A tier: prizes that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prize {
    pub name: String,
    pub number: NonZeroU64,
}

/// Another draw of the same campaign and environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherDraw {
    pub draw: String,
    pub commitment: Digest,
}

/// Accepted entries of the period that are not in the draw, by the day on which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Entries of phones that were blocked before the freeze.
    pub blocked: BTreeMap<String, u64>,
    /// Entries of people whose data was erased, or whose number was deleted.
    pub without_phone: BTreeMap<String, u64>,
}

/// The decisions before entries are frozen, and the entries of each day.
#[derive(Clone, Debug)]
pub struct Plan {
    pub campaign: String,
    pub draw: String,
    pub period: Period,
    /// Entries by the day on which they were made, such as `2026-01-12`.
    pub days: BTreeMap<String, u64>,
    pub left_out: LeftOut,
    /// Draws that were frozen before, with an overlapping period.
    pub overlapping: Vec<OtherDraw>,
    /// In the order in which they are drawn.
    pub prizes: Vec<Prize>,
    /// A row that has a prize is skipped for all others. The order of a tier does not depend on it: the operator's
    /// program applies it.
    pub one_prize_per_row: bool,
    /// Names the beacon's chain.
    pub chain: Digest,
    pub round: NonZeroU64,
}

/// `header.json`. The commitment covers its exact bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub algorithm: Algorithm,
    pub campaign: String,
    pub draw: String,
    pub period: Period,
    /// Lines of `entries.csv`: entrants.
    pub rows: NonZeroU64,
    /// Tickets: entries of all rows.
    pub total: NonZeroU64,
    /// Entries by the day on which they were made. The brand compares them, and what is left out, with the totals that it saw
    /// on each day.
    pub days: BTreeMap<String, u64>,
    pub left_out: LeftOut,
    /// Draws that were frozen before, with an overlapping period. Without them, the best of several draws of the same entries
    /// could be published as the only one.
    pub overlapping: Vec<OtherDraw>,
    pub prizes: Vec<Prize>,
    pub one_prize_per_row: bool,
    pub chain: Digest,
    pub round: NonZeroU64,
}

/// Why there is no such draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHeader {
    #[error("the period ends before it begins; give a later end")]
    Period,
    #[error("a time of the period is not of the years 1000 to 2999, in whole milliseconds")]
    Time,
    #[error("there is no prize; name at least one")]
    NoPrize,
    #[error(
        "the name of campaign, draw or prize is not 1 to {MAX_NAME_CHARACTERS} printable characters; choose another"
    )]
    Name,
    #[error("two prizes have the same name, so they would have the same winners; name them apart")]
    RepeatedPrize,
    #[error(
        "entries, prizes or the round's number are above 2^53 - 1, which not every reader can count"
    )]
    TooManyEntries,
    #[error("the entries of the days do not add up to the total, or a day is not a date")]
    Days,
}

impl Header {
    pub(crate) fn new(
        plan: Plan,
        rows: NonZeroU64,
        total: NonZeroU64,
    ) -> Result<Self, InvalidHeader> {
        let Plan {
            campaign,
            draw,
            period,
            days,
            left_out,
            overlapping,
            prizes,
            one_prize_per_row,
            chain,
            round,
        } = plan;
        let algorithm = Algorithm::V1;
        let header = Self {
            algorithm,
            campaign,
            draw,
            period,
            rows,
            total,
            days,
            left_out,
            overlapping,
            prizes,
            one_prize_per_row,
            chain,
            round,
        };
        header.check()?;
        Ok(header)
    }

    pub(crate) fn check(&self) -> Result<(), InvalidHeader> {
        if self.period.to <= self.period.from {
            return Err(InvalidHeader::Period);
        }
        if ![self.period.from, self.period.to].into_iter().all(is_time) {
            return Err(InvalidHeader::Time);
        }
        if self.prizes.is_empty() {
            return Err(InvalidHeader::NoPrize);
        }
        let names = || self.prizes.iter().map(|prize| prize.name.as_str());
        let others = self.overlapping.iter().map(|other| other.draw.as_str());
        if ![self.campaign.as_str(), &self.draw]
            .into_iter()
            .chain(names())
            .chain(others)
            .all(is_name)
        {
            return Err(InvalidHeader::Name);
        }
        if names().collect::<HashSet<_>>().len() < self.prizes.len() {
            return Err(InvalidHeader::RepeatedPrize);
        }
        let prizes = self
            .prizes
            .iter()
            .fold(0_u64, |sum, prize| sum.saturating_add(prize.number.get()));
        if self.total.get() > MAX_INTEGER || prizes > MAX_INTEGER || self.round.get() > MAX_INTEGER
        {
            return Err(InvalidHeader::TooManyEntries);
        }
        let LeftOut {
            blocked,
            without_phone,
        } = &self.left_out;
        if !blocked
            .keys()
            .chain(without_phone.keys())
            .all(|day| is_day(day))
        {
            return Err(InvalidHeader::Days);
        }
        if blocked
            .values()
            .chain(without_phone.values())
            .any(|entries| *entries > MAX_INTEGER)
        {
            return Err(InvalidHeader::TooManyEntries);
        }
        let sum = self
            .days
            .values()
            .try_fold(0_u64, |sum, entries| sum.checked_add(*entries));
        if sum != Some(self.total.get()) || !self.days.keys().all(|day| is_day(day)) {
            return Err(InvalidHeader::Days);
        }
        Ok(())
    }

    /// The prizes as text, such as `1 x Kettle, 5 x Tea`.
    pub fn prizes_in_words(&self) -> String {
        let prizes = self
            .prizes
            .iter()
            .map(|prize| format!("{} x {}", prize.number, prize.name));
        prizes.collect::<Vec<_>>().join(", ")
    }

    /// How many places of each tier's order are published: winners of this tier, winners of earlier tiers, who may be
    /// skipped, and [`ALTERNATES`], as far as there are rows.
    pub(crate) fn published_places(&self) -> impl Iterator<Item = u64> {
        self.prizes.iter().scan(ALTERNATES, |places, prize| {
            *places = places.saturating_add(prize.number.get());
            Some((*places).min(self.rows.get()))
        })
    }

    /// How many places a verifier asks for: the prizes of the tier and [`ALTERNATES`], as far as there are rows.
    pub(crate) fn needed_places(&self, prizes: NonZeroU64) -> u64 {
        prizes.get().saturating_add(ALTERNATES).min(self.rows.get())
    }
}

/// Places of an order after the winners.
pub const ALTERNATES: u64 = 20;

fn is_day(day: &str) -> bool {
    day.parse::<NaiveDate>()
        .is_ok_and(|date| is_year(date.year()) && date.to_string() == day)
}

/// True for a time that every verifier reads in the same way.
pub(crate) fn is_time(time: DateTime<FixedOffset>) -> bool {
    let nanoseconds = time.timestamp_subsec_nanos();
    is_year(time.year()) && nanoseconds < 1_000_000_000 && nanoseconds.is_multiple_of(1_000_000)
}

fn is_year(year: i32) -> bool {
    (1000..3000).contains(&year)
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARACTERS).contains(&name.chars().count()) && name.chars().all(is_printable)
}

/// False for controls, and for what makes a text look like another one.
fn is_printable(c: char) -> bool {
    !matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
