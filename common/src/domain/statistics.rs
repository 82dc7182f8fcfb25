//! A change adds its new image's counters and subtracts the old one's, so each counter is a sum
//! over current records.

pub mod checkpoint;
pub mod decision_time;

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;

use super::submission::ReviewStatus;
use super::{Scope, State, Submission, SubmissionStatus, Timestamp};

/// Free text, in sort keys of 1,024 bytes at most.
const MAX_DIMENSION_CHARS: usize = 200;

text_enum! {
    pub enum Metric {
        /// Submissions by day, all in one partition; the dimension is the day.
        Days = "days",
        /// Submissions by hour, state and message key: `accepted#entered`.
        Outcomes = "outcomes",
        /// An empty dimension is none.
        Regions = "regions",
        /// Submissions that name one.
        Channels = "channels",
        /// The receipt's branch, otherwise the declared one.
        Branches = "branches",
        Batches = "batches",
        Prizes = "prizes",
        /// Receipts by state and who decided: `verified#operator`.
        Receipts = "receipts",
        /// Later decisions by cause and length of the wait: `receipt#60`.
        Decisions = "decisions",
        /// Decisions and spot checks by the hour: `decided`, `agreed#service`.
        Reviews = "reviews",
        /// Phones by the day of their first submission that counts.
        NewPhones = "new_phones",
        /// Phones with a submission that counts on the day.
        ActivePhones = "active_phones",
        /// Phones by range of entries, `3-5`, and day of their first submission that counts.
        EntriesPerPhone = "entries_per_phone",
    }
}

impl Metric {
    pub const BY_DAY: &[Self] = Self::ALL.split_at(1).1;

    /// Consumers' own words must not outlast the submission.
    pub fn is_free_text(self) -> bool {
        matches!(self, Self::Regions | Self::Branches)
    }
}

pub const DECIDED: &str = "decided";
/// A spot check confirmed the verdict; the first decider follows.
pub const AGREED: &str = "agreed";
/// A spot check gave another verdict; the first decider follows.
pub const DIFFERED: &str = "differed";

pub const ALL_DAYS: &str = "all";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counter {
    pub scope: Scope,
    pub metric: Metric,
    /// Day of the submission in the campaign's zone, `YYYY-MM-DD`, or [`ALL_DAYS`].
    pub day: String,
    /// UTC hour, `2026-11-22T14`, since a zone's hour can come twice a day; empty where days
    /// suffice.
    pub hour: String,
    pub dimension: String,
}

impl Counter {
    pub(crate) fn new(scope: &Scope, metric: Metric, [day, hour, dimension]: [&str; 3]) -> Self {
        Self {
            scope: scope.clone(),
            metric,
            day: day.to_owned(),
            hour: hour.to_owned(),
            dimension: dimension.chars().take(MAX_DIMENSION_CHARS).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Submissions or phones; negative when subtracting.
    pub records: i64,
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

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }
}

/// No amount is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<Counter, Amount>);

impl Counters {
    pub fn add(&mut self, counter: Counter, amount: Amount) {
        let sum = self.amount(&counter).plus(amount);
        if sum == Amount::default() {
            self.0.remove(&counter);
        } else {
            self.0.insert(counter, sum);
        }
    }

    pub fn merge(&mut self, others: Self) {
        others
            .0
            .into_iter()
            .for_each(|(counter, amount)| self.add(counter, amount));
    }

    #[must_use]
    pub fn change(old: Self, mut new: Self) -> Self {
        old.0
            .into_iter()
            .for_each(|(counter, amount)| new.add(counter, amount.negated()));
        new
    }

    pub fn amount(&self, counter: &Counter) -> Amount {
        self.0.get(counter).copied().unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Counter, Amount)> {
        self.0.iter().map(|(counter, amount)| (counter, *amount))
    }
}

impl IntoIterator for Counters {
    type Item = (Counter, Amount);
    type IntoIter = IntoIter<Counter, Amount>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(Counter, Amount)> for Counters {
    fn from_iter<I: IntoIterator<Item = (Counter, Amount)>>(amounts: I) -> Self {
        let mut counters = Self::default();
        amounts
            .into_iter()
            .for_each(|(counter, amount)| counters.add(counter, amount));
        counters
    }
}

pub fn of_submission(submission: &Submission) -> Counters {
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
    let mut counters = Counters::default();
    let mut count = |metric, day: &str, hour: &str, dimension: &str| {
        counters.add(Counter::new(scope, metric, [day, hour, dimension]), amount);
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
    if let Some(channel) = submission.channel {
        count(Metric::Channels, day, "", channel.as_str());
    }
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
    if let Some(look) = &submission.spot_check {
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
    counters
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrantCounts {
    pub scope: Scope,
    pub days: BTreeMap<String, u32>,
    pub entries: u64,
}

pub fn of_entrant(entrant: &EntrantCounts) -> Counters {
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
        return Counters::default();
    };
    let amount = Amount {
        records: 1,
        entries: i64::try_from(*entries).unwrap_or(i64::MAX),
    };
    let counter =
        |metric, day: &String, dimension: &str| Counter::new(scope, metric, [day, "", dimension]);
    let once = Amount {
        entries: 0,
        ..amount
    };
    let mut counters: Counters = active
        .map(|day| (counter(Metric::ActivePhones, day, ""), once))
        .collect();
    counters.add(counter(Metric::NewPhones, first, ""), once);
    counters.add(
        counter(Metric::EntriesPerPhone, first, entries_range(*entries)),
        amount,
    );
    counters
}

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
