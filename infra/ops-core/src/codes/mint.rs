//! Mints codes in three steps: reserve a range of serial numbers, encipher and write them, activate the batch. A crash
//! in between leaves a batch that is not active; no code is ever printed twice.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::mpsc;
use std::thread;

use common::domain::cipher::{CODE_SYMBOLS, CodeCipher, printed};
use common::domain::codebook::{
    ACCEPTABLE_ODDS, Batch, BatchStatus, CodeBook, DEFAULT_CODE_SYMBOLS, LengthSource, Origin,
};
use common::domain::scope::Scope;
use common::store::code_books::CodeBooks;

use super::book;
use crate::failure::Failure;
use crate::format::{grouped, one_guess_in};

/// Maximum number of codes in a batch.
pub const MAX_CODES: u64 = 1_000_000_000;

/// Serial numbers that a thread enciphers at a time: about 60 KB of text.
const CHUNK: u64 = 4 * 1024;
/// Chunks of each thread that may wait to be written. With [`MAX_THREADS`], it bounds memory.
const WAITING_CHUNKS: usize = 8;
/// More threads would only wait for the disk.
const MAX_THREADS: usize = 8;

/// A request to mint codes.
#[derive(Clone, Debug, Default)]
pub struct MintRequest {
    /// Number of codes, 1 to [`MAX_CODES`].
    pub count: u64,
    /// The instant prize of each.
    pub prize: Option<String>,
    /// The batch's name; `None` picks a free one.
    pub batch: Option<String>,
    /// Characters of a code; can only be set before the scope's first code is minted.
    pub symbols: Option<u8>,
    /// Mint even if the odds of a guess exceed [`ACCEPTABLE_ODDS`].
    pub allow_weak: bool,
}

/// Serial numbers reserved for a batch whose codes are not written and not active yet.
#[derive(Clone, Debug)]
pub struct Reservation {
    /// Campaign and environment.
    pub scope: Scope,
    /// The batch, with status `Reserved`.
    pub batch: Batch,
    /// Includes the batch.
    book: CodeBook,
    first: u64,
    count: u64,
}

/// Mints codes, writes them as printed, one per line, and activates the batch.
///
/// # Errors
/// When the request is refused, `out` cannot be written, or the table does not answer.
pub async fn mint(
    books: &CodeBooks,
    scope: &Scope,
    request: &MintRequest,
    out: &mut impl Write,
) -> Result<Batch, Failure> {
    let reservation = reserve(books, scope, request).await?;
    if let Err(error) = reservation.write(out, &mut |_| Ok(())) {
        withdraw(books, &reservation).await?;
        return Err(not_written(&error));
    }
    activate(books, reservation).await
}

/// Reserves the serial numbers of a batch.
///
/// # Errors
/// When the request is refused, or the table does not answer.
pub async fn reserve(
    books: &CodeBooks,
    scope: &Scope,
    request: &MintRequest,
) -> Result<Reservation, Failure> {
    let MintRequest {
        count,
        prize,
        batch: name,
        symbols,
        allow_weak,
    } = request;
    if !(1..=MAX_CODES).contains(count) {
        let message = format!("--count must be 1 to {}", grouped(MAX_CODES));
        return Err(Failure::new("count_invalid", message));
    }
    book::change(books, scope, |book| {
        book.minted_length = Some(length_to_mint(book, *symbols)?);
        let first = book.minted;
        let last = first.checked_add(count - 1);
        if last
            .zip(book.cipher())
            .and_then(|(last, cipher)| cipher.encipher(last))
            .is_none()
        {
            let message = "there are not that many codes of this length; mint fewer";
            return Err(Failure::new("codes_exhausted", message));
        }
        book.minted = first.saturating_add(*count);
        let origin = Origin::Minted {
            first,
            count: *count,
        };
        let batch = book::add_batch(
            book,
            name.as_deref(),
            origin,
            prize.as_deref(),
            BatchStatus::Reserved,
        )?;
        if !allow_weak && book.odds_of_a_guess() > ACCEPTABLE_ODDS {
            return Err(too_weak(book));
        }
        Ok(Reservation {
            scope: scope.clone(),
            batch,
            book: book.clone(),
            first,
            count: *count,
        })
    })
    .await
}

