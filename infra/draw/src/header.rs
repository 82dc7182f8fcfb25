//! The published header: all decisions before the round.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate};
use common::domain::unicode::{is_printable, is_visible_text};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::strict::MAX_INTEGER;

const MAX_NAME_CHARACTERS: usize = 64;

/// Published names of computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    #[serde(rename = "svc-draw-v1")]
    V1,
}

/// The end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    pub from: DateTime<FixedOffset>,
    pub to: DateTime<FixedOffset>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prize {
    pub name: String,
    pub number: NonZeroU64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherDraw {
    pub draw: String,
    pub commitment: Digest,
}

/// Accepted entries left out of the draw, by their day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    pub blocked: BTreeMap<String, u64>,
    /// Entries of erased people, or with a deleted number.
    pub without_phone: BTreeMap<String, u64>,
}

/// `header.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub algorithm: Algorithm,
    pub campaign: String,
    pub draw: String,
    pub period: Period,
    /// Entrants: lines of `entries.csv`.
    pub rows: NonZeroU64,
    /// Tickets: all rows' entries.
    pub total: NonZeroU64,
    /// Entries by day, for comparison with the brand's totals.
    pub days: BTreeMap<String, u64>,
    pub left_out: LeftOut,
    /// Earlier draws of the period: the best of several must not pass for the only one.
    pub overlapping: Vec<OtherDraw>,
    /// Drawn in this order.
    pub prizes: Vec<Prize>,
    /// A row with a prize is skipped in other tiers.
    pub one_prize_per_row: bool,
    pub chain: Digest,
    pub round: NonZeroU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidHeader(pub(crate) &'static str);

impl Header {
    /// Refuses what a verifier would refuse.
    pub fn check(&self) -> Result<(), InvalidHeader> {
        let check = |holds, otherwise| {
            if holds {
                Ok(())
            } else {
                Err(InvalidHeader(otherwise))
            }
        };
        let Period { from, to } = self.period;
        check(
            from < to,
            "the period ends before it begins; give a later end",
        )?;
        check(
            is_time(from) && is_time(to),
            "a time of the period is not of the years 1000 to 2999, in whole milliseconds",
        )?;
        check(
            !self.prizes.is_empty(),
            "there is no prize; name at least one",
        )?;
        let prizes: BTreeSet<_> = self.prizes.iter().map(|prize| &prize.name).collect();
        let others = self.overlapping.iter().map(|other| &other.draw);
        let names = [&self.campaign, &self.draw].into_iter().chain(others);
        check(
            names
                .chain(prizes.iter().copied())
                .all(|name| is_name(name)),
            "the name of campaign, draw or prize is not 1 to 64 printable characters, or has white space at an end; choose another",
        )?;
        check(
            prizes.len() == self.prizes.len(),
            "two prizes have the same name, so they would have the same winners; name them apart",
        )?;
        let LeftOut {
            blocked,
            without_phone,
        } = &self.left_out;
        let left_out = || blocked.iter().chain(without_phone);
        let numbers = [self.total.get(), self.round.get(), self.prize_count()];
        let mut numbers = numbers
            .into_iter()
            .chain(left_out().map(|(_, entries)| *entries));
        check(
            numbers.all(|number| number <= MAX_INTEGER),
            "entries, prizes or the round's number are above 2^53 - 1, which not every reader can count",
        )?;
        let mut days = self.days.iter().chain(left_out());
        check(
            sum(self.days.values().copied()) == self.total.get()
                && days.all(|(day, _)| is_day(day)),
            "the entries of the days do not add up to the total, or a day is not a date",
        )
    }

    pub fn prize_count(&self) -> u64 {
        sum(self.prizes.iter().map(|prize| prize.number.get()))
    }

    pub fn prizes_in_words(&self) -> String {
        let prizes = self
            .prizes
            .iter()
            .map(|prize| format!("{} x {}", prize.number, prize.name));
        prizes.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn published_places(&self) -> impl Iterator<Item = u64> {
        self.prizes.iter().scan(ALTERNATES, |places, prize| {
            *places = places.saturating_add(prize.number.get());
            Some((*places).min(self.rows.get()))
        })
    }

    pub(crate) fn needed_places(&self, prizes: NonZeroU64) -> u64 {
        prizes.get().saturating_add(ALTERNATES).min(self.rows.get())
    }
}

/// Places after the winners.
pub const ALTERNATES: u64 = 20;

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn is_day(day: &str) -> bool {
    day.parse::<NaiveDate>()
        .is_ok_and(|date| is_year(date.year()) && date.to_string() == day)
}

/// True if all verifiers read the time alike.
pub(crate) fn is_time(time: DateTime<FixedOffset>) -> bool {
    let nanoseconds = time.timestamp_subsec_nanos();
    is_year(time.year()) && nanoseconds < 1_000_000_000 && nanoseconds.is_multiple_of(1_000_000)
}

fn is_year(year: i32) -> bool {
    (1000..3000).contains(&year)
}

fn is_name(name: &str) -> bool {
    name.chars().count() <= MAX_NAME_CHARACTERS && is_visible_text(name)
}

/// The text as a log can have it; `None` if nothing is visible.
pub fn publishable(text: &str) -> Option<String> {
    let seen: String = text.chars().filter(|c| is_printable(*c)).collect();
    Some(seen.trim().to_owned()).filter(|text| !text.is_empty())
}
