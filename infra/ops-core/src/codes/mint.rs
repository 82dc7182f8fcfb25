//! Three steps: reserve serial numbers, encipher and write them, activate the batch. A crash
//! between them leaves an inactive batch; no code is ever printed twice.

use std::num::NonZero;
use std::{iter, thread};

use common::domain::cipher::{CODE_SYMBOLS, CodeCipher, printed};
use common::domain::code::Alphabet;
use common::domain::codebook::{ACCEPTABLE_ODDS, DEFAULT_CODE_SYMBOLS, LengthSource};

use super::book;
use crate::prelude::*;

pub const MAX_CODES: u64 = 1_000_000_000;

/// About 240 KB of text per thread; bounds memory with [`MAX_THREADS`].
const CHUNK: u64 = 16 * 1024;
/// More would only wait for the disk.
const MAX_THREADS: usize = 8;

// The doc comments are the help of `ops code mint`.
#[derive(Args, Clone, Debug, Default, Serialize)]
pub struct MintRequest {
    /// Number of codes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_CODES))]
    pub count: u64,
    /// Instant prize of each of these codes, in words
    #[arg(long, value_name = "TEXT")]
    pub prize: Option<String>,
    /// Name of the batch [default: batch-N]
    #[arg(long, value_name = "NAME")]
    pub batch: Option<String>,
    /// `digits` for keypads, as with USSD; can only be set before the first minting of the environment [default: `mixed`,
    /// letters and digits without those that look alike]
    #[arg(long, value_name = "NAME")]
    pub alphabet: Option<Alphabet>,
    /// Characters of a code; can only be set before the first minting of the environment [default: 12, or the next
    /// length that no imported code has and at which one guess in a million is right]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u8).range(i64::from(*CODE_SYMBOLS.start())..=i64::from(*CODE_SYMBOLS.end())))]
    pub length: Option<u8>,
    /// Mint even if more than one guess in a million would be right
    #[arg(long)]
    pub allow_weak: bool,
}

/// Serial numbers that are not written and active yet.
#[derive(Clone, Debug)]
pub struct Reservation {
    pub scope: Scope,
    pub batch: Batch,
    book: CodeBook,
    first: u64,
    count: u64,
}

pub async fn mint(
    books: &CodeBooks,
    scope: &Scope,
    request: &MintRequest,
    out: &mut impl Write,
) -> Result<Batch> {
    let reservation = reserve(books, scope, request).await?;
    if let Err(error) = reservation.write(out, &mut |_| Ok(())) {
        withdraw(books, &reservation).await?;
        bail!(
            "file_failed",
            "writing the codes failed: {error}; the batch is void, so mint again elsewhere"
        );
    }
    activate(books, scope, &reservation.batch.name).await
}

pub async fn record_and_reserve(
    tables: &Tables,
    scope: &Scope,
    request: &MintRequest,
    now: Timestamp,
) -> Result<Reservation> {
    let action = Action::new("code.mint").in_scope(scope);
    tables
        .audit
        .append(action.with(json!(request)), now)
        .await?;
    reserve(&tables.code_books, scope, request).await
}

/// Recorded before it is done.
pub async fn record_step(
    tables: &Tables,
    scope: &Scope,
    batch: &str,
    action: &'static str,
    now: Timestamp,
) -> Result<()> {
    let action = Action::new(action).in_scope(scope).on(batch);
    tables.audit.append(action, now).await?;
    Ok(())
}

