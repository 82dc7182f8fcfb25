//! The codes of one scope: the minted serial numbers, and their batches.
//!
//! A minted code is not stored. It is its enciphered serial number, so verifying one is arithmetic: decipher it, and
//! look for a batch with that serial number. The key has versions: a batch is minted under the newest, and a code is
//! deciphered under each version that has a batch.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::cipher::{CodeCipher, RADIX, SecretKey};
use super::code::SYMBOLS;

/// Symbols in a minted code, unless minting sets another number.
pub const DEFAULT_CODE_SYMBOLS: u8 = 12;

/// The highest odds of guessing a code in one attempt that minting accepts without a special option.
pub const ACCEPTABLE_ODDS: f64 = 1e-6;

/// The codes of a scope. One record, however many codes there are.
#[derive(Clone, Debug)]
pub struct CodeBook {
    /// The keys that encipher serial numbers, version 1 first.
    pub minting_keys: Vec<SecretKey>,
    /// The key that digests imported codes for storage. It has no versions: each would add a read for every verified
    /// code.
    pub digest_key: SecretKey,
    /// Symbols in a minted code; one length for the whole scope.
    pub symbols: u8,
    /// Serial numbers taken so far, under all versions of the key: 0 up to this.
    pub minted: u64,
    /// The batches, oldest first.
    pub batches: Vec<Batch>,
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
    /// Whether its codes are valid.
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
        /// The version of the key that enciphers them.
        #[serde(default = "first_version")]
        key_version: u32,
    },
    /// Printed elsewhere, and stored one by one as keyed digests.
    Imported {
        /// The number of codes. An import that was cut short may have stored a few more, which are counted once it is
        /// finished.
        count: u64,
        /// The number of codes of each length. Codes imported before lengths were counted are missing.
        #[serde(default)]
        lengths: Vec<LengthCount>,
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
    /// Its new codes that are not counted yet, by length.
    pub left: Vec<LengthCount>,
    /// Whether several runs of it began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_resumed: bool,
}

/// Imported codes of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LengthCount {
    /// Characters of a code.
    pub length: u8,
    /// The number of codes of this length in the batch.
    pub count: u64,
    /// The number of texts that have the form of these codes, among which a guess chooses; `None` for codes imported
    /// before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<u64>,
}

/// Whether a batch's codes are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// Its serial numbers are taken but its file is not written yet: not valid.
    Reserved,
    /// Valid.
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
    Withdrawn {
        /// The serial number.
        serial: u64,
    },
    /// Not a minted code. It may be an imported one, which only the table knows.
    PerhapsImported,
    /// Not a code of this scope.
    Unknown,
}

impl CodeBook {
    /// Verifies a code in its normal spelling, by arithmetic alone.
    pub fn verify(&self, normal: &str) -> BookMatch {
        if let Some((serial, batch)) = self.ciphers_before(u32::MAX).find(normal) {
            return match batch.status {
                BatchStatus::Active => BookMatch::Minted { serial, prize: batch.prize.clone() },
                BatchStatus::Reserved | BatchStatus::Void => BookMatch::Withdrawn { serial },
            };
        }
        if self.likely_imported_batch().is_some() { BookMatch::PerhapsImported } else { BookMatch::Unknown }
    }

    /// The valid batch into which the import of a file has begun and not ended.
    pub fn begun_import(&self, file: &str) -> Option<&Batch> {
        let begun = |batch: &&Batch| batch.status == BatchStatus::Active && batch.origin.is_importing(file);
        self.batches.iter().find(begun)
    }

    /// The most likely batch of an imported code: the first valid one, otherwise the first.
    pub fn likely_imported_batch(&self) -> Option<&Batch> {
        let imported = || self.batches.iter().filter(|batch| batch.origin.is_imported());
        imported().find(|batch| batch.status == BatchStatus::Active).or_else(|| imported().next())
    }

    /// The batch of this name.
    pub fn batch(&self, name: &str) -> Option<&Batch> {
        self.batches.iter().find(|batch| batch.name == name)
    }

    /// The batch of a minted serial number; `None` if it is not minted yet.
    pub fn batch_of(&self, serial: u64) -> Option<&Batch> {
        self.batches.iter().find(|batch| batch.origin.contains(serial))
    }

    /// The newest version of the minting key.
    pub fn key_version(&self) -> u32 {
        u32::try_from(self.minting_keys.len()).unwrap_or(u32::MAX)
    }

