//! The codes of one scope: which serial numbers are minted, and in which batches.
//!
//! A minted code is not stored anywhere. It is its serial number, enciphered, so judging one is
//! arithmetic: decipher it, and look whether the serial number belongs to a batch.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::cipher::{CodeCipher, RADIX, SecretKey};
use super::code::SYMBOLS;
use super::hex::hex;

/// Symbols in a minted code unless minting says otherwise.
pub const DEFAULT_CODE_SYMBOLS: u8 = 12;

/// The highest odds of guessing a code in one try that minting accepts without being told to.
pub const ACCEPTABLE_ODDS: f64 = 1e-6;

/// What codes a scope has. One record, however many codes there are.
#[derive(Clone, Debug)]
pub struct CodeBook {
    /// Enciphers serial numbers.
    pub minting_key: SecretKey,
    /// Digests codes that are stored: imported ones.
    pub digest_key: SecretKey,
    /// Symbols in a minted code; one length for the whole scope.
    pub symbols: u8,
    /// How many serial numbers are taken: 0 up to this.
    pub minted: u64,
    /// Where the codes came from, oldest first.
    pub batches: Vec<Batch>,
}

/// Codes that were minted or imported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The operator's name for it; unique in its scope.
    pub name: String,
    /// How the codes are known.
    pub origin: Origin,
    /// The instant prize of every code in it, in words.
    pub prize: Option<String>,
    /// Whether its codes count.
    pub status: BatchStatus,
}

/// How a batch's codes are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// Serial numbers `first` up to, not including, `first + count`.
    Minted {
        /// The first serial number.
        first: u64,
        /// How many.
        count: u64,
    },
    /// Codes printed elsewhere, stored one by one as keyed digests.
    Imported {
        /// How many; an import that was cut short may have stored a few more than it counted.
        count: u64,
        /// How many of each length. Codes that were imported before lengths were counted are in none.
        #[serde(default)]
        lengths: Vec<LengthCount>,
    },
}

/// Imported codes of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LengthCount {
    /// Characters of a code.
    pub length: u8,
    /// How many codes.
    pub count: u64,
}

/// Whether a batch's codes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// Its range is taken but its file is not written yet: codes do not count.
    Reserved,
    /// Codes count.
    Active,
    /// Withdrawn: codes do not count any more.
    Void,
}

/// What the book alone can say about a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// A minted code that counts: its serial number and prize.
    Minted {
        /// The serial number, which names the code in the table.
        serial: u64,
        /// The batch's instant prize.
        prize: Option<String>,
    },
    /// A minted code whose batch does not count; only an earlier submission of its own can speak for it.
    Withdrawn {
        /// The serial number.
        serial: u64,
    },
    /// Not a minted code; perhaps an imported one, which only the table knows.
    PerhapsImported,
    /// No code of this scope.
    Unknown,
}

impl CodeBook {
    /// Judges a code in its normal spelling, by arithmetic alone.
    pub fn judge(&self, normal: &str) -> Judgement {
        if let Some(serial) = self.cipher().and_then(|cipher| cipher.decipher(normal))
            && let Some(batch) = self.batch_of(serial)
        {
            return match batch.status {
                BatchStatus::Active => Judgement::Minted { serial, prize: batch.prize.clone() },
                BatchStatus::Reserved | BatchStatus::Void => Judgement::Withdrawn { serial },
            };
        }
        if self.likely_imported_batch().is_some() { Judgement::PerhapsImported } else { Judgement::Unknown }
    }

    /// The batch that an imported code is most likely of: the first that counts, else the first.
    pub fn likely_imported_batch(&self) -> Option<&Batch> {
        let imported = || self.batches.iter().filter(|batch| batch.origin.is_imported());
        imported().find(|batch| batch.status == BatchStatus::Active).or_else(|| imported().next())
    }

    /// The batch of this name.
    pub fn batch(&self, name: &str) -> Option<&Batch> {
        self.batches.iter().find(|batch| batch.name == name)
    }

    /// The batch of a minted serial number; none when it is not minted yet.
    pub fn batch_of(&self, serial: u64) -> Option<&Batch> {
        self.batches.iter().find(|batch| batch.origin.contains(serial))
    }

    /// The permutation of this book's codes. `None` when the stored length is no length of a code.
    pub fn cipher(&self) -> Option<CodeCipher> {
        CodeCipher::new(&self.minting_key, self.symbols)
    }

