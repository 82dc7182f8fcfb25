//! The codes of one scope: which serial numbers are minted, in which batches, and the keyed
//! permutation that turns a serial number into a code and back.
//!
//! A minted code is not stored anywhere. It is its serial number enciphered with FF1 (NIST SP
//! 800-38G) over the 31 code symbols, so judging one is arithmetic: decipher it, and look whether
//! the serial number belongs to a batch.

use std::fmt;

use aes::Aes256;
use fpe::ff1::{FF1, NumeralString, Operations};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::code::SYMBOLS;

/// 31 as the radix type of the cipher.
const RADIX: u32 = 31;

/// Symbols in a minted code. The lower bound keeps a code worth guarding at all; the upper one
/// keeps each half below 2^64.
pub const CODE_SYMBOLS: std::ops::RangeInclusive<u8> = 8..=24;

/// Symbols in a minted code unless minting says otherwise.
pub const DEFAULT_CODE_SYMBOLS: u8 = 12;

/// Symbols between the dashes of a printed code.
const GROUP: usize = 4;

/// The highest odds of guessing a code in one try that minting accepts without being told to.
pub const ACCEPTABLE_ODDS: f64 = 1e-6;

/// 32 secret bytes of a scope's code book. They print as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    /// A key from random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for storing them.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    },
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

    /// The odds of guessing a code in one try once `more` codes are minted.
    pub fn odds_of_a_guess(&self, more: u64) -> f64 {
        odds(self.minted.saturating_add(more), self.symbols)
    }
}

impl Origin {
    /// Whether the codes were printed elsewhere.
    pub fn is_imported(self) -> bool {
        matches!(self, Self::Imported { .. })
    }

    fn contains(self, serial: u64) -> bool {
        matches!(self, Self::Minted { first, count } if serial >= first && serial - first < count)
    }
}

