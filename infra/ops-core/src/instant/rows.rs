//! The entries of a plan, as they are published.

use common::domain::win::{Win, WinStatus};
use common::store::submissions::Selection;
use draw::PrizeRow;

use super::FoundPlan;
use crate::prelude::*;
use crate::tables::take_pages;

/// Clocks of environments differ, so entries of some seconds after the last stop count as its.
const TOLERANCE: Duration = Duration::from_secs(10);

/// Every accepted entry from the first day to `end`, and later ones that won, but those with a prize
/// of another source.
pub(super) async fn read(
    tables: &Tables,
    found: &FoundPlan,
    end: Timestamp,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Vec<PrizeRow>> {
    let header = found.plan.header();
    let first = header
        .days
        .first()
        .map_or(Timestamp::MAX, |day| day.start());
    let span = first..=end.after(TOLERANCE);
    let wins = tables.wins().list(&found.scope).await?;
    let wins: HashMap<_, _> = wins
        .into_iter()
        .map(|win| ((win.submission_id, win.accepted_at), win))
        .collect();
    let row = |one: &Submission, accepted_at: Timestamp, win: Option<&Win>| -> Result<PrizeRow> {
        let prize = win
            .map(|win| prize_index(&header.prizes, win))
            .transpose()?;
        let revoked = win.filter(|win| win.status() == WinStatus::Revoked);
        Ok(PrizeRow {
            accepted_at,
            reference: found.stored.reference_digest(one.reference()),
            entrant: found.stored.pseudonym(&one.entrant_id),
            prize,
            revoked_at: revoked.and_then(|win| win.changed_at()),
        })
    };
    let selection = Selection {
        states: vec![
            State::Accepted,
            State::Pending,
            State::Unknown,
            State::Rejected,
        ],
        ..Selection::all(found.scope.clone())
    };
    let mut rows = Vec::new();
    let take = |read: Vec<Submission>| {
        for one in &read {
            for past in one.acceptances() {
                let win = wins.get(&(one.submission_id, past.at));
                // A person's acceptance claims no prize.
                let could_win = span.contains(&past.at) && past.decision.is_none() && win.is_none();
                let moment = win.and_then(|win| win.moment);
                if could_win || moment.is_some_and(|moment| moment.plan == found.state.plan) {
                    rows.push(row(one, past.at, win)?);
                }
            }
        }
        Ok(())
    };
    let pages = tables.submissions().select(&selection);
    take_pages(pages, take, "nothing was revealed", clock, terminal).await?;
    Ok(rows)
}

fn prize_index(prizes: &[String], win: &Win) -> Result<usize> {
    let index = prizes.iter().position(|prize| *prize == win.prize);
    index.ok_or_else(|| {
        failure!(
            "plan_differs",
            "nothing was revealed: {} won {}, which the plan does not have; the table `instant` was changed without `ops`",
            win.reference,
            win.prize
        )
    })
}
