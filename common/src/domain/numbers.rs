//! The numbers of a campaign: which cells a submission or an entrant counts in.
//!
//! A change of a record adds the cells of its new image and subtracts those of its old one. So every number is a sum over
//! the current records, and a count of all records gives the same numbers.

pub mod decision_time;
pub mod mark;

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;

use super::scope::Scope;
use super::submission::{ReviewStatus, State, Submission, SubmissionStatus};
use super::timestamp::Timestamp;

/// Characters of a dimension that are kept: a region or a prize is free text, and a sort key has at most 1,024 bytes.
const MAX_DIMENSION_CHARS: usize = 200;

/// A metric. Each has its own dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Submissions by day, all days in one partition. The dimension is the day.
    Days,
    /// Submissions by hour, state and message key: `accepted#entered`.
    Outcomes,
    /// Submissions by the consumer's region; an empty dimension is none.
    Regions,
    /// Submissions by branch: that of the receipt, otherwise the one that the consumer claims.
    Branches,
    /// Redeemed codes by batch.
    Batches,
    /// Prizes won, in words.
    Prizes,
    /// Submissions with a receipt, by its state and who decided: `verified#operator`.
    Receipts,
    /// Submissions that were decided later, by what they waited for and how long: `receipt#60`.
    Decisions,
    /// Decisions of operators and second looks, by the hour in which they were made: `decided`, `agreed#service`.
    Reviews,
    /// Phones by the day of their first submission that counts.
    NewPhones,
    /// Phones with a submission that counts on the day.
    ActivePhones,
    /// Phones by the day of their first submission that counts, and the entries that they have: `3-5`.
    EntriesPerPhone,
}

impl Metric {
    /// The metrics that are kept by day.
    pub const BY_DAY: [Self; 11] = [
        Self::Outcomes,
        Self::Regions,
        Self::Branches,
        Self::Batches,
        Self::Prizes,
        Self::Receipts,
        Self::Decisions,
        Self::Reviews,
        Self::NewPhones,
        Self::ActivePhones,
        Self::EntriesPerPhone,
    ];

    /// True if the dimension can be a consumer's own words, which must not outlast the submission.
    pub fn is_free_text(self) -> bool {
        matches!(self, Self::Regions | Self::Branches)
    }

    /// The name in keys and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Days => "days",
            Self::Outcomes => "outcomes",
            Self::Regions => "regions",
            Self::Branches => "branches",
            Self::Batches => "batches",
            Self::Prizes => "prizes",
            Self::Receipts => "receipts",
            Self::Decisions => "decisions",
            Self::Reviews => "reviews",
            Self::NewPhones => "new_phones",
            Self::ActivePhones => "active_phones",
            Self::EntriesPerPhone => "entries_per_phone",
        }
    }
}

/// The dimension of [`Metric::Reviews`] of an operator's decision.
pub const DECIDED: &str = "decided";
/// The beginning of the dimension of a second look that gave the same verdict; who had decided follows.
pub const AGREED: &str = "agreed";
/// The beginning of the dimension of a second look that gave another verdict; who had decided follows.
pub const DIFFERED: &str = "differed";

/// The day of [`Metric::Days`].
pub const ALL_DAYS: &str = "all";

/// Where something is counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The campaign and environment.
    pub scope: Scope,
    /// The metric, which also says what `dimension` is.
    pub metric: Metric,
    /// The campaign's day on which the submission was made, `YYYY-MM-DD`, or [`ALL_DAYS`].
    pub day: String,
    /// The hour of UTC in which it was made, or reviewed, `2026-11-22T14`, since a zone's hour can come twice in a day; empty
    /// where hours are not kept apart.
    pub hour: String,
    /// The dimension of the metric.
    pub dimension: String,
}

/// How much is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Submissions, or phones where the metric counts phones. Negative in a change that takes away.
    pub records: i64,
    /// The entries that they earned.
    pub entries: i64,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self {
            records: self.records.saturating_add(other.records),
            entries: self.entries.saturating_add(other.entries),
        }
    }

    fn negated(self) -> Self {
        Self {
            records: self.records.saturating_neg(),
            entries: self.entries.saturating_neg(),
        }
    }

    /// This amount less the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }
}

/// Amounts by cell; no amount is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells(BTreeMap<Cell, Amount>);

impl Cells {
    /// Adds an amount.
    pub fn add(&mut self, cell: Cell, amount: Amount) {
        let sum = self.amount(&cell).plus(amount);
        if sum == Amount::default() {
            self.0.remove(&cell);
        } else {
            self.0.insert(cell, sum);
        }
    }

    /// Adds all amounts of others.
    pub fn merge(&mut self, others: Self) {
        others
            .0
            .into_iter()
            .for_each(|(cell, amount)| self.add(cell, amount));
    }

    /// The difference that a change of a record makes: the cells of its new image, minus those of the old one.
    #[must_use]
    pub fn change(old: Self, mut new: Self) -> Self {
        old.0
            .into_iter()
            .for_each(|(cell, amount)| new.add(cell, amount.negated()));
        new
    }