/// The length of the new codes. Every length belongs to minted codes or to imported ones, whichever came first.
fn length_to_mint(book: &CodeBook, wanted: Option<u8>) -> Result<u8, Failure> {
    let Some(wanted) = wanted else {
        let message = format!(
            "codes of every length from {DEFAULT_CODE_SYMBOLS} to {} are imported here, and a length is either imported or \
             minted; mint in another campaign, or shorter codes with --length",
            CODE_SYMBOLS.end()
        );
        return book
            .length_to_mint()
            .ok_or_else(|| Failure::new("length_imported", message));
    };
    if !CODE_SYMBOLS.contains(&wanted) {
        let message = format!(
            "--length must be {} to {}",
            CODE_SYMBOLS.start(),
            CODE_SYMBOLS.end()
        );
        return Err(Failure::new("length_invalid", message));
    }
    if let Some(minted) = book.minted_length.filter(|minted| *minted != wanted) {
        let message = format!(
            "codes of {minted} characters are minted already, and all have one length; leave --length out"
        );
        return Err(Failure::new("length_fixed", message));
    }
    if book.source_of(wanted.into()) == Some(LengthSource::Imported) {
        let message = format!(
            "codes of {wanted} characters are imported here, and a length is either imported or minted; say another \
             --length, or leave it out"
        );
        return Err(Failure::new("length_imported", message));
    }
    Ok(wanted)
}

/// `book` with the codes that were asked for.
fn too_weak(book: &CodeBook) -> Failure {
    let message = format!(
        "with these codes, {} would be right, and {} is accepted; mint fewer, start the campaign with a longer --length, \
         or say --allow-weak",
        one_guess_in(book.odds_of_a_guess()),
        one_guess_in(ACCEPTABLE_ODDS)
    );
    Failure::new("codes_too_weak", message)
}

fn not_written(error: &io::Error) -> Failure {
    let message =
        format!("writing the codes failed: {error}; the batch is void, so mint again elsewhere");
    Failure::new("file_failed", message)
}

/// Activates a batch whose codes are written, so that they count.
///
/// # Errors
/// When it was voided in the meantime, or the table does not answer.
pub async fn activate(books: &CodeBooks, reservation: Reservation) -> Result<Batch, Failure> {
    let name = &reservation.batch.name;
    book::change(books, &reservation.scope, |book| {
        let batch = book::batch_mut(book, name)?;
        match batch.status {
            BatchStatus::Reserved | BatchStatus::Active => batch.status = BatchStatus::Active,
            BatchStatus::Void => {
                let message = "the batch was voided while it was written";
                return Err(Failure::new("batch_void", message));
            }
        }
        Ok(batch.clone())
    })
    .await
}

/// Voids a batch whose codes could not be written.
pub async fn withdraw(books: &CodeBooks, reservation: &Reservation) -> Result<(), Failure> {
    book::change(books, &reservation.scope, |book| {
        book::batch_mut(book, &reservation.batch.name)?.status = BatchStatus::Void;
        Ok(())
    })
    .await
}

impl Reservation {
    /// The code book, with the batch.
    pub fn book(&self) -> &CodeBook {
        &self.book
    }

    /// The length of the codes, if it is not the usual one because such codes are imported.
    pub fn length_beside_imported(&self) -> Option<u8> {
        let usual = usize::from(DEFAULT_CODE_SYMBOLS);
        self.book
            .minted_length
            .filter(|_| self.book.source_of(usual) == Some(LengthSource::Imported))
    }

