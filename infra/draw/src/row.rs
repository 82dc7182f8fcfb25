//! Lines of `entries.csv`, one an entrant.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::digest::Digest;

/// An entrant's row, with tickets `start` to `start + count - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub hash: Digest,
    pub start: u64,
    pub count: NonZeroU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a hash, a start and a count, joined by commas")]
pub struct InvalidRow;

impl Row {
    /// The next row's first ticket; `None` above 2^64.
    pub fn end(&self) -> Option<u64> {
        self.start.checked_add(self.count.get())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.hash, self.start, self.count)
    }
}

impl FromStr for Row {
    type Err = InvalidRow;

    fn from_str(line: &str) -> Result<Self, InvalidRow> {
        let fields: Vec<_> = line.split(',').collect();
        let [hash, start, count] = fields.as_slice() else {
            return Err(InvalidRow);
        };
        let row = Self {
            hash: hash.parse().map_err(|_| InvalidRow)?,
            start: start.parse().map_err(|_| InvalidRow)?,
            count: count.parse().map_err(|_| InvalidRow)?,
        };
        // `+1` and `01` are also numbers, but other lines.
        if row.to_string() == line {
            Ok(row)
        } else {
            Err(InvalidRow)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_has_one_line() {
        let row = Row {
            hash: Digest::from_parts(&[]),
            start: 4,
            count: NonZeroU64::MIN,
        };
        let line = row.to_string();
        assert_eq!(line.parse(), Ok(row));
        let hash = row.hash;
        for other in [
            format!("{hash},04,1"),
            format!("{hash},4,+1"),
            format!("{hash},4,0"),
            format!("{hash},4"),
            format!("{line},"),
            format!("{line}\r"),
            format!(" {line}"),
            format!("{},4,1", hash.to_string().to_uppercase()),
        ] {
            assert_eq!(other.parse::<Row>(), Err(InvalidRow), "{other:?}");
        }
    }
}
