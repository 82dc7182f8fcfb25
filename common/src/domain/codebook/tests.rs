use super::*;

fn book(batches: Vec<Batch>) -> CodeBook {
    CodeBook {
        minting_key: SecretKey::from_random([7; 32]),
        digest_key: SecretKey::from_random([9; 32]),
        alphabet: Alphabet::Mixed,
        minted_length: Some(DEFAULT_CODE_SYMBOLS),
        minted: 100,
        batches,
    }
}

fn minted(name: &str, first: u64, count: u64, status: BatchStatus, prize: Option<&str>) -> Batch {
    let origin = Origin::Minted { first, count };
    Batch {
        name: name.to_owned(),
        origin,
        prize: prize.map(str::to_owned),
        status,
    }
}

fn imported(name: &str, status: BatchStatus) -> Batch {
    Batch {
        name: name.to_owned(),
        origin: Origin::NOTHING_IMPORTED,
        prize: None,
        status,
    }
}

fn imported_of(lengths: &[u8], status: BatchStatus) -> Batch {
    let lengths = lengths.iter().copied().collect();
    Batch {
        origin: Origin::Imported {
            count: 1,
            lengths,
            unfinished: Vec::new(),
        },
        ..imported("i", status)
    }
}

#[test]
fn likely_batch_is_the_first_valid_one_or_the_first() {
    let (void, active) = (BatchStatus::Void, BatchStatus::Active);
    let likely = |batches| {
        book(batches)
            .likely_imported_batch()
            .map(|batch| batch.name.clone())
    };
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
    let batches = vec![
        imported("a", BatchStatus::Active),
        imported("b", BatchStatus::Void),
    ];
    let book = book(batches.clone());
    assert_eq!(book.batch("b"), Some(&batches[1]));
    assert_eq!(book.batch("c"), None);
}

/// Computed by another implementation of HMAC. A change loses imported codes.
#[test]
fn the_digest_of_a_code_never_changes() {
    let digest = book(vec![]).digest("ABC123");
    assert_eq!(
        digest,
        "a0a970a194db5200620a2412d1f28d519523209095e10a9f1a35d3d6b44cdb43"
    );
}

#[test]
fn a_code_counts_only_when_its_batch_does() {
    let book = book(vec![
        minted("a", 0, 10, BatchStatus::Active, None),
        minted("b", 10, 10, BatchStatus::Void, None),
        minted("c", 20, 10, BatchStatus::Reserved, None),
        minted("d", 30, 10, BatchStatus::Active, Some("A kettle")),
    ]);
    let judge = |serial| {
        book.verify(
            &book
                .cipher()
                .expect("a length")
                .encipher(serial)
                .expect("in range"),
        )
    };
    assert_eq!(
        judge(9),
        BookMatch::Minted {
            serial: 9,
            prize: None
        }
    );
    assert_eq!(judge(10), BookMatch::Withdrawn { serial: 10 });
    assert_eq!(judge(20), BookMatch::Withdrawn { serial: 20 });
    assert_eq!(
        judge(39),
        BookMatch::Minted {
            serial: 39,
            prize: Some("A kettle".to_owned())
        }
    );
    assert_eq!(judge(40), BookMatch::Unknown);
    assert_eq!(book.verify("NOT A CODE"), BookMatch::Unknown);
}

#[test]
fn length_decides_between_deciphering_and_looking_up() {
    let minted = || minted("m", 0, 10, BatchStatus::Active, None);
    for status in [BatchStatus::Active, BatchStatus::Void] {
        let book = book(vec![minted(), imported_of(&[8, 13], status)]);
        let code = book
            .cipher()
            .expect("a length")
            .encipher(3)
            .expect("in range");
        assert_eq!(
            book.verify(&code),
            BookMatch::Minted {
                serial: 3,
                prize: None
            }
        );
        assert_eq!(
            book.verify("KETTLE01KETT"),
            BookMatch::Unknown,
            "a minted length is never looked up"
        );
        assert_eq!(book.verify("KETTLE01"), BookMatch::PerhapsImported);
        assert_eq!(book.verify("KETTLE01KETTL"), BookMatch::PerhapsImported);
        for other in ["", "X", "KETTLE012"] {
            assert_eq!(book.verify(other), BookMatch::Unknown, "{other}");
        }
    }
    let before = CodeBook {
        minted_length: None,
        ..book(vec![imported_of(&[12], BatchStatus::Active)])
    };
    let code = book(vec![minted()])
        .cipher()
        .expect("a length")
        .encipher(3)
        .expect("in range");
    assert_eq!(
        before.verify(&code),
        BookMatch::PerhapsImported,
        "an imported length is never deciphered"
    );
}

