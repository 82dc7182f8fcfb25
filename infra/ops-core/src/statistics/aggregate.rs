use common::domain::statistics::decision_time::{Kind, Percentile, percentile};
use common::domain::statistics::utc_hour;

use crate::prelude::*;

pub type Aggregate = BTreeMap<String, Amount>;

/// Consecutive days or hours.
pub type Series = Vec<(String, Amount)>;

/// A plot has no place for more.
const MAX_DAYS: usize = 366;
const HOUR_MILLIS: i64 = 60 * 60 * 1_000;

pub const UNNAMED: &str = "(none)";

/// Can be briefly below 0.
pub fn number(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

pub fn largest(numbers: impl Iterator<Item = i64>) -> i64 {
    numbers.max().unwrap_or(0).max(1)
}

/// Any number above 0 is visible.
pub fn scaled(number: i64, of: i64, length: i64) -> i64 {
    let of = of.max(1);
    let scaled = (number * length + of / 2) / of;
    if number > 0 {
        scaled.clamp(1, length)
    } else {
        0
    }
}

/// Without zeros.
pub fn aggregate(
    counters: &Counters,
    metric: Metric,
    name: impl Fn(&Counter) -> String,
) -> Aggregate {
    let mut aggregate = Aggregate::new();
    for (counter, amount) in counters
        .iter()
        .filter(|(counter, _)| counter.metric == metric)
    {
        let sum = aggregate.entry(name(counter)).or_default();
        sum.records += amount.records;
        sum.entries += amount.entries;
    }
    // A counter stays when all of it has moved.
    aggregate.retain(|_, sum| *sum != Amount::default());
    aggregate
}

pub fn total(aggregate: &Aggregate) -> Amount {
    aggregate
        .values()
        .fold(Amount::default(), |sum, amount| Amount {
            records: sum.records + amount.records,
            entries: sum.entries + amount.entries,
        })
}

pub fn records_of(aggregate: &Aggregate, name: &str) -> i64 {
    aggregate.get(name).map_or(0, |sum| sum.records)
}

pub fn by_dimension(counters: &Counters, metric: Metric) -> Aggregate {
    // Consumers write regions.
    aggregate(counters, metric, |counter| visible(&counter.dimension))
}

pub fn by_day(counters: &Counters, metric: Metric) -> Aggregate {
    aggregate(counters, metric, |counter| counter.day.clone())
}

/// Such as `2026-11-22 17:00`.
pub fn by_hour(counters: &Counters, zone: Tz) -> Aggregate {
    aggregate(counters, Metric::Outcomes, |counter| {
        start_of(&counter.hour).map_or_else(|| counter.hour.clone(), |at| minute(at, zone))
    })
}

fn start_of(utc_hour: &str) -> Option<Timestamp> {
    format!("{utc_hour}:00:00Z").parse().ok()
}

fn minute(at: Timestamp, zone: Tz) -> String {
    local_time(at, zone)
        .chars()
        .take("2026-11-22 17:00".len())
        .collect()
}

pub fn latest_hour(counters: &Counters) -> Option<Timestamp> {
    by_utc_hour(counters)
        .keys()
        .next_back()
        .and_then(|hour| start_of(hour))
}

fn by_utc_hour(counters: &Counters) -> Aggregate {
    aggregate(counters, Metric::Outcomes, |counter| counter.hour.clone())
}

/// Ends with the hour of `end`.
pub fn each_hour(counters: &Counters, zone: Tz, end: Timestamp, hours: i64) -> Series {
    let by_utc_hour = by_utc_hour(counters);
    let last = end.as_millis().div_euclid(HOUR_MILLIS);
    let amount = |hour: i64| {
        let at = Timestamp::from_millis(hour.saturating_mul(HOUR_MILLIS));
        (
            minute(at, zone),
            by_utc_hour.get(&utc_hour(at)).copied().unwrap_or_default(),
        )
    };
    (last - hours + 1..=last).map(amount).collect()
}

/// First to last day, or to a later `until`.
pub fn each_day(days: &Aggregate, until: Option<&str>) -> Series {
    let day = |text: &str| text.parse::<NaiveDate>().ok();
    let first = days.keys().find_map(|text| day(text));
    let last = days
        .keys()
        .rev()
        .find_map(|text| day(text))
        .max(until.and_then(day));
    let Some((first, last)) = first.zip(last) else {
        return Series::new();
    };
    let shown = last
        .iter_days()
        .rev()
        .take(MAX_DAYS)
        .take_while(|day| *day >= first);
    let amount = |day: NaiveDate| {
        let name = day.to_string();
        let amount = days.get(&name).copied().unwrap_or_default();
        (name, amount)
    };
    let mut series: Series = shown.map(amount).collect();
    series.reverse();
    series
}

fn records_where(aggregate: &Aggregate, is_wanted: impl Fn(&str) -> bool) -> i64 {
    let wanted = aggregate.iter().filter(|(name, _)| is_wanted(name));
    wanted.map(|(_, sum)| sum.records).sum()
}

pub(crate) fn unknown_now(counters: &Counters) -> i64 {
    let outcomes = by_dimension(counters, Metric::Outcomes);
    records_where(&outcomes, |outcome| outcome.starts_with("unknown#"))
}

pub(crate) fn by_hand_percent(counters: &Counters) -> Option<i64> {
    let receipts = by_dimension(counters, Metric::Receipts);
    let decided = |by: &str| records_where(&receipts, |state| state.ends_with(by));
    let (by_hand, by_service) = (decided("#operator"), decided("#service"));
    let all = by_hand + by_service;
    (all > 0).then(|| (by_hand * 100 + all / 2) / all)
}

pub(crate) fn wait(counters: &Counters, kind: Kind, percent: u32) -> Option<Percentile> {
    let decisions = by_dimension(counters, Metric::Decisions);
    percentile(
        kind,
        decisions
            .iter()
            .map(|(span, amount)| (span.as_str(), *amount)),
        percent,
    )
}

fn span(percentile: Percentile) -> String {
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

pub fn figures(counters: &Counters, are_all_days: bool) -> Vec<(&'static str, String)> {
    let all = total(&by_dimension(counters, Metric::Days));
    // The phones of some days may be new on an earlier one, and one phone can be active on several.
    let phones = if are_all_days {
        "Phones with an entry or waiting"
    } else {
        "New phones"
    };
    let mut figures = vec![
        ("Submissions", number(all.records)),
        ("Entries", number(all.entries)),
        (
            phones,
            number(total(&by_day(counters, Metric::NewPhones)).records),
        ),
        ("Awaiting a partner’s answer", number(unknown_now(counters))),
    ];
    let by_hand = by_hand_percent(counters);
    figures.extend(by_hand.map(|percent| ("Receipts settled by hand", format!("{percent} %"))));
    for (kind, name) in [
        (Kind::Receipt, "Time to decide a receipt"),
        (Kind::Code, "Time to decide a code"),
    ] {
        if let (Some(p50), Some(p95)) = (wait(counters, kind, 50), wait(counters, kind, 95)) {
            let (p50, p95) = (span(p50), span(p95));
            figures.push((name, format!("half within {p50}, 95 % within {p95}")));
        }
    }
    figures
}

pub fn phones_by_entries(counters: &Counters) -> Aggregate {
    let aggregate = by_dimension(counters, Metric::EntriesPerPhone);
    ENTRIES_RANGES
        .iter()
        .filter_map(|range| Some(((*range).to_owned(), *aggregate.get(*range)?)))
        .collect()
}

pub fn receipt_words(dimension: &str) -> String {
    let (state, by) = dimension.split_once('#').unwrap_or((dimension, ""));
    let state = state.replace('_', " ");
    if by.is_empty() {
        state
    } else {
        format!("{state}, by the {by}")
    }
}

#[derive(Clone, Copy, Debug)]
pub struct PrizesLeft<'a> {
    pub batch: &'a Batch,
    pub prize: &'a str,
    pub codes: i64,
    /// `None` for inactive batches.
    pub left: Option<i64>,
}

/// `wins` are the whole campaign's.
pub fn prizes_left<'a>(batches: &'a [Batch], wins: &[Win]) -> Vec<PrizesLeft<'a>> {
    let left = |batch: &'a Batch| {
        let codes = i64::try_from(batch.count()).unwrap_or(i64::MAX);
        let is_given = |win: &&Win| win.batch.as_ref() == Some(&batch.name) && win.holds_prize();
        let given = i64::try_from(wins.iter().filter(is_given).count()).unwrap_or(i64::MAX);
        let left = (batch.status == BatchStatus::Active).then(|| (codes - given).max(0));
        Some(PrizesLeft {
            batch,
            prize: batch.prize.as_deref()?,
            codes,
            left,
        })
    };
    batches.iter().filter_map(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::domain::scope::{Environment, Scope};

    fn amount(entries: i64) -> Amount {
        Amount {
            records: 1,
            entries,
        }
    }

    #[test]
    fn days_without_any_submissions_have_their_place() {
        let days = [("2026-02-27", 3), ("2026-03-02", 1)];
        let days: Aggregate = days
            .into_iter()
            .map(|(day, entries)| (day.to_owned(), amount(entries)))
            .collect();
        let entries = |until| {
            let series = each_day(&days, until);
            series
                .iter()
                .map(|(day, sum)| format!("{}={}", &day[5..], sum.entries))
                .collect::<Vec<_>>()
        };
        let known = ["02-27=3", "02-28=0", "03-01=0", "03-02=1"];
        assert_eq!(entries(None), known);
        assert_eq!(
            entries(Some("2026-03-01")),
            known,
            "what is counted is shown"
        );
        assert_eq!(
            entries(Some("2026-03-04")),
            [&known[..], &["03-03=0", "03-04=0"]].concat()
        );
        let long = each_day(&days, Some("2030-01-01"));
        assert_eq!(
            (long.len(), long.last().map(|(day, _)| day.as_str())),
            (366, Some("2030-01-01"))
        );
        assert_eq!(each_day(&Aggregate::new(), Some("2026-03-04")), []);
    }

    #[test]
    fn forty_eight_hours_are_forty_eight_hours() {
        let scope = Scope {
            campaign: "demo".parse().expect("a slug"),
            environment: Environment::Live,
        };
        let counter = |hour: &str| Counter {
            scope: scope.clone(),
            metric: Metric::Outcomes,
            day: hour[..10].to_owned(),
            hour: hour.to_owned(),
            dimension: "accepted#entered".to_owned(),
        };
        let counters: Counters = [
            ("2026-02-20T10", 9),
            ("2026-02-28T21", 2),
            ("2026-03-01T10", 4),
        ]
        .into_iter()
        .map(|(hour, entries)| (counter(hour), amount(entries)))
        .collect();
        let end = latest_hour(&counters)
            .expect("an hour")
            .after(Duration::from_secs(1_800));
        let hours = each_hour(&counters, chrono_tz::Africa::Dar_es_Salaam, end, 48);
        assert_eq!(hours.len(), 48);
        let any: Vec<_> = hours.iter().filter(|(_, sum)| sum.entries > 0).collect();
        let [first, last] = any[..] else {
            panic!("{any:?}")
        };
        assert_eq!((first.0.as_str(), first.1.entries), ("2026-03-01 00:00", 2));
        assert_eq!(
            (Some(last), last.0.as_str()),
            (hours.last(), "2026-03-01 13:00")
        );
    }

    #[test]
    fn every_number_above_zero_has_a_bar() {
        let bars = [(0, 10), (-5, 10), (1, 1_000_000), (5, 10), (10, 10)];
        let bars = bars.map(|(number, of)| scaled(number, of, 32));
        assert_eq!(bars, [0, 0, 1, 16, 32]);
    }

    #[test]
    fn spans_are_told_in_the_largest_fitting_unit() {
        for (seconds, words) in [
            (60, "60 s"),
            (300, "5 min"),
            (7_200, "2 h"),
            (86_400, "24 h"),
            (604_800, "7 days"),
        ] {
            assert_eq!(span(Percentile::AtMost(seconds)), words);
        }
        assert_eq!(span(Percentile::MoreThan(2_592_000)), "more than 30 days");
    }
}
