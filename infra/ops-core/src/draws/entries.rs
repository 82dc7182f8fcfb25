//! Reads the entries of a period.

use common::store::submissions::Selection;
use draw::{Entries, LargestRow, LeftOut};

use super::freeze::not_frozen;
use super::prelude::*;
use crate::tables::take_pages;

pub(super) struct PeriodEntries {
    pub(super) entries: Entries<[u8; 16]>,
    pub(super) left_out: LeftOut,
    pub(super) report: ReadReport,
    blocked: HashSet<EntrantId>,
}

#[derive(Default)]
pub struct ReadReport {
    pub days: BTreeMap<String, DayTotal>,
    /// Made before the period's end, and not settled.
    pub unsettled: Vec<Reference>,
    /// Entries that people gave by accepting a submission.
    pub(crate) given_by_hand: u64,
    pub(crate) largest: Vec<LargestRow>,
}

/// The entries of a day, to compare with `ops numbers`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DayTotal {
    pub submissions: u64,
    pub entries: u64,
}

/// Reads all entries that were accepted from `from` on and before `to`. An entry belongs to the
/// time when it was accepted, so that one that is settled late is in a later draw, and none is in
/// two that follow each other. Entries of people who were erased are left out, since they could not
/// be called, and those of phones that are blocked by now.
pub(super) async fn read(
    tables: &Tables,
    scope: &Scope,
    (from, to): (Timestamp, Timestamp),
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<PeriodEntries> {
    let selection = Selection {
        to: Some(to),
        states: vec![State::Accepted, State::Pending, State::Unknown],
        ..Selection::all(scope.clone())
    };
    let (entrants, now) = (&tables.entrants, clock.now());
    let mut found = PeriodEntries {
        entries: Entries::default(),
        left_out: LeftOut::default(),
        report: ReadReport::default(),
        blocked: entrants.blocked_since(scope, now).await?,
    };
    let pages = tables.submissions().select(&selection);
    let add = |read: Vec<Submission>| read.iter().try_for_each(|one| found.add(one, from, to));
    take_pages(pages, add, "nothing was frozen", clock, terminal).await?;
    // The index of blocked phones can have been late.
    if entrants.blocked_since(scope, now).await? != found.blocked {
        bail!(
            "changed_meanwhile",
            "nothing was frozen: a phone was blocked or unblocked at the same time; run this again"
        );
    }
    found.report.unsettled.sort_by_key(ToString::to_string);
    Ok(found)
}

impl PeriodEntries {
    fn add(&mut self, submission: &Submission, from: Timestamp, to: Timestamp) -> Result<()> {
        let Some(accepted_at) = submission.accepted_at() else {
            self.report.unsettled.push(submission.reference());
            return Ok(());
        };
        let count = NonZeroU64::new(submission.status.entries().into());
        let (Some(count), true) = (count, (from..to).contains(&accepted_at)) else {
            return Ok(());
        };
        let left_out = match (
            &submission.phone,
            self.blocked.contains(&submission.entrant_id),
        ) {
            (None, _) => Some(&mut self.left_out.without_phone),
            (Some(_), true) => Some(&mut self.left_out.blocked),
            (Some(_), false) => None,
        };
        if let Some(days) = left_out {
            let entries = days.entry(submission.day.clone()).or_default();
            *entries = entries.saturating_add(count.get());
            return Ok(());
        }
        if submission.decision.is_some() {
            let by_hand = &mut self.report.given_by_hand;
            *by_hand = by_hand.saturating_add(count.get());
        }
        let day = self.report.days.entry(submission.day.clone()).or_default();
        day.submissions += 1;
        day.entries = day.entries.saturating_add(count.get());
        let (mut entrant, reference) = ([0; 16], submission.reference().to_string());
        hex::decode_to_slice(submission.entrant_id.as_str(), &mut entrant).map_err(|error| {
            failure!(
                "entries_invalid",
                "nothing was frozen: the record of {reference} names no entrant, {error}; restore it \
                 (infra/docs/runbook.md#unreadable-records)"
            )
        })?;
        let added = self.entries.add(entrant, &reference, count);
        added.map_err(not_frozen)
    }
}
