//! A shard's position. A stream repeats changes in order: those up to the checkpoint are skipped,
//! and it moves in the transaction that counts.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::Counters;

/// A transaction takes 100 items, the checkpoint included.
pub const MAX_COUNTERS: usize = 90;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceNumber(String);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a sequence number")]
pub struct InvalidSequenceNumber;

impl FromStr for SequenceNumber {
    type Err = InvalidSequenceNumber;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_number =
            (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSequenceNumber)
        }
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Ord for SequenceNumber {
    /// Compares by value: numbers of a shard differ in length.
    fn cmp(&self, other: &Self) -> Ordering {
        let digits = |number: &'_ Self| number.0.trim_start_matches('0').len();
        let (own, others) = (
            self.0.trim_start_matches('0'),
            other.0.trim_start_matches('0'),
        );
        digits(self)
            .cmp(&digits(other))
            .then_with(|| own.cmp(others))
    }
}

impl PartialOrd for SequenceNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardCheckpoint {
    pub sequence: SequenceNumber,
    /// Number of this change's counters that are counted; `None` when all are. A phone active on a
    /// hundred days has more than a transaction takes.
    pub counted: Option<usize>,
}

impl ShardCheckpoint {
    fn counted_of(&self, sequence: &SequenceNumber) -> Option<usize> {
        match sequence.cmp(&self.sequence) {
            Ordering::Less => None,
            Ordering::Equal => self.counted,
            Ordering::Greater => Some(0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub sequence: SequenceNumber,
    pub counters: Counters,
}

impl Change {
    pub fn is_uncounted(&self, checkpoint: Option<&ShardCheckpoint>) -> bool {
        checkpoint.is_none_or(|checkpoint| checkpoint.counted_of(&self.sequence).is_some())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Possibly empty; the checkpoint moves all the same.
    pub counters: Counters,
    pub checkpoint: ShardCheckpoint,
}

/// `changes` are in the shard's order; `None` when all are counted.
pub fn next_step(changes: &[Change], checkpoint: Option<&ShardCheckpoint>) -> Option<Step> {
    let mut step: Option<Step> = None;
    for Change { sequence, counters } in changes {
        let counted = checkpoint.map_or(Some(0), |checkpoint| checkpoint.counted_of(sequence));
        let Some(counted) = counted.filter(|counted| *counted < counters.len()) else {
            continue;
        };
        let left = counters
            .iter()
            .skip(counted)
            .map(|(counter, amount)| (counter.clone(), amount));
        let Some(begun) = &mut step else {
            let is_cut = counters.len() - counted > MAX_COUNTERS;
            let checkpoint = ShardCheckpoint {
                sequence: sequence.clone(),
                counted: is_cut.then_some(counted + MAX_COUNTERS),
            };
            step = Some(Step {
                counters: left.take(MAX_COUNTERS).collect(),
                checkpoint,
            });
            if is_cut {
                return step;
            }
            continue;
        };
        let mut both = begun.counters.clone();
        left.for_each(|(counter, amount)| both.add(counter, amount));
        if both.len() > MAX_COUNTERS {
            return step;
        }
        *begun = Step {
            counters: both,
            checkpoint: ShardCheckpoint {
                sequence: sequence.clone(),
                counted: None,
            },
        };
    }
    step
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Environment;
    use crate::domain::statistics::{Amount, Counter, Metric};

    fn number(sequence: usize) -> SequenceNumber {
        (sequence + 1).to_string().parse().expect("a number")
    }

    fn counter(number: usize) -> Counter {
        let scope = crate::domain::scope::Scope {
            campaign: "demo".parse().expect("a slug"),
            environment: Environment::Live,
        };
        let (day, hour) = ("2026-11-22".to_owned(), String::new());
        Counter {
            scope,
            metric: Metric::Regions,
            day,
            hour,
            dimension: format!("{number:04}"),
        }
    }

    fn counters(amounts: impl IntoIterator<Item = (usize, i64)>) -> Counters {
        let amounts = amounts.into_iter();
        amounts
            .map(|(number, records)| {
                (
                    counter(number),
                    Amount {
                        records,
                        entries: 0,
                    },
                )
            })
            .collect()
    }

    #[derive(Default)]
    struct Table {
        counters: Counters,
        checkpoint: Option<ShardCheckpoint>,
        transactions: usize,
    }

    impl Table {
        /// Counts a batch up to `limit` transactions.
        fn count(&mut self, batch: &[Change], limit: usize) {
            for _ in 0..limit {
                let Some(step) = next_step(batch, self.checkpoint.as_ref()) else {
                    return;
                };
                assert!(step.counters.len() <= MAX_COUNTERS);
                assert!(
                    batch
                        .iter()
                        .any(|change| change.is_uncounted(self.checkpoint.as_ref()))
                );
                self.counters.merge(step.counters);
                self.checkpoint = Some(step.checkpoint);
                self.transactions += 1;
            }
        }
    }

    fn sum(changes: &[Change]) -> Counters {
        changes.iter().fold(Counters::default(), |mut sum, change| {
            sum.merge(change.counters.clone());
            sum
        })
    }

    #[test]
    fn sequence_numbers_are_compared_by_value() {
        let number = |text: &str| text.parse::<SequenceNumber>().expect("a number");
        assert!(number("9") < number("10"));
        assert!(number("00000000000000000000010") > number("9"));
        assert!(number("100000000000000000000000000000000000001") > number("99999999999999999999"));
        for text in [
            "",
            "1a",
            "-1",
            "+1",
            " 1",
            "12345678901234567890123456789012345678901",
        ] {
            assert_eq!(
                text.parse::<SequenceNumber>(),
                Err(InvalidSequenceNumber),
                "{text}"
            );
        }
    }

    #[test]
    fn small_batch_is_one_transaction_and_a_large_change_several() {
        let small: Vec<_> = (0..80)
            .map(|n| Change {
                sequence: number(n),
                counters: counters([(n, 1)]),
            })
            .collect();
        let mut table = Table::default();
        table.count(&small, usize::MAX);
        assert_eq!((table.transactions, table.counters.len()), (1, 80));
        let wide = [Change {
            sequence: number(100),
            counters: counters((0..200).map(|n| (n, -1))),
        }];
        table.count(&wide, 1);
        assert_eq!(
            table.checkpoint,
            Some(ShardCheckpoint {
                sequence: number(100),
                counted: Some(90)
            })
        );
        table.count(&wide, usize::MAX);
        assert_eq!((table.transactions, table.counters.len()), (4, 120));
        assert_eq!(
            table.checkpoint,
            Some(ShardCheckpoint {
                sequence: number(100),
                counted: None
            })
        );
        assert_eq!(next_step(&wide, table.checkpoint.as_ref()), None);
        assert!(!wide[0].is_uncounted(table.checkpoint.as_ref()) && wide[0].is_uncounted(None));
        assert_eq!(number(100).to_string(), "101");
    }

    #[test]
    fn as_many_counters_as_fit_into_a_transaction_are_one() {
        let of = |first, count| Change {
            sequence: number(first),
            counters: counters((first..first + count).map(|n| (n, 1))),
        };
        let whole = Some(ShardCheckpoint {
            sequence: number(0),
            counted: None,
        });
        assert_eq!(
            next_step(&[of(0, MAX_COUNTERS)], None).map(|step| step.checkpoint),
            whole
        );
        let step = next_step(
            &[of(0, 40), of(40, MAX_COUNTERS - 40), of(MAX_COUNTERS, 1)],
            None,
        )
        .expect("a step");
        assert_eq!(
            (step.counters.len(), step.checkpoint),
            (
                MAX_COUNTERS,
                ShardCheckpoint {
                    sequence: number(40),
                    counted: None
                }
            )
        );
    }

    #[test]
    fn cancelling_changes_move_the_checkpoint_and_empty_ones_do_not() {
        let change = |n, amounts: &[(usize, i64)]| Change {
            sequence: number(n),
            counters: counters(amounts.iter().copied()),
        };
        let batch = [change(1, &[(1, 1)]), change(2, &[(1, -1)]), change(3, &[])];
        let step = next_step(&batch, None).expect("a step");
        assert!(step.counters.is_empty());
        assert_eq!(
            step.checkpoint,
            ShardCheckpoint {
                sequence: number(2),
                counted: None
            }
        );
        assert_eq!(next_step(&batch[2..], None), None);
    }

    proptest! {
        /// Batches come again from before uncounted changes, and are cut anywhere.
        #[test]
        fn every_change_is_counted_once_however_it_is_delivered(
            widths in prop::collection::vec((0_usize..130, 0_usize..200, prop::sample::select(vec![-1_i64, 1, 2])), 1..30),
            deliveries in prop::collection::vec((0_usize..30, 1_usize..30, 0_usize..4), 0..40),
        ) {
            let changes: Vec<_> = widths
                .iter()
                .enumerate()
                .map(|(n, (width, first, amount))| Change {
                    sequence: number(n),
                    counters: counters((0..*width).map(|offset| (first + offset, *amount))),
                })
                .collect();
            let mut table = Table::default();
            for (back, length, most) in deliveries {
                // Streams do not pass unconfirmed changes.
                let next = changes.iter().position(|change| change.is_uncounted(table.checkpoint.as_ref()));
                let start = next.unwrap_or(changes.len()).saturating_sub(back);
                let end = (start + length).min(changes.len());
                table.count(&changes[start..end], most);
            }
            table.count(&changes, usize::MAX);
            prop_assert_eq!(table.counters, sum(&changes));
        }
    }
}
