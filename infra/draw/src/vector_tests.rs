//! The published vector for other implementations.

use std::num::NonZeroU64;

use crate::commitment::{commitment, randomness, seed};
use crate::digest::Digest;
use crate::freeze::{Entries, FreezeError, Rows};
use crate::header::{Algorithm, Header, LeftOut, Period, Prize};
use crate::order::order;
use crate::row::Row;

const ENTRANTS: [(&str, u64); 5] = [
    ("K7M2-Q9XD", 1),
    ("ABCD-EFGH", 2),
    ("2345-6789", 5),
    ("ZZZZ-YYYY", 2),
    ("MNPQ-RSTU", 10),
];
const HEADER: &[u8] = br#"{"campaign":"chai-bora-2026","draw":"week-03","round":27946612}"#;
const ROOT: &str = "ea1ccdaabf2a3bdeee1a59b2f8a77afae843b5e61346ec0c71671ca537e7e27c";
const COMMITMENT: &str = "fff1c1abc3eed17399dc460b6a4bc61bd42e2f758fdac11481a8570eb7358f1b";
const SEED: &str = "67e78df3312f8456536139e4d9d15b502f4ecd245cd6e05a4a6ba1e49a4456a9";
/// Round 657413 of quicknet.
const SIGNATURE: &str = "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b";
const RANDOMNESS: &str = "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587";

fn rows(entries: &[(&str, &str, u64)]) -> Result<Rows, FreezeError> {
    let mut sorted = Entries::default();
    for (entrant, reference, count) in entries {
        sorted.add(
            *entrant,
            reference,
            NonZeroU64::new(*count).expect("entries"),
        )?;
    }
    let mut salts = (0..).map(|number| Digest::from_parts(&[format!("salt{number}").as_bytes()]));
    sorted.into_rows(|| {
        let digest = salts.next().expect("without end");
        *digest.as_bytes().first_chunk().expect("32 bytes")
    })
}

/// These rows, with all entries on one day.
fn header(rows: &Rows) -> Header {
    let time = |text: &str| text.parse().expect("a time");
    Header {
        algorithm: Algorithm::V1,
        rows: rows.count(),
        total: rows.total(),
        campaign: "chai-bora-2026".into(),
        draw: "week-03".into(),
        period: Period {
            from: time("2026-01-12T00:00:00+03:00"),
            to: time("2026-01-19T00:00:00+03:00"),
        },
        days: [("2026-01-12".to_owned(), rows.total().get())].into(),
        left_out: LeftOut::default(),
        overlapping: Vec::new(),
        prizes: vec![Prize {
            name: "grand-prize".into(),
            number: NonZeroU64::MIN,
        }],
        one_prize_per_row: true,
        chain: Digest::from_parts(&[]),
        round: NonZeroU64::MIN,
    }
}

fn digest(text: &str) -> Digest {
    text.parse().expect("a digest")
}

#[test]
fn vector_comes_out() {
    let entrants = ["0", "1", "2", "3", "4"];
    let entries: Vec<_> = entrants
        .into_iter()
        .zip(ENTRANTS)
        .map(|(entrant, (reference, count))| (entrant, reference, count))
        .collect();
    let (mut lines, mut openings) = (Vec::new(), Vec::new());
    let rows = rows(&entries).expect("rows");
    let header = header(&rows);
    let frozen = rows
        .freeze(&header, &mut lines, &mut openings)
        .expect("frozen");
    let lines = String::from_utf8(lines).expect("text");
    let rows: Vec<Row> = lines
        .lines()
        .map(|line| line.parse().expect(line))
        .collect();
    let beginnings = [
        "04800129232a65bc",
        "094740995f08647a",
        "1a741bfd1f33d0e0",
        "b7ac2cd0b53e4a07",
        "d6b8194faaccc074",
    ];
    let ranges = [(0, 2), (2, 2), (4, 10), (14, 5), (19, 1)];
    for ((row, beginning), range) in rows.iter().zip(beginnings).zip(ranges) {
        assert!(row.hash.to_string().starts_with(beginning), "{row}");
        assert_eq!((row.start, row.count.get()), range);
    }
    assert_eq!(
        (rows.len(), header.rows.get(), header.total.get()),
        (5, 5, 20)
    );
    assert_eq!(frozen.root, digest(ROOT));

    let commitment = commitment(HEADER, frozen.root);
    assert_eq!(commitment, digest(COMMITMENT));
    let randomness = randomness(&hex::decode(SIGNATURE).expect("hexadecimal"));
    assert_eq!(randomness, digest(RANDOMNESS));
    let seed = seed(commitment, randomness, "grand-prize");
    assert_eq!(seed, digest(SEED));
    let starts: Vec<_> = rows.iter().map(|row| row.start).collect();
    let order: Vec<_> = order(&starts, header.total, seed)
        .map(|place| (place.row, place.ticket))
        .collect();
    assert_eq!(order, [(0, 0), (3, 18), (2, 6), (1, 3), (4, 19)]);
}

#[test]
fn entries_of_one_entrant_make_one_row() {
    let entries = [("b", "B-2", 3), ("a", "A-1", 1), ("b", "B-1", 4)];
    let rows = rows(&entries).expect("rows");
    assert_eq!((rows.count().get(), rows.total().get()), (2, 8));
    let (header, mut openings) = (header(&rows), Vec::new());
    rows.freeze(&header, &mut Vec::new(), &mut openings)
        .expect("frozen");
    let openings = String::from_utf8(openings).expect("text");
    assert!(
        openings.starts_with("row,refs,salt\n0,") && openings.contains(",B-1 B-2,"),
        "{openings}"
    );
}

#[test]
fn invalid_entries_and_headers_are_refused() {
    assert!(matches!(rows(&[]), Err(FreezeError::NoEntries)));
    assert!(matches!(
        rows(&[("a", "A-1", 1), ("a", "A-1", 1)]),
        Err(FreezeError::Opening(_))
    ));
    assert!(matches!(
        rows(&[("a", "A,1", 1)]),
        Err(FreezeError::Opening(_))
    ));
    for entries in [
        [("a", "A-1", u64::MAX), ("a", "A-2", 1)],
        [("a", "A-1", 1 << 52), ("b", "A-2", 1 << 52)],
    ] {
        let rows = rows(&entries).expect("rows");
        let refused = header(&rows).check().expect_err("too many");
        assert!(refused.to_string().contains("2^53 - 1"), "{refused}");
    }

    // Forged draws test other faults of headers.
    let one = [("a", "A-1", 1)];
    let good = || header(&rows(&one).expect("rows"));
    for header in [
        Header {
            prizes: Vec::new(),
            ..good()
        },
        Header {
            rows: NonZeroU64::MIN.saturating_add(1),
            ..good()
        },
    ] {
        let (mut entries, mut openings) = (Vec::new(), Vec::new());
        let rows = rows(&one).expect("rows");
        let refused = rows.freeze(&header, &mut entries, &mut openings);
        assert!(
            matches!(refused, Err(FreezeError::Header(_))),
            "{refused:?}"
        );
        assert!(entries.is_empty() && openings.is_empty());
    }
}
