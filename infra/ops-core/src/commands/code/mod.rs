//! `ops code`.

mod batches;
mod import;
mod show;
mod void;

use std::future;
use std::io::{self, Write};
use std::path::Path;
use std::pin::pin;

use common::app::code_verifier::FRESH_BOOK_MAX_AGE;
use common::clock::Clock;
use common::domain::codebook::{Batch, BatchStatus, CodeBook};
use common::domain::scope::Scope;
use serde_json::json;
use tokio::sync::watch;
use tokio::task;

pub(crate) use self::batches::{count_of, status_of};
use crate::audit::Action;
use crate::cli::{CodeCommand, VoidArgs};
use crate::codes::atomic_file::{AtomicFile, NotRenamed};
use crate::codes::import::ImportRequest;
use crate::codes::mint::{self, Reservation};
use crate::codes::{book, code_scope, lines, rotate};
use crate::failure::Failure;
use crate::format::{grouped, odds, seconds};
use crate::tables::Tables;
use crate::terminal::{Progress, Report, Terminal};

pub(crate) async fn run(
    command: CodeCommand,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    match command {
        CodeCommand::Mint { scope, count, output, prize, batch, length, allow_weak } => {
            let scope = code_scope(tables, scope.into()).await?;
            let request = mint::MintRequest { count, prize, batch, symbols: length, allow_weak };
            mint(tables, &scope, &request, &output, clock, terminal).await
        }
        CodeCommand::Import { scope, file, column, prize, batch, allow_weak, dry_run } => {
            let scope = code_scope(tables, scope.into()).await?;
            let (prize, batch) = (prize.as_deref(), batch.as_deref());
            let codes = lines::codes(&file, column.as_deref());
            let request = ImportRequest { codes, prize, batch, allow_weak };
            import::import(tables, &scope, request, dry_run, clock, terminal).await
        }
        CodeCommand::Void { scope, what: VoidArgs { batch, file, column }, dry_run, confirm } => {
            let scope = code_scope(tables, scope.into()).await?;
            match (batch, file) {
                (Some(name), _) if dry_run => void::plan_batch(tables, &scope, &name, terminal).await,
                (Some(name), _) => void::void_batch(tables, &scope, &name, confirm, clock, terminal).await,
                (None, Some(file)) => {
                    let codes = lines::codes(&file, column.as_deref());
                    if dry_run {
                        return void::plan_file(tables, &scope, codes).await;
                    }
                    void::void_file(tables, &scope, codes, confirm, clock, terminal).await
                }
                (None, None) => Err(Failure::new("usage", "say which codes with --batch or --file")),
            }
        }
        CodeCommand::Show { scope, code } => {
            let scope = code_scope(tables, scope.into()).await?;
            let zone = tables.campaign(&scope.campaign).await?.timezone;
            show::show(tables, &scope, &code, zone, terminal).await
        }
        CodeCommand::Batches { scope, used } => {
            let scope = code_scope(tables, scope.into()).await?;
            let book = book::read(&tables.code_books, &scope).await?;
            batches::batches(tables, &scope, &book, used, terminal).await
        }
        CodeCommand::Rotate { scope } => {
            let scope = code_scope(tables, scope.into()).await?;
            tables.audit.append(Action::new("code.rotate").in_scope(&scope), clock.now()).await?;
            Ok(report_rotated(&scope, &rotate::rotate(&tables.code_books, &scope).await?))
        }
    }
}

/// Waits until no function rejects a code because of a book from before a change made just now.
///
/// Each environment caches the book and cannot be notified of a change. But none rejects a code by a book older than
/// [`FRESH_BOOK_MAX_AGE`] without reading it again first, so after that time all use the new one.
async fn wait_for_functions(clock: &Clock) {
    clock.sleep(FRESH_BOOK_MAX_AGE).await;
}

fn good_now() -> String {
    format!("They are good now: functions had {} to learn of them.", seconds(FRESH_BOOK_MAX_AGE))
}

async fn mint(
    tables: &Tables,
    scope: &Scope,
    request: &mint::MintRequest,
    output: &Path,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let file = AtomicFile::begin(output)?;
    let mint::MintRequest { count, prize, batch, symbols, allow_weak } = request;
    let details = json!({
        "batch": batch, "count": count, "prize": prize, "length": symbols, "allow_weak": allow_weak,
    });
    tables.audit.append(Action::new("code.mint").in_scope(scope).with(details), clock.now()).await?;
    let reservation = mint::reserve(&tables.code_books, scope, request).await?;
    let book = reservation.book().clone();
    let mut progress = Progress::new(clock, "minted", request.count);
    let written = write(file, reservation.clone(), &mut progress, terminal).await;
    progress.end(terminal);
    let (file, left_out) = match written {
        Ok(written) => written,
        Err(error) => {
            mint::withdraw(&tables.code_books, &reservation).await?;
            return Err(not_written(output, &reservation.batch, &error));
        }
    };
    // Renamed last, so that a file of the final name has only active codes.
    let name = reservation.batch.name.clone();
    let batch = mint::activate(&tables.code_books, reservation).await.map_err(|mut failure| {
        failure.message.push_str(&format!(
            "; the file was removed. Void batch {name} before you mint again: its codes may count"
        ));
        failure
    })?;
    file.finish().map_err(|not_renamed| kept(&not_renamed, output, &batch))?;
    wait_for_functions(clock).await;
    let written = request.count.saturating_sub(left_out);
    Ok(mint_report(scope, &batch, &book, written, left_out, output))
}

