//! The published header of a draw: what was decided before anybody could know who wins.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroU64;

use chrono::{DateTime, FixedOffset, NaiveDate};
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Above this, programs that keep numbers as floating point round them: 2^53 - 1.
pub(crate) const MAX_TOTAL: u64 = (1 << 53) - 1;
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

/// The decisions before entries are frozen, and the entries of each day.
#[derive(Clone, Debug)]
pub struct Plan {
    pub campaign: String,
    pub draw: String,
    pub period: Period,
    /// Entries by the day on which they were made, such as `2026-01-12`.
    pub days: BTreeMap<String, u64>,
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
    /// Entries by the day on which they were made. The brand compares them with the totals that it saw on each day.
    pub days: BTreeMap<String, u64>,
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
    #[error("there is no prize; name at least one")]
    NoPrize,
    #[error(
        "the name of campaign, draw or prize is not 1 to {MAX_NAME_CHARACTERS} characters without control characters; \
         choose another"
    )]
    Name,
    #[error("two prizes have the same name, so they would have the same winners; name them apart")]
    RepeatedPrize,
    #[error("there are more than 2^53 - 1 entries or prizes, which not every reader can count")]
    TooManyEntries,
    #[error("the entries of the days do not add up to the total, or a day is not a date")]
    Days,
}

impl Header {
    pub(crate) fn new(plan: Plan, rows: NonZeroU64, total: NonZeroU64) -> Result<Self, InvalidHeader> {
        let Plan { campaign, draw, period, days, overlapping, prizes, one_prize_per_row, chain, round } =
            plan;
        let algorithm = Algorithm::V1;
        let header = Self {
            algorithm,
            campaign,
            draw,
            period,
            rows,
            total,
            days,
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
        if self.prizes.is_empty() {
            return Err(InvalidHeader::NoPrize);
        }
        let names = || self.prizes.iter().map(|prize| prize.name.as_str());
        if ![self.campaign.as_str(), &self.draw].into_iter().chain(names()).all(is_name) {
            return Err(InvalidHeader::Name);
        }
        if names().collect::<HashSet<_>>().len() < self.prizes.len() {
            return Err(InvalidHeader::RepeatedPrize);
        }
        let prizes = self.prizes.iter().fold(0_u64, |sum, prize| sum.saturating_add(prize.number.get()));
        if self.total.get() > MAX_TOTAL || prizes > MAX_TOTAL {
            return Err(InvalidHeader::TooManyEntries);
        }
        let sum = self.days.values().try_fold(0_u64, |sum, entries| sum.checked_add(*entries));
        if sum != Some(self.total.get()) || !self.days.keys().all(|day| is_day(day)) {
            return Err(InvalidHeader::Days);
        }
        Ok(())
    }

    /// The prizes as text, such as `1 x Kettle, 5 x Tea`.
    pub fn prizes_in_words(&self) -> String {
        let prizes = self.prizes.iter().map(|prize| format!("{} x {}", prize.number, prize.name));
        prizes.collect::<Vec<_>>().join(", ")
    }

    /// How many places of each tier's order a result has: winners of this tier, winners of earlier tiers, who may be
    /// skipped, and [`ALTERNATES`], as far as there are rows.
    pub(crate) fn order_lengths(&self) -> impl Iterator<Item = u64> {
        self.prizes.iter().scan(ALTERNATES, |places, prize| {
            *places = places.saturating_add(prize.number.get());
            Some((*places).min(self.rows.get()))
        })
    }
}

/// Places of an order after the winners.
pub const ALTERNATES: u64 = 20;

fn is_day(day: &str) -> bool {
    day.parse::<NaiveDate>().is_ok_and(|date| date.to_string() == day)
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARACTERS).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
