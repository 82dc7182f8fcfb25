//! The keyed permutation between serial numbers and codes: FF1 (NIST SP 800-38G) over the 31 code symbols.
//!
//! A library does the rounds. Halves of a code are computed here in 64 and 128 bits: minting makes
//! millions of codes, and general arithmetic is many times slower.

use aes::Aes256;
use fpe::ff1::{FF1, NumeralString, Operations};

use super::code::SYMBOLS;

pub(super) const RADIX: u32 = 31;

/// Shorter codes are too easy to guess; longer ones do not keep each half below 2^64.
pub const CODE_SYMBOLS: std::ops::RangeInclusive<u8> = 8..=24;

/// Symbols between the dashes of a printed code.
const GROUP: usize = 4;

#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

masked_debug!(SecretKey);

pub struct CodeCipher {
    ff1: FF1<Aes256>,
    left: u8,
    right: u8,
}

impl CodeCipher {
    pub fn new(key: &SecretKey, symbols: u8) -> Option<Self> {
        if !CODE_SYMBOLS.contains(&symbols) {
            return None;
        }
        let ff1 = FF1::new(key.expose(), RADIX).ok()?;
        let left = symbols / 2;
        Some(Self {
            ff1,
            left,
            right: symbols - left,
        })
    }

    pub fn encipher(&self, serial: u64) -> Option<String> {
        let right_size = power(self.right);
        let serial = u128::from(serial);
        let left = u64::try_from(serial / u128::from(right_size)).ok()?;
        let right = u64::try_from(serial % u128::from(right_size)).ok()?;
        if left >= power(self.left) {
            return None;
        }
        let plain = Numerals {
            left: Half {
                value: left,
                count: self.left,
            },
            right: Half {
                value: right,
                count: self.right,
            },
        };
        let code = self.ff1.encrypt(&[], &plain).ok()?;
        let mut text = String::with_capacity(usize::from(self.left + self.right));
        code.left.write(&mut text)?;
        code.right.write(&mut text)?;
        Some(text)
    }

    pub fn decipher(&self, normal: &str) -> Option<u64> {
        let symbols = normal.as_bytes();
        if symbols.len() != usize::from(self.left + self.right) {
            return None;
        }
        let (left, right) = symbols.split_at_checked(usize::from(self.left))?;
        let code = Numerals {
            left: Half::read(left)?,
            right: Half::read(right)?,
        };
        let plain = self.ff1.decrypt(&[], &code).ok()?;
        let serial = u128::from(plain.left.value) * u128::from(power(self.right))
            + u128::from(plain.right.value);
        u64::try_from(serial).ok()
    }
}

/// `XXXX-XXXX-XXXX`.
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

/// 31^count, at most 31^12.
fn power(count: u8) -> u64 {
    u64::from(RADIX).saturating_pow(u32::from(count))
}

/// Halves of a code, each below 31^count.
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
        Some(Self {
            value,
            count: u8::try_from(symbols.len()).ok()?,
        })
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
        (
            Half {
                value: left.value,
                count: left.count,
            },
            Half {
                value: right.value,
                count: right.count,
            },
        )
    }

    fn concat(left: Half, right: Half) -> Self {
        Self { left, right }
    }
}

/// The last `length` bytes, big-endian; a half has 8 at most.
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
        BigEndian {
            bytes: self.value.to_be_bytes(),
            length,
        }
    }

    fn add_mod_exp(self, other: impl Iterator<Item = u8>, _radix: u32, count: usize) -> Self {
        let (other, size, count) = reduced(other, count);
        Self {
            value: wrap(u128::from(self.value) + other, size),
            count,
        }
    }

    fn sub_mod_exp(self, other: impl Iterator<Item = u8>, _radix: u32, count: usize) -> Self {
        let (other, size, count) = reduced(other, count);
        Self {
            value: wrap(u128::from(self.value) + size - other, size),
            count,
        }
    }
}

fn reduced(bytes: impl Iterator<Item = u8>, count: usize) -> (u128, u128, u8) {
    let count = u8::try_from(count).unwrap_or(u8::MAX);
    let size = u128::from(power(count));
    let number = bytes.fold(0u128, |number, byte| (number << 8) | u128::from(byte));
    (number % size, size, count)
}

/// `sum` is below twice a 64-bit modulus.
fn wrap(sum: u128, size: u128) -> u64 {
    u64::try_from(sum % size).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A change makes printed codes worthless.
    #[test]
    fn the_codes_of_a_key_never_change() {
        let cipher = CodeCipher::new(&SecretKey::from_random([7; 32]), 12).expect("a length");
        let codes: Vec<_> = (0..3)
            .filter_map(|serial| cipher.encipher(serial))
            .collect();
        assert_eq!(codes, ["6BXE3K3ZVT57", "MJQW3WYXNVKY", "XX3NF69VCRJC"]);
    }

    #[test]
    fn a_printed_code_has_groups_of_four() {
        assert_eq!(printed("ABCDEFGHJKMN"), "ABCD-EFGH-JKMN");
        assert_eq!(printed("ABCDEFGHJ"), "ABCD-EFGH-J");
    }

    #[test]
    fn a_key_does_not_print() {
        assert_eq!(format!("{:?}", SecretKey::from_random([7; 32])), "***");
    }

    #[test]
    fn numerals_are_valid_while_both_halves_are_short_enough() {
        let valid = |left, right, radix| {
            let half = |value| Half { value, count: 4 };
            Numerals {
                left: half(left),
                right: half(right),
            }
            .is_valid(radix)
        };
        let largest = 31 * 31 * 31 * 31 - 1;
        assert!(valid(largest, largest, 31));
        assert!(!valid(largest + 1, 0, 31));
        assert!(!valid(0, largest + 1, 31));
        assert!(!valid(0, 0, 10));
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
