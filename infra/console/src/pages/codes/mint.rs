//! Minting: reserves the codes, hands them over as a download, and makes them valid once the operator has the file. A download that
//! broke off can be repeated, one that ended cannot.

use std::sync::Arc;

use axum::body::Body;
use common::app::code_verifier::FRESH_BOOK_MAX_AGE;
use common::domain::audit::AuditRow;
use common::domain::cipher::CODE_SYMBOLS;
use common::domain::code::Alphabet;
use common::domain::codebook::{ACCEPTABLE_ODDS, CodeBook, DEFAULT_CODE_SYMBOLS};
use common::lock::Mutex;
use futures_util::stream;
use ops_core::audit::{self, RowFilter};
use ops_core::codes::book::{self, existing_batch, odds_line};
use ops_core::codes::code_scope;
use ops_core::codes::mint::{self, MAX_CODES, MintRequest, Reservation};
use ops_core::format::one_guess_in;
use tokio::sync::mpsc;
use tokio::task;

use super::{codes_path, in_fields, number_given, text_given};
use crate::failure::sentence;
use crate::once::mark;
use crate::prelude::*;

pub(super) fn routes() -> Router<Console> {
    let path = |end: &str| format!("/campaigns/{{campaign}}/{{environment}}/codes/{end}");
    Router::new()
        .route(&path("mint"), post(reserve))
        .route(&path("minted"), get(minted))
        .route(&path("download"), post(download_codes))
        .route(&path("activate"), post(activate))
        .route(&path("withdraw"), post(withdraw))
}

type Key = (Scope, String);

/// Batches that this console reserved, until they are valid or withdrawn.
#[derive(Clone, Default)]
pub(crate) struct Minting(Arc<Mutex<HashMap<Key, Minted>>>);

#[derive(Clone)]
struct Minted {
    reservation: Reservation,
    file: MintedFile,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MintedFile {
    NotDownloaded,
    Downloading,
    Downloaded,
}

impl Minting {
    fn find(&self, key: &Key) -> Option<Minted> {
        self.0.lock().get(key).cloned()
    }

