//! The keyed permutation between serial numbers and codes: FF1 (NIST SP 800-38G) over the symbols of codes.
//!
//! Halves of a code are computed in 64 and 128 bits: minting makes millions, and the library's
//! general arithmetic is many times slower.

use aes::Aes256;
use fpe::ff1::{FF1, NumeralString, Operations};

use super::code::Alphabet;

/// Shorter codes are guessed too easily; longer ones have halves above 2^64.
pub const CODE_SYMBOLS: std::ops::RangeInclusive<u8> = 8..=24;

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
    alphabet: Alphabet,
    left: u8,
    right: u8,
}

impl CodeCipher {
    pub fn new(key: &SecretKey, alphabet: Alphabet, symbols: u8) -> Option<Self> {
        if !CODE_SYMBOLS.contains(&symbols) {
            return None;
        }
        let ff1 = FF1::new(key.expose(), alphabet.radix()).ok()?;
        let left = symbols / 2;
        Some(Self {
            ff1,
            alphabet,
            left,
            right: symbols - left,
        })
    }

    pub fn encipher(&self, serial: u64) -> Option<String> {
        let radix = self.alphabet.radix();
        let right_size = power(radix, self.right);
        let serial = u128::from(serial);
        let left = u64::try_from(serial / u128::from(right_size)).ok()?;
        let right = u64::try_from(serial % u128::from(right_size)).ok()?;
        if left >= power(radix, self.left) {
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
        code.left.write(self.alphabet, &mut text)?;
        code.right.write(self.alphabet, &mut text)?;
        Some(text)
    }

    pub fn decipher(&self, normal: &str) -> Option<u64> {
        let symbols = normal.as_bytes();
        if symbols.len() != usize::from(self.left + self.right) {
            return None;
        }
        let (left, right) = symbols.split_at_checked(usize::from(self.left))?;
        let code = Numerals {
            left: Half::read(self.alphabet, left)?,
            right: Half::read(self.alphabet, right)?,
        };
        let plain = self.ff1.decrypt(&[], &code).ok()?;
        let serial = u128::from(plain.left.value)
            * u128::from(power(self.alphabet.radix(), self.right))
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

/// Power of the radix, at most 31^12.
fn power(radix: u32, count: u8) -> u64 {
    u64::from(radix).saturating_pow(u32::from(count))
}

/// Halves of a code, each below radix^count.
struct Numerals {
    left: Half,
    right: Half,
}

struct Half {
    value: u64,
    count: u8,
}

impl Half {
    fn read(alphabet: Alphabet, symbols: &[u8]) -> Option<Self> {
        let mut value: u64 = 0;
        for symbol in symbols {
            value = value * u64::from(alphabet.radix()) + alphabet.value_of(*symbol)?;
        }
        Some(Self {
            value,
            count: u8::try_from(symbols.len()).ok()?,
        })
    }

    fn write(&self, alphabet: Alphabet, text: &mut String) -> Option<()> {
        let (symbols, radix) = (alphabet.symbols(), alphabet.radix());
        let mut place = power(radix, self.count);
        let mut rest = self.value;
        for _ in 0..self.count {
            place /= u64::from(radix);
            let digit = usize::try_from(rest / place).ok()?;
            text.push(char::from(*symbols.get(digit)?));
            rest %= place;
        }
        Some(())
    }
}

impl NumeralString for Numerals {
    type Ops = Half;

    fn is_valid(&self, radix: u32) -> bool {
        self.left.value < power(radix, self.left.count)
            && self.right.value < power(radix, self.right.count)
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

    fn add_mod_exp(self, other: impl Iterator<Item = u8>, radix: u32, count: usize) -> Self {
        let (other, size, count) = reduced(other, radix, count);
        Self {
            value: wrap(u128::from(self.value) + other, size),
            count,
        }
    }

    fn sub_mod_exp(self, other: impl Iterator<Item = u8>, radix: u32, count: usize) -> Self {
        let (other, size, count) = reduced(other, radix, count);
        Self {
            value: wrap(u128::from(self.value) + size - other, size),
            count,
        }
    }
}

fn reduced(bytes: impl Iterator<Item = u8>, radix: u32, count: usize) -> (u128, u128, u8) {
    let count = u8::try_from(count).unwrap_or(u8::MAX);
    let size = u128::from(power(radix, count));
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
        let key = SecretKey::from_random([7; 32]);
        let cipher = CodeCipher::new(&key, Alphabet::Mixed, 12).expect("a length");
        let codes: Vec<_> = (0..3)
            .filter_map(|serial| cipher.encipher(serial))
            .collect();
        assert_eq!(codes, ["6BXE3K3ZVT57", "MJQW3WYXNVKY", "XX3NF69VCRJC"]);
    }

    /// FF1 sample 7 of NIST.
    #[test]
    fn digits_are_enciphered_as_in_the_standards_sample() {
        let key = "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";
        let key = hex::decode(key).expect("hexadecimal");
        let key = SecretKey::from_random(key.try_into().expect("32 bytes"));
        let cipher = CodeCipher::new(&key, Alphabet::Digits, 10).expect("a length");
        assert_eq!(cipher.encipher(123_456_789).as_deref(), Some("6657667009"));
        assert_eq!(cipher.encipher(10_u64.pow(10)), None);
    }

    #[test]
    fn letters_typed_for_digits_are_read_as_digits() {
        let key = SecretKey::from_random([7; 32]);
        let cipher = CodeCipher::new(&key, Alphabet::Digits, 12).expect("a length");
        let serial = (0..100).find(|serial| {
            let code = cipher.encipher(*serial).expect("in range");
            code.contains('0') && code.contains('1')
        });
        let code = cipher
            .encipher(serial.expect("one of them"))
            .expect("in range");
        for (zero, one) in [("O", "I"), ("O", "L"), ("0", "L")] {
            let typed = code.replace('0', zero).replace('1', one);
            assert_eq!(cipher.decipher(&typed), serial, "{typed}");
        }
        assert_eq!(cipher.decipher(&code.replace('0', "Q")), None);
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
        assert!(valid(9_999, 9_999, 10));
        assert!(!valid(10_000, 0, 10));
    }

    fn alphabet() -> impl Strategy<Value = Alphabet> {
        prop::sample::select(&Alphabet::ALL[..])
    }

    proptest! {
        #[test]
        fn our_arithmetic_agrees_with_the_arbitrary_precision_one(
            key in any::<[u8; 32]>(), alphabet in alphabet(), symbols in CODE_SYMBOLS, serial in any::<u64>()
        ) {
            let radix = alphabet.radix();
            let serial = serial % power(radix, 8);
            let mut digits = vec![0u16; usize::from(symbols)];
            let mut rest = serial;
            for digit in digits.iter_mut().rev() {
                *digit = u16::try_from(rest % u64::from(radix)).expect("below it");
                rest /= u64::from(radix);
            }
            let ff1 = FF1::<Aes256>::new(&key, radix).expect("a radix");
            let expected: Vec<u16> =
                ff1.encrypt(&[], &fpe::ff1::FlexibleNumeralString::from(digits)).expect("valid").into();
            let cipher = CodeCipher::new(&SecretKey::from_random(key), alphabet, symbols).expect("a length");
            let code = cipher.encipher(serial).expect("in range");
            let ours: Vec<u64> = code.bytes().map(|symbol| alphabet.value_of(symbol).expect("a symbol")).collect();
            prop_assert_eq!(ours, expected.into_iter().map(u64::from).collect::<Vec<_>>());
        }

        #[test]
        fn deciphering_undoes_enciphering(
            key in any::<[u8; 32]>(), alphabet in alphabet(), symbols in CODE_SYMBOLS, serial in any::<u64>()
        ) {
            let serial = serial % power(alphabet.radix(), 8);
            let cipher = CodeCipher::new(&SecretKey::from_random(key), alphabet, symbols).expect("a length");
            let code = cipher.encipher(serial).expect("so many serial numbers fit every length");
            prop_assert!(code.bytes().all(|symbol| alphabet.symbols().contains(&symbol)));
            prop_assert_eq!(code.len(), usize::from(symbols));
            prop_assert_eq!(cipher.decipher(&code), Some(serial));
        }

        #[test]
        fn every_text_deciphers_to_something_or_nothing(text in ".{0,30}") {
            let cipher = CodeCipher::new(&SecretKey::from_random([1; 32]), Alphabet::Mixed, 12).expect("a length");
            if let Some(serial) = cipher.decipher(&text) {
                prop_assert_eq!(cipher.encipher(serial), Some(text));
            }
        }
    }
}
