//! The codes of one scope: the minted serial numbers, the lengths of minted and imported codes, and the batches.
//!
//! A minted code is not stored. It is its enciphered serial number, so verifying one is arithmetic: decipher it, and
//! look for a batch with that serial number. An imported code is looked up. The length of a code decides which: each
//! length belongs to minted codes or to imported ones, whichever came first.

use std::collections::BTreeSet;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::cipher::{CODE_SYMBOLS, CodeCipher, RADIX, SecretKey};

/// Symbols in a minted code, unless minting sets another number or such codes are imported.
pub const DEFAULT_CODE_SYMBOLS: u8 = 12;

/// The highest odds of guessing a code in one attempt that minting accepts without a special option.
pub const ACCEPTABLE_ODDS: f64 = 1e-6;

/// The codes of a scope. One record, however many codes there are.
#[derive(Clone, Debug)]
pub struct CodeBook {
    /// The key that enciphers serial numbers.
    pub minting_key: SecretKey,
    /// The key that digests imported codes for storage.
    pub digest_key: SecretKey,
    /// Symbols in a minted code, one length for the whole scope; `None` until codes are minted.
    pub minted_length: Option<u8>,
    /// Serial numbers taken so far: 0 up to this.
    pub minted: u64,
    /// The batches, oldest first.
    pub batches: Vec<Batch>,
}

/// The source of the codes of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthSource {
    /// They are minted.
    Minted,
    /// They are imported.
    Imported,
}

/// Codes minted or imported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The operator's name for the batch; unique in its scope.
    pub name: String,
    /// The source of the codes.
    pub origin: Origin,
    /// The instant prize of every code in it, in words.
    pub prize: Option<String>,
    /// The validity of its codes.
    pub status: BatchStatus,
}

/// The source of a batch's codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// Minted: serial numbers from `first` to `first + count`, exclusive.
    Minted {
        /// The first serial number.
        first: u64,
        /// The number of codes.
        count: u64,
    },
    /// Printed elsewhere, and stored one by one as keyed digests.
    Imported {
        /// The number of codes. An import that was cut short may have stored a few more, which are counted once it is
        /// finished.
        count: u64,
        /// The lengths of the codes, in characters. Noted before the first code is stored.
        lengths: BTreeSet<u8>,
        /// Imports that are running, or were cut short.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unfinished: Vec<UnfinishedImport>,
    },
}

/// A file whose import is not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedImport {
    /// The digest of the file's codes.
    pub file: String,
    /// Its new codes that are not counted yet.
    pub left: u64,
    /// True if several runs of it began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_resumed: bool,
}

/// The validity of a batch's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// Its serial numbers are taken but its file is not written yet: not valid.
    Reserved,
    Active,
    /// Withdrawn: no longer valid.
    Void,
}

/// A code's status by the book alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookMatch {
    /// A valid minted code.
    Minted {
        /// The serial number, which is the code's key in the table.
        serial: u64,
        /// The batch's instant prize.
        prize: Option<String>,
    },
    /// A minted code whose batch is not valid. It only replays an earlier submission.
    Withdrawn { serial: u64 },
    /// Not a minted code. It may be an imported one, which only the table knows.
    PerhapsImported,
    /// Not a code of this scope.
    Unknown,
}

impl CodeBook {
    /// The source of the codes of a length; `None` if the scope has none of that length.
    pub fn source_of(&self, length: usize) -> Option<LengthSource> {
        let length = u8::try_from(length).ok()?;
        let is_imported = |batch: &Batch| batch.origin.has_imported_length(length);
        if self.minted_length == Some(length) {
            Some(LengthSource::Minted)
        } else if self.batches.iter().any(is_imported) {
            Some(LengthSource::Imported)
        } else {
            None
        }
    }

    /// The length of the next minted codes: that of the minted ones, otherwise the usual one, or the next that no
    /// imported code has. `None` if all are taken.
    pub fn length_to_mint(&self) -> Option<u8> {
        let is_free = |length: &u8| self.source_of(usize::from(*length)).is_none();
        let mut longer = DEFAULT_CODE_SYMBOLS..=*CODE_SYMBOLS.end();
        self.minted_length.or_else(|| longer.find(is_free))
    }

    /// Verifies a code in its normal spelling, by arithmetic alone.
    pub fn verify(&self, normal: &str) -> BookMatch {
        match self.source_of(normal.len()) {
            None => BookMatch::Unknown,
            Some(LengthSource::Imported) => BookMatch::PerhapsImported,
            Some(LengthSource::Minted) => match self.find_minted(normal) {
                None => BookMatch::Unknown,
                Some((serial, batch)) => match batch.status {
                    BatchStatus::Active => BookMatch::Minted {
                        serial,
                        prize: batch.prize.clone(),
                    },
                    BatchStatus::Reserved | BatchStatus::Void => BookMatch::Withdrawn { serial },
                },
            },
        }
    }

    fn find_minted(&self, normal: &str) -> Option<(u64, &Batch)> {
        let serial = self.cipher()?.decipher(normal)?;
        Some((serial, self.batch_of(serial)?))
    }