pub async fn reserve(
    books: &CodeBooks,
    scope: &Scope,
    request: &MintRequest,
) -> Result<Reservation> {
    let MintRequest {
        count,
        prize,
        batch: name,
        alphabet,
        length,
        allow_weak,
    } = request;
    book::change(books, scope, |book| {
        book.alphabet = alphabet_to_mint(book, *alphabet)?;
        book.minted_length = Some(length_to_mint(book, *length, *count)?);
        let first = book.minted;
        let last = count
            .checked_sub(1)
            .and_then(|more| first.checked_add(more));
        if last
            .zip(book.cipher())
            .and_then(|(last, cipher)| cipher.encipher(last))
            .is_none()
        {
            bail!(
                "codes_exhausted",
                "there are not that many codes of this length; mint fewer"
            );
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
            bail!(
                "codes_too_weak",
                "with these codes, {} would be right, and {} is accepted; mint fewer, start the campaign with a longer \
                 --length, or say --allow-weak",
                one_guess_in(book.odds_of_a_guess()),
                one_guess_in(ACCEPTABLE_ODDS)
            );
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

/// All codes of a scope have one, so that a typed `O` means one thing.
fn alphabet_to_mint(book: &CodeBook, wanted: Option<Alphabet>) -> Result<Alphabet> {
    let minted = book.minted_length.map(|_| book.alphabet);
    match (minted, wanted) {
        (Some(minted), Some(wanted)) if minted != wanted => bail!(
            "alphabet_fixed",
            "codes of the alphabet `{minted}` are minted already, and all have one; leave --alphabet out, or mint in \
             another campaign"
        ),
        (minted, wanted) => Ok(minted.or(wanted).unwrap_or_default()),
    }
}

/// A length belongs to either minted or imported codes, whichever came first.
fn length_to_mint(book: &CodeBook, wanted: Option<u8>, count: u64) -> Result<u8> {
    let Some(wanted) = wanted else {
        let message = format!(
            "codes of every length from {DEFAULT_CODE_SYMBOLS} to {} are imported here, and a length is either imported or \
             minted; mint in another campaign, or shorter codes with --length",
            CODE_SYMBOLS.end()
        );
        return book
            .length_to_mint(count)
            .ok_or_else(|| Failure::new("length_imported", message));
    };
    if let Some(minted) = book.minted_length.filter(|minted| *minted != wanted) {
        bail!(
            "length_fixed",
            "codes of {minted} characters are minted already, and all have one length; leave --length out"
        );
    }
    if book.source_of(wanted.into()) == Some(LengthSource::Imported) {
        bail!(
            "length_imported",
            "codes of {wanted} characters are imported here, and a length is either imported or minted; say another \
             --length, or leave it out"
        );
    }
    Ok(wanted)
}

pub async fn activate(books: &CodeBooks, scope: &Scope, name: &str) -> Result<Batch> {
    book::change(books, scope, |book| {
        let batch = book::batch_mut(book, name)?;
        match batch.status {
            BatchStatus::Reserved | BatchStatus::Active => batch.status = BatchStatus::Active,
            BatchStatus::Void => {
                bail!("batch_void", "the batch was voided while it was written");
            }
        }
        Ok(batch.clone())
    })
    .await
}

pub async fn withdraw(books: &CodeBooks, reservation: &Reservation) -> Result<()> {
    book::change(books, &reservation.scope, |book| {
        book::batch_mut(book, &reservation.batch.name)?.status = BatchStatus::Void;
        Ok(())
    })
    .await
}

impl Reservation {
    pub fn book(&self) -> &CodeBook {
        &self.book
    }

    /// `Some` if imported codes have the usual length.
    pub fn length_beside_imported(&self) -> Option<u8> {
        let usual = usize::from(DEFAULT_CODE_SYMBOLS);
        self.book
            .minted_length
            .filter(|_| self.book.source_of(usual) == Some(LengthSource::Imported))
    }

    pub fn write_file(
        &self,
        out: &mut impl Write,
        progress: &mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<()> {
        out.write_all(b"code\n")?;
        self.write(out, progress)
    }

    /// One code per line, in constant memory; `progress` gets the number done.
    pub fn write(
        &self,
        out: &mut impl Write,
        progress: &mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let cipher = self.book.cipher();
        let cipher = cipher.ok_or_else(|| io::Error::other("the code book has no cipher"))?;
        let cipher = &cipher;
        let end = self.first.saturating_add(self.count);
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let starts = iter::successors(Some(self.first), |start| start.checked_add(CHUNK));
        let mut starts = starts.take_while(|start| *start < end);
        loop {
            let turn: Vec<_> = starts.by_ref().take(threads.min(MAX_THREADS)).collect();
            if turn.is_empty() {
                return Ok(());
            }
            thread::scope(|scope| -> io::Result<()> {
                let chunk = |start: u64| {
                    let end = end.min(start.saturating_add(CHUNK));
                    (end, scope.spawn(move || chunk(cipher, start, end)))
                };
                // All of a turn start before one is awaited.
                let running: Vec<_> = turn.into_iter().map(chunk).collect();
                for (end, text) in running {
                    let text = text
                        .join()
                        .map_err(|_| io::Error::other("a thread failed"))?;
                    out.write_all(&text?)?;
                    progress(end.saturating_sub(self.first))?;
                }
                Ok(())
            })?;
        }
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
            alphabet: Alphabet::Mixed,
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