    /// The permutation of new codes; `None` if the stored length is not allowed.
    pub fn cipher(&self) -> Option<CodeCipher> {
        CodeCipher::new(self.minting_keys.last()?, self.symbols)
    }

    /// The permutations of older versions of the key, to find codes minted before this version.
    pub fn ciphers_before(&self, version: u32) -> Ciphers<'_> {
        let mut versions: Vec<_> =
            self.batches.iter().filter_map(|batch| batch.origin.key_version()).collect();
        versions.sort_unstable();
        versions.dedup();
        let cipher = |version: u32| {
            let index = usize::try_from(version.checked_sub(1)?).ok()?;
            Some((version, CodeCipher::new(self.minting_keys.get(index)?, self.symbols)?))
        };
        let ciphers = versions.into_iter().filter(|known| *known < version).filter_map(cipher).collect();
        Ciphers { book: self, ciphers }
    }

    /// The keyed digest under which an imported code is stored: HMAC-SHA-256, in hexadecimal.
    pub fn digest(&self, normal: &str) -> String {
        // HMAC pads a short key with zeros.
        let mut block = [0; 64];
        block.iter_mut().zip(self.digest_key.expose()).for_each(|(place, byte)| *place = *byte);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(normal.as_bytes());
        hex::encode(mac.finalize().into_bytes())
    }

    /// The odds of guessing a minted code in one attempt after `more` codes are minted. Codes of all versions of the
    /// key count; withdrawn ones do not.
    pub fn odds_of_a_guess(&self, more: u64) -> f64 {
        as_f64(self.good_codes().saturating_add(more)) / f64::from(RADIX).powi(i32::from(self.symbols))
    }

    /// Minted codes that are valid, or will be once their file is written.
    pub fn good_codes(&self) -> u64 {
        let good = self.batches.iter().filter(|batch| batch.status != BatchStatus::Void);
        good.map(|batch| match batch.origin {
            Origin::Minted { count, .. } => count,
            Origin::Imported { .. } => 0,
        })
        .sum()
    }

    /// Whether a code in its normal spelling looks like one that is or could be minted here.
    pub fn has_minted_shape(&self, normal: &str) -> bool {
        let mut lengths = [DEFAULT_CODE_SYMBOLS, self.symbols].into_iter().map(usize::from);
        lengths.any(|length| length == normal.len()) && normal.bytes().all(|byte| SYMBOLS.contains(&byte))
    }

    /// Valid imported codes that have, or may have, this length: those without a counted length may have any.
    pub fn imported_of_length(&self, length: u8) -> u64 {
        self.good_origins().map(|origin| origin.imported_of_length(length)).sum()
    }

    /// The odds of guessing one of those in one attempt; the odds of several lists add up. `space` is for codes whose own
    /// was not recorded.
    pub(super) fn imported_odds(&self, length: u8, space: u64) -> f64 {
        self.good_origins().map(|origin| origin.imported_odds(length, space)).sum()
    }

    /// The lengths of all imported codes that count, batch by batch.
    pub(super) fn imported_lengths(&self) -> impl Iterator<Item = &LengthCount> {
        self.good_origins().flat_map(|origin| match origin {
            Origin::Imported { lengths, .. } => lengths.as_slice(),
            Origin::Minted { .. } => &[],
        })
    }

    /// Whether any imported codes that count were imported before their form was recorded.
    pub fn has_imported_of_unknown_form(&self) -> bool {
        self.imported_lengths().any(|known| known.space.is_none())
            || self.good_origins().any(|origin| origin.of_unknown_length() > 0)
    }

    fn good_origins(&self) -> impl Iterator<Item = &Origin> {
        let good = self.batches.iter().filter(|batch| batch.status != BatchStatus::Void);
        good.map(|batch| &batch.origin)
    }
}

/// The permutations of some versions of the minting key, oldest first.
pub struct Ciphers<'a> {
    book: &'a CodeBook,
    ciphers: Vec<(u32, CodeCipher)>,
}

impl<'a> Ciphers<'a> {
    /// The serial number and batch of a code in its normal spelling, if one of these versions minted it. Minting skips
    /// codes that an older version has minted, so the oldest match is the printed one.
    pub fn find(&self, normal: &str) -> Option<(u64, &'a Batch)> {
        self.ciphers.iter().find_map(|(version, cipher)| {
            let serial = cipher.decipher(normal)?;
            let batch = self.book.batch_of(serial)?;
            (batch.origin.key_version() == Some(*version)).then_some((serial, batch))
        })
    }
}

