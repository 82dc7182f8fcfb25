//! The guessability of a list of codes. Codes printed elsewhere can have any length and form.

use std::collections::BTreeMap;

use super::codebook::{CodeBook, LengthCount, odds};

/// With this many codes of one length, the characters at each position show the form of the codes: of 36 possible
/// characters, a hundred codes show 34 on average.
const MIN_CODES_TO_SEE_FORM: u64 = 100;

/// The lengths and characters of a list's codes, which decide how easy they are to guess.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeList {
    lengths: BTreeMap<u8, OfLength>,
    /// The set of all characters in the list.
    characters: u64,
}

/// The codes of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfLength {
    count: u64,
    /// Codes added, including those left out of the count.
    seen: u64,
    /// The set of characters at each position.
    places: Vec<u64>,
}

/// The codes that are easiest to guess.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeakestLength {
    /// Characters of a code.
    pub length: u8,
    /// Codes of this length, in the list and in the scope.
    pub codes: u64,
    /// The number of texts that have the form of these codes.
    pub space: u64,
    /// The odds of guessing any of them in one attempt.
    pub odds: f64,
}

impl CodeList {
    /// Adds a code in its normal spelling.
    pub fn add(&mut self, normal: &str) {
        let of_length = self.lengths.entry(length(normal)).or_default();
        of_length.count = of_length.count.saturating_add(1);
        of_length.seen = of_length.seen.saturating_add(1);
        of_length.places.resize(normal.len(), 0);
        for (place, byte) in of_length.places.iter_mut().zip(normal.bytes()) {
            *place |= character(byte);
            self.characters |= character(byte);
        }
    }

    /// Takes an added code out of the count, because the scope or the list already has it.
    pub fn leave_out(&mut self, normal: &str) {
        if let Some(of_length) = self.lengths.get_mut(&length(normal)) {
            of_length.count = of_length.count.saturating_sub(1);
        }
    }

    /// The number of codes of each length.
    pub fn lengths(&self) -> impl Iterator<Item = LengthCount> {
        self.lengths.iter().map(|(length, of_length)| LengthCount {
            length: *length,
            count: of_length.count,
            space: Some(self.space(*length, of_length)),
        })
    }

    /// The number of texts that have the form of the list's codes of a length; `None` if there are no such codes.
    pub fn space_of(&self, length: u8) -> Option<u64> {
        self.lengths.get(&length).map(|of_length| self.space(length, of_length))
    }

    /// The characters in the list, sorted, such as `0123456789ABCDEF`.
    pub fn characters(&self) -> String {
        let known = (b'0'..=b'9').chain(b'A'..=b'Z');
        known.filter(|byte| self.characters & character(*byte) != 0).map(char::from).collect()
    }

    /// The length whose codes are easiest to guess once the list is in a scope; `None` for an empty list.
    pub fn weakest_in(&self, book: &CodeBook) -> Option<WeakestLength> {
        let lengths = self.lengths.iter().map(|(length, of_length)| {
            let space = self.space(*length, of_length);
            WeakestLength {
                length: *length,
                codes: of_length.count.saturating_add(book.imported_of_length(*length)),
                space,
                odds: odds(of_length.count, space) + book.imported_odds(*length, space),
            }
        });
        weakest(lengths)
    }

    /// The number of texts that have the form of the list's codes of a length. Anyone who has seen a few packs knows the
    /// form, and tries only these.
    fn space(&self, length: u8, of_length: &OfLength) -> u64 {
        if of_length.seen < MIN_CODES_TO_SEE_FORM {
            return texts(self.alphabet(), length);
        }
        let of_places = of_length.places.iter().map(|place| u64::from(place.count_ones()));
        of_places.fold(1, u64::saturating_mul)
    }

    fn alphabet(&self) -> u64 {
        let has = |mut bytes: std::ops::RangeInclusive<u8>| {
            bytes.any(|byte| self.characters & character(byte) != 0)
        };
        match (has(b'0'..=b'9'), has(b'A'..=b'Z')) {
            (true, true) => LETTERS_AND_DIGITS,
            (false, true) => 26,
            (true, false) | (false, false) => 10,
        }
    }
}

