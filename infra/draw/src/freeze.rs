use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroU64;

use crate::commitment::commitment;
use crate::digest::Digest;
use crate::header::{Header, InvalidHeader};
use crate::merkle::MerkleTree;
use crate::opening::{InvalidOpening, Opening, Salt, check_reference};
use crate::row::Row;

pub(crate) const OPENINGS_HEADER: &str = "row,refs,salt";
const MAX_LARGEST: usize = 5;

/// An error that names no entrant.
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
    #[error("writing failed: {0}; free space and check permissions, then freeze again")]
    Io(#[from] io::Error),
}

/// A period's accepted entries. `K` is a digest of the phone.
pub struct Entries<K> {
    by_entrant: BTreeMap<K, Entrant>,
}

#[derive(Default)]
struct Entrant {
    count: u64,
    /// Separated by spaces.
    references: String,
}

impl<K: Ord> Default for Entries<K> {
    fn default() -> Self {
        Self {
            by_entrant: BTreeMap::new(),
        }
    }
}

impl<K: Ord> Entries<K> {
    /// # Errors
    /// A reference that could be read as two.
    pub fn add(
        &mut self,
        entrant: K,
        reference: &str,
        count: NonZeroU64,
    ) -> Result<(), InvalidOpening> {
        check_reference(reference)?;
        let entrant = self.by_entrant.entry(entrant).or_default();
        // A header refuses far smaller totals.
        entrant.count = entrant.count.saturating_add(count.get());
        if !entrant.references.is_empty() {
            entrant.references.push(' ');
        }
        entrant.references.push_str(reference);
        Ok(())
    }

    /// Each entrant's row, with its own salt.
    ///
    /// # Errors
    /// No entry, or a repeated reference.
    pub fn into_rows(self, mut salt: impl FnMut() -> Salt) -> Result<Rows, FreezeError> {
        let mut rows = Vec::with_capacity(self.by_entrant.len());
        let mut total = 0_u64;
        for Entrant { count, references } in self.by_entrant.into_values() {
            let salt = salt();
            let references = references.split(' ').map(str::to_owned).collect();
            let opening = Opening::new(references, salt)?;
            total = total.saturating_add(count);
            rows.push(UnwrittenRow {
                hash: opening.row_hash(),
                count: NonZeroU64::new(count).ok_or(FreezeError::NoEntries)?,
                references: opening.references().join(" ").into_boxed_str(),
                salt,
            });
        }
        rows.sort_unstable_by_key(|row| Reverse(row.count));
        let largest = rows
            .iter()
            .take(MAX_LARGEST)
            .map(UnwrittenRow::size)
            .collect();
        rows.sort_unstable_by_key(|row| row.hash);
        if !rows.is_sorted_by(|one, next| one.hash < next.hash) {
            return Err(FreezeError::RepeatedHash);
        }
        let count = u64::try_from(rows.len()).ok().and_then(NonZeroU64::new);
        Ok(Rows {
            count: count.ok_or(FreezeError::NoEntries)?,
            total: NonZeroU64::new(total).ok_or(FreezeError::NoEntries)?,
            rows,
            largest,
        })
    }
}

struct UnwrittenRow {
    hash: Digest,
    count: NonZeroU64,
    /// Separated by spaces.
    references: Box<str>,
    salt: Salt,
}

impl UnwrittenRow {
    fn size(&self) -> LargestRow {
        let first = self.references.split(' ').next();
        LargestRow {
            entries: self.count,
            reference: first.unwrap_or_default().to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargestRow {
    pub entries: NonZeroU64,
    pub reference: String,
}

/// Rows in the order of their hashes, not yet written.
pub struct Rows {
    rows: Vec<UnwrittenRow>,
    count: NonZeroU64,
    total: NonZeroU64,
    largest: Vec<LargestRow>,
}

impl Rows {
    /// Largest first.
    pub fn largest(&self) -> &[LargestRow] {
        &self.largest
    }

    pub fn count(&self) -> NonZeroU64 {
        self.count
    }

    pub fn total(&self) -> NonZeroU64 {
        self.total
    }

    /// Writes `entries.csv` and `openings.csv`, and commits to them.
    ///
    /// # Errors
    /// A header of other rows, or a failed writer.
    pub fn freeze(
        self,
        header: &Header,
        entries: &mut impl Write,
        openings: &mut impl Write,
    ) -> Result<Frozen, FreezeError> {
        header.check()?;
        if (header.rows, header.total) != (self.count, self.total) {
            return Err(InvalidHeader("rows and total are not those of the entries").into());
        }
        let header_json = serde_json::to_string(header).map_err(io::Error::other)?;
        writeln!(openings, "{OPENINGS_HEADER}")?;
        let (mut tree, mut start) = (MerkleTree::default(), 0);
        for (number, row) in self.rows.into_iter().enumerate() {
            let UnwrittenRow {
                hash,
                count,
                references,
                salt,
            } = row;
            let line = Row { hash, start, count }.to_string();
            start += count.get();
            tree.push(&line);
            writeln!(entries, "{line}")?;
            writeln!(openings, "{number},{references},{}", hex::encode(salt))?;
        }
        entries.flush()?;
        openings.flush()?;
        let root = tree.root();
        let commitment = commitment(header_json.as_bytes(), root);
        Ok(Frozen {
            header_json,
            root,
            commitment,
        })
    }
}

#[derive(Clone, Debug)]
pub struct Frozen {
    /// The exact bytes of `header.json`.
    pub header_json: String,
    pub root: Digest,
    pub commitment: Digest,
}
