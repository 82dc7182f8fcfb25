//! The codes of one scope. A minted code is not stored: it is its enciphered serial number. An
//! imported code is looked up. Each length belongs to minted or to imported codes, whichever came
//! first.

use std::collections::BTreeSet;

use ring::hmac;
use serde::{Deserialize, Serialize};

use super::cipher::{CODE_SYMBOLS, CodeCipher, SecretKey};
use super::code::Alphabet;

pub const DEFAULT_CODE_SYMBOLS: u8 = 12;

/// Minting refuses higher odds of guessing a code in one attempt, unless allowed explicitly.
pub const ACCEPTABLE_ODDS: f64 = 1e-6;

#[derive(Clone, Debug)]
pub struct CodeBook {
    pub minting_key: SecretKey,
    pub digest_key: SecretKey,
    /// One for the scope, fixed with the length.
    pub alphabet: Alphabet,
    /// One length for the scope; `None` until codes are minted.
    pub minted_length: Option<u8>,
    pub minted: u64,
    /// Oldest first.
    pub batches: Vec<Batch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthSource {
    Minted,
    Imported,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    pub name: String,
    pub origin: Origin,
    pub prize: Option<String>,
    pub status: BatchStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// Serial numbers `first` to `first + count`, exclusive.
    Minted { first: u64, count: u64 },
    Imported {
        /// An unfinished import may have stored more, which count once it ends.
        count: u64,
        /// Counted in characters, and noted before the first code is stored.
        lengths: BTreeSet<u8>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unfinished: Vec<UnfinishedImport>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedImport {
    pub file: String,
    pub left: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_resumed: bool,
}

text_enum! {
    pub enum BatchStatus {
        /// Serial numbers are taken, the file is not written yet.
        Reserved = "reserved",
        Active = "active",
        Void = "void",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookMatch {
    Minted {
        serial: u64,
        prize: Option<String>,
    },
    /// Only replays an earlier submission.
    Withdrawn {
        serial: u64,
    },
    PerhapsImported,
    Unknown,
}

impl CodeBook {
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

    /// The minted length, otherwise the default, or the next that no imported code has and at which
    /// so many codes are hard to guess.
    pub fn length_to_mint(&self, count: u64) -> Option<u8> {
        let is_free = |length: &u8| {
            self.source_of(usize::from(*length)).is_none()
                && self.odds(count, *length) <= ACCEPTABLE_ODDS
        };
        let mut longer = DEFAULT_CODE_SYMBOLS..=*CODE_SYMBOLS.end();
        self.minted_length.or_else(|| longer.find(is_free))
    }

    /// `normal` is [`Code::normal`](super::code::Code::normal).
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

    pub fn begun_import(&self, file: &str) -> Option<&Batch> {
        let begun =
            |batch: &&Batch| batch.status == BatchStatus::Active && batch.origin.is_importing(file);
        self.batches.iter().find(begun)
    }

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

    pub fn batch_of(&self, serial: u64) -> Option<&Batch> {
        self.batches
            .iter()
            .find(|batch| batch.origin.contains(serial))
    }

    pub fn cipher(&self) -> Option<CodeCipher> {
        CodeCipher::new(&self.minting_key, self.alphabet, self.minted_length?)
    }

    /// HMAC-SHA-256 in hexadecimal.
    pub fn digest(&self, normal: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.digest_key.expose());
        hex::encode(hmac::sign(&key, normal.as_bytes()))
    }

    /// Without withdrawn codes.
    pub fn odds_of_a_guess(&self) -> f64 {
        let of_length = |length| self.odds(self.good_codes(), length);
        self.minted_length.map_or(0.0, of_length)
    }

    fn odds(&self, codes: u64, length: u8) -> f64 {
        as_f64(codes) / f64::from(self.alphabet.radix()).powi(i32::from(length))
    }

    /// Includes those whose file is not written yet.
    pub fn good_codes(&self) -> u64 {
        self.good_batches()
            .filter(|batch| !batch.origin.is_imported())
            .map(Batch::count)
            .sum()
    }

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
    pub fn count(&self) -> u64 {
        let (Origin::Minted { count, .. } | Origin::Imported { count, .. }) = self.origin;
        count
    }
}

impl Origin {
    pub const NOTHING_IMPORTED: Self = Self::Imported {
        count: 0,
        lengths: BTreeSet::new(),
        unfinished: Vec::new(),
    };

    pub fn is_imported(&self) -> bool {
        matches!(self, Self::Imported { .. })
    }

    /// An import that was resumed keeps its note of what is left.
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

    /// Counts nothing if another run of the file has ended, which counted everything left.
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

    /// Another run may have stored what is left without counting it.
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

    pub fn contains(&self, serial: u64) -> bool {
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
