//! The guessability of a list of codes. Codes printed elsewhere can have any length.

use std::collections::BTreeMap;

use super::codebook::{CodeBook, LengthCount, odds};

/// The lengths and characters of a list's codes, which decide how easy they are to guess.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeList {
    lengths: BTreeMap<u8, u64>,
    has_digits: bool,
    has_letters: bool,
}

/// The codes of a list that are easiest to guess.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeakestLength {
    /// Characters of a code.
    pub length: u8,
    /// Codes of this length, in the list and in the scope.
    pub codes: u64,
    /// The number of characters to guess from at each position.
    pub alphabet: u32,
    /// The odds of guessing any of them in one attempt.
    pub odds: f64,
}

impl CodeList {
    /// Adds a code in its normal spelling.
    pub fn add(&mut self, normal: &str) {
        self.has_digits |= normal.bytes().any(|byte| byte.is_ascii_digit());
        self.has_letters |= !normal.bytes().all(|byte| byte.is_ascii_digit());
        let count = self.lengths.entry(length(normal)).or_default();
        *count = count.saturating_add(1);
    }

    /// Removes an added code that the scope already has.
    pub fn leave_out(&mut self, normal: &str) {
        if let Some(count) = self.lengths.get_mut(&length(normal)) {
            *count = count.saturating_sub(1);
        }
    }

    /// The number of codes of each length.
    pub fn lengths(&self) -> impl Iterator<Item = LengthCount> {
        self.lengths.iter().map(|(length, count)| LengthCount { length: *length, count: *count })
    }

    /// The length whose codes are easiest to guess once the list is in a scope; `None` for an empty list.
    pub fn weakest_in(&self, book: &CodeBook) -> Option<WeakestLength> {
        let alphabet = match (self.has_digits, self.has_letters) {
            (true, true) => 36,
            (false, true) => 26,
            (true, false) | (false, false) => 10,
        };
        let lengths = self.lengths().map(|LengthCount { length, count }| {
            let codes = count.saturating_add(book.imported_of_length(length));
            WeakestLength { length, codes, alphabet, odds: odds(codes, alphabet, length) }
        });
        lengths.max_by(|one, other| one.odds.total_cmp(&other.odds))
    }
}

fn length(normal: &str) -> u8 {
    u8::try_from(normal.len()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cipher::SecretKey;
    use crate::domain::codebook::{Batch, BatchStatus, DEFAULT_CODE_SYMBOLS, Origin};

    /// Status, codes of unknown length, and lengths with their counts.
    type Imported<'a> = (BatchStatus, u64, &'a [(u8, u64)]);

    fn book(imported: &[Imported<'_>]) -> CodeBook {
        let batch = |(number, (status, uncounted, lengths)): (usize, &Imported<'_>)| {
            let mut origin = Origin::Imported { count: *uncounted, lengths: Vec::new() };
            for (length, count) in *lengths {
                origin.add_imported(LengthCount { length: *length, count: *count });
            }
            Batch { name: number.to_string(), origin, prize: None, status: *status }
        };
        CodeBook {
            minting_keys: vec![SecretKey::from_random([7; 32])],
            digest_key: SecretKey::from_random([9; 32]),
            symbols: DEFAULT_CODE_SYMBOLS,
            minted: 0,
            batches: imported.iter().enumerate().map(batch).collect(),
        }
    }

    fn list(codes: &[&str]) -> CodeList {
        let mut list = CodeList::default();
        codes.iter().for_each(|code| list.add(code));
        list
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= other * 1e-9
    }

    #[test]
    fn what_occurs_in_a_list_is_what_a_guess_chooses_from() {
        for (codes, alphabet, odds) in
            [(["123456", "987654"], 10, 2e-6), (["ABCDEF", "GHIJKL"], 26, 2.0 / 308_915_776.0)]
        {
            let weakest = list(&codes).weakest_in(&book(&[])).expect("two codes");
            assert_eq!((weakest.length, weakest.codes, weakest.alphabet), (6, 2, alphabet));
            assert!(close(weakest.odds, odds), "{weakest:?}");
        }
        assert_eq!(list(&["ABC1"]).weakest_in(&book(&[])).map(|weakest| weakest.alphabet), Some(36));
        assert_eq!(list(&[]).weakest_in(&book(&[])), None);
    }

    #[test]
    fn the_worst_length_decides() {
        let weakest = list(&["1234", "12345678", "12345679"]).weakest_in(&book(&[])).expect("codes");
        assert_eq!((weakest.length, weakest.codes), (4, 1));
    }

    #[test]
    fn codes_that_the_scope_has_count_and_withdrawn_ones_do_not() {
        let scope = book(&[
            (BatchStatus::Active, 0, &[(6, 10), (7, 100)]),
            (BatchStatus::Active, 1_000, &[]),
            (BatchStatus::Void, 5_000, &[(6, 5_000)]),
        ]);
        let mut list = list(&["123456", "123457"]);
        assert_eq!(list.weakest_in(&scope).map(|weakest| weakest.codes), Some(1_012));
        list.leave_out("123457");
        assert_eq!(list.weakest_in(&scope).map(|weakest| weakest.codes), Some(1_011));
    }

    proptest! {
        #[test]
        fn no_length_is_weaker_than_the_weakest_and_more_codes_never_make_it_stronger(
            codes in prop::collection::vec("[0-9A-Z]{1,12}", 1..40), more in "[0-9]{1,12}"
        ) {
            // One letter and one digit keep the alphabet the same.
            let mut list = list(&["A1"]);
            codes.iter().for_each(|code| list.add(code));
            let before = list.weakest_in(&book(&[])).expect("codes");
            for LengthCount { length, count } in list.lengths() {
                prop_assert!(odds(count, 36, length) <= before.odds);
            }
            list.add(&more);
            prop_assert!(list.weakest_in(&book(&[])).expect("codes").odds >= before.odds);
        }
    }
}
