//! `ops code`.

use std::future;
use std::io::{self, Write};
use std::path::Path;
use std::pin::pin;

use common::app::code_verifier::FRESH_BOOK_MAX_AGE;
use common::cache;
use common::clock::Clock;
use common::domain::campaign::CodePolicy;
use common::domain::code_list::WeakestLength;
use common::domain::codebook::{Batch, BatchStatus, CodeBook, Origin};
use common::domain::scope::Scope;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task;

use super::or_nothing;
use crate::cli::{CodeCommand, VoidArgs};
use crate::codes::mint::{self, Reservation};
use crate::codes::new_file::{NewFile, NotRenamed};
use crate::codes::{book, import, rotate, void};
use crate::console::{Console, Progress, Report};
use crate::failure::Failure;
use crate::tables::Tables;
use crate::words::{grouped, odds, seconds, table};

pub(crate) async fn run(
    command: CodeCommand,
    tables: &Tables,
    clock: &Clock,
    console: &mut Console<'_>,
) -> Result<Report, Failure> {
    match command {
        CodeCommand::Mint { scope, count, output, prize, batch, length, allow_weak } => {
            let scope = code_scope(tables, scope.into()).await?;
            let order = mint::Order { count, prize, batch, symbols: length, allow_weak };
            mint(tables, &scope, &order, &output, clock, console).await
        }
        CodeCommand::Import { scope, file, prize, batch, allow_weak } => {
            let scope = code_scope(tables, scope.into()).await?;
            let (prize, batch) = (prize.as_deref(), batch.as_deref());
            let order = import::Order { file: &file, prize, batch, allow_weak };
            import(tables, &scope, order, clock, console).await
        }
        CodeCommand::Void { scope, what: VoidArgs { batch, file } } => {
            let scope = code_scope(tables, scope.into()).await?;
            match (batch, file) {
                (Some(name), _) => void_batch(tables, &scope, &name).await,
                (None, Some(file)) => void_file(tables, &scope, &file, clock, console).await,
                (None, None) => Err(Failure::new("usage", "say which codes with --batch or --file")),
            }
        }
        CodeCommand::Batches { scope } => {
            let scope = code_scope(tables, scope.into()).await?;
            Ok(report_batches(&scope, &book::read(&tables.code_books, &scope).await?))
        }
        CodeCommand::Rotate { scope } => {
            let scope = code_scope(tables, scope.into()).await?;
            Ok(report_rotated(&scope, &rotate::rotate(&tables.code_books, &scope).await?))
        }
    }
}

/// Checks that the campaign exists and that the service checks its codes.
async fn code_scope(tables: &Tables, scope: Scope) -> Result<Scope, Failure> {
    let slug = &scope.campaign;
    match tables.campaign(slug).await?.code {
        CodePolicy::Service => Ok(scope),
        CodePolicy::None => {
            let message = format!(
                "`{slug}` takes no codes; set code.checked_by to `service` in its file and apply it first"
            );
            Err(Failure::new("campaign_without_codes", message))
        }
        CodePolicy::Partner => {
            let message = format!(
                "the partner of `{slug}` checks its codes, so a code of the service would be refused: get the codes \
                 from the partner, or let the service check them: set code.checked_by to `service` in its file, \
                 remove the partner block, and apply it first"
            );
            Err(Failure::new("codes_checked_by_partner", message))
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
    order: &mint::Order,
    output: &Path,
    clock: &Clock,
    console: &mut Console<'_>,
) -> Result<Report, Failure> {
    let file = NewFile::begin(output)?;
    let reservation = mint::reserve(&tables.code_books, scope, order).await?;
    let book = reservation.book().clone();
    let mut progress = Progress::new(clock, "minted", order.count);
    let written = write(file, reservation.clone(), &mut progress, console).await;
    progress.end(console);
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
            "; the file was removed. Void batch {name} before you mint again: its codes may count by now"
        ));
        failure
    })?;
    file.finish().map_err(|not_renamed| kept(&not_renamed, output, &batch))?;
    wait_for_functions(clock).await;
    let written = order.count.saturating_sub(left_out);
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
        odds_line(&book)
    );
    if left_out > 0 {
        text.push_str(&format!(
            "\n{} were left out, because the same codes are minted under an earlier version of the key.",
            grouped(left_out)
        ));
    }
    Ok(Report::new(json, text))
}

/// Writes the codes on other threads while this one shows progress; Ctrl-C stops it.
async fn write(
    mut file: NewFile,
    reservation: Reservation,
    progress: &mut Progress<'_>,
    console: &mut Console<'_>,
) -> io::Result<(NewFile, u64)> {
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
                Ok(()) => progress.show(console, *heard.borrow_and_update()),
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

async fn import(
    tables: &Tables,
    scope: &Scope,
    order: import::Order<'_>,
    clock: &Clock,
    console: &mut Console<'_>,
) -> Result<Report, Failure> {
    let checked = import::check(tables, scope, order).await?;
    if checked.known.count == checked.count {
        return Ok(report_nothing_new(scope, &checked));
    }
    let mut progress = Progress::new(clock, "imported", checked.count);
    let imported = import::import(tables, scope, order, |done| progress.show(console, done)).await;
    progress.end(console);
    let import::Imported { batch, imported, duplicates, void } = imported?;
    wait_for_functions(clock).await;
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "batch": batch,
        "imported": imported,
        "duplicates": duplicates,
        "void": void,
        "odds_of_a_guess": checked.weakest.map(|weakest| weakest.odds),
    });
    let mut text = format!(
        "Imported {} codes as batch {batch}; {} were there before. {}",
        grouped(imported),
        grouped(duplicates),
        good_now()
    );
    text.push_str(&import_notes(checked.weakest, void));
    Ok(Report::new(json, text))
}

