//! Codes minted and verified in a second.

use std::hint::black_box;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use common::domain::cipher::{CodeCipher, SecretKey};
use common::domain::code::Alphabet;
use common::domain::codebook::{
    Batch, BatchStatus, BookMatch, CodeBook, DEFAULT_CODE_SYMBOLS, Origin,
};

use crate::report::{Table, Verdicts};
use crate::stopwatch::{self, per_second};

/// Ten million codes in under a minute on two cores.
const ENCIPHERED_A_SECOND_ON_TWO_THREADS: f64 = 10_000_000.0 / 60.0;

const THREADS: [u64; 2] = [1, 2];

pub(crate) fn run(codes: u64, verdicts: &mut Verdicts) {
    println!("## Codes a second\n");
    println!("{codes} codes each. Minting enciphers a serial number; judging deciphers it.\n");
    let book = book(codes);
    let cipher = book.cipher().expect("a length");
    let mut table = Table::new(["work", "threads", "codes a second", "kept"]);
    for threads in THREADS {
        let taken = timed(threads, codes, |serials| encipher(&cipher, serials));
        let rate = per_second(codes, taken);
        let is_kept = threads == 1 || rate > ENCIPHERED_A_SECOND_ON_TWO_THREADS;
        let kept = verdicts.check(is_kept, || {
            format!(
                "enciphering on two threads: {rate:.0} codes a second, too slow for ten million a minute"
            )
        });
        table.row(&[&"encipher", &threads, &format_args!("{rate:.0}"), &kept]);
    }
    let minted: Vec<String> = (0..codes)
        .filter_map(|serial| cipher.encipher(serial))
        .collect();
    for threads in THREADS {
        let taken = timed(threads, codes, |serials| judge(&book, &minted, serials));
        let rate = per_second(codes, taken);
        table.row(&[&"judge", &threads, &format_args!("{rate:.0}"), &""]);
    }
    table.print();
}

fn book(minted: u64) -> CodeBook {
    CodeBook {
        minting_key: SecretKey::from_random([1; 32]),
        digest_key: SecretKey::from_random([2; 32]),
        alphabet: Alphabet::Mixed,
        minted_length: Some(DEFAULT_CODE_SYMBOLS),
        minted,
        batches: vec![Batch {
            name: "all".to_owned(),
            origin: Origin::Minted {
                first: 0,
                count: minted,
            },
            prize: None,
            status: BatchStatus::Active,
        }],
    }
}

/// Time of work on all serial numbers, shared evenly by threads.
fn timed(threads: u64, codes: u64, work: impl Fn(Range<u64>) + Sync) -> Duration {
    let share = codes / threads;
    let started = stopwatch::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            let work = &work;
            scope.spawn(move || work(thread * share..(thread + 1) * share));
        }
    });
    started.elapsed()
}

fn encipher(cipher: &CodeCipher, serials: Range<u64>) {
    for serial in serials {
        black_box(cipher.encipher(serial).expect("in range"));
    }
}

fn judge(book: &CodeBook, codes: &[String], serials: Range<u64>) {
    let range =
        usize::try_from(serials.start).expect("fits")..usize::try_from(serials.end).expect("fits");
    for (code, serial) in codes[range].iter().zip(serials) {
        assert_eq!(
            book.verify(code),
            BookMatch::Minted {
                serial,
                prize: None
            }
        );
    }
}
