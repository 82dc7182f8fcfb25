//! Sums over the cells of a campaign: by day, by hour and by what they count.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use common::domain::codebook::{Batch, Origin};
use common::domain::numbers::decision_time::{Kind, Percentile, percentile};
use common::domain::numbers::{Amount, Cell, Cells, ENTRIES_RANGES, Metric};
use common::domain::timestamp::Timestamp;

use crate::format::local_time;

/// Amounts by a name, such as a region.
pub type Sums = BTreeMap<String, Amount>;

/// The sums of a metric over all days, by `name` of the cell; without those that are 0.
pub fn sums(cells: &Cells, metric: Metric, name: impl Fn(&Cell) -> String) -> Sums {
    let mut sums = Sums::new();
    for (cell, amount) in cells.iter().filter(|(cell, _)| cell.metric == metric) {
        let sum = sums.entry(name(cell)).or_default();
        sum.records += amount.records;
        sum.entries += amount.entries;
    }
    // A cell stays when everything in it has moved to another.
    sums.retain(|_, sum| *sum != Amount::default());
    sums
}

/// The sum of all of them.
pub fn total(sums: &Sums) -> Amount {
    sums.values().fold(Amount::default(), |sum, amount| Amount {
        records: sum.records + amount.records,
        entries: sum.entries + amount.entries,
    })
}

/// The sums of a metric over all days, by its dimension.
pub fn by_dimension(cells: &Cells, metric: Metric) -> Sums {
    sums(cells, metric, |cell| cell.dimension.clone())
}

/// The sums of a metric by day.
pub fn by_day(cells: &Cells, metric: Metric) -> Sums {
    sums(cells, metric, |cell| cell.day.clone())
}

/// Hours of UTC by the clocks of a zone, `2026-11-22 17:00`.
pub fn by_hour(cells: &Cells, zone: Tz) -> Sums {
    sums(cells, Metric::Outcomes, |cell| {
        let at: Option<Timestamp> = format!("{}:00:00Z", cell.hour).parse().ok();
        let local = at.map_or_else(|| cell.hour.clone(), |at| local_time(at, zone));
        // Without the seconds.
        local.chars().take("2026-11-22 17:00".len()).collect()
    })
}

/// Submissions whose partner has not answered.
pub fn unknown_now(cells: &Cells) -> i64 {
    let outcomes = by_dimension(cells, Metric::Outcomes);
    outcomes.iter().filter(|(outcome, _)| outcome.starts_with("unknown#")).map(|(_, sum)| sum.records).sum()
}

/// The share of the decided receipts that a person decided; `None` while none is decided.
pub fn by_hand_percent(cells: &Cells) -> Option<i64> {
    let receipts = by_dimension(cells, Metric::Receipts);
    let decided = |by: &str| -> i64 {
        receipts.iter().filter(|(state, _)| state.ends_with(by)).map(|(_, sum)| sum.records).sum()
    };
    let (by_hand, by_service) = (decided("#operator"), decided("#service"));
    let all = by_hand + by_service;
    (all > 0).then(|| (by_hand * 100 + all / 2) / all)
}

/// A percentile of the time until a decision.
pub fn wait(cells: &Cells, kind: Kind, percent: u32) -> Option<Percentile> {
    let decisions = by_dimension(cells, Metric::Decisions);
    percentile(kind, decisions.iter().map(|(span, amount)| (span.as_str(), *amount)), percent)
}

/// A percentile in the largest fitting unit.
pub fn span(percentile: Percentile) -> String {
    let words = |seconds: u64| match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} days", seconds / 86_400),
    };
    match percentile {
        Percentile::AtMost(seconds) => words(seconds),
        Percentile::MoreThan(seconds) => format!("more than {}", words(seconds)),
    }
}

/// Phones by their entries, in the order of the ranges.
pub fn phones_by_entries(cells: &Cells) -> Sums {
    let sums = by_dimension(cells, Metric::EntriesPerPhone);
    // `6+` sorts after the others by its text, too.
    ENTRIES_RANGES.iter().filter_map(|range| Some(((*range).to_owned(), *sums.get(*range)?))).collect()
}

/// The dimension of [`Metric::Receipts`] in words.
pub fn receipt_words(dimension: &str) -> String {
    let (state, by) = dimension.split_once('#').unwrap_or((dimension, ""));
    let state = state.replace('_', " ");
    if by.is_empty() { state } else { format!("{state}, by the {by}") }
}

/// The number of codes in a batch.
pub fn codes_of(batch: &Batch) -> u64 {
    match &batch.origin {
        Origin::Minted { count, .. } | Origin::Imported { count, .. } => *count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_the_largest_fitting_unit() {
        for (seconds, words) in
            [(60, "60 s"), (300, "5 min"), (7_200, "2 h"), (86_400, "24 h"), (604_800, "7 days")]
        {
            assert_eq!(span(Percentile::AtMost(seconds)), words);
        }
        assert_eq!(span(Percentile::MoreThan(2_592_000)), "more than 30 days");
    }
}
