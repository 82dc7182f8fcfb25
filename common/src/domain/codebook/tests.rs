use proptest::prelude::*;

use super::*;
use crate::domain::cipher::CODE_SYMBOLS;

fn book(batches: Vec<Batch>) -> CodeBook {
    CodeBook {
        minting_keys: vec![SecretKey::from_random([7; 32])],
        digest_key: SecretKey::from_random([9; 32]),
        symbols: DEFAULT_CODE_SYMBOLS,
        minted: 100,
        batches,
    }
}

fn minted(name: &str, first: u64, count: u64, status: BatchStatus, prize: Option<&str>) -> Batch {
    let origin = Origin::Minted { first, count, key_version: 1 };
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
    let judge = |serial| book.verify(&book.cipher().expect("a length").encipher(serial).expect("in range"));
    assert_eq!(judge(9), BookMatch::Minted { serial: 9, prize: None });
    assert_eq!(judge(10), BookMatch::Withdrawn { serial: 10 });
    assert_eq!(judge(20), BookMatch::Withdrawn { serial: 20 });
    assert_eq!(judge(39), BookMatch::Minted { serial: 39, prize: Some("A kettle".to_owned()) });
    assert_eq!(judge(40), BookMatch::Unknown);
    assert_eq!(book.verify("NOT A CODE"), BookMatch::Unknown);
}

/// Serial numbers 0 to 9 under the first version, 10 to 19 under the second, 20 to 29 under the third.
fn book_of_versions() -> CodeBook {
    let batch = |key_version: u32| {
        let first = u64::from(key_version - 1) * 10;
        let origin = Origin::Minted { first, count: 10, key_version };
        Batch { origin, ..minted(&key_version.to_string(), 0, 0, BatchStatus::Active, None) }
    };
    CodeBook {
        minting_keys: [7, 8, 6].map(|byte| SecretKey::from_random([byte; 32])).to_vec(),
        ..book((1..=3).map(batch).collect())
    }
}

#[test]
fn a_code_counts_under_the_version_of_its_own_batch_alone() {
    let book = book_of_versions();
    for (index, key) in book.minting_keys.iter().enumerate() {
        let cipher = CodeCipher::new(key, book.symbols).expect("a length");
        let own = index * 10..(index + 1) * 10;
        for serial in 0..40 {
            let code = cipher.encipher(serial).expect("in range");
            let is_own = usize::try_from(serial).is_ok_and(|serial| own.contains(&serial));
            let expected =
                if is_own { BookMatch::Minted { serial, prize: None } } else { BookMatch::Unknown };
            assert_eq!(book.verify(&code), expected, "version {}, serial {serial}", index + 1);
        }
    }
    assert_eq!(book.key_version(), 3);
    let odds = book.odds_of_a_guess(0);
    assert!((odds - 30.0 / 31f64.powi(12)).abs() < 1e-18, "they add up: {odds}");
}

#[test]
fn what_is_a_code_under_two_versions_is_the_one_that_was_printed_first() {
    let mut book = book_of_versions();
    let printed =
        CodeCipher::new(&book.minting_keys[0], 12).expect("a length").encipher(3).expect("in range");
    // A batch of the second version with the serial number that the same text has under it.
    let second = CodeCipher::new(&book.minting_keys[1], 12).expect("a length");
    let twin = second.decipher(&printed).expect("a number");
    book.batches.push(Batch {
        origin: Origin::Minted { first: twin, count: 1, key_version: 2 },
        ..minted("twin", 0, 0, BatchStatus::Active, None)
    });
    assert_eq!(book.verify(&printed), BookMatch::Minted { serial: 3, prize: None });
    assert_eq!(book.ciphers_before(2).find(&printed).map(|(serial, _)| serial), Some(3));
    assert_eq!(book.ciphers_before(1).find(&printed), None);
    book.batches[0].status = BatchStatus::Void;
    assert_eq!(
        book.verify(&printed),
        BookMatch::Withdrawn { serial: 3 },
        "and stays so when it is withdrawn"
    );
}

#[test]
fn what_is_added_to_a_batch_counts_as_the_form_that_is_guessed_more_easily() {
    let of = |count, space| LengthCount { length: 6, count, space };
    for (first, second, expected) in [
        (Some(1_000), Some(500), Some(500)),
        (Some(500), Some(1_000), Some(500)),
        (None, Some(500), Some(500)),
        (None, None, None),
    ] {
        let mut origin = Origin::NOTHING_IMPORTED;
        origin.add_imported(of(3, first));
        origin.add_imported(of(4, second));
        let (lengths, unfinished) = (vec![of(7, expected)], Vec::new());
        assert_eq!(origin, Origin::Imported { count: 7, lengths, unfinished });
    }
}

#[test]
fn a_length_from_before_forms_were_noted_is_read_and_written_as_it_was() {
    let json = r#"{"length":6,"count":5}"#;
    let read: LengthCount = serde_json::from_str(json).expect("JSON");
    assert_eq!(read.space, None);
    assert_eq!(serde_json::to_string(&read).expect("JSON"), json);
}

#[test]
fn a_batch_from_before_keys_had_versions_is_of_the_first() {
    let origin: Origin = serde_json::from_str(r#"{"kind":"minted","first":0,"count":5}"#).expect("JSON");
    assert_eq!(origin.key_version(), Some(1));
}

#[test]
fn only_a_book_with_imported_codes_sends_a_stranger_to_the_table() {
    let imported = |status| Batch {
        name: "i".to_owned(),
        origin: Origin::Imported { count: 1, lengths: Vec::new(), unfinished: Vec::new() },
        prize: None,
        status,
    };
    assert_eq!(book(vec![imported(BatchStatus::Active)]).verify("X"), BookMatch::PerhapsImported);
    assert_eq!(book(vec![imported(BatchStatus::Void)]).verify("X"), BookMatch::PerhapsImported);
    assert_eq!(book(vec![]).verify("X"), BookMatch::Unknown);
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
            origin.add_imported(LengthCount { length: *length, count: *count, space: None });
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

#[test]
fn two_runs_of_an_import_at_once_count_each_code_once() {
    let of = |count| LengthCount { length: 6, count, space: None };
    for counted_before in [0, 4, 10] {
        let mut origin = Origin::NOTHING_IMPORTED;
        origin.begin_import("file", vec![of(10)]);
        origin.begin_import("file", vec![of(6)]);
        origin.count_import("file", of(counted_before));
        origin.end_import("file");
        // The other run counts what it had stored, and ends.
        origin.count_import("file", of(3));
        origin.end_import("file");
        let (lengths, unfinished) = (vec![of(10)], Vec::new());
        let expected = Origin::Imported { count: 10, lengths, unfinished };
        assert_eq!(origin, expected, "{counted_before} were counted before");
    }
}
