use std::time::Duration;

use chrono::{FixedOffset, NaiveDate, NaiveTime};
use serde::{Deserialize, Serialize};

use super::basket::{bought, in_words};
use super::record::{FiscalRecord, VoidMark, same_identifier};
use super::rules::{Branch, OnNoMatch, ReceiptRules};
use crate::domain::campaign::Window;
use crate::domain::{Campaign, MessageKey, Timestamp};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptSummary {
    pub date: Option<String>,
    pub branch: Option<String>,
    pub items_summary: Option<String>,
    /// If an operator accepts it; `None` if no item qualifies. Not shown to callers.
    pub counted_entries: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: ReceiptVerdict,
    pub summary: ReceiptSummary,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiptVerdict {
    Verified {
        /// 1 or more, unless the campaign gives none for these products.
        entries: u32,
    },
    Declined(MessageKey, Reason),
    Review(Reason),
}

text_enum! {
    pub enum Reason {
        Cancelled = "receipt_cancelled",
        TrainingReceipt = "receipt_from_training",
        OutsideWindow = "receipt_outside_window",
        UnknownTrader = "trader_unknown",
        /// The trader takes part, but not with this device.
        UnknownDevice = "fiscal_device_unknown",
        NoProductMatched = "no_product_matched",
        FromTheFuture = "receipt_from_the_future",
        TooManyEntries = "too_many_entries",
    }
}

/// Africa/Dar_es_Salaam has kept this offset since 1961.
pub const FISCAL_OFFSET: FixedOffset = FixedOffset::east_opt(3 * 60 * 60).expect("less than a day");

const LAST_TIME: NaiveTime = NaiveTime::from_hms_milli_opt(23, 59, 59, 999).expect("a time");

/// Maximum lead of a device's clock.
const CLOCK_ERROR: Duration = Duration::from_hours(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Genuine,
    Window,
    Shop,
    Past,
    Product,
    MaxEntries,
}

struct Case<'a> {
    record: &'a FiscalRecord,
    campaign: &'a Campaign,
    rules: &'a ReceiptRules,
    submitted_at: Timestamp,
    branch: Result<Option<&'a Branch>, Reason>,
    entries: u32,
    is_anything_bought: bool,
}

impl Rule {
    /// Ordered: the first broken one decides.
    pub const ALL: [Self; 6] = [
        Self::Genuine,
        Self::Window,
        Self::Shop,
        Self::Past,
        Self::Product,
        Self::MaxEntries,
    ];

    fn broken_by(self, case: &Case<'_>) -> Option<ReceiptVerdict> {
        let Case {
            record,
            campaign,
            rules,
            ..
        } = case;
        let declined = |(key, reason)| ReceiptVerdict::Declined(key, reason);
        match self {
            Self::Genuine => void(record).map(declined),
            Self::Window => outside(record, campaign).map(declined),
            Self::Shop => case
                .branch
                .err()
                .map(|reason| (MessageKey::ReceiptWrongStore, reason))
                .map(declined),
            Self::Past => later(record, case.submitted_at)
                .then_some(ReceiptVerdict::Review(Reason::FromTheFuture)),
            Self::Product if rules.products.is_empty() || case.is_anything_bought => None,
            Self::Product => Some(match rules.on_no_match {
                OnNoMatch::Review => ReceiptVerdict::Review(Reason::NoProductMatched),
                OnNoMatch::Decline => ReceiptVerdict::Declined(
                    MessageKey::ReceiptNoQualifyingProduct,
                    Reason::NoProductMatched,
                ),
            }),
            // Mistakes at the till must not decide a draw.
            Self::MaxEntries => (case.entries > rules.max_entries)
                .then_some(ReceiptVerdict::Review(Reason::TooManyEntries)),
        }
    }
}

impl Reason {
    pub fn rule(self) -> Rule {
        match self {
            Self::Cancelled | Self::TrainingReceipt => Rule::Genuine,
            Self::OutsideWindow => Rule::Window,
            Self::UnknownTrader | Self::UnknownDevice => Rule::Shop,
            Self::FromTheFuture => Rule::Past,
            Self::NoProductMatched => Rule::Product,
            Self::TooManyEntries => Rule::MaxEntries,
        }
    }
}