    /// The valid batch into which the import of a file has begun and not ended.
    pub fn begun_import(&self, file: &str) -> Option<&Batch> {
        let begun =
            |batch: &&Batch| batch.status == BatchStatus::Active && batch.origin.is_importing(file);
        self.batches.iter().find(begun)
    }

    /// The most likely batch of an imported code: the first valid one, otherwise the first.
    pub fn likely_imported_batch(&self) -> Option<&Batch> {
        let imported = || {
            self.batches
                .iter()
                .filter(|batch| batch.origin.is_imported())
        };
        imported()
            .find(|batch| batch.status == BatchStatus::Active)
            .or_else(|| imported().next())
    }

    pub fn batch(&self, name: &str) -> Option<&Batch> {
        self.batches.iter().find(|batch| batch.name == name)
    }

    /// The batch of a minted serial number; `None` if it is not minted yet.
    pub fn batch_of(&self, serial: u64) -> Option<&Batch> {
        self.batches
            .iter()
            .find(|batch| batch.origin.contains(serial))
    }

    /// The permutation of minted codes; `None` before any are minted, or if the stored length is not allowed.
    pub fn cipher(&self) -> Option<CodeCipher> {
        CodeCipher::new(&self.minting_key, self.minted_length?)
    }

    /// The keyed digest under which an imported code is stored: HMAC-SHA-256, in hexadecimal.
    pub fn digest(&self, normal: &str) -> String {
        // HMAC pads a short key with zeros.
        let mut block = [0; 64];
        block
            .iter_mut()
            .zip(self.digest_key.expose())
            .for_each(|(place, byte)| *place = *byte);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(normal.as_bytes());
        hex::encode(mac.finalize().into_bytes())
    }

    /// The odds of guessing a minted code in one attempt. Withdrawn codes do not count.
    pub fn odds_of_a_guess(&self) -> f64 {
        let of_length =
            |length| as_f64(self.good_codes()) / f64::from(RADIX).powi(i32::from(length));
        self.minted_length.map_or(0.0, of_length)
    }

    /// Minted codes that are valid, or will be once their file is written.
    pub fn good_codes(&self) -> u64 {
        self.good_batches()
            .filter(|batch| !batch.origin.is_imported())
            .map(Batch::count)
            .sum()
    }

    /// Imported codes that are valid.
    pub fn imported_codes(&self) -> u64 {
        self.good_batches()
            .filter(|batch| batch.origin.is_imported())
            .map(Batch::count)
            .sum()
    }

    fn good_batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches
            .iter()
            .filter(|batch| batch.status != BatchStatus::Void)
    }
}

impl Batch {
    /// The number of its codes.
    pub fn count(&self) -> u64 {
        let (Origin::Minted { count, .. } | Origin::Imported { count, .. }) = self.origin;
        count
    }
}

impl Origin {
    /// An import without codes so far.
    pub const NOTHING_IMPORTED: Self = Self::Imported {
        count: 0,
        lengths: BTreeSet::new(),
        unfinished: Vec::new(),
    };

    /// True if the codes were printed elsewhere.
    pub fn is_imported(&self) -> bool {
        matches!(self, Self::Imported { .. })
    }

    /// Notes that the import of a file has begun, with its lengths and the number of its new codes. If it had begun
    /// before, what was left stays noted.
    pub fn begin_import(&mut self, file: &str, of_file: &BTreeSet<u8>, new: u64) {
        let Self::Imported {
            lengths,
            unfinished,
            ..
        } = self
        else {
            return;
        };
        lengths.extend(of_file);
        match unfinished.iter_mut().find(|import| import.file == file) {
            Some(begun) => begun.is_resumed = true,
            None => unfinished.push(UnfinishedImport {
                file: file.to_owned(),
                left: new,
                is_resumed: false,
            }),
        }
    }

    /// Counts codes of a file that were imported, unless another run of it has ended: that one counted everything that was
    /// left.
    pub fn count_import(&mut self, file: &str, more: u64) {
        let Self::Imported {
            count, unfinished, ..
        } = self
        else {
            return;
        };
        let Some(import) = unfinished.iter_mut().find(|import| import.file == file) else {
            return;
        };
        import.left = import.left.saturating_sub(more);
        *count = count.saturating_add(more);
    }

    /// Notes that a file is imported. If several runs of it began, another one stored what is left: it was cut short before
    /// it counted them, or is about to.
    pub fn end_import(&mut self, file: &str) {
        let Self::Imported {
            count, unfinished, ..
        } = self
        else {
            return;
        };
        let ended = unfinished.extract_if(.., |import| import.file == file);
        let left: u64 = ended
            .filter(|import| import.is_resumed)
            .map(|import| import.left)
            .sum();
        *count = count.saturating_add(left);
    }

    fn is_importing(&self, file: &str) -> bool {
        matches!(self, Self::Imported { unfinished, .. } if unfinished.iter().any(|import| import.file == file))
    }

    pub(crate) fn contains(&self, serial: u64) -> bool {
        matches!(*self, Self::Minted { first, count } if serial >= first && serial - first < count)
    }

    fn has_imported_length(&self, length: u8) -> bool {
        matches!(self, Self::Imported { lengths, .. } if lengths.contains(&length))
    }
}

#[expect(
    clippy::as_conversions,
    reason = "a ratio for people: the last digits do not matter"
)]
pub(super) fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
