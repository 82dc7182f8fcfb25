//! Waits for decisions, counted in fixed spans, so that sums over any days give percentiles.

use super::{Amount, Submission};

/// Seconds: from a partner's quick answer to a month of review.
const SPANS: [u64; 18] = [
    1, 2, 5, 10, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400, 172_800,
    604_800, 2_592_000,
];
const LONGER: &str = "longer";

text_enum! {
    pub enum Kind {
        Receipt = "receipt",
        Code = "code",
    }
}

pub(super) fn dimension(submission: &Submission) -> Option<String> {
    let Submission {
        status,
        history,
        created_at,
        updated_at,
        ..
    } = submission;
    if !status.is_terminal() {
        return None;
    }
    // Later changes, such as an erasure, must not lengthen the wait.
    let decided = history.iter().find(|past| past.status.is_terminal());
    let decided_at = decided.map_or(*updated_at, |past| past.at);
    let was_open = history
        .first()
        .is_some_and(|first| !first.status.is_terminal());
    if !was_open && decided_at <= *created_at {
        return None;
    }
    let waited = decided_at.since(*created_at);
    let span = SPANS
        .iter()
        .find(|span| waited.as_millis() <= u128::from(**span) * 1_000);
    let span = span.map_or_else(|| LONGER.to_owned(), ToString::to_string);
    let kind = if submission.receipt_id.is_some() {
        Kind::Receipt
    } else {
        Kind::Code
    };
    Some(format!("{}#{span}", kind.as_str()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    AtMost(u64),
    MoreThan(u64),
}

pub fn percentile<'a>(
    kind: Kind,
    amounts: impl Iterator<Item = (&'a str, Amount)>,
    percent: u32,
) -> Option<Percentile> {
    let mut by_span = [0_i64; SPANS.len()];
    let mut all = 0_i64;
    for (dimension, amount) in amounts {
        let Some(span) = dimension
            .strip_prefix(kind.as_str())
            .and_then(|rest| rest.strip_prefix('#'))
        else {
            continue;
        };
        all += amount.records;
        let known = SPANS.iter().position(|end| span.parse() == Ok(*end));
        if let Some(count) = known.and_then(|index| by_span.get_mut(index)) {
            *count += amount.records;
        }
    }
    if all <= 0 {
        return None;
    }
    let mut below = 0;
    let reaches = |count: &i64| {
        below += *count;
        below * 100 >= all * i64::from(percent)
    };
    let index = by_span.iter().position(reaches);
    let longest = SPANS.last().copied().unwrap_or_default();
    let end = index.and_then(|index| SPANS.get(index).copied());
    Some(end.map_or(Percentile::MoreThan(longest), Percentile::AtMost))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(spans: &[(&'static str, i64)]) -> Vec<(&'static str, Amount)> {
        spans
            .iter()
            .map(|(span, records)| {
                (
                    *span,
                    Amount {
                        records: *records,
                        entries: 0,
                    },
                )
            })
            .collect()
    }

    #[test]
    fn a_percentile_is_the_end_of_the_span_that_it_falls_into() {
        let waits = waits(&[
            ("receipt#60", 50),
            ("receipt#5", 45),
            ("receipt#86400", 5),
            ("code#1", 900),
        ]);
        let of = |kind, percent| percentile(kind, waits.iter().copied(), percent);
        assert_eq!(of(Kind::Receipt, 45), Some(Percentile::AtMost(5)));
        assert_eq!(of(Kind::Receipt, 50), Some(Percentile::AtMost(60)));
        assert_eq!(of(Kind::Receipt, 95), Some(Percentile::AtMost(60)));
        assert_eq!(of(Kind::Receipt, 96), Some(Percentile::AtMost(86_400)));
        assert_eq!(of(Kind::Code, 95), Some(Percentile::AtMost(1)));
    }

    #[test]
    fn longest_waits_are_more_and_nothing_has_no_percentile() {
        let longer = waits(&[("receipt#longer", 10), ("receipt#1", 1)]);
        let p95 = percentile(Kind::Receipt, longer.into_iter(), 95);
        assert_eq!(p95, Some(Percentile::MoreThan(2_592_000)));
        assert_eq!(
            percentile(Kind::Receipt, waits(&[("code#1", 1)]).into_iter(), 50),
            None
        );
    }
}