    /// The keyed digest under which an imported code is stored: HMAC-SHA-256, in hexadecimal.
    pub fn digest(&self, normal: &str) -> String {
        // HMAC fills a key shorter than its block up with zeros.
        let mut block = [0; 64];
        block.iter_mut().zip(self.digest_key.expose()).for_each(|(place, byte)| *place = *byte);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(normal.as_bytes());
        hex(&mac.finalize().into_bytes())
    }

    /// The odds of guessing a code in one try once `more` codes are minted. Codes that were withdrawn
    /// count for nothing.
    pub fn odds_of_a_guess(&self, more: u64) -> f64 {
        odds(self.good_codes().saturating_add(more), RADIX, self.symbols)
    }

    /// Minted codes that count, or will once their file is written.
    pub fn good_codes(&self) -> u64 {
        let good = self.batches.iter().filter(|batch| batch.status != BatchStatus::Void);
        good.map(|batch| match batch.origin {
            Origin::Minted { count, .. } => count,
            Origin::Imported { .. } => 0,
        })
        .sum()
    }

    /// Whether a code, in its normal spelling, looks like one that was minted here or could be.
    pub fn has_minted_shape(&self, normal: &str) -> bool {
        let mut lengths = [DEFAULT_CODE_SYMBOLS, self.symbols].into_iter().map(usize::from);
        lengths.any(|length| length == normal.len()) && normal.bytes().all(|byte| SYMBOLS.contains(&byte))
    }

    /// Imported codes of a length that count. One whose length was not counted may have any.
    pub fn imported_of_length(&self, length: u8) -> u64 {
        let good = self.batches.iter().filter(|batch| batch.status != BatchStatus::Void);
        good.map(|batch| batch.origin.imported_of_length(length)).sum()
    }
}

impl Origin {
    /// Imported codes, none so far.
    pub const NOTHING_IMPORTED: Self = Self::Imported { count: 0, lengths: Vec::new() };

    /// Whether the codes were printed elsewhere.
    pub fn is_imported(&self) -> bool {
        matches!(self, Self::Imported { .. })
    }

    /// Counts more imported codes; a minted batch stays as it is.
    pub fn add_imported(&mut self, more: LengthCount) {
        let Self::Imported { count, lengths } = self else { return };
        *count = count.saturating_add(more.count);
        match lengths.iter_mut().find(|known| known.length == more.length) {
            Some(known) => known.count = known.count.saturating_add(more.count),
            None => lengths.push(more),
        }
    }

    fn contains(&self, serial: u64) -> bool {
        matches!(*self, Self::Minted { first, count } if serial >= first && serial - first < count)
    }

    fn imported_of_length(&self, length: u8) -> u64 {
        let Self::Imported { count, lengths } = self else { return 0 };
        let known: u64 = lengths.iter().map(|known| known.count).sum();
        let of_length = lengths.iter().find(|known| known.length == length).map_or(0, |known| known.count);
        of_length.saturating_add(count.saturating_sub(known))
    }
}