/// `minted / 31^symbols`.
fn odds(minted: u64, symbols: u8) -> f64 {
    #[expect(clippy::as_conversions, reason = "a ratio for people: the last digits do not matter")]
    let minted = minted as f64;
    minted / f64::from(RADIX).powi(i32::from(symbols))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The permutation between serial numbers and codes of one length.
pub struct CodeCipher {
    ff1: FF1<Aes256>,
    left: u8,
    right: u8,
}

impl CodeCipher {
    /// `None` when `symbols` is no length of a code.
    pub fn new(key: &SecretKey, symbols: u8) -> Option<Self> {
        if !CODE_SYMBOLS.contains(&symbols) {
            return None;
        }
        let ff1 = FF1::new(key.expose(), RADIX).ok()?;
        let left = symbols / 2;
        Some(Self { ff1, left, right: symbols - left })
    }

    /// The code of a serial number, in its normal spelling.
    pub fn encipher(&self, serial: u64) -> Option<String> {
        let right_size = power(self.right);
        let serial = u128::from(serial);
        let left = u64::try_from(serial / u128::from(right_size)).ok()?;
        let right = u64::try_from(serial % u128::from(right_size)).ok()?;
        if left >= power(self.left) {
            return None;
        }
        let plain = Numerals {
            left: Half { value: left, count: self.left },
            right: Half { value: right, count: self.right },
        };
        let code = self.ff1.encrypt(&[], &plain).ok()?;
        let mut text = String::with_capacity(usize::from(self.left + self.right));
        code.left.write(&mut text)?;
        code.right.write(&mut text)?;
        Some(text)
    }

    /// The serial number of a code in its normal spelling; `None` when it cannot be one of ours.
    pub fn decipher(&self, normal: &str) -> Option<u64> {
        let symbols = normal.as_bytes();
        if symbols.len() != usize::from(self.left + self.right) {
            return None;
        }
        let (left, right) = symbols.split_at_checked(usize::from(self.left))?;
        let code = Numerals { left: Half::read(left)?, right: Half::read(right)? };
        let plain = self.ff1.decrypt(&[], &code).ok()?;
        let serial =
            u128::from(plain.left.value) * u128::from(power(self.right)) + u128::from(plain.right.value);
        u64::try_from(serial).ok()
    }
}

/// A code as it is printed: `XXXX-XXXX-XXXX`.
pub fn printed(normal: &str) -> String {
    let mut text = String::with_capacity(normal.len() + normal.len() / GROUP);
    for (index, symbol) in normal.chars().enumerate() {
        if index > 0 && index % GROUP == 0 {
            text.push('-');
        }
        text.push(symbol);
    }
    text
}

/// 31^count; at most 31^12, which fits.
fn power(count: u8) -> u64 {
    u64::from(RADIX).saturating_pow(u32::from(count))
}

/// A code as the cipher works on it: two halves, each a number below 31^count.
struct Numerals {
    left: Half,
    right: Half,
}

struct Half {
    value: u64,
    count: u8,
}

impl Half {
    fn read(symbols: &[u8]) -> Option<Self> {
        let mut value: u64 = 0;
        for symbol in symbols {
            let digit = SYMBOLS.iter().position(|known| known == symbol)?;
            value = value * u64::from(RADIX) + u64::try_from(digit).ok()?;
        }
        Some(Self { value, count: u8::try_from(symbols.len()).ok()? })
    }

    fn write(&self, text: &mut String) -> Option<()> {
        let mut place = power(self.count);
        let mut rest = self.value;
        for _ in 0..self.count {
            place /= u64::from(RADIX);
            let digit = usize::try_from(rest / place).ok()?;
            text.push(char::from(*SYMBOLS.get(digit)?));
            rest %= place;
        }
        Some(())
    }
}

impl NumeralString for Numerals {
    type Ops = Half;

    fn is_valid(&self, radix: u32) -> bool {
        radix == RADIX
            && self.left.value < power(self.left.count)
            && self.right.value < power(self.right.count)
    }

    fn numeral_count(&self) -> usize {
        usize::from(self.left.count) + usize::from(self.right.count)
    }

    fn split(&self) -> (Half, Half) {
        let Self { left, right } = self;
        (Half { value: left.value, count: left.count }, Half { value: right.value, count: right.count })
    }

    fn concat(left: Half, right: Half) -> Self {
        Self { left, right }
    }
}

/// The last `length` bytes of a number in big-endian order; a half below 2^64 needs at most 8.
struct BigEndian {
    bytes: [u8; 8],
    length: usize,
}

impl AsRef<[u8]> for BigEndian {
    fn as_ref(&self) -> &[u8] {
        let skipped = self.bytes.len().saturating_sub(self.length);
        self.bytes.get(skipped..).unwrap_or(&self.bytes)
    }
}

impl Operations for Half {
    type Bytes = BigEndian;

    fn numeral_count(&self) -> usize {
        usize::from(self.count)
    }

    fn to_be_bytes(&self, _radix: u32, length: usize) -> BigEndian {
        BigEndian { bytes: self.value.to_be_bytes(), length }
    }

    fn add_mod_exp(self, other: impl Iterator<Item = u8>, _radix: u32, count: usize) -> Self {
        let (other, size, count) = reduced(other, count);
        Self { value: wrap(u128::from(self.value) + other, size), count }
    }

    fn sub_mod_exp(self, other: impl Iterator<Item = u8>, _radix: u32, count: usize) -> Self {
        let (other, size, count) = reduced(other, count);
        Self { value: wrap(u128::from(self.value) + size - other, size), count }
    }
}

/// The number in the bytes, reduced modulo 31^count; that modulus; and the count again.
fn reduced(bytes: impl Iterator<Item = u8>, count: usize) -> (u128, u128, u8) {
    let count = u8::try_from(count).unwrap_or(u8::MAX);
    let size = u128::from(power(count));
    let number = bytes.fold(0u128, |number, byte| (number << 8) | u128::from(byte));
    (number % size, size, count)
}

/// A sum below twice a 64-bit modulus, brought back below it.
fn wrap(sum: u128, size: u128) -> u64 {
    u64::try_from(sum % size).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            origin: Origin::Imported { count: 1 },
            prize: None,
            status,
        };
        assert_eq!(book(vec![imported(BatchStatus::Active)]).judge("X"), Judgement::PerhapsImported);
        assert_eq!(book(vec![imported(BatchStatus::Void)]).judge("X"), Judgement::PerhapsImported);
        assert_eq!(book(vec![]).judge("X"), Judgement::Unknown);
    }

    /// A change here would make every printed pack worthless.
    #[test]
    fn the_codes_of_a_key_never_change() {
        let cipher = CodeCipher::new(&SecretKey::from_random([7; 32]), 12).expect("a length");
        let codes: Vec<_> = (0..3).filter_map(|serial| cipher.encipher(serial)).collect();
        assert_eq!(codes, ["6BXE3K3ZVT57", "MJQW3WYXNVKY", "XX3NF69VCRJC"]);
    }

    #[test]
    fn odds_are_minted_over_the_space() {
        let odds = book(vec![]).odds_of_a_guess(900);
        assert!((odds - 1000.0 / 31f64.powi(12)).abs() < 1e-18, "{odds}");
    }

    #[test]
    fn a_printed_code_has_groups_of_four() {
        assert_eq!(printed("ABCDEFGHJKMN"), "ABCD-EFGH-JKMN");
        assert_eq!(printed("ABCDEFGHJ"), "ABCD-EFGH-J");
    }

    proptest! {
        #[test]
        fn our_arithmetic_agrees_with_the_arbitrary_precision_one(
            key in any::<[u8; 32]>(), symbols in CODE_SYMBOLS, serial in 0u64..852_891_037_441
        ) {
            let mut digits = vec![0u16; usize::from(symbols)];
            let mut rest = serial;
            for digit in digits.iter_mut().rev() {
                *digit = u16::try_from(rest % 31).expect("below 31");
                rest /= 31;
            }
            let ff1 = FF1::<Aes256>::new(&key, RADIX).expect("a radix");
            let expected: Vec<u16> =
                ff1.encrypt(&[], &fpe::ff1::FlexibleNumeralString::from(digits)).expect("valid").into();
            let cipher = CodeCipher::new(&SecretKey::from_random(key), symbols).expect("a length");
            let code = cipher.encipher(serial).expect("in range");
            let digit = |symbol: u8| SYMBOLS.iter().position(|known| *known == symbol).expect("a symbol");
            let ours: Vec<usize> = code.bytes().map(digit).collect();
            prop_assert_eq!(ours, expected.into_iter().map(usize::from).collect::<Vec<_>>());
        }

        #[test]
        fn deciphering_undoes_enciphering(key in any::<[u8; 32]>(), symbols in CODE_SYMBOLS, serial in 0u64..852_891_037_441) {
            let cipher = CodeCipher::new(&SecretKey::from_random(key), symbols).expect("a length");
            let code = cipher.encipher(serial).expect("31^8 serial numbers fit every length");
            prop_assert_eq!(code.len(), usize::from(symbols));
            prop_assert_eq!(cipher.decipher(&code), Some(serial));
        }

        #[test]
        fn every_text_deciphers_to_something_or_nothing(text in ".{0,30}") {
            let cipher = CodeCipher::new(&SecretKey::from_random([1; 32]), 12).expect("a length");
            if let Some(serial) = cipher.decipher(&text) {
                prop_assert_eq!(cipher.encipher(serial), Some(text));
            }
        }
    }
}
