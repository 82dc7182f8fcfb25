//! The audit log: what operators changed and looked at. Each row has the hash of the row before it, so that a row cannot
//! be changed, removed or moved without the rest of the log showing it.
//!
//! A row's hash is the SHA-256, in lower-case hexadecimal, of its canonical form: a JSON array in UTF-8 without white
//! space, in which only `"`, `\` and control characters are escaped:
//!
//! `[1,sequence,"time","who","by","action","campaign","environment","subject","why","details","hash of the row before"]`
//!
//! 1 is the version of this form. The time is RFC 3339 in UTC with milliseconds, the details are a string of JSON as it is
//! stored, and absent values are `null`. The first row follows 64 zeros. In Python:
//! `sha256(json.dumps(array, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()`.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::timestamp::Timestamp;

/// The version of the canonical form.
const FORM: u8 = 1;

/// An action of an operator, as a row records it. No field holds a phone, a code, a key or a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The ARN of the AWS identity that does it.
    pub who: String,
    /// The name that the operator gave besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What is done, such as `key.revoke`.
    pub action: String,
    /// The campaign's slug; `None` if the action concerns no single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// `test` or `live`; `None` if the action concerns both or no campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Id or pseudonym of the affected record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Why, in the operator's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// More about it: a JSON object. Kept as text, because the hash covers every character of it.
    pub details: String,
}

/// A row of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Its number, from 1.
    pub sequence: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The recorded action.
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// The hash of the row before it.
    pub previous: String,
    /// The hash of this row, which covers `previous` and everything else in it.
    pub hash: String,
}

/// The end of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// The UTC day of the last row, `YYYY-MM-DD`.
    pub last_day: String,
    /// The number of the last row.
    pub last_sequence: u64,
    /// The hash of the last row.
    pub last_hash: String,
}

impl AuditRow {
    /// The row that follows the end of the log; the first one, when there is none.
    pub fn after(head: Option<&AuditHead>, entry: AuditEntry, now: Timestamp) -> Self {
        let sequence = head.map_or(0, |head| head.last_sequence).saturating_add(1);
        let previous = head.map_or_else(before_the_first, |head| head.last_hash.clone());
        let mut row = Self { sequence, at: now, entry, previous, hash: String::new() };
        row.hash = row.computed_hash();
        row
    }

    /// The UTC day under which it is stored.
    pub fn day(&self) -> String {
        self.at.day_in(chrono_tz::UTC)
    }

    /// The end of the log, once this row is the last.
    pub fn head(&self) -> AuditHead {
        AuditHead { last_day: self.day(), last_sequence: self.sequence, last_hash: self.hash.clone() }
    }

    /// The hash of the row's current content.
    fn computed_hash(&self) -> String {
        let AuditEntry { who, by, action, campaign, environment, subject, why, details } = &self.entry;
        let (sequence, at, previous) = (self.sequence, self.at.to_string(), &self.previous);
        let form =
            (FORM, sequence, at, who, by, action, campaign, environment, subject, why, details, previous);
        // Numbers and texts can always be written as JSON.
        hex::encode(Sha256::digest(serde_json::to_string(&form).unwrap_or_default()))
    }
}

/// The previous hash in the first row, which has no row before it.
fn before_the_first() -> String {
    "0".repeat(64)
}

/// A row as it is found in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAuditRow {
    /// The day in its key.
    pub day: String,
    /// The number in its key.
    pub sequence: u64,
    /// The row; `None` when it lacks an attribute, or has one of another type.
    pub row: Option<AuditRow>,
}

/// How a log differs from what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditBreak {
    /// The row's hash is not that of its content.
    #[error("it was changed: its hash is not that of its content")]
    Changed,
    /// There is no row of this number.
    #[error("it is missing")]
    Missing,
    /// There is another row of this number.
    #[error("it is there twice, in two days")]
    Duplicate,
    /// It names another row before it than the one that is there.
    #[error("it was written after another row than the one before it: one of them was swapped or replaced")]
    DoesNotFollow,
    /// The rows end before or after the one that the end of the log names, or that one has another hash.
    #[error("the end of the log does not name it: rows were added or replaced without `ops`")]
    NotAtHead,
}

