//! Freezes the entries of a period: files that are published, and the commitment to them.
//!
//! Memory does not grow with the number of entrants: entries are sorted twice in a [`Storage`], by entrant and by hash.

use std::io::{self, Write};
use std::num::NonZeroU64;

use crate::commitment::commitment;
use crate::digest::Digest;
use crate::header::{Header, InvalidHeader, Plan};
use crate::merkle::MerkleTree;
use crate::opening::{InvalidOpening, Opening, Salt};
use crate::row::Row;
use crate::sort::{Record, Sorted, Sorter, Storage};
use crate::strict::MAX_INTEGER;

pub(crate) const OPENINGS_HEADER: &str = "row,refs,salt";

/// Why entries cannot be frozen. Names no entrant.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    #[error("the period has no accepted entry; check its dates and the campaign")]
    NoEntries,
    #[error(transparent)]
    Opening(#[from] InvalidOpening),
    #[error(transparent)]
    Header(#[from] InvalidHeader),
    #[error("two entrants have the same hash; freeze again, with other salts")]
    RepeatedHash,
    #[error("reading or writing failed; free space and check permissions, then freeze again")]
    Io(#[from] io::Error),
}

/// Accepted entries of a period, as they are read.
pub struct Entries<S> {
    by_entrant: Sorter<S>,
}

impl<S: Storage> Entries<S> {
    /// Nobody else should be able to read the storage: it gets references and what names entrants.
    pub fn new(storage: S) -> Self {
        Self {
            by_entrant: Sorter::new(storage),
        }
    }

    /// Adds an accepted submission. Equal bytes mean the same entrant: a phone, or better a digest of it.
    ///
    /// # Errors
    /// When the storage fails.
    pub fn add(
        &mut self,
        entrant: &[u8],
        reference: &str,
        count: NonZeroU64,
    ) -> Result<(), FreezeError> {
        let value = [&count.get().to_be_bytes(), reference.as_bytes()].concat();
        Ok(self.by_entrant.push(Record {
            key: entrant.to_vec(),
            value,
        })?)
    }

    /// Makes a row of each entrant, with a salt of its own, in the order of their hashes.
    ///
    /// # Errors
    /// When there is no entry, a reference is repeated, or a storage or the source of salts fails.
    pub fn into_rows<T: Storage>(
        self,
        storage: T,
        mut salt: impl FnMut() -> io::Result<Salt>,
    ) -> Result<Rows<T>, FreezeError> {
        let mut rows = RowSorter {
            by_hash: Sorter::new(storage),
            rows: 0,
            total: 0,
            largest: Vec::new(),
        };
        let mut current: Option<Entrant> = None;
        for record in self.by_entrant.into_sorted()? {
            let Record { key, value } = record?;
            let (count, reference) = split(&value)?;
            match &mut current {
                Some(entrant) if entrant.key == key => entrant.add(count, reference)?,
                _ => {
                    if let Some(entrant) = current.take() {
                        rows.push(entrant, salt()?)?;
                    }
                    current = Some(Entrant {
                        key,
                        count,
                        references: vec![reference],
                    });
                }
            }
        }
        if let Some(entrant) = current {
            rows.push(entrant, salt()?)?;
        }
        rows.finish()
    }
}

/// An entrant whose entries are not all read yet.
struct Entrant {
    key: Vec<u8>,
    count: u64,
    references: Vec<String>,
}

impl Entrant {
    fn add(&mut self, count: u64, reference: String) -> Result<(), FreezeError> {
        self.count = self
            .count
            .checked_add(count)
            .ok_or(InvalidHeader::TooManyEntries)?;
        self.references.push(reference);
        Ok(())
    }
}

fn damaged() -> io::Error {
    io::Error::other("the storage returned something else than was written")
}

/// A number in front of a text.
fn split(value: &[u8]) -> io::Result<(u64, String)> {
    let (count, text) = value.split_first_chunk().ok_or_else(damaged)?;
    let text = String::from_utf8(text.to_vec()).map_err(|_| damaged())?;
    Ok((u64::from_be_bytes(*count), text))
}

struct RowSorter<T> {
    by_hash: Sorter<T>,
    rows: u64,
    total: u64,
    /// Sorted.
    largest: Vec<LargestRow>,
}

/// One of the rows with most entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargestRow {
    pub entries: NonZeroU64,
    /// One of the entrant's.
    pub reference: String,
}

/// Rows that are named as the largest.
const MAX_LARGEST: usize = 5;

impl<T: Storage> RowSorter<T> {
    fn push(&mut self, entrant: Entrant, salt: Salt) -> Result<(), FreezeError> {
        let opening = Opening::new(entrant.references, salt)?;
        self.rows += 1;
        let total = self
            .total
            .checked_add(entrant.count)
            .filter(|total| *total <= MAX_INTEGER);
        self.total = total.ok_or(InvalidHeader::TooManyEntries)?;
        self.note_size(entrant.count, opening.references());
        let value = [
            &entrant.count.to_be_bytes(),
            opening.csv_fields().as_bytes(),
        ]
        .concat();
        Ok(self.by_hash.push(Record {
            key: opening.row_hash().as_bytes().to_vec(),
            value,
        })?)
    }

    fn note_size(&mut self, entries: u64, references: &[String]) {
        let (Some(entries), Some(reference)) = (NonZeroU64::new(entries), references.first())
        else {
            return;
        };
        let place = self.largest.partition_point(|row| row.entries >= entries);
        if place < MAX_LARGEST {
            self.largest.insert(
                place,
                LargestRow {
                    entries,
                    reference: reference.clone(),
                },
            );
            self.largest.truncate(MAX_LARGEST);
        }
    }

    fn finish(self) -> Result<Rows<T>, FreezeError> {
        let number = |number| NonZeroU64::new(number).ok_or(FreezeError::NoEntries);
        let (rows, total) = (number(self.rows)?, number(self.total)?);
        Ok(Rows {
            by_hash: self.by_hash.into_sorted()?,
            rows,
            total,
            largest: self.largest,
        })
    }
}

/// Rows in the order of their hashes. Nothing is written yet: show the counts, and ask.
pub struct Rows<T> {
    by_hash: Sorted<T>,
    rows: NonZeroU64,
    total: NonZeroU64,
    largest: Vec<LargestRow>,
}

impl<T: Storage> Rows<T> {
    /// The rows with most entries, largest first.
    pub fn largest(&self) -> &[LargestRow] {
        &self.largest
    }

    /// Entrants.
    pub fn rows(&self) -> NonZeroU64 {
        self.rows
    }

    /// Entries of all entrants.
    pub fn total(&self) -> NonZeroU64 {
        self.total
    }

    /// The header that [`Self::freeze`] writes.
    ///
    /// # Errors
    /// When the plan is invalid.
    pub fn header(&self, plan: Plan) -> Result<Header, InvalidHeader> {
        Header::new(plan, self.rows, self.total)
    }

    /// Writes `entries.csv` and `openings.csv`, and commits to them. Writers should be buffered.
    ///
    /// # Errors
    /// When the plan is invalid, or something cannot be read or written.
    pub fn freeze(
        self,
        plan: Plan,
        entries: &mut impl Write,
        openings: &mut impl Write,
    ) -> Result<Frozen, FreezeError> {
        let header = self.header(plan)?;
        let header_json = serde_json::to_string(&header).map_err(io::Error::other)?;
        writeln!(openings, "{OPENINGS_HEADER}")?;
        let (mut tree, mut start, mut last_hash) = (MerkleTree::default(), 0, None);
        for (number, record) in (0_u64..).zip(self.by_hash) {
            let Record { key, value } = record?;
            let hash = Digest::from(<[u8; 32]>::try_from(key).map_err(|_| damaged())?);
            if last_hash.replace(hash) == Some(hash) {
                return Err(FreezeError::RepeatedHash);
            }
            let (count, opening) = split(&value)?;
            let count = NonZeroU64::new(count).ok_or(FreezeError::NoEntries)?;
            let line = Row { hash, start, count }.to_string();
            start += count.get();
            tree.push(&line);
            writeln!(entries, "{line}")?;
            writeln!(openings, "{number},{opening}")?;
        }
        entries.flush()?;
        openings.flush()?;
        let root = tree.root();
        let commitment = commitment(header_json.as_bytes(), root);
        Ok(Frozen {
            header,
            header_json,
            root,
            commitment,
        })
    }
}

/// What is published before the round, beside `entries.csv`.
#[derive(Clone, Debug)]
pub struct Frozen {
    pub header: Header,
    /// The exact bytes of `header.json`.
    pub header_json: String,
    /// Merkle root of the lines of `entries.csv`.
    pub root: Digest,
    /// `commitment.txt`.
    pub commitment: Digest,
}
