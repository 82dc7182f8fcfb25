//! Sorts any number of records by their keys in bounded memory: sorted runs go to a storage, and are merged from there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// What is sorted in memory at once. A million entrants make about ten runs.
const RUN_BYTES: usize = 16 << 20;
/// What a record takes beside its bytes: two vectors.
const RECORD_OVERHEAD_BYTES: usize = 64;
/// What is read of a run at once. Runs are merged at the same time, so this counts once for each.
const BLOCK_BYTES: u64 = 64 << 10;
const LENGTH_BYTES: usize = size_of::<u32>();

/// Where runs are kept: a temporary file, or a cursor over memory in tests. Written from its beginning.
pub trait Storage: Read + Write + Seek {}

impl<T: Read + Write + Seek> Storage for T {}

/// Sorted by key, then by value.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Record {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

pub(crate) struct Sorter<S> {
    storage: S,
    run_bytes: usize,
    records: Vec<Record>,
    /// Size of `records`.
    bytes: usize,
    /// Where each run ends in the storage.
    run_ends: Vec<u64>,
}

impl<S: Storage> Sorter<S> {
    pub(crate) fn new(storage: S) -> Self {
        Self::with_run_bytes(storage, RUN_BYTES)
    }

    fn with_run_bytes(storage: S, run_bytes: usize) -> Self {
        Self {
            storage,
            run_bytes,
            records: Vec::new(),
            bytes: 0,
            run_ends: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, record: Record) -> io::Result<()> {
        self.bytes += record.key.len() + record.value.len() + RECORD_OVERHEAD_BYTES;
        self.records.push(record);
        if self.bytes < self.run_bytes {
            Ok(())
        } else {
            self.write_run()
        }
    }

    fn write_run(&mut self) -> io::Result<()> {
        self.records.sort_unstable();
        let mut end = self.run_ends.last().copied().unwrap_or(0);
        let mut out = io::BufWriter::new(&mut self.storage);
        for Record { key, value } in self.records.drain(..) {
            for field in [key, value] {
                let length = u32::try_from(field.len()).map_err(io::Error::other)?;
                out.write_all(&length.to_le_bytes())?;
                out.write_all(&field)?;
                end += u64::from(u32::BITS / 8) + u64::from(length);
            }
        }
        out.flush()?;
        self.bytes = 0;
        self.run_ends.push(end);
        Ok(())
    }

    pub(crate) fn into_sorted(mut self) -> io::Result<Sorted<S>> {
        self.write_run()?;
        let mut start = 0;
        let runs = self
            .run_ends
            .into_iter()
            .map(|end| Run::new(std::mem::replace(&mut start, end), end));
        let mut sorted = Sorted {
            storage: self.storage,
            runs: runs.collect(),
            next: BinaryHeap::new(),
        };
        for run in 0..sorted.runs.len() {
            sorted.read_from(run)?;
        }
        Ok(sorted)
    }
}

/// All records in order.
pub(crate) struct Sorted<S> {
    storage: S,
    runs: Vec<Run>,
    /// The next record of each run that has one, with the run's number.
    next: BinaryHeap<Reverse<(Record, usize)>>,
}

impl<S: Storage> Sorted<S> {
    fn read_from(&mut self, number: usize) -> io::Result<()> {
        let record = self
            .runs
            .get_mut(number)
            .map(|run| run.next(&mut self.storage));
        if let Some(record) = record.transpose()?.flatten() {
            self.next.push(Reverse((record, number)));
        }
        Ok(())
    }
}

impl<S: Storage> Iterator for Sorted<S> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<io::Result<Record>> {
        let Reverse((record, run)) = self.next.pop()?;
        Some(self.read_from(run).map(|()| record))
    }
}

/// A run in the storage, read block by block.
struct Run {
    /// What was read and not returned yet, without its first `used` bytes.
    block: Vec<u8>,
    used: usize,
    position: u64,
    end: u64,
}

impl Run {
    fn new(position: u64, end: u64) -> Self {
        Self {
            block: Vec::new(),
            used: 0,
            position,
            end,
        }
    }

    fn next(&mut self, storage: &mut impl Storage) -> io::Result<Option<Record>> {
        if self.used == self.block.len() && self.position == self.end {
            return Ok(None);
        }
        Ok(Some(Record {
            key: self.field(storage)?,
            value: self.field(storage)?,
        }))
    }

    fn field(&mut self, storage: &mut impl Storage) -> io::Result<Vec<u8>> {
        let mut length = [0; LENGTH_BYTES];
        length.copy_from_slice(self.take(storage, LENGTH_BYTES)?);
        let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
        Ok(self.take(storage, length)?.to_vec())
    }

    fn take(&mut self, storage: &mut impl Storage, length: usize) -> io::Result<&[u8]> {
        if self.block.len() - self.used < length {
            self.block.drain(..self.used);
            self.used = 0;
            let missing = u64::try_from(length - self.block.len()).map_err(io::Error::other)?;
            let wanted = missing.max(BLOCK_BYTES).min(self.end - self.position);
            storage.seek(SeekFrom::Start(self.position))?;
            storage.take(wanted).read_to_end(&mut self.block)?;
            self.position += wanted;
        }
        let taken = self.block.get(self.used..self.used + length);
        self.used += length;
        taken.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_come_out_in_order_whatever_fits_into_memory(
            mut keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..60),
            run_bytes in 1_usize..2_000,
        ) {
            let mut sorter = Sorter::with_run_bytes(Cursor::new(Vec::new()), run_bytes);
            for key in &keys {
                let value = key.iter().rev().copied().collect();
                sorter.push(Record { key: key.clone(), value }).expect("memory");
            }
            let sorted: Vec<_> = sorter.into_sorted().expect("memory").map(|record| record.expect("memory")).collect();
            prop_assert!(sorted.iter().all(|record| record.key.iter().rev().eq(&record.value)));
            keys.sort();
            prop_assert_eq!(sorted.into_iter().map(|record| record.key).collect::<Vec<_>>(), keys);
        }
    }

    #[test]
    fn records_larger_than_a_block_are_read_whole() {
        let mut sorter = Sorter::new(Cursor::new(Vec::new()));
        let value = vec![7; 200_000];
        for key in [2, 1] {
            sorter
                .push(Record {
                    key: vec![key],
                    value: value.clone(),
                })
                .expect("memory");
        }
        let keys: Vec<_> = sorter
            .into_sorted()
            .expect("memory")
            .map(|record| record.expect("memory").key)
            .collect();
        assert_eq!(keys, [[1], [2]]);
    }

    #[test]
    fn a_storage_that_ends_early_is_an_error() {
        let mut sorter = Sorter::new(Cursor::new(Vec::new()));
        sorter
            .push(Record {
                key: vec![1; 100],
                value: Vec::new(),
            })
            .expect("memory");
        sorter.write_run().expect("memory");
        sorter.storage.get_mut().truncate(50);
        assert!(sorter.into_sorted().is_err());
    }
}