    /// The amount of a cell.
    pub fn amount(&self, cell: &Cell) -> Amount {
        self.0.get(cell).copied().unwrap_or_default()
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if nothing is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The cells and their amounts, in the order of the cells.
    pub fn iter(&self) -> impl Iterator<Item = (&Cell, Amount)> {
        self.0.iter().map(|(cell, amount)| (cell, *amount))
    }
}

impl IntoIterator for Cells {
    type Item = (Cell, Amount);
    type IntoIter = IntoIter<Cell, Amount>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(Cell, Amount)> for Cells {
    fn from_iter<I: IntoIterator<Item = (Cell, Amount)>>(amounts: I) -> Self {
        let mut cells = Self::default();
        amounts
            .into_iter()
            .for_each(|(cell, amount)| cells.add(cell, amount));
        cells
    }
}

/// The cells that a submission counts in.
pub fn of_submission(submission: &Submission) -> Cells {
    let Submission {
        scope,
        day,
        status,
        region,
        ..
    } = submission;
    let amount = Amount {
        records: 1,
        entries: i64::from(status.entries()),
    };
    let is_accepted = status.state() == State::Accepted;
    let mut cells = Cells::default();
    let mut count = |metric, day: &str, hour: &str, dimension: &str| {
        let dimension = dimension.chars().take(MAX_DIMENSION_CHARS).collect();
        let (day, hour) = (day.to_owned(), hour.to_owned());
        cells.add(
            Cell {
                scope: scope.clone(),
                metric,
                day,
                hour,
                dimension,
            },
            amount,
        );
    };
    count(Metric::Days, ALL_DAYS, "", day);
    let outcome = format!("{}#{}", status.state().as_str(), status.message_key());
    count(
        Metric::Outcomes,
        day,
        &utc_hour(submission.created_at),
        &outcome,
    );
    count(
        Metric::Regions,
        day,
        "",
        region.as_deref().unwrap_or_default(),
    );
    count(
        Metric::Branches,
        day,
        "",
        branch(submission).unwrap_or_default(),
    );
    if let Some(batch) = submission.batch.as_deref().filter(|_| is_accepted) {
        count(Metric::Batches, day, "", batch);
    }
    if let Some(prize) = status.instant_win().filter(|_| is_accepted) {
        count(Metric::Prizes, day, "", prize);
    }
    if submission.receipt_id.is_some() {
        count(Metric::Receipts, day, "", &receipt_dimension(submission));
    }
    if let Some(waited) = decision_time::dimension(submission) {
        count(Metric::Decisions, day, "", &waited);
    }
    if let Some(decision) = submission
        .decision
        .as_ref()
        .filter(|_| status.is_terminal())
    {
        count(Metric::Reviews, day, &utc_hour(decision.at), DECIDED);
    }
    if let Some(look) = &submission.second_look {
        let agreed = if look.agrees { AGREED } else { DIFFERED };
        let by = if submission.decision.is_some() {
            "operator"
        } else {
            "service"
        };
        count(
            Metric::Reviews,
            day,
            &utc_hour(look.at),
            &format!("{agreed}#{by}"),
        );
    }
    cells
}

/// The parts of an entrant that are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrantCounts {
    /// The campaign and environment.
    pub scope: Scope,
    /// Submissions that count, by the campaign's day.
    pub days: BTreeMap<String, u32>,
    /// Entries earned.
    pub entries: u64,
}

/// The cells that an entrant counts in: none while no submission of the phone counts.
pub fn of_entrant(entrant: &EntrantCounts) -> Cells {
    let EntrantCounts {
        scope,
        days,
        entries,
    } = entrant;
    let active = days
        .iter()
        .filter(|(_, submissions)| **submissions > 0)
        .map(|(day, _)| day);
    let Some(first) = active.clone().min() else {
        return Cells::default();
    };
    let amount = Amount {
        records: 1,
        entries: i64::try_from(*entries).unwrap_or(i64::MAX),
    };
    let cell = |metric, day: &String, dimension: &str| {
        let (day, dimension) = (day.clone(), dimension.to_owned());
        Cell {
            scope: scope.clone(),
            metric,
            day,
            hour: String::new(),
            dimension,
        }
    };
    let once = Amount {
        entries: 0,
        ..amount
    };
    let mut cells: Cells = active
        .map(|day| (cell(Metric::ActivePhones, day, ""), once))
        .collect();
    cells.add(cell(Metric::NewPhones, first, ""), once);
    cells.add(
        cell(Metric::EntriesPerPhone, first, entries_range(*entries)),
        amount,
    );
    cells
}

/// The ranges of [`Metric::EntriesPerPhone`], the fewest first.
pub const ENTRIES_RANGES: [&str; 5] = ["0", "1", "2", "3-5", "6+"];

fn entries_range(entries: u64) -> &'static str {
    match entries {
        0 => "0",
        1 => "1",
        2 => "2",
        3..=5 => "3-5",
        6.. => "6+",
    }
}

/// The hour of a [`Cell`], `2026-11-22T14`.
pub fn utc_hour(at: Timestamp) -> String {
    const LENGTH: usize = "2026-11-22T14".len();
    at.to_string().chars().take(LENGTH).collect()
}

fn branch(submission: &Submission) -> Option<&str> {
    let proven = submission
        .receipt
        .as_ref()
        .and_then(|receipt| receipt.branch.as_deref());
    proven.or_else(|| submission.claimed.as_ref()?.branch.as_deref())
}

/// State and, once it is decided, who decided.
fn receipt_dimension(submission: &Submission) -> String {
    let state = receipt_state(&submission.status);
    let by = match &submission.decision {
        _ if !submission.status.is_terminal() => "",
        Some(_) => "operator",
        None => "service",
    };
    format!("{state}#{by}")
}

fn receipt_state(status: &SubmissionStatus) -> &'static str {
    match (status.state(), status.review_status()) {
        (State::Accepted, _) => "verified",
        (State::Rejected, Some(ReviewStatus::Declined)) => "declined",
        (State::Rejected, None | Some(ReviewStatus::Verified | ReviewStatus::UnderReview)) => {
            "not_counted"
        }
        (State::Pending, Some(ReviewStatus::UnderReview)) => "under_review",
        (State::Pending, None | Some(ReviewStatus::Verified | ReviewStatus::Declined))
        | (State::Unknown, _) => "checking",
    }
}

#[cfg(test)]
mod tests;