fn mint_report(
    scope: &Scope,
    batch: &Batch,
    book: &CodeBook,
    written: u64,
    left_out: u64,
    output: &Path,
) -> Report {
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "batch": batch.name,
        "count": written,
        "left_out": left_out,
        "key_version": book.key_version(),
        "prize": batch.prize,
        "output": output.display().to_string(),
        "symbols": book.symbols,
        "minted": book.minted,
        "odds_of_a_guess": book.odds_of_a_guess(0),
    });
    let mut text = format!(
        "Minted {} codes as batch {} into {}. {}\n{}",
        grouped(written),
        batch.name,
        output.display(),
        good_now(),
        odds_line(book)
    );
    if left_out > 0 {
        text.push_str(&format!(
            "\n{} were left out, because the same codes are minted under an earlier version of the key.",
            grouped(left_out)
        ));
    }
    Report::new(json, text)
}

/// Writes the codes on other threads while this one shows progress; Ctrl-C stops it.
async fn write(
    mut file: AtomicFile,
    reservation: Reservation,
    progress: &mut Progress<'_>,
    terminal: &mut Terminal<'_>,
) -> io::Result<(AtomicFile, u64)> {
    let (told, mut heard) = watch::channel(0);
    let writing = task::spawn_blocking(move || {
        file.write_all(b"code\n")?;
        // The receiver is dropped after Ctrl-C: stop.
        let mut progress = |done| told.send(done).map_err(|_| io::ErrorKind::Interrupted.into());
        let left_out = reservation.write(&mut file, &mut progress)?;
        file.sync().map(|()| (file, left_out))
    });
    let mut stopped = pin!(async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without a handler, Ctrl-C ends the program at once.
            future::pending::<()>().await;
        }
    });
    loop {
        tokio::select! {
            changed = heard.changed() => match changed {
                Ok(()) => progress.show(terminal, *heard.borrow_and_update()),
                Err(_) => break,
            },
            () = &mut stopped => break,
        }
    }
    drop(heard);
    writing.await.map_err(io::Error::other)?
}

fn not_written(output: &Path, batch: &Batch, error: &io::Error) -> Failure {
    let rest = format!("nothing is left of it, and batch {} is void; run it again when you like", batch.name);
    if error.kind() == io::ErrorKind::Interrupted {
        return Failure::new("interrupted", format!("minting was stopped: {rest}"));
    }
    Failure::new("file_failed", format!("writing {} failed: {error}; {rest}", output.display()))
}

fn kept(not_renamed: &NotRenamed, output: &Path, batch: &Batch) -> Failure {
    let NotRenamed { partial, error } = not_renamed;
    let message = format!(
        "the file could not be named {}: {error}; batch {} counts, and its codes are in {}: rename that file",
        output.display(),
        batch.name,
        partial.display()
    );
    Failure::new("file_not_renamed", message)
}

fn odds_line(book: &CodeBook) -> String {
    format!(
        "The odds of guessing a minted code are {}: {} good codes of {} symbols.",
        odds(book.odds_of_a_guess(0)),
        grouped(book.good_codes()),
        book.symbols
    )
}

fn report_rotated(scope: &Scope, book: &CodeBook) -> Report {
    let earlier: Vec<_> = book
        .batches
        .iter()
        .filter(|batch| batch.status != BatchStatus::Void && batch.origin.key_version().is_some())
        .map(|batch| batch.name.as_str())
        .collect();
    let mut text = format!(
        "Codes that are minted from now on are under version {} of the key; imported codes keep theirs.\n{}",
        book.key_version(),
        odds_line(book)
    );
    if !earlier.is_empty() {
        text.push_str(&format!(
            "\nA guess may meet a code of any version, so their odds add up. What was minted before stays good: {}. \
             If an earlier key may be known to others, void those batches: ops code void --campaign {} --environment \
             {} --batch NAME",
            earlier.join(", "),
            scope.campaign,
            scope.environment
        ));
    }
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "key_version": book.key_version(),
        "batches_of_earlier_versions": earlier,
        "odds_of_a_guess": book.odds_of_a_guess(0),
    });
    Report::new(json, text)
}