pub fn judge(
    record: &FiscalRecord,
    campaign: &Campaign,
    rules: &ReceiptRules,
    submitted_at: Timestamp,
) -> Judgement {
    let branch = branch_of(record, &rules.branches);
    let bought = bought(&record.items, &rules.products);
    let counted = bought
        .iter()
        .fold(0, |sum: u32, line| sum.saturating_add(line.entries()));
    let summary = ReceiptSummary {
        date: Some(record.date.to_string()),
        branch: branch.ok().flatten().map(|branch| branch.key.clone()),
        items_summary: in_words(&bought),
        counted_entries: (!bought.is_empty()).then_some(counted),
    };
    let entries = if rules.products.is_empty() {
        campaign.entries_per_submission
    } else {
        counted
    };
    let is_anything_bought = !bought.is_empty();
    let case = Case {
        record,
        campaign,
        rules,
        submitted_at,
        branch,
        entries,
        is_anything_bought,
    };
    let broken = Rule::ALL.iter().find_map(|rule| rule.broken_by(&case));
    Judgement {
        verdict: broken.unwrap_or(ReceiptVerdict::Verified { entries }),
        summary,
    }
}

fn void(record: &FiscalRecord) -> Option<(MessageKey, Reason)> {
    let reason = match record.void? {
        VoidMark::Cancelled => Reason::Cancelled,
        VoidMark::Test => Reason::TrainingReceipt,
    };
    Some((MessageKey::ReceiptNotFound, reason))
}

/// A record without a time may be any moment of its day.
fn outside(record: &FiscalRecord, campaign: &Campaign) -> Option<(MessageKey, Reason)> {
    let Window { start, end } = campaign.window;
    let (earliest, latest) = bought_at(record);
    let too_early = start.is_some_and(|start| latest.is_none_or(|latest| latest < start));
    let too_late = end.is_some_and(|end| earliest.is_none_or(|earliest| earliest >= end));
    (too_early || too_late).then_some((MessageKey::ReceiptOutsideWindow, Reason::OutsideWindow))
}

fn later(record: &FiscalRecord, submitted_at: Timestamp) -> bool {
    let (earliest, _) = bought_at(record);
    earliest.is_none_or(|earliest| earliest > submitted_at.after(CLOCK_ERROR))
}

fn bought_at(record: &FiscalRecord) -> (Option<Timestamp>, Option<Timestamp>) {
    let at = |time| instant(record.date, time);
    match record.time {
        Some(time) => (at(time.into()), at(time.into())),
        None => (at(NaiveTime::MIN), at(LAST_TIME)),
    }
}

fn instant(date: NaiveDate, time: NaiveTime) -> Option<Timestamp> {
    let instant = date
        .and_time(time)
        .and_local_timezone(FISCAL_OFFSET)
        .single()?;
    Some(instant.to_utc().into())
}

fn branch_of<'a>(
    record: &FiscalRecord,
    branches: &'a [Branch],
) -> Result<Option<&'a Branch>, Reason> {
    if branches.is_empty() {
        return Ok(None);
    }
    let of_trader = |branch: &&Branch| same_identifier(&branch.tin, &record.tin);
    let device = |branch: &&Branch| {
        branch
            .serials
            .iter()
            .any(|serial| same_identifier(serial, &record.serial))
    };
    let by_device = branches.iter().filter(of_trader).find(device);
    let any_device = || {
        branches
            .iter()
            .filter(of_trader)
            .find(|branch| branch.serials.is_empty())
    };
    match by_device.or_else(any_device) {
        Some(branch) => Ok(Some(branch)),
        None if branches.iter().any(|branch| of_trader(&branch)) => Err(Reason::UnknownDevice),
        None => Err(Reason::UnknownTrader),
    }
}

#[cfg(test)]
mod tests;