    /// Writes the codes as printed, one per line, in constant memory and on several threads.
    ///
    /// # Errors
    /// Those of `out` and of `progress`, which is called with the number of codes done.
    pub fn write(
        &self,
        out: &mut impl Write,
        progress: &mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let cipher = self
            .book
            .cipher()
            .ok_or_else(|| io::Error::other("the code book has no cipher"))?;
        let end = self.first.saturating_add(self.count);
        let threads = thread::available_parallelism()
            .map_or(1, NonZero::get)
            .min(MAX_THREADS);
        let stride = CHUNK.saturating_mul(u64::try_from(threads).unwrap_or(1));
        thread::scope(|scope| {
            // The threads take chunks in turn, and chunks are written in the same turn, which keeps the order.
            let mut starts = self.first;
            let mut queues = Vec::new();
            for _ in 0..threads {
                let (sender, receiver) = mpsc::sync_channel(WAITING_CHUNKS);
                let (cipher, start) = (&cipher, starts);
                scope.spawn(move || encipher(cipher, start, stride, end, &sender));
                queues.push(receiver);
                starts = starts.saturating_add(CHUNK);
            }
            let mut written = 0;
            for queue in queues.iter().cycle() {
                // The first queue that has ended is the one after the last chunk.
                let Ok(chunk) = queue.recv() else { break };
                out.write_all(&chunk?)?;
                written = self.count.min(written + CHUNK);
                progress(written)?;
            }
            Ok(())
        })
    }
}

/// Enciphers a chunk at `start` and every `stride` serial numbers further, until `end` or until the receiver is gone.
fn encipher(
    cipher: &CodeCipher,
    start: u64,
    stride: u64,
    end: u64,
    queue: &mpsc::SyncSender<io::Result<Vec<u8>>>,
) {
    let mut start = start;
    while start < end {
        let chunk = chunk(cipher, start, end.min(start.saturating_add(CHUNK)));
        if queue.send(chunk).is_err() {
            return;
        }
        start = start.saturating_add(stride);
    }
}

fn chunk(cipher: &CodeCipher, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for serial in start..end {
        let code = cipher
            .encipher(serial)
            .ok_or_else(|| io::Error::other("a serial number is out of range"))?;
        text.extend_from_slice(printed(&code).as_bytes());
        text.push(b'\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use common::domain::cipher::SecretKey;
    use common::domain::scope::Environment;

    use super::*;

    fn reservation(first: u64, count: u64) -> Reservation {
        let book = CodeBook {
            minting_key: SecretKey::from_random([7; 32]),
            digest_key: SecretKey::from_random([9; 32]),
            minted_length: Some(12),
            minted: first + count,
            batches: Vec::new(),
        };
        let origin = Origin::Minted { first, count };
        let batch = Batch {
            name: "a".to_owned(),
            origin,
            prize: None,
            status: BatchStatus::Reserved,
        };
        let scope = Scope {
            campaign: "demo".parse().expect("a slug"),
            environment: Environment::Test,
        };
        Reservation {
            scope,
            batch,
            book,
            first,
            count,
        }
    }

    #[test]
    fn every_serial_number_is_written_once_in_order() {
        let cipher = reservation(0, 1).book.cipher().expect("a length");
        let code = |serial| printed(&cipher.encipher(serial).expect("in range")) + "\n";
        let expected: Vec<String> = (40..40 + 3 * CHUNK + 5).map(code).collect();
        for count in [1, CHUNK, 3 * CHUNK + 5] {
            let mut out = Vec::new();
            let mut told = Vec::new();
            let mut progress = |done| {
                told.push(done);
                Ok(())
            };
            reservation(40, count)
                .write(&mut out, &mut progress)
                .expect("memory takes it");
            let written: String = expected
                .iter()
                .take(usize::try_from(count).expect("few"))
                .cloned()
                .collect();
            assert_eq!(String::from_utf8(out).expect("ASCII"), written);
            assert_eq!(told.last(), Some(&count));
        }
    }

    #[test]
    fn a_full_disk_ends_minting() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = reservation(0, 20 * CHUNK)
            .write(&mut Full, &mut |_| Ok(()))
            .expect_err("it is full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