/// The imported codes of a scope that are easiest to guess. Codes of unknown form count as random letters and digits.
pub fn weakest_imported(book: &CodeBook) -> Option<WeakestLength> {
    let lengths = book.imported_lengths().map(|known| {
        let any = texts(LETTERS_AND_DIGITS, known.length);
        let same_length = book.imported_lengths().filter(|other| other.length == known.length);
        WeakestLength {
            length: known.length,
            codes: book.imported_of_length(known.length),
            space: same_length.filter_map(|known| known.space).min().unwrap_or(any),
            odds: book.imported_odds(known.length, any),
        }
    });
    weakest(lengths)
}

const LETTERS_AND_DIGITS: u64 = 36;

fn weakest(lengths: impl Iterator<Item = WeakestLength>) -> Option<WeakestLength> {
    lengths.max_by(|one, other| one.odds.total_cmp(&other.odds))
}

/// The number of texts of a length. It saturates at 1.8e19, where a guess has no chance anyway.
fn texts(alphabet: u64, length: u8) -> u64 {
    alphabet.saturating_pow(u32::from(length))
}

/// The set of one character. All other characters than letters and digits count as one.
fn character(byte: u8) -> u64 {
    let index = match byte {
        b'0'..=b'9' => byte - b'0',
        b'A'..=b'Z' => byte - b'A' + 10,
        _ => 36,
    };
    1 << index
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

    /// Status, codes of unknown length, and lengths with their counts and spaces.
    type Imported<'a> = (BatchStatus, u64, &'a [(u8, u64, Option<u64>)]);

    fn book(imported: &[Imported<'_>]) -> CodeBook {
        let batch = |(number, (status, uncounted, lengths)): (usize, &Imported<'_>)| {
            let mut origin =
                Origin::Imported { count: *uncounted, lengths: Vec::new(), unfinished: Vec::new() };
            for (length, count, space) in *lengths {
                origin.add_imported(LengthCount { length: *length, count: *count, space: *space });
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

    fn list<T: AsRef<str>>(codes: impl IntoIterator<Item = T>) -> CodeList {
        let mut list = CodeList::default();
        codes.into_iter().for_each(|code| list.add(code.as_ref()));
        list
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= other * 1e-9
    }

    #[test]
    fn what_occurs_in_a_short_list_is_what_a_guess_chooses_from() {
        for (codes, space, odds) in [
            (["123456", "987654"], 1_000_000, 2e-6),
            (["ABCDEF", "GHIJKL"], 308_915_776, 2.0 / 308_915_776.0),
        ] {
            let weakest = list(codes).weakest_in(&book(&[])).expect("two codes");
            assert_eq!((weakest.length, weakest.codes, weakest.space), (6, 2, space));
            assert!(close(weakest.odds, odds), "{weakest:?}");
        }
        assert_eq!(
            list(["ABC1"]).weakest_in(&book(&[])).map(|weakest| weakest.space),
            Some(36 * 36 * 36 * 36)
        );
        assert_eq!(list([""; 0]).weakest_in(&book(&[])), None);
        assert_eq!(list(["ABC1", "9ZZZ"]).characters(), "19ABCZ");
    }

    #[test]
    fn a_long_list_that_is_counted_up_behind_a_word_is_guessed_as_easily_as_it_looks() {
        let counted_up = |count: u32| list((0..count).map(|number| format!("KETTLE{number:04}")));
        let weakest = counted_up(1_000).weakest_in(&book(&[])).expect("codes");
        assert_eq!((weakest.codes, weakest.space), (1_000, 1_000));
        assert!(close(weakest.odds, 1.0), "{weakest:?}");
        let few = counted_up(99).weakest_in(&book(&[])).expect("codes");
        assert!(few.odds < 1e-12, "too few to tell: {few:?}");
        let enough = counted_up(100).weakest_in(&book(&[])).expect("codes");
        assert_eq!(enough.space, 100);
    }

    #[test]
    fn the_lengths_of_a_list_are_counted_each_with_the_texts_of_its_form() {
        let list = list(["1234", "12345678", "12345679"]);
        let of_length = |length, count, space| LengthCount { length, count, space: Some(space) };
        let lengths: Vec<_> = list.lengths().collect();
        assert_eq!(lengths, [of_length(4, 1, 10_000), of_length(8, 2, 100_000_000)]);
        assert_eq!((list.space_of(4), list.space_of(5)), (Some(10_000), None));
    }

    #[test]
    fn the_worst_length_decides() {
        let weakest = list(["1234", "12345678", "12345679"]).weakest_in(&book(&[])).expect("codes");
        assert_eq!((weakest.length, weakest.codes), (4, 1));
    }

    #[test]
    fn codes_that_the_scope_has_count_and_withdrawn_ones_do_not() {
        let scope = book(&[
            (BatchStatus::Active, 0, &[(6, 10, None), (7, 100, None)]),
            (BatchStatus::Active, 1_000, &[]),
            (BatchStatus::Void, 5_000, &[(6, 5_000, None)]),
        ]);
        let mut list = list(["123456", "123457"]);
        let weakest = list.weakest_in(&scope).expect("codes");
        assert_eq!(weakest.codes, 1_012);
        assert!(close(weakest.odds, 1_012e-6), "of an unknown form, so of the list's: {weakest:?}");
        list.leave_out("123457");
        assert_eq!(list.weakest_in(&scope).map(|weakest| weakest.codes), Some(1_011));
    }

    #[test]
    fn the_odds_of_lists_of_different_forms_add_up() {
        let scope = book(&[(BatchStatus::Active, 0, &[(6, 100, Some(1_000_000_000))])]);
        let weakest = list(["123456", "123457"]).weakest_in(&scope).expect("codes");
        assert_eq!(weakest.codes, 102);
        assert!(close(weakest.odds, 2e-6 + 1e-7), "{weakest:?}");
    }

    #[test]
    fn the_odds_of_a_scopes_imported_codes_are_those_of_its_weakest_length() {
        assert_eq!(weakest_imported(&book(&[])), None);
        let scope = book(&[
            (BatchStatus::Active, 0, &[(6, 10, Some(1_000_000)), (9, 10, None)]),
            (BatchStatus::Active, 0, &[(6, 30, Some(10_000_000))]),
            (BatchStatus::Void, 0, &[(4, 1_000, Some(10_000))]),
        ]);
        let weakest = weakest_imported(&scope).expect("codes");
        assert_eq!((weakest.length, weakest.codes, weakest.space), (6, 40, 1_000_000));
        assert!(close(weakest.odds, 10e-6 + 3e-6), "{weakest:?}");
        assert!(scope.has_imported_of_unknown_form());
        let known = book(&[(BatchStatus::Active, 0, &[(6, 10, Some(1_000_000))])]);
        assert!(!known.has_imported_of_unknown_form());
        assert!(book(&[(BatchStatus::Active, 5, &[])]).has_imported_of_unknown_form());
    }

    proptest! {
        #[test]
        fn no_length_is_weaker_than_the_weakest_and_more_codes_of_a_short_list_never_make_it_stronger(
            codes in prop::collection::vec("[0-9A-Z]{1,12}", 1..40), more in "[0-9]{1,12}"
        ) {
            // One letter and one digit, so that the alphabet stays what it is.
            let mut list = list(["A1"]);
            codes.iter().for_each(|code| list.add(code));
            let before = list.weakest_in(&book(&[])).expect("codes");
            for LengthCount { length, count, .. } in list.lengths() {
                prop_assert!(odds(count, texts(36, length)) <= before.odds);
            }
            list.add(&more);
            prop_assert!(list.weakest_in(&book(&[])).expect("codes").odds >= before.odds);
        }

        #[test]
        fn a_lists_own_codes_are_never_more_than_texts_have_their_form(
            codes in prop::collection::hash_set("[0-9A-C]{3}", 1..200)
        ) {
            for LengthCount { count, space, .. } in list(&codes).lengths() {
                prop_assert!(space.is_some_and(|space| count <= space), "{} of {:?}", count, space);
            }
        }
    }
}
