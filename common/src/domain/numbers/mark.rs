//! The position up to which a shard's changes are counted. A stream can deliver changes again,
//! always in order: changes up to the mark are skipped, and it moves in the transaction that
//! counts.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::Cells;

/// A transaction takes 100 items, one of which is the mark.
pub const MAX_CELLS: usize = 90;

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
    /// Counted cells of this change; `None` when all are. A phone active on a hundred days has more
    /// than a transaction takes.
    pub cells: Option<usize>,
}

impl ShardCheckpoint {
    fn counted_of(&self, sequence: &SequenceNumber) -> Option<usize> {
        match sequence.cmp(&self.sequence) {
            Ordering::Less => None,
            Ordering::Equal => self.cells,
            Ordering::Greater => Some(0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub sequence: SequenceNumber,
    pub cells: Cells,
}

impl Change {
    pub fn is_uncounted(&self, mark: Option<&ShardCheckpoint>) -> bool {
        mark.is_none_or(|mark| mark.counted_of(&self.sequence).is_some())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Possibly empty; the mark moves all the same.
    pub cells: Cells,
    pub mark: ShardCheckpoint,
}

/// `changes` are in the shard's order; `None` when all are counted.
pub fn next_step(changes: &[Change], mark: Option<&ShardCheckpoint>) -> Option<Step> {
    let mut step: Option<Step> = None;
    for Change { sequence, cells } in changes {
        let counted = mark.map_or(Some(0), |mark| mark.counted_of(sequence));
        let Some(counted) = counted.filter(|counted| *counted < cells.len()) else {
            continue;
        };
        let left = cells
            .iter()
            .skip(counted)
            .map(|(cell, amount)| (cell.clone(), amount));
        let Some(begun) = &mut step else {
            let is_cut = cells.len() - counted > MAX_CELLS;
            let mark = ShardCheckpoint {
                sequence: sequence.clone(),
                cells: is_cut.then_some(counted + MAX_CELLS),
            };
            step = Some(Step {
                cells: left.take(MAX_CELLS).collect(),
                mark,
            });
            if is_cut {
                return step;
            }
            continue;
        };
        let mut both = begun.cells.clone();
        left.for_each(|(cell, amount)| both.add(cell, amount));
        if both.len() > MAX_CELLS {
            return step;
        }
        *begun = Step {
            cells: both,
            mark: ShardCheckpoint {
                sequence: sequence.clone(),
                cells: None,
            },
        };
    }
    step
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::numbers::{Amount, Cell, Metric};
    use crate::domain::scope::Environment;

    fn number(sequence: usize) -> SequenceNumber {
        (sequence + 1).to_string().parse().expect("a number")
    }

    fn cell(number: usize) -> Cell {
        let scope = crate::domain::scope::Scope {
            campaign: "demo".parse().expect("a slug"),
            environment: Environment::Live,
        };
        let (day, hour) = ("2026-11-22".to_owned(), String::new());
        Cell {
            scope,
            metric: Metric::Regions,
            day,
            hour,
            dimension: format!("{number:04}"),
        }
    }

    fn cells(amounts: impl IntoIterator<Item = (usize, i64)>) -> Cells {
        let amounts = amounts.into_iter();
        amounts
            .map(|(number, records)| {
                (
                    cell(number),
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
        numbers: Cells,
        mark: Option<ShardCheckpoint>,
        transactions: usize,
    }

    impl Table {
        /// Counts a batch up to `most` transactions.
        fn count(&mut self, batch: &[Change], most: usize) {
            for _ in 0..most {
                let Some(step) = next_step(batch, self.mark.as_ref()) else {
                    return;
                };
                assert!(step.cells.len() <= MAX_CELLS);
                assert!(
                    batch
                        .iter()
                        .any(|change| change.is_uncounted(self.mark.as_ref()))
                );
                self.numbers.merge(step.cells);
                self.mark = Some(step.mark);
                self.transactions += 1;
            }
        }
    }

    fn sum(changes: &[Change]) -> Cells {
        changes.iter().fold(Cells::default(), |mut sum, change| {
            sum.merge(change.cells.clone());
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
                cells: cells([(n, 1)]),
            })
            .collect();
        let mut table = Table::default();
        table.count(&small, usize::MAX);
        assert_eq!((table.transactions, table.numbers.len()), (1, 80));
        let wide = [Change {
            sequence: number(100),
            cells: cells((0..200).map(|n| (n, -1))),
        }];
        table.count(&wide, 1);
        assert_eq!(
            table.mark,
            Some(ShardCheckpoint {
                sequence: number(100),
                cells: Some(90)
            })
        );
        table.count(&wide, usize::MAX);
        assert_eq!((table.transactions, table.numbers.len()), (4, 120));
        assert_eq!(
            table.mark,
            Some(ShardCheckpoint {
                sequence: number(100),
                cells: None
            })
        );
        assert_eq!(next_step(&wide, table.mark.as_ref()), None);
        assert!(!wide[0].is_uncounted(table.mark.as_ref()) && wide[0].is_uncounted(None));
        assert_eq!(number(100).to_string(), "101");
    }

    #[test]
    fn as_many_cells_as_fit_into_a_transaction_are_one() {
        let of = |first, count| Change {
            sequence: number(first),
            cells: cells((first..first + count).map(|n| (n, 1))),
        };
        let whole = Some(ShardCheckpoint {
            sequence: number(0),
            cells: None,
        });
        assert_eq!(
            next_step(&[of(0, MAX_CELLS)], None).map(|step| step.mark),
            whole
        );
        let step = next_step(&[of(0, 40), of(40, MAX_CELLS - 40), of(MAX_CELLS, 1)], None)
            .expect("a step");
        assert_eq!(
            (step.cells.len(), step.mark),
            (
                MAX_CELLS,
                ShardCheckpoint {
                    sequence: number(40),
                    cells: None
                }
            )
        );
    }

    #[test]
    fn cancelling_changes_move_the_mark_and_empty_ones_do_not() {
        let change = |n, amounts: &[(usize, i64)]| Change {
            sequence: number(n),
            cells: cells(amounts.iter().copied()),
        };
        let batch = [change(1, &[(1, 1)]), change(2, &[(1, -1)]), change(3, &[])];
        let step = next_step(&batch, None).expect("a step");
        assert!(step.cells.is_empty());
        assert_eq!(
            step.mark,
            ShardCheckpoint {
                sequence: number(2),
                cells: None
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
                    cells: cells((0..*width).map(|offset| (first + offset, *amount))),
                })
                .collect();
            let mut table = Table::default();
            for (back, length, most) in deliveries {
                // Streams do not pass unconfirmed changes.
                let next = changes.iter().position(|change| change.is_uncounted(table.mark.as_ref()));
                let start = next.unwrap_or(changes.len()).saturating_sub(back);
                let end = (start + length).min(changes.len());
                table.count(&changes[start..end], most);
            }
            table.count(&changes, usize::MAX);
            prop_assert_eq!(table.numbers, sum(&changes));
        }
    }
}
