//! The check that anyone can repeat: prizes given never exceed moments due, and no eligible entrant
//! was passed over.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use super::moments::Schedule;
use crate::domain::Timestamp;

/// Clocks of environments differ, and their commits interleave.
const TOLERANCE: Duration = Duration::from_secs(10);

/// An accepted entry that no other source gave a prize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    pub accepted_at: Timestamp,
    pub reference: &'a str,
    pub entrant: &'a str,
    /// Index in the plan's prizes.
    pub prize: Option<usize>,
    /// When the prize was given back.
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
        given: u32,
        due: u32,
    },
    #[error("{0} entered while a prize was open, and did not win")]
    PassedOver(String),
}

/// An entry that did not win while `prize` was open: another must win it soon.
struct Waiting<'a> {
    at: Timestamp,
    row: Row<'a>,
    prize: usize,
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
        u32::try_from(due.unwrap_or_default()).unwrap_or(u32::MAX)
    };
    let stopped = |at: Timestamp| {
        stops
            .iter()
            .any(|stop| stop.start.before(TOLERANCE) <= at && at < stop.end.after(TOLERANCE))
    };
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| (row.accepted_at, row.reference));
    let mut returned: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row.revoked_at?, row.prize?)))
        .collect();
    returned.sort_unstable();
    let mut returned = returned.into_iter().peekable();

    let mut given = vec![0_u32; moments.len()];
    let (mut seen, mut totals, mut by_day) = (HashSet::new(), HashMap::new(), HashMap::new());
    let mut waiting: Vec<Waiting<'_>> = Vec::new();
    for row in rows {
        let (at, reference) = (row.accepted_at, || row.reference.to_owned());
        while let Some((_, prize)) = returned.next_if(|(revoked_at, _)| *revoked_at <= at) {
            if let Some(given) = given.get_mut(prize) {
                *given = given.saturating_sub(1);
            }
        }
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
                *given += 1;
                if due(prize, at) < *given {
                    return Err(Fault::NotDue {
                        reference: reference(),
                        given: *given,
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
            None if is_capped || stopped(at) => {}
            None => {
                let mut counts = given.iter().enumerate();
                let open = counts.find(|(prize, given)| due(*prize, at) > **given);
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
