//! The check that anyone can repeat: prizes given never exceed moments due, and no eligible entrant
//! was passed over.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use super::moments::Schedule;
use crate::domain::Timestamp;

/// Clocks of environments differ, and their commits interleave.
const TOLERANCE: Duration = Duration::from_secs(10);

/// Accepted, with no prize from another source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    pub accepted_at: Timestamp,
    pub reference: &'a str,
    pub entrant: &'a str,
    /// Index in the plan's prizes.
    pub prize: Option<usize>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{0} is there twice")]
    Repeated(String),
    #[error("{0} won a prize that the plan does not have")]
    UnknownPrize(String),
    #[error("{0} is over the cap")]
    OverCap(String),
    #[error("{reference} won before a moment was due: {given} given, {due} due")]
    NotDue {
        reference: String,
        given: i64,
        due: i64,
    },
    #[error("{0} won while nothing could be won")]
    Stopped(String),
    #[error("{0} entered while a prize was open, and did not win")]
    PassedOver(String),
}

/// An entry that did not win while `prize` was open: another must win it soon.
struct Waiting<'a> {
    at: Timestamp,
    row: Row<'a>,
    prize: usize,
}

/// Prizes of one kind that entries have at a time, with the time of a return in doubt.
#[derive(Clone, Copy, Default)]
struct Given {
    /// Each return counts from its time less the tolerance.
    least: i64,
    /// Each return counts from its time plus the tolerance.
    most: i64,
}

struct Returns {
    sorted: Vec<(Timestamp, usize)>,
    early: usize,
    late: usize,
}

impl Returns {
    fn new(rows: &[Row<'_>]) -> Self {
        let returned = |row: &Row<'_>| Some((row.revoked_at?, row.prize?));
        let mut sorted: Vec<_> = rows.iter().filter_map(returned).collect();
        sorted.sort_unstable();
        Self {
            sorted,
            early: 0,
            late: 0,
        }
    }

    fn take_back(&mut self, given: &mut [Given], at: Timestamp) {
        let until = [at.after(TOLERANCE), at.before(TOLERANCE)];
        let [early, late] = until.map(|until| {
            self.sorted
                .partition_point(|(returned, _)| *returned <= until)
        });
        let mut lower = |from, to, change: fn(&mut Given)| {
            let prizes = self.sorted.get(from..to).unwrap_or_default().iter();
            prizes.for_each(|(_, prize)| given.get_mut(*prize).into_iter().for_each(change));
        };
        lower(self.early, early, |given| given.least -= 1);
        lower(self.late, late, |given| given.most -= 1);
        (self.early, self.late) = (early.max(self.early), late.max(self.late));
    }
}

/// Nothing could be won within `stops`.
pub fn check(
    rows: &[Row<'_>],
    schedule: &Schedule,
    stops: &[Range<Timestamp>],
) -> Result<(), Fault> {
    let (caps, moments) = (schedule.plan().header().caps, schedule.all_moments());
    let due = |prize: usize, at| {
        let due = moments
            .get(prize)
            .map(|moments| moments.partition_point(|moment| *moment <= at));
        i64::try_from(due.unwrap_or_default()).unwrap_or(i64::MAX)
    };
    let is_excused = |at: Timestamp| {
        stops
            .iter()
            .any(|stop| stop.start.before(TOLERANCE) <= at && at < stop.end.after(TOLERANCE))
    };
    let is_stopped = |at: Timestamp| {
        stops
            .iter()
            .any(|stop| stop.start.after(TOLERANCE) <= at && at < stop.end.before(TOLERANCE))
    };
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| (row.accepted_at, row.reference));
    let mut returns = Returns::new(&rows);
    let mut given = vec![Given::default(); moments.len()];
    let (mut seen, mut totals, mut by_day) = (HashSet::new(), HashMap::new(), HashMap::new());
    let mut waiting: Vec<Waiting<'_>> = Vec::new();
    for row in rows {
        let (at, reference) = (row.accepted_at, || row.reference.to_owned());
        returns.take_back(&mut given, at);
        if !seen.insert(row.reference) {
            return Err(Fault::Repeated(reference()));
        }
        let total = totals.entry(row.entrant).or_insert(0_u32);
        let of_day = by_day
            .entry((row.entrant, schedule.day_at(at)))
            .or_insert(0_u32);
        let is_capped = *total >= caps.total || *of_day >= caps.day;
        match row.prize {
            Some(prize) => {
                let given = given
                    .get_mut(prize)
                    .ok_or_else(|| Fault::UnknownPrize(reference()))?;
                if is_capped {
                    return Err(Fault::OverCap(reference()));
                }
                if is_stopped(at) {
                    return Err(Fault::Stopped(reference()));
                }
                (given.least, given.most) = (given.least + 1, given.most + 1);
                if due(prize, at) < given.least {
                    return Err(Fault::NotDue {
                        reference: reference(),
                        given: given.least,
                        due: due(prize, at),
                    });
                }
                *total += 1;
                *of_day += 1;
                waiting.retain(|entry| {
                    let is_answered = entry.prize == prize || entry.row.entrant == row.entrant;
                    !is_answered || at.since(entry.at) > TOLERANCE
                });
            }
            None if is_capped || is_excused(at) => {}
            None => {
                let mut counts = given.iter().enumerate();
                let open = counts.find(|(prize, given)| due(*prize, at) > given.most);
                waiting.extend(open.map(|(prize, _)| Waiting { at, row, prize }));
            }
        }
        if let Some(late) = waiting.iter().find(|entry| at.since(entry.at) > TOLERANCE) {
            return Err(Fault::PassedOver(late.row.reference.to_owned()));
        }
    }
    waiting.first().map_or(Ok(()), |entry| {
        Err(Fault::PassedOver(entry.row.reference.to_owned()))
    })
}

#[cfg(test)]
mod tests;