/// The report for a file whose codes were all imported before; no batch is created for it.
fn report_nothing_new(scope: &Scope, checked: &import::Checked) -> Report {
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "batch": null,
        "imported": 0,
        "duplicates": checked.known.count,
        "void": checked.known.void,
        "odds_of_a_guess": checked.weakest.map(|weakest| weakest.odds),
    });
    let text = format!(
        "Nothing was imported: all {} codes were there before.{}",
        grouped(checked.count),
        import_notes(checked.weakest, checked.known.void)
    );
    Report::new(json, text)
}

/// The odds of a guess, and the number of codes that stay void.
fn import_notes(weakest: Option<WeakestLength>, void: u64) -> String {
    let mut notes = String::new();
    if let Some(WeakestLength { length, codes, alphabet, odds: chance }) = weakest {
        notes.push_str(&format!(
            "\nThe odds of guessing an imported code are {}: {} codes of {length} characters, each one of {alphabet}.",
            odds(chance),
            grouped(codes)
        ));
    }
    if void > 0 {
        notes.push_str(&format!(
            "\n{} of those that were there before are void and stay void, because they or their batch were voided, \
             and a voided code never counts again. Print other codes in their place and import those.",
            grouped(void)
        ));
    }
    notes
}

async fn void_batch(tables: &Tables, scope: &Scope, name: &str) -> Result<Report, Failure> {
    let batch = void::void_batch(&tables.code_books, scope, name).await?;
    let text = format!(
        "Batch {} is void: its {} codes count no more within {}. Who entered with one stays in.",
        batch.name,
        grouped(count_of(&batch)),
        seconds(if batch.prize.is_some() { FRESH_BOOK_MAX_AGE } else { cache::MAX_AGE })
    );
    Ok(Report::new(batch_json(&batch), text))
}

async fn void_file(
    tables: &Tables,
    scope: &Scope,
    file: &Path,
    clock: &Clock,
    console: &mut Console<'_>,
) -> Result<Report, Failure> {
    let count = void::check(tables, scope, file).await?;
    let mut progress = Progress::new(clock, "voided", count);
    let voided = void::void_file(tables, scope, file, clock.now(), |done| progress.show(console, done)).await;
    progress.end(console);
    let void::Voided { voided, already_void, in_use } = voided?;
    let json = json!({ "voided": voided, "already_void": already_void, "in_use": in_use });
    let text = format!(
        "Voided {} codes; {} were void before. {} of them are held or redeemed by a submission, which keeps its code.",
        grouped(voided),
        grouped(already_void),
        grouped(in_use)
    );
    Ok(Report::new(json, text))
}

fn report_batches(scope: &Scope, book: &CodeBook) -> Report {
    let row = |batch: &Batch| {
        vec![
            batch.name.clone(),
            kind_of(batch).to_owned(),
            grouped(count_of(batch)),
            or_nothing(lengths_of(batch, book)),
            status_of(batch).to_owned(),
            or_nothing(batch.origin.key_version()),
            or_nothing(batch.prize.as_ref()),
        ]
    };
    let rows: Vec<_> = book.batches.iter().map(row).collect();
    let mut text = if rows.is_empty() {
        "There are no codes yet; `ops code mint` and `ops code import` add some.\n".to_owned()
    } else {
        table(&["BATCH", "ORIGIN", "CODES", "LENGTH", "STATUS", "KEY", "PRIZE"], &rows)
    };
    text.push_str(&odds_line(book));
    if book.batches.iter().any(|batch| batch.origin.is_imported()) {
        text.push_str(" Those of imported codes are what `ops code import` printed.");
    }
    text.push_str("\nHow many of them were entered is not counted by batch.");
    for batch in book.batches.iter().filter(|batch| batch.status == BatchStatus::Reserved) {
        text.push_str(&format!(
            "\nBatch {} is being minted, or its minting was cut short and its codes do not count; in that case \
             void it: ops code void --campaign {} --environment {} --batch {}",
            batch.name, scope.campaign, scope.environment, batch.name
        ));
    }
    let batches: Vec<Value> = book.batches.iter().map(batch_json).collect();
    let json = json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "batches": batches,
        "key_version": book.key_version(),
        "symbols": book.symbols,
        "minted": book.minted,
        "odds_of_a_guess": book.odds_of_a_guess(0),
    });
    Report::new(json, text)
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

fn batch_json(batch: &Batch) -> Value {
    json!({
        "batch": batch.name,
        "origin": kind_of(batch),
        "count": count_of(batch),
        "key_version": batch.origin.key_version(),
        "prize": batch.prize,
        "status": batch.status,
    })
}

pub(crate) fn count_of(batch: &Batch) -> u64 {
    match batch.origin {
        Origin::Minted { count, .. } | Origin::Imported { count, .. } => count,
    }
}

/// The lengths of a batch's codes, such as `6 to 8`; `None` if they were not counted.
fn lengths_of(batch: &Batch, book: &CodeBook) -> Option<String> {
    let lengths = match &batch.origin {
        Origin::Minted { .. } => return Some(book.symbols.to_string()),
        Origin::Imported { lengths, .. } => lengths.iter().map(|known| known.length),
    };
    let (shortest, longest) = (lengths.clone().min()?, lengths.max()?);
    Some(if shortest == longest { shortest.to_string() } else { format!("{shortest} to {longest}") })
}

fn kind_of(batch: &Batch) -> &'static str {
    if batch.origin.is_imported() { "imported" } else { "minted" }
}

fn status_of(batch: &Batch) -> &'static str {
    match batch.status {
        BatchStatus::Reserved => "reserved",
        BatchStatus::Active => "active",
        BatchStatus::Void => "void",
    }
}