    fn set_file(&self, key: &Key, file: MintedFile) {
        if let Some(minted) = self.0.lock().get_mut(key) {
            minted.file = file;
        }
    }
}

pub(super) fn form(scope: &Scope, book: &CodeBook) -> Markup {
    let alphabets = [
        (
            Alphabet::Mixed.as_str(),
            "letters and digits that do not look alike",
        ),
        (
            Alphabet::Digits.as_str(),
            "digits, for keypads as with USSD",
        ),
    ];
    html! {
        form method="post" action={ (codes_path(scope)) "/mint" } {
            (mark())
            label for="count" { "Number of codes" }
            input.short #count name="count" type="number" min="1" max=(MAX_CODES) required;
            label for="batch" { "Name of the batch; empty: the next free one" }
            input #batch name="batch" maxlength="64" autocomplete="off";
            label for="prize" { "Instant prize of each of these codes; empty: none" }
            input #prize name="prize" maxlength="120" autocomplete="off";
            @match book.minted_length {
                Some(length) => p.soft { "They have " (length) " characters, as the codes that were minted before." },
                None => {
                    (select("alphabet", "Characters", alphabets, Alphabet::Mixed.as_str(), true))
                    label for="length" { "Length; empty: " (DEFAULT_CODE_SYMBOLS) " characters or more, so that no guess pays" }
                    input.short #length name="length" type="number" min=(CODE_SYMBOLS.start()) max=(CODE_SYMBOLS.end());
                    p.soft { "All later codes of this environment are made like these." }
                }
            }
            p { label.inline { input type="checkbox" name="allow_weak" value="on";
                " Even if more than " (one_guess_in(ACCEPTABLE_ODDS)) " would be right" } }
            p { button { "Mint" } }
        }
    }
}

async fn reserve(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult<Redirect> {
    let alphabet = text_given(&form, "alphabet").map(str::parse).transpose();
    let request = MintRequest {
        count: number_given(&form, "count", 1..=MAX_CODES)?.unwrap_or(1),
        prize: text_given(&form, "prize").map(str::to_owned),
        batch: text_given(&form, "batch").map(str::to_owned),
        alphabet: alphabet
            .map_err(|why: String| failure!("alphabet_invalid", "the alphabet {why}"))?,
        length: number_given(&form, "length", CODE_SYMBOLS)?,
        allow_weak: form.get("allow_weak") == "on",
    };
    let (tables, now) = (console.tables()?, console.now());
    let scope = code_scope(&tables, scope).await?;
    let reserve = async {
        let reserved = mint::record_and_reserve(&tables, &scope, &request, now).await;
        reserved.map_err(in_fields)
    };
    let reservation = console.sent_forms.once(&form, reserve).await?;
    let name = reservation.batch.name.clone();
    let minted = Minted {
        reservation,
        file: MintedFile::NotDownloaded,
    };
    let minting = &console.minting;
    minting
        .0
        .lock()
        .insert((scope.clone(), name.clone()), minted);
    Ok(Redirect::to(&minted_path(&scope, &name)))
}

fn minted_path(scope: &Scope, batch: &str) -> String {
    with_query(
        &format!("{}/minted", codes_path(scope)),
        &[("batch", batch)],
    )
}

async fn minted(console: Console, Named(scope): Named<Scope>, Query(query): Query) -> PageResult {
    let tables = console.tables()?;
    let scope = code_scope(&tables, scope).await?;
    let book = book::read(&tables.code_books, &scope).await?;
    let batch = existing_batch(&book, query.get("batch"))?;
    let minted = console.minting.find(&(scope.clone(), batch.name.clone()));
    let is_downloading = matches!(&minted, Some(minted) if minted.file == MintedFile::Downloading);
    let content = html! {
        (facts(&[
            ("Codes", html! { (grouped(batch.count())) }),
            ("Prize", html! { (or_dash(batch.prize.as_ref())) }),
            ("Environment", environment(scope.environment)),
        ]))
        p { (sentence(&odds_line(&book))) }
        @match (batch.status, minted) {
            (BatchStatus::Active, _) => p.good role="status" {
                "These codes count, within " (span_in_words(FRESH_BOOK_MAX_AGE)) " everywhere. Hand the file to the printer."
            },
            (BatchStatus::Void, _) => p role="status" { "The batch is void: its codes never count." },
            (BatchStatus::Reserved, Some(minted)) => (steps(&scope, batch, &minted)),
            (BatchStatus::Reserved, None) => (elsewhere(&tables, &scope, batch, console.now()).await?),
        }
        p { a href=(codes_path(&scope)) { "All batches" } }
    };
    let title = format!("Batch {}", batch.name);
    let page = Page::new(&title, Section::Codes).in_scope(&scope);
    let page = if is_downloading { page.renewed() } else { page };
    Ok(page.render(content))
}

/// A batch that this console does not have.
async fn elsewhere(
    tables: &Tables,
    scope: &Scope,
    batch: &Batch,
    now: Timestamp,
) -> Result<Markup, Failure> {
    let key = (scope.clone(), batch.name.clone());
    let downloaded = last_download(tables, &key, now).await?;
    let zone = tables.zone(scope).await?;
    let void = html! { a href=(super::void_address(scope, &batch.name)) { "void it" } };
    Ok(html! {
        @match downloaded {
            Some(row) => {
                p {
                    (or_dash(row.entry.by.as_ref())) " downloaded its file on " (zoned_time(row.at, zone))
                    ", and did not make its codes valid. If you have the file, and it is complete, do so; otherwise " (void) "."
                }
                form method="post" action={ (codes_path(scope)) "/activate" } {
                    (hidden("batch", &batch.name))
                    button { "I have the file: make the codes valid" }
                }
            }
            None => p {
                "The command line is minting it, or a console that ended was: its codes do not count, and this page does not have them. If \
                 it was cut short, " (void) " and mint again."
            },
        }
    })
}

/// The row of the latest download, of the last 30 days.
async fn last_download(
    tables: &Tables,
    (scope, batch): &Key,
    now: Timestamp,
) -> Result<Option<AuditRow>, Failure> {
    let filter = RowFilter {
        campaign: Some(scope.campaign.clone()),
        action: Some("code.download".to_owned()),
        about: Some(batch.clone()),
        who: None,
    };
    let found = audit::list(tables, &filter, None, None, now).await?;
    let rows = found.rows.into_iter().rev().filter_map(|stored| stored.row);
    let environment = Some(scope.environment.as_str());
    Ok(rows
        .into_iter()
        .find(|row| row.entry.environment.as_deref() == environment))
}

fn steps(scope: &Scope, batch: &Batch, minted: &Minted) -> Markup {
    let usual = usize::from(DEFAULT_CODE_SYMBOLS);
    let form = |name: &str, data: bool, button: Markup| {
        html! {
            form method="post" action={ (codes_path(scope)) "/" (name) } data-download[data] data-reload[data] {
                (hidden("batch", &batch.name))
                (button)
            }
        }
    };
    html! {
        @if let Some(length) = minted.reservation.length_beside_imported() {
            p { "Codes of " (usual) " characters are imported in this environment, so these have " (length) "." }
        }
        p { "The codes do not count yet. Download them, look at the file, and make them valid then." }
        h2 { "1. Download the file" }
        @match minted.file {
            MintedFile::NotDownloaded => {
                p { "It can be downloaded once. Keep it as safe as the prizes: each of its codes is an entry." }
                (form("download", true, html! { button { "Download the codes" } }))
            }
            MintedFile::Downloading => p role="status" { "It is being downloaded. This page renews itself." },
            MintedFile::Downloaded => p role="status" { "It was downloaded, and is not handed out again." },
        }
        h2 { "2. Make the codes valid" }
        p { "The file has " (grouped(batch.count())) " codes under a line that says code. After the download, this page has a button; reload it if it has not." }
        @if minted.file == MintedFile::Downloaded {
            (form("activate", false, html! { button { "I have the file: make the codes valid" } }))
        }
        h2 { "Or withdraw them" }
        p { "If the file is not complete, or was lost. The batch is void then, and its codes never count." }
        (form("withdraw", false, html! { button.danger { "Withdraw the batch" } }))
    }
}

async fn reserved(
    console: &Console,
    scope: Scope,
    form: &Form,
) -> Result<Result<(Key, Minted), Redirect>, Failure> {
    let scope = code_scope(&console.tables()?, scope).await?;
    let key = (scope, form.get("batch").to_owned());
    // The page says how the batch stands.
    let elsewhere = || Redirect::to(&minted_path(&key.0, &key.1));
    Ok(match console.minting.find(&key) {
        Some(minted) => Ok((key, minted)),
        None => Err(elsewhere()),
    })
}

async fn download_codes(
    console: Console,
    Named(scope): Named<Scope>,
    form: Form,
) -> PageResult<Response> {
    let (key, minted) = match reserved(&console, scope, &form).await? {
        Ok(reserved) => reserved,
        Err(elsewhere) => return Ok(elsewhere.into_response()),
    };
    let minting = console.minting.clone();
    {
        let mut all = minting.0.lock();
        let file = all.get_mut(&key).map(|minted| &mut minted.file);
        let Some(file) = file.filter(|file| **file == MintedFile::NotDownloaded) else {
            let message = "the codes were downloaded before, or are being downloaded, and are handed out once; if the file is not complete, \
                           withdraw the batch and mint again";
            return Err(Failure::new("downloaded_already", message).into());
        };
        *file = MintedFile::Downloading;
    }
    let name = format!("{}.csv", key.1);
    let progress = DownloadProgress {
        minting,
        key,
        is_complete: false,
    };
    let (tables, now) = (console.tables()?, console.now());
    let (scope, batch) = &progress.key;
    mint::record_step(&tables, scope, batch, "code.download", now).await?;
    let (parts, taken) = mpsc::channel(2);
    task::spawn_blocking(move || {
        let mut out = PartWriter(parts.clone());
        let written = minted.reservation.write_file(&mut out, &mut |_| Ok(()));
        // A browser that went away takes nothing more.
        drop(parts.blocking_send(written.map(|()| None)));
    });
    let body = stream::unfold((taken, progress), move |(mut taken, mut progress)| {
        let console = console.clone();
        async move {
            console.access.used(console.now());
            match taken.recv().await? {
                Ok(Some(part)) => Some((Ok(part), (taken, progress))),
                Ok(None) => {
                    progress.end();
                    None
                }
                Err(error) => Some((Err(error), (taken, progress))),
            }
        }
    });
    Ok(download(&name, CSV, Body::from_stream(body)))
}

struct DownloadProgress {
    minting: Minting,
    key: Key,
    is_complete: bool,
}

impl DownloadProgress {
    fn end(&mut self) {
        self.is_complete = true;
    }
}

impl Drop for DownloadProgress {
    fn drop(&mut self) {
        let file = if self.is_complete {
            MintedFile::Downloaded
        } else {
            MintedFile::NotDownloaded
        };
        self.minting.set_file(&self.key, file);
    }
}

/// Waits while the browser is slower.
struct PartWriter(mpsc::Sender<io::Result<Option<Vec<u8>>>>);

impl io::Write for PartWriter {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Some(part.to_vec())));
        sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn activate(
    console: Console,
    Named(scope): Named<Scope>,
    form: Form,
) -> PageResult<Redirect> {
    let (tables, now) = (console.tables()?, console.now());
    let key = (
        code_scope(&tables, scope).await?,
        form.get("batch").to_owned(),
    );
    let book = book::read(&tables.code_books, &key.0).await?;
    // The page says how the batch stands.
    if existing_batch(&book, &key.1)?.status != BatchStatus::Reserved {
        return Ok(Redirect::to(&minted_path(&key.0, &key.1)));
    }
    let is_downloaded = match console.minting.find(&key) {
        Some(minted) => minted.file == MintedFile::Downloaded,
        None => last_download(&tables, &key, now).await?.is_some(),
    };
    if !is_downloaded {
        let message = "the codes are not valid yet, because their file was not downloaded";
        return Err(Failure::new("not_downloaded", message).into());
    }
    mint::record_step(&tables, &key.0, &key.1, "code.activate", now).await?;
    mint::activate(&tables.code_books, &key.0, &key.1).await?;
    console.minting.0.lock().remove(&key);
    Ok(Redirect::to(&minted_path(&key.0, &key.1)))
}

async fn withdraw(
    console: Console,
    Named(scope): Named<Scope>,
    form: Form,
) -> PageResult<Redirect> {
    let (key, _) = match reserved(&console, scope, &form).await? {
        Ok(reserved) => reserved,
        Err(elsewhere) => return Ok(elsewhere),
    };
    // First, so that no other request makes it valid meanwhile.
    let removed = console.minting.0.lock().remove(&key);
    if let Some(Minted { reservation, .. }) = removed {
        let (tables, now) = (console.tables()?, console.now());
        mint::record_step(&tables, &key.0, &key.1, "code.withdraw", now).await?;
        mint::withdraw(&tables.code_books, &reservation).await?;
    }
    Ok(Redirect::to(&minted_path(&key.0, &key.1)))
}