/// The result of verifying an intact log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedAudit {
    /// How many rows it has.
    pub count: u64,
    /// The hash of the last one; 64 zeros when there is none.
    pub last_hash: String,
}

/// Verifies a log while its rows are read, and keeps only where runs of rows begin and end: an unchanged log has one
/// for each day. The rows of a day come in their order; the days come in any order.
#[derive(Clone, Debug)]
pub struct AuditCheck {
    end: u64,
    end_hash: String,
    runs: Vec<Run>,
}

/// Unchanged rows that follow each other, or one row that was changed.
#[derive(Clone, Debug)]
struct Run {
    first: u64,
    /// The hash before the first row; `None` of a row that was changed.
    previous: Option<String>,
    last: u64,
    hash: String,
}

impl AuditCheck {
    /// A check against the end of the log, which has to be read before the rows.
    pub fn new(head: Option<&AuditHead>) -> Self {
        let (end, end_hash) =
            head.map_or_else(|| (0, before_the_first()), |head| (head.last_sequence, head.last_hash.clone()));
        Self { end, end_hash, runs: Vec::new() }
    }

    /// Takes the next row.
    pub fn add(&mut self, stored: &StoredAuditRow) {
        let sequence = stored.sequence;
        let unchanged = stored.row.as_ref().filter(|row| {
            row.sequence == sequence && row.day() == stored.day && row.hash == row.computed_hash()
        });
        // A run ends where the log ended, so that later rows can be left out.
        let follows = |run: &Run, row: &AuditRow| {
            run.last.checked_add(1) == Some(sequence) && run.hash == row.previous && run.last != self.end
        };
        match (unchanged, self.runs.last_mut()) {
            (Some(row), Some(run)) if run.previous.is_some() && follows(run, row) => {
                run.last = sequence;
                run.hash.clone_from(&row.hash);
            }
            (_, _) => {
                let previous = unchanged.map(|row| row.previous.clone());
                let hash = unchanged.map(|row| row.hash.clone()).unwrap_or_default();
                self.runs.push(Run { first: sequence, previous, last: sequence, hash });
            }
        }
    }

    /// Ends the check. Leaves out the rows after the end if `has_grown`: if rows were added since it was read.
    ///
    /// # Errors
    /// The number of the first altered row, and what is wrong with it.
    pub fn finish(mut self, has_grown: bool) -> Result<VerifiedAudit, (u64, AuditBreak)> {
        self.runs.retain(|run| !has_grown || run.first <= self.end);
        self.runs.sort_by_key(|run| run.first);
        let mut verified = VerifiedAudit { count: 0, last_hash: before_the_first() };
        for Run { first, previous, last, hash } in self.runs {
            let expected = verified.count.saturating_add(1);
            if first < expected {
                return Err((first, AuditBreak::Duplicate));
            }
            if first > expected {
                return Err((expected, AuditBreak::Missing));
            }
            let Some(previous) = previous else { return Err((expected, AuditBreak::Changed)) };
            if previous != verified.last_hash {
                return Err((expected, AuditBreak::DoesNotFollow));
            }
            verified = VerifiedAudit { count: last, last_hash: hash };
        }
        if self.end > verified.count {
            Err((verified.count.saturating_add(1), AuditBreak::Missing))
        } else if self.end_hash != verified.last_hash {
            Err((verified.count, AuditBreak::NotAtHead))
        } else {
            Ok(verified)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_772_323_200_000);

    fn entry(action: &str) -> AuditEntry {
        AuditEntry {
            who: "arn:aws:iam::000000000000:user/asha".to_owned(),
            by: None,
            action: action.to_owned(),
            campaign: Some("chai-bora-2026".to_owned()),
            environment: None,
            subject: Some("0a1b2c3d4e5f".to_owned()),
            why: Some("lost \"laptop\", é\u{1}\n".to_owned()),
            details: r#"{"per_minute":30}"#.to_owned(),
        }
    }

    /// Rows with their end.
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
        StoredAuditRow { day: row.day(), sequence: row.sequence, row: Some(row) }
    }

    fn checked(rows: &[StoredAuditRow], head: Option<&AuditHead>) -> AuditCheck {
        let mut check = AuditCheck::new(head);
        rows.iter().for_each(|row| check.add(row));
        check
    }