/// The key version of batches minted before keys had versions.
fn first_version() -> u32 {
    1
}

impl Origin {
    /// The key version of minted codes; `None` for imported ones.
    pub fn key_version(&self) -> Option<u32> {
        match self {
            Self::Minted { key_version, .. } => Some(*key_version),
            Self::Imported { .. } => None,
        }
    }

    /// An import without codes so far.
    pub const NOTHING_IMPORTED: Self =
        Self::Imported { count: 0, lengths: Vec::new(), unfinished: Vec::new() };

    /// Whether the codes were printed elsewhere.
    pub fn is_imported(&self) -> bool {
        matches!(self, Self::Imported { .. })
    }

    /// Counts more imported codes; does nothing to a minted batch.
    pub fn add_imported(&mut self, more: LengthCount) {
        let Self::Imported { count, lengths, .. } = self else { return };
        *count = count.saturating_add(more.count);
        match lengths.iter_mut().find(|known| known.length == more.length) {
            Some(known) => {
                known.count = known.count.saturating_add(more.count);
                // Both count as the form that is easier to guess.
                known.space = known.space.into_iter().chain(more.space).min();
            }
            None => lengths.push(more),
        }
    }

    /// Notes that the import of a file has begun, with its new codes by length. If it had begun before, what was left stays
    /// noted.
    pub fn begin_import(&mut self, file: &str, new: Vec<LengthCount>) {
        let Self::Imported { unfinished, .. } = self else { return };
        match unfinished.iter_mut().find(|import| import.file == file) {
            Some(begun) => begun.is_resumed = true,
            None => unfinished.push(UnfinishedImport { file: file.to_owned(), left: new, is_resumed: false }),
        }
    }

    /// Counts codes of a file that were imported, unless another run of it has ended: that one counted everything that was
    /// left.
    pub fn count_import(&mut self, file: &str, more: LengthCount) {
        let Self::Imported { unfinished, .. } = self else { return };
        let Some(import) = unfinished.iter_mut().find(|import| import.file == file) else { return };
        for left in import.left.iter_mut().filter(|left| left.length == more.length) {
            left.count = left.count.saturating_sub(more.count);
        }
        self.add_imported(more);
    }

    /// Notes that a file is imported. If several runs of it began, another one stored what is left: it was cut short before
    /// it counted them, or is about to.
    pub fn end_import(&mut self, file: &str) {
        let Self::Imported { unfinished, .. } = self else { return };
        let ended: Vec<_> = unfinished.extract_if(.., |import| import.file == file).collect();
        let left = ended.into_iter().filter(|import| import.is_resumed).flat_map(|import| import.left);
        left.filter(|left| left.count > 0).for_each(|left| self.add_imported(left));
    }

    fn is_importing(&self, file: &str) -> bool {
        matches!(self, Self::Imported { unfinished, .. } if unfinished.iter().any(|import| import.file == file))
    }

    pub(crate) fn contains(&self, serial: u64) -> bool {
        matches!(*self, Self::Minted { first, count, .. } if serial >= first && serial - first < count)
    }

    fn imported_of_length(&self, length: u8) -> u64 {
        let of_length = self.of_length(length).map_or(0, |known| known.count);
        of_length.saturating_add(self.of_unknown_length())
    }

    fn imported_odds(&self, length: u8, space: u64) -> f64 {
        let of_length =
            self.of_length(length).map_or(0.0, |known| odds(known.count, known.space.unwrap_or(space)));
        of_length + odds(self.of_unknown_length(), space)
    }

    fn of_length(&self, length: u8) -> Option<&LengthCount> {
        let Self::Imported { lengths, .. } = self else { return None };
        lengths.iter().find(|known| known.length == length)
    }

    /// Codes imported before lengths were recorded.
    pub(super) fn of_unknown_length(&self) -> u64 {
        let Self::Imported { count, lengths, .. } = self else { return 0 };
        count.saturating_sub(lengths.iter().map(|known| known.count).sum())
    }
}

/// The odds that a guess at one of `space` texts is one of these codes.
pub(super) fn odds(codes: u64, space: u64) -> f64 {
    as_f64(codes) / as_f64(space.max(1))
}

#[expect(clippy::as_conversions, reason = "a ratio for people: the last digits do not matter")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