/// `codes / alphabet^length`.
pub(super) fn odds(codes: u64, alphabet: u32, length: u8) -> f64 {
    #[expect(clippy::as_conversions, reason = "a ratio for people: the last digits do not matter")]
    let codes = codes as f64;
    codes / f64::from(alphabet).powi(i32::from(length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cipher::CODE_SYMBOLS;

    fn book(batches: Vec<Batch>) -> CodeBook {
        CodeBook {
            minting_key: SecretKey::from_random([7; 32]),
            digest_key: SecretKey::from_random([9; 32]),
            symbols: DEFAULT_CODE_SYMBOLS,
            minted: 100,
            batches,
        }
    }

    fn minted(name: &str, first: u64, count: u64, status: BatchStatus, prize: Option<&str>) -> Batch {
        let origin = Origin::Minted { first, count };
        Batch { name: name.to_owned(), origin, prize: prize.map(str::to_owned), status }
    }

    fn imported(name: &str, status: BatchStatus) -> Batch {
        Batch { name: name.to_owned(), origin: Origin::NOTHING_IMPORTED, prize: None, status }
    }

    #[test]
    fn an_imported_code_is_looked_for_in_the_first_batch_that_counts_else_in_the_first() {
        let (void, active) = (BatchStatus::Void, BatchStatus::Active);
        let likely = |batches| book(batches).likely_imported_batch().map(|batch| batch.name.clone());
        let batches = vec![
            minted("m", 0, 10, active, None),
            imported("i1", void),
            imported("i2", active),
            imported("i3", active),
        ];
        assert_eq!(likely(batches.clone()).as_deref(), Some("i2"));
        assert_eq!(likely(batches[..2].to_vec()).as_deref(), Some("i1"));
        assert_eq!(likely(batches[..1].to_vec()), None);
    }

    #[test]
    fn a_batch_is_found_by_its_name() {
        let batches = vec![imported("a", BatchStatus::Active), imported("b", BatchStatus::Void)];
        let book = book(batches.clone());
        assert_eq!(book.batch("b"), Some(&batches[1]));
        assert_eq!(book.batch("c"), None);
    }

    /// Computed by another implementation of HMAC. A change here would lose every imported code.
    #[test]
    fn the_digest_of_a_code_never_changes() {
        let digest = book(vec![]).digest("ABC123");
        assert_eq!(digest, "a0a970a194db5200620a2412d1f28d519523209095e10a9f1a35d3d6b44cdb43");
    }

    #[test]
    fn a_code_counts_only_when_its_batch_does() {
        let book = book(vec![
            minted("a", 0, 10, BatchStatus::Active, None),
            minted("b", 10, 10, BatchStatus::Void, None),
            minted("c", 20, 10, BatchStatus::Reserved, None),
            minted("d", 30, 10, BatchStatus::Active, Some("A kettle")),
        ]);
        let judge =
            |serial| book.judge(&book.cipher().expect("a length").encipher(serial).expect("in range"));
        assert_eq!(judge(9), Judgement::Minted { serial: 9, prize: None });
        assert_eq!(judge(10), Judgement::Withdrawn { serial: 10 });
        assert_eq!(judge(20), Judgement::Withdrawn { serial: 20 });
        assert_eq!(judge(39), Judgement::Minted { serial: 39, prize: Some("A kettle".to_owned()) });
        assert_eq!(judge(40), Judgement::Unknown);
        assert_eq!(book.judge("NOT A CODE"), Judgement::Unknown);
    }

    #[test]
    fn only_a_book_with_imported_codes_sends_a_stranger_to_the_table() {
        let imported = |status| Batch {
            name: "i".to_owned(),
            origin: Origin::Imported { count: 1, lengths: Vec::new() },
            prize: None,
            status,
        };
        assert_eq!(book(vec![imported(BatchStatus::Active)]).judge("X"), Judgement::PerhapsImported);
        assert_eq!(book(vec![imported(BatchStatus::Void)]).judge("X"), Judgement::PerhapsImported);
        assert_eq!(book(vec![]).judge("X"), Judgement::Unknown);
    }

    #[test]
    fn a_code_of_the_usual_or_the_scopes_length_in_the_code_symbols_looks_minted() {
        let book = CodeBook { symbols: 9, ..book(Vec::new()) };
        for looks_minted in ["ABCDEFGHJKMN", "234567892345", "ABCDEFGHJ"] {
            assert!(book.has_minted_shape(looks_minted), "{looks_minted}");
        }
        for (other, why) in [
            ("ABCDEFGHJKM", "eleven"),
            ("ABCDEFGHJKMNP", "thirteen"),
            ("ABCDEFGHJKM0", "a nought"),
            ("ABCDEFGHI", "an I"),
            ("", "nothing"),
        ] {
            assert!(!book.has_minted_shape(other), "{why}");
        }
    }

    proptest! {
        #[test]
        fn every_minted_code_has_the_minted_shape(symbols in CODE_SYMBOLS, serial in 0u64..1_000_000) {
            let book = CodeBook { symbols, ..book(Vec::new()) };
            let code = book.cipher().expect("a length").encipher(serial).expect("in range");
            prop_assert!(book.has_minted_shape(&code));
        }

        #[test]
        fn imported_codes_are_counted_whatever_their_lengths(
            more in prop::collection::vec((1u8..=4, 0u64..1_000), 0..20)
        ) {
            let mut origin = Origin::NOTHING_IMPORTED;
            more.iter().for_each(|(length, count)| {
                origin.add_imported(LengthCount { length: *length, count: *count });
            });
            let of_length = |length: u8| -> u64 {
                more.iter().filter(|(counted, _)| *counted == length).map(|(_, count)| count).sum()
            };
            for length in 1..=5 {
                prop_assert_eq!(origin.imported_of_length(length), of_length(length));
            }
            let Origin::Imported { count, .. } = origin else { panic!("it is imported") };
            prop_assert_eq!(count, (1..=4).map(of_length).sum::<u64>());
        }
    }

    #[test]
    fn odds_are_minted_over_the_space() {
        let batches = vec![
            minted("a", 0, 100, BatchStatus::Active, None),
            minted("b", 100, 5_000, BatchStatus::Void, None),
        ];
        let odds = book(batches).odds_of_a_guess(900);
        assert!((odds - 1000.0 / 31f64.powi(12)).abs() < 1e-18, "{odds}");
    }
}