    fn verify(
        rows: Vec<StoredAuditRow>,
        head: Option<&AuditHead>,
    ) -> Result<VerifiedAudit, (u64, AuditBreak)> {
        checked(&rows, head).finish(false)
    }

    /// Computed by another implementation, the line of Python above. A change here would break every log.
    #[test]
    fn a_hash_never_changes() {
        let first = AuditRow::after(None, entry("key.revoke"), AT);
        assert_eq!(first.hash, "aa1dbaac6e97654b59a56c0bec83f6bbee5e4e008d29452a5a43aed88ac13b23");
        assert_eq!(first.previous, "0".repeat(64));
    }

    #[test]
    fn a_log_is_verified_in_any_order_and_without_rows() {
        let (mut rows, head) = log(5);
        rows.reverse();
        assert_eq!(head.last_day, "2026-03-01");
        let verified = verify(rows, Some(&head)).expect("it is as it was written");
        assert_eq!((verified.count, &verified.last_hash), (5, &head.last_hash));
        assert_eq!(verify(Vec::new(), None).expect("nothing is wrong").count, 0);
    }

    #[test]
    fn a_check_of_many_rows_keeps_one_run_for_each_day() {
        const DAY: u32 = 24 * 60 * 60;
        let mut rows: Vec<AuditRow> = Vec::new();
        for number in 0..300 {
            let at = AT.after(std::time::Duration::from_secs(u64::from(number / 100 * DAY)));
            rows.push(AuditRow::after(rows.last().map(AuditRow::head).as_ref(), entry("key.revoke"), at));
        }
        let head = rows.last().expect("a row").head();
        let rows: Vec<_> = rows.into_iter().map(stored).collect();
        let days: Vec<_> = [2, 1, 0].iter().flat_map(|day| rows[day * 100..][..100].to_vec()).collect();
        let check = checked(&days, Some(&head));
        assert_eq!(check.runs.len(), 3);
        assert_eq!(check.finish(false).map(|verified| verified.count), Ok(300));
    }

    #[test]
    fn rows_that_are_added_while_the_log_is_read_are_left_out() {
        let (rows, _) = log(5);
        let head = rows[2].row.as_ref().expect("a row").head();
        let check = checked(&rows, Some(&head));
        assert_eq!(check.clone().finish(true).map(|verified| verified.count), Ok(3));
        assert_eq!(check.finish(false), Err((5, AuditBreak::NotAtHead)), "the end is the same as before");
    }

    #[test]
    fn the_first_row_that_does_not_fit_is_named() {
        type Change = fn(&mut Vec<StoredAuditRow>);
        let row = |rows: &mut Vec<StoredAuditRow>, index: usize| rows[index].row.clone().expect("a row");
        let cases: [(Change, (u64, AuditBreak)); 8] = [
            (|rows| rows[2].row.as_mut().expect("a row").entry.why = None, (3, AuditBreak::Changed)),
            (|rows| rows[2].row = None, (3, AuditBreak::Changed)),
            (|rows| rows[2].day = "2026-03-02".to_owned(), (3, AuditBreak::Changed)),
            (|rows| drop(rows.remove(2)), (3, AuditBreak::Missing)),
            (|rows| drop(rows.pop()), (5, AuditBreak::Missing)),
            (|rows| rows.push(rows[1].clone()), (2, AuditBreak::Duplicate)),
            (
                |rows| {
                    let (second, third) = (rows[1].row.take(), rows[2].row.take());
                    (rows[1].row, rows[2].row) = (third, second);
                },
                (2, AuditBreak::Changed),
            ),
            (
                // A row rewritten with a matching hash: the next row reveals it.
                |rows| {
                    let head = rows[0].row.as_ref().expect("a row").head();
                    rows[1] = stored(AuditRow::after(Some(&head), entry("key.issue"), AT));
                },
                (3, AuditBreak::DoesNotFollow),
            ),
        ];
        for (change, expected) in cases {
            let (mut rows, head) = log(5);
            change(&mut rows);
            assert_eq!(verify(rows, Some(&head)), Err(expected));
        }
        let (mut rows, head) = log(5);
        let last = row(&mut rows, 4);
        rows.push(stored(AuditRow::after(Some(&last.head()), entry("key.issue"), AT)));
        assert_eq!(verify(rows, Some(&head)), Err((6, AuditBreak::NotAtHead)));
    }
}