#[test]
fn minted_codes_take_the_first_length_without_imported_ones() {
    let next = |lengths: &[u8]| {
        let batches = vec![imported_of(lengths, BatchStatus::Active)];
        CodeBook {
            minted_length: None,
            ..book(batches)
        }
        .length_to_mint(1_000_000_000)
    };
    assert_eq!(next(&[8, 13]), Some(12));
    assert_eq!(next(&[12]), Some(13));
    assert_eq!(next(&[12, 13, 15]), Some(14));
    assert_eq!(next(&(12..=24).collect::<Vec<_>>()), None);
    assert_eq!(book(Vec::new()).length_to_mint(1), Some(12));
}

#[test]
fn digits_are_as_many_as_keep_a_guess_hard() {
    let digits = |imported: &[u8], count| {
        CodeBook {
            alphabet: Alphabet::Digits,
            minted_length: None,
            ..book(vec![imported_of(imported, BatchStatus::Active)])
        }
        .length_to_mint(count)
    };
    for (count, length) in [
        (1, 12),
        (1_000_000, 12),
        (1_000_001, 13),
        (10_000_000, 13),
        (100_000_000, 14),
        (1_000_000_000, 15),
    ] {
        assert_eq!(digits(&[8], count), Some(length), "{count}");
    }
    assert_eq!(digits(&[12], 1), Some(13), "12 are imported");
}

#[test]
fn odds_are_minted_over_the_space() {
    let batches = vec![
        minted("a", 0, 1_000, BatchStatus::Active, None),
        minted("b", 1_000, 5_000, BatchStatus::Void, None),
    ];
    let odds = book(batches).odds_of_a_guess();
    assert!((odds - 1000.0 / 31f64.powi(12)).abs() < 1e-18, "{odds}");
}

#[test]
fn two_runs_of_an_import_at_once_count_each_code_once() {
    for counted_before in [0, 4, 10] {
        let mut origin = Origin::NOTHING_IMPORTED;
        let lengths = BTreeSet::from([6, 8]);
        origin.begin_import("file", &lengths, 10);
        origin.begin_import("file", &lengths, 6);
        origin.count_import("file", counted_before);
        origin.end_import("file");
        // The other run counts what it stored, and ends.
        origin.count_import("file", 3);
        origin.end_import("file");
        let expected = Origin::Imported {
            count: 10,
            lengths,
            unfinished: Vec::new(),
        };
        assert_eq!(origin, expected, "{counted_before} were counted before");
    }
}

#[test]
fn stored_codes_count_before_their_import_ends() {
    let mut origin = Origin::NOTHING_IMPORTED;
    origin.begin_import("file", &BTreeSet::new(), 10);
    origin.count_import("file", 4);
    origin.count_import("another file", 3);
    let expected = Origin::Imported {
        count: 4,
        lengths: BTreeSet::new(),
        unfinished: vec![UnfinishedImport {
            file: "file".to_owned(),
            left: 6,
            is_resumed: false,
        }],
    };
    assert_eq!(origin, expected);
}

#[test]
fn import_of_a_file_is_begun_in_its_active_batch() {
    let begun = |status, file| {
        let mut batch = imported("i", status);
        batch.origin.begin_import("file", &BTreeSet::new(), 10);
        book(vec![batch]).begun_import(file).is_some()
    };
    assert!(begun(BatchStatus::Active, "file"));
    assert!(!begun(BatchStatus::Active, "another file"));
    assert!(!begun(BatchStatus::Void, "file"));
}

#[test]
fn imported_codes_are_those_of_valid_imported_batches() {
    let batches = vec![
        minted("m", 0, 10, BatchStatus::Active, None),
        imported_of(&[8], BatchStatus::Active),
        imported_of(&[9], BatchStatus::Active),
        imported_of(&[10], BatchStatus::Void),
    ];
    assert_eq!(book(batches).imported_codes(), 2);
}
