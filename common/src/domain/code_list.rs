//! The guessability of codes printed elsewhere.

use std::collections::BTreeSet;

use super::codebook::as_f64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeList {
    lengths: BTreeSet<u8>,
    characters: u64,
}

impl CodeList {
    pub fn add(&mut self, normal: &str) {
        self.lengths
            .insert(u8::try_from(normal.len()).unwrap_or(u8::MAX));
        self.characters |= characters(normal);
    }

    pub fn lengths(&self) -> &BTreeSet<u8> {
        &self.lengths
    }

    pub fn characters(&self) -> String {
        let known = (b'0'..=b'9').chain(b'A'..=b'Z');
        known
            .filter(|byte| self.characters & character(*byte) != 0)
            .map(char::from)
            .collect()
    }

    /// Saturates at 1.8e19.
    pub fn texts(&self) -> u64 {
        let shortest = self.lengths.first().copied().unwrap_or_default();
        self.alphabet().saturating_pow(u32::from(shortest))
    }

    pub fn odds_of_a_guess(&self, codes: u64) -> f64 {
        as_f64(codes) / as_f64(self.texts())
    }

    /// The smallest of: digits, letters, both without look-alikes (0, 1, I, L, O), or both.
    fn alphabet(&self) -> u64 {
        let (digits, look_alike) = (characters("0123456789"), characters("01ILO"));
        if self.characters & !digits == 0 {
            10
        } else if self.characters & digits == 0 {
            26
        } else if self.characters & look_alike == 0 {
            31
        } else {
            36
        }
    }
}

fn characters(text: &str) -> u64 {
    text.bytes().map(character).fold(0, |all, one| all | one)
}

/// Characters besides letters and digits count as one.
fn character(byte: u8) -> u64 {
    let index = match byte {
        b'0'..=b'9' => byte - b'0',
        b'A'..=b'Z' => byte - b'A' + 10,
        _ => 36,
    };
    1 << index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list<T: AsRef<str>>(codes: impl IntoIterator<Item = T>) -> CodeList {
        let mut list = CodeList::default();
        codes.into_iter().for_each(|code| list.add(code.as_ref()));
        list
    }

    #[test]
    fn alphabet_and_shortest_length_decide_the_texts() {
        for (codes, texts) in [
            (["123456", "9876543"], 10u64.pow(6)),
            (["ABCDEFG", "GHIJKL"], 26u64.pow(6)),
            (["ABC2", "XYZ34"], 31u64.pow(4)),
            (["ABC1", "XYZ34"], 36u64.pow(4)),
            (["A2345678901234567890", "B2345678901234567890"], u64::MAX),
        ] {
            assert_eq!(list(codes).texts(), texts, "{codes:?}");
        }
        assert_eq!(list(["ABC1", "9ZZ"]).characters(), "19ABCZ");
    }

    #[test]
    fn odds_are_codes_over_texts() {
        let odds = list(["123456", "123457"]).odds_of_a_guess(1_012);
        assert!((odds - 1_012e-6).abs() < 1e-12, "{odds}");
    }

    #[test]
    fn list_keeps_its_lengths() {
        assert_eq!(
            list(["1234", "12345678", "12345679"]).lengths(),
            &BTreeSet::from([4, 8])
        );
    }
}
