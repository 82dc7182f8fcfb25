mod batches;
mod import;
mod show;
mod void;

use std::future;
use std::pin::pin;

use common::app::code_verifier::FRESH_BOOK_MAX_AGE;
use common::domain::codebook::DEFAULT_CODE_SYMBOLS;
use tokio::sync::watch;
use tokio::task;

use crate::atomic_file::{AtomicFile, NotRenamed};
use crate::cli::CodeCommand;
use crate::codes::book::odds_line;
use crate::codes::mint::{self, Reservation};
use crate::codes::{book, code_scope};
use crate::prelude::*;

pub(crate) async fn run(
    command: CodeCommand,
    tables: &Tables,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    match command {
        CodeCommand::Mint {
            scope,
            request,
            output,
        } => {
            let scope = code_scope(tables, scope.into()).await?;
            mint(tables, &scope, &request, &output, clock, terminal).await
        }
        CodeCommand::Import {
            scope,
            request,
            dry_run,
        } => {
            let scope = code_scope(tables, scope.into()).await?;
            import::import(tables, &scope, &request, dry_run, clock, terminal).await
        }
        CodeCommand::Void {
            scope,
            batch,
            dry_run,
        } => {
            let scope = code_scope(tables, scope.into()).await?;
            if dry_run {
                return void::plan_batch(tables, &scope, &batch, terminal).await;
            }
            void::void_batch(tables, &scope, &batch, clock, terminal).await
        }
        CodeCommand::Show { scope, code } => {
            let scope = code_scope(tables, scope.into()).await?;
            let zone = tables.zone(&scope).await?;
            show::show(tables, &scope, &code, zone, terminal).await
        }
        CodeCommand::Batches { scope, used } => {
            let scope = code_scope(tables, scope.into()).await?;
            let book = book::read(&tables.code_books, &scope).await?;
            batches::batches(tables, &scope, &book, used, terminal).await
        }
    }
}

/// Waits for [`FRESH_BOOK_MAX_AGE`]: each environment caches the book, but none rejects a code by
/// an older one without reading it again.
async fn wait_for_functions(clock: &Clock) {
    clock.sleep(FRESH_BOOK_MAX_AGE).await;
}

const CODES_WORK: &str = "The codes work now.";

async fn mint(
    tables: &Tables,
    scope: &Scope,
    request: &mint::MintRequest,
    output: &Path,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let file = AtomicFile::begin(output)?;
    let reservation = mint::record_and_reserve(tables, scope, request, clock.now()).await?;
    let book = reservation.book().clone();
    if let Some(length) = reservation.length_beside_imported() {
        let usual = format!(
            "Codes of {DEFAULT_CODE_SYMBOLS} characters are imported in this environment, so these have {length}."
        );
        terminal.note(&usual);
    }
    let mut progress = Progress::new(clock, "minted", request.count);
    let written = write(file, reservation.clone(), &mut progress, terminal).await;
    progress.end(terminal);
    let file = match written {
        Ok(written) => written,
        Err(error) => {
            mint::withdraw(&tables.code_books, &reservation).await?;
            return Err(not_written(output, &reservation.batch, &error));
        }
    };
    // Last, so that a file of the final name has only active codes.
    let name = reservation.batch.name.clone();
    let activated = mint::activate(
        &tables.code_books,
        &reservation.scope,
        &reservation.batch.name,
    )
    .await;
    let batch = activated.map_err(|mut failure| {
        failure.message.push_str(&format!(
            "; the file was removed. Void batch {name} before you mint again: its codes may count"
        ));
        failure
    })?;
    file.finish().map_err(|NotRenamed { partial, error }| {
        failure!(
            "file_not_renamed",
            "the file could not be named {}: {error}; batch {name} counts, and its codes are in {}: rename that file",
            output.display(),
            partial.display()
        )
    })?;
    wait_for_functions(clock).await;
    Ok(mint_report(scope, &batch, &book, output))
}

fn mint_report(scope: &Scope, batch: &Batch, book: &CodeBook, output: &Path) -> Report {
    let json = json!({
        "scope": scope,
        "batch": batch.name,
        "count": batch.count(),
        "prize": batch.prize,
        "output": output.display().to_string(),
        "alphabet": book.alphabet,
        "length": book.minted_length,
        "minted": book.minted,
        "odds_of_a_guess": book.odds_of_a_guess(),
    });
    let text = format!(
        "Minted {} codes as batch {} into {}. {CODES_WORK}\n{}",
        grouped(batch.count()),
        batch.name,
        output.display(),
        odds_line(book)
    );
    Report::new(json, text)
}

/// Writes on other threads while this one shows progress; Ctrl-C stops it.
async fn write(
    mut file: AtomicFile,
    reservation: Reservation,
    progress: &mut Progress<'_>,
    terminal: &mut Terminal<'_>,
) -> io::Result<AtomicFile> {
    let (told, mut heard) = watch::channel(0);
    let writing = task::spawn_blocking(move || {
        // Ctrl-C drops the receiver.
        let mut progress = |done| {
            told.send(done)
                .map_err(|_| io::ErrorKind::Interrupted.into())
        };
        reservation.write_file(&mut file, &mut progress)?;
        file.sync().map(|()| file)
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
    let rest = format!(
        "nothing is left of it, and batch {} is void; run it again when you like",
        batch.name
    );
    if error.kind() == io::ErrorKind::Interrupted {
        return failure!("interrupted", "minting was stopped: {rest}");
    }
    failure!(
        "file_failed",
        "writing {} failed: {error}; {rest}",
        output.display()
    )
}
