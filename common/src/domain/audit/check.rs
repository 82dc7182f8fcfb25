//! Verifies the chain of hashes from the end of the log.

use std::collections::HashMap;
use std::time::Duration;

use super::{AuditHead, AuditRow, StoredAuditRow, before_the_first};
use crate::domain::Timestamp;

/// Clocks of operators differ.
const MAX_OPERATOR_CLOCK_DIFFERENCE: Duration = Duration::from_mins(5);

type Hash = [u8; 32];

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditBreak {
    #[error("it was changed: its hash is not that of its content")]
    Changed,
    #[error("it is missing")]
    Missing,
    #[error("it was written after another row than the one before it: one of them was replaced")]
    DoesNotFollow,
    #[error("the end of the log does not name it: the row or the end was replaced")]
    NotAtHead,
    #[error("it was written without `ops`, which has passed it by")]
    Foreign,
    #[error("its time is {minutes} minutes before that of the row before it: a clock was wrong")]
    TimeWentBack { minutes: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFinding {
    pub sequence: u64,
    pub day: Option<String>,
    pub found: AuditBreak,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedAudit {
    pub count: u64,
    /// 64 zeros when there is no row.
    pub last_hash: String,
}

/// Takes rows in any order, and keeps some 100 bytes of each.
#[derive(Clone, Debug)]
pub struct AuditCheck {
    end: u64,
    end_hash: String,
    rows: Vec<Link>,
    changed: Vec<(u64, String)>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    sequence: u64,
    at: Timestamp,
    hash: Hash,
    previous: Hash,
}

#[derive(Default)]
struct Chain {
    places: Vec<usize>,
    /// Exclusive numbers around a changed or removed row.
    gaps: Vec<(u64, u64)>,
    findings: Vec<AuditFinding>,
}

impl AuditCheck {
    pub fn new(head: Option<&AuditHead>) -> Self {
        let (end, end_hash) = head.map_or_else(
            || (0, before_the_first()),
            |head| (head.last_sequence, head.last_hash.clone()),
        );
        Self {
            end,
            end_hash,
            rows: Vec::new(),
            changed: Vec::new(),
        }
    }

    pub fn add(&mut self, stored: &StoredAuditRow) {
        let unchanged = stored.row.as_ref().filter(|row| {
            row.sequence == stored.sequence
                && row.day() == stored.day
                && row.hash == row.computed_hash()
        });
        match unchanged.and_then(Link::new) {
            Some(link) => self.rows.push(link),
            None => self.changed.push((stored.sequence, stored.day.clone())),
        }
    }

    /// By number. With `has_grown`, rows after the end are left out.
    pub fn finish(mut self, has_grown: bool) -> Result<VerifiedAudit, Vec<AuditFinding>> {
        if has_grown {
            self.rows.retain(|row| row.sequence <= self.end);
            self.changed.retain(|(sequence, _)| *sequence <= self.end);
        }
        self.rows.sort_by_key(|row| row.sequence);
        let Chain {
            mut places,
            gaps,
            mut findings,
        } = self.chain();
        let count = places.len();
        for (sequence, day) in self.changed {
            let is_of_chain = gaps
                .iter()
                .any(|(lower, upper)| (lower + 1..*upper).contains(&sequence));
            let found = if is_of_chain {
                AuditBreak::Changed
            } else {
                AuditBreak::Foreign
            };
            findings.push(AuditFinding {
                sequence,
                day: Some(day),
                found,
            });
        }
        places.sort_unstable();
        let foreign = (0..)
            .zip(&self.rows)
            .filter(|(place, _)| places.binary_search(place).is_err());
        findings.extend(foreign.map(|(_, row)| row.finding(AuditBreak::Foreign)));
        if findings.is_empty() {
            return Ok(VerifiedAudit {
                count: u64::try_from(count).unwrap_or(u64::MAX),
                last_hash: self.end_hash,
            });
        }
        findings.sort_by_key(|finding| finding.sequence);
        Err(findings)
    }

    /// Continues after a break with the next row below.
    fn chain(&self) -> Chain {
        let by_hash: HashMap<Hash, usize> = (0..)
            .zip(&self.rows)
            .map(|(place, row)| (row.hash, place))
            .collect();
        let mut chain = Chain::default();
        let mut expected = decoded(&self.end_hash);
        let mut later: Option<Link> = None;
        loop {
            if expected == Some(Hash::default()) {
                return chain;
            }
            let upper = later.map_or(self.end.saturating_add(1), |later| later.sequence);
            let follows = |place: &usize| {
                self.rows
                    .get(*place)
                    .is_some_and(|row| row.sequence < upper)
            };
            let named = expected
                .and_then(|hash| by_hash.get(&hash).copied())
                .filter(follows);
            let below = self
                .rows
                .partition_point(|row| row.sequence < upper)
                .checked_sub(1);
            let next = named
                .or(below)
                .and_then(|place| Some((place, *self.rows.get(place)?)));
            if named.is_none() {
                let lower = next.map_or(0, |(_, row)| row.sequence);
                self.note_gap(&mut chain, lower, upper, later.or(next.map(|(_, row)| row)));
            }
            let Some((place, row)) = next else {
                return chain;
            };
            if let Some(later) =
                later.filter(|later| row.at > later.at.after(MAX_OPERATOR_CLOCK_DIFFERENCE))
            {
                let minutes = row.at.since(later.at).as_secs() / 60;
                chain
                    .findings
                    .push(later.finding(AuditBreak::TimeWentBack { minutes }));
            }
            chain.places.push(place);
            (expected, later) = (Some(row.previous), Some(row));
        }
    }

    fn note_gap(&self, chain: &mut Chain, lower: u64, upper: u64, beside: Option<Link>) {
        chain.gaps.push((lower, upper));
        let is_between = |sequence: u64| lower < sequence && sequence < upper;
        if self
            .changed
            .iter()
            .any(|(sequence, _)| is_between(*sequence))
        {
            return;
        }
        let replaced = if upper > self.end {
            AuditBreak::NotAtHead
        } else {
            AuditBreak::DoesNotFollow
        };
        chain.findings.push(match beside {
            Some(row) if lower.saturating_add(1) >= upper => row.finding(replaced),
            Some(_) | None => AuditFinding {
                sequence: lower.saturating_add(1),
                day: None,
                found: AuditBreak::Missing,
            },
        });
    }
}

impl Link {
    fn new(row: &AuditRow) -> Option<Self> {
        let (hash, previous) = (decoded(&row.hash)?, decoded(&row.previous)?);
        Some(Self {
            sequence: row.sequence,
            at: row.at,
            hash,
            previous,
        })
    }

    fn finding(&self, found: AuditBreak) -> AuditFinding {
        AuditFinding {
            sequence: self.sequence,
            day: Some(self.at.day_in(chrono_tz::UTC)),
            found,
        }
    }
}

fn decoded(hash: &str) -> Option<Hash> {
    let mut bytes = Hash::default();
    hex::decode_to_slice(hash, &mut bytes).ok().map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{AT, entry};
    use super::*;

    /// Rows and their end.
    fn log(count: usize) -> (Vec<StoredAuditRow>, AuditHead) {
        let mut rows: Vec<AuditRow> = Vec::new();
        for _ in 0..count {
            let head = rows.last().map(AuditRow::head);
            rows.push(AuditRow::after(head.as_ref(), entry("key.revoke"), AT));
        }
        let head = rows.last().expect("a row").head();
        (rows.into_iter().map(stored).collect(), head)
    }

    fn stored(row: AuditRow) -> StoredAuditRow {
        StoredAuditRow {
            day: row.day(),
            sequence: row.sequence,
            row: Some(row),
        }
    }

    /// A row of a day without others.
    fn without_content(sequence: u64) -> StoredAuditRow {
        StoredAuditRow {
            day: "2026-03-09".to_owned(),
            sequence,
            row: None,
        }
    }

    fn head_at(rows: &[StoredAuditRow], index: usize) -> AuditHead {
        rows[index].row.as_ref().expect("a row").head()
    }

    fn checked(rows: &[StoredAuditRow], head: Option<&AuditHead>) -> AuditCheck {
        let mut check = AuditCheck::new(head);
        rows.iter().for_each(|row| check.add(row));
        check
    }

    /// Numbers that do not fit, and why.
    fn found(rows: &[StoredAuditRow], head: &AuditHead) -> Vec<(u64, AuditBreak)> {
        let findings = checked(rows, Some(head))
            .finish(false)
            .expect_err("something is wrong");
        findings
            .iter()
            .map(|finding| (finding.sequence, finding.found))
            .collect()
    }

    #[test]
    fn log_is_verified_in_any_order_and_without_rows() {
        let (mut rows, head) = log(5);
        rows.reverse();
        assert_eq!(head.last_day, "2026-03-01");
        let verified = checked(&rows, Some(&head))
            .finish(false)
            .expect("it is as it was written");
        assert_eq!((verified.count, &verified.last_hash), (5, &head.last_hash));
        assert_eq!(
            AuditCheck::new(None)
                .finish(false)
                .expect("nothing is wrong")
                .count,
            0
        );
    }

    #[test]
    fn rows_added_while_the_log_is_read_are_left_out() {
        let (mut rows, _) = log(5);
        let head = head_at(&rows, 2);
        let grown = |rows: &[_]| checked(rows, Some(&head)).finish(true);
        assert_eq!(grown(&rows).map(|verified| verified.count), Ok(3));
        let foreign = [(4, AuditBreak::Foreign), (5, AuditBreak::Foreign)];
        assert_eq!(
            found(&rows, &head),
            foreign,
            "the end is the same as before"
        );
        rows[3].row = None;
        assert_eq!(grown(&rows).map(|verified| verified.count), Ok(3));
    }

    #[test]
    fn rows_that_do_not_fit_are_named() {
        type Change = fn(&mut Vec<StoredAuditRow>);
        let cases: [(Change, &[(u64, AuditBreak)]); 11] = [
            (
                |rows| rows[2].row.as_mut().expect("a row").entry.why = None,
                &[(3, AuditBreak::Changed)],
            ),
            (|rows| rows[2].row = None, &[(3, AuditBreak::Changed)]),
            (
                |rows| rows[2].day = "2026-03-02".to_owned(),
                &[(3, AuditBreak::Changed)],
            ),
            (|rows| drop(rows.remove(2)), &[(3, AuditBreak::Missing)]),
            (|rows| drop(rows.pop()), &[(5, AuditBreak::Missing)]),
            (
                |rows| {
                    let (second, third) = (rows[1].row.take(), rows[2].row.take());
                    (rows[1].row, rows[2].row) = (third, second);
                },
                &[(2, AuditBreak::Changed), (3, AuditBreak::Changed)],
            ),
            (
                // The row after a rewritten one reveals it.
                |rows| {
                    rows[1] = stored(AuditRow::after(
                        Some(&head_at(rows, 0)),
                        entry("key.issue"),
                        AT,
                    ))
                },
                &[(3, AuditBreak::DoesNotFollow)],
            ),
            (
                |rows| {
                    rows[3] = stored(AuditRow::after(
                        Some(&head_at(rows, 2)),
                        entry("key.issue"),
                        AT,
                    ))
                },
                &[(5, AuditBreak::DoesNotFollow)],
            ),
            (
                |rows| {
                    rows[1].row = None;
                    rows.remove(3);
                },
                &[(2, AuditBreak::Changed), (4, AuditBreak::Missing)],
            ),
            // A row beside a missing one does not stand in for it.
            (
                |rows| rows[2] = without_content(2),
                &[(2, AuditBreak::Foreign), (3, AuditBreak::Missing)],
            ),
            (
                |rows| rows[2] = without_content(4),
                &[(3, AuditBreak::Missing), (4, AuditBreak::Foreign)],
            ),
        ];
        for (change, expected) in cases {
            let (mut rows, head) = log(5);
            change(&mut rows);
            assert_eq!(found(&rows, &head), expected);
        }
        let (rows, head) = log(5);
        let forged = AuditHead {
            last_hash: "ab".repeat(32),
            ..head
        };
        assert_eq!(found(&rows, &forged), [(5, AuditBreak::NotAtHead)]);
    }

    #[test]
    fn number_is_taken_once() {
        let (mut rows, head) = log(5);
        let second = AuditRow::numbered(5, Some(&head), entry("key.issue"), AT);
        let end = second.head();
        rows.push(stored(second));
        let expected = [(5, AuditBreak::DoesNotFollow), (5, AuditBreak::Foreign)];
        assert_eq!(found(&rows, &end), expected);
    }

    #[test]
    fn rows_written_without_ops_are_named_and_passed_by() {
        let (mut rows, head) = log(5);
        let passed_by = AuditRow::numbered(8, Some(&head), entry("key.issue"), AT);
        // A following row, one without content, and one of a taken number on another day.
        rows.push(stored(AuditRow::after(Some(&head), entry("key.issue"), AT)));
        rows.extend([7, 2].map(without_content));
        let end = passed_by.head();
        rows.push(stored(passed_by));
        let foreign = [2, 6, 7].map(|sequence| (sequence, AuditBreak::Foreign));
        assert_eq!(found(&rows, &end), foreign);
        rows[3].row = None;
        let mut both = foreign.to_vec();
        both.insert(1, (4, AuditBreak::Changed));
        assert_eq!(found(&rows, &end), both, "what was changed is told apart");
    }

    #[test]
    fn times_that_go_back_are_named() {
        let minutes = |minutes: i64| Timestamp::from_millis(AT.as_millis() + minutes * 60_000);
        let mut rows: Vec<AuditRow> = Vec::new();
        for at in [0, 10, 5, 6, -14] {
            let head = rows.last().map(AuditRow::head);
            rows.push(AuditRow::after(
                head.as_ref(),
                entry("key.revoke"),
                minutes(at),
            ));
        }
        let head = rows.last().expect("a row").head();
        let rows: Vec<_> = rows.into_iter().map(stored).collect();
        assert_eq!(
            found(&rows, &head),
            [(5, AuditBreak::TimeWentBack { minutes: 20 })]
        );
    }
}
