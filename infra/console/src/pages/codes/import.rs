//! Importing codes that were printed elsewhere: a chosen file is checked, described, and imported after a confirmation, with progress.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::DefaultBodyLimit;
use axum::extract::multipart::{Field, Multipart, MultipartError};
use common::domain::codebook::ACCEPTABLE_ODDS;
use common::lock::Mutex;
use ops_core::codes::check::{Checked, check};
use ops_core::codes::code_scope;
use ops_core::codes::import::{ImportRequest, Imported, record_and_import};
use ops_core::format::one_guess_in;
use tempfile::{NamedTempFile, TempPath};
use tokio::runtime::Handle;
use tokio::task;

use super::{codes_path, in_fields, text_given};
use crate::failure::sentence;
use crate::prelude::*;

/// Some ten million codes.
const MAX_FILE_BYTES: usize = 256 * 1024 * 1024;

pub(super) fn routes() -> Router<Console> {
    let path = |end: &str| format!("/campaigns/{{campaign}}/{{environment}}/codes/import{end}");
    let file_limit = DefaultBodyLimit::max(MAX_FILE_BYTES);
    Router::new()
        .route(&path(""), post(upload).layer(file_limit))
        .route(&path("/{upload}"), get(show).post(start))
}

/// Files of this console, by a random name.
#[derive(Default)]
pub(crate) struct Uploads(Mutex<HashMap<String, Arc<Upload>>>);

struct Upload {
    scope: Scope,
    /// Name on the operator's machine.
    file_name: String,
    /// Deleted after the import.
    file: Mutex<Option<TempPath>>,
    request: ImportRequest,
    checked: Checked,
    progress: Mutex<Progress>,
    done: AtomicU64,
}

#[derive(Clone)]
enum Progress {
    Checked,
    Running,
    Imported(Imported),
    Failed(String),
}

impl Uploads {
    /// Replaces earlier files of the scope that were not imported.
    fn keep(&self, name: String, upload: Upload) {
        let mut all = self.0.lock();
        all.retain(|_, other| {
            other.scope != upload.scope || !matches!(*other.progress.lock(), Progress::Checked)
        });
        all.insert(name, Arc::new(upload));
    }

    fn find(&self, scope: &Scope, name: &str) -> Result<Arc<Upload>, Failure> {
        let found = self.0.lock().get(name).cloned();
        found.filter(|upload| upload.scope == *scope).ok_or_else(|| {
            failure!(
                "upload_unknown",
                "this file is not kept any more, since the console ended or another one was chosen: choose it again, which finishes what was begun"
            )
        })
    }
}

impl Upload {
    fn taken_file(&self) -> Option<TempPath> {
        let mut file = self.file.lock();
        file.take()
    }
}

pub(super) fn form(scope: &Scope) -> Markup {
    html! {
        form method="post" action={ (codes_path(scope)) "/import" } enctype="multipart/form-data" {
            label for="file" { "File: CSV, one code on each line" }
            input #file type="file" name="file" accept=".csv,.txt,text/csv,text/plain" required;
            p.soft { "From a spreadsheet such as Excel's .xlsx: save the sheet as “CSV UTF-8”, and choose that file." }
            label for="column" { "Heading of the column with the codes; empty: one such as code, or the only column" }
            input #column name="column" maxlength="100" autocomplete="off";
            label for="import-batch" { "Name of the batch; of an imported batch, to add to it; empty: the next free one" }
            input #import-batch name="batch" maxlength="64" autocomplete="off";
            label for="import-prize" { "Instant prize of each of these codes; empty: none" }
            input #import-prize name="prize" maxlength="120" autocomplete="off";
            p { label.inline { input type="checkbox" name="allow_weak" value="on";
                " Even if the list is short, or more than " (one_guess_in(ACCEPTABLE_ODDS)) " would be right" } }
            p { button { "Check the file" } }
        }
        p.soft { "Nothing is imported before you have seen what the file has." }
    }
}

async fn upload(
    console: Console,
    Named(scope): Named<Scope>,
    parts: Multipart,
) -> PageResult<Redirect> {
    let tables = console.tables()?;
    let scope = code_scope(&tables, scope).await?;
    let Received {
        fields,
        file,
        file_name,
    } = received(parts).await?;
    let file = file.into_temp_path();
    let given = |name| text_given(&fields, name).map(str::to_owned);
    let request = ImportRequest {
        file: file.to_path_buf(),
        column: given("column"),
        prize: given("prize"),
        batch: given("batch"),
        allow_weak: fields.get("allow_weak") == "on",
    };
    let checked = check_file(&console, tables, scope.clone(), request.clone()).await;
    let checked = checked.map_err(|failure| in_file(failure, &file_name))?;
    let upload = Upload {
        scope: scope.clone(),
        file_name,
        file: Mutex::new(Some(file)),
        request,
        checked,
        progress: Mutex::new(Progress::Checked),
        done: AtomicU64::new(0),
    };
    let name = hex::encode(random::bytes::<8>());
    let address = upload_path(&scope, &name);
    console.uploads.keep(name, upload);
    Ok(Redirect::to(&address))
}

/// The check cannot move between threads, so it has one of its own.
async fn check_file(
    console: &Console,
    tables: Tables,
    scope: Scope,
    request: ImportRequest,
) -> Result<Checked, Failure> {
    let (runtime, console) = (Handle::current(), console.clone());
    let checking = task::spawn_blocking(move || {
        let is_used = |_| console.access.used(console.now());
        runtime.block_on(check(&tables, &scope, &request, is_used))
    });
    checking
        .await
        .map_err(|_| failure!("file_failed", "checking the file failed; choose it again"))?
}

fn upload_path(scope: &Scope, name: &str) -> String {
    format!("{}/import/{name}", codes_path(scope))
}

struct Received {
    fields: Form,
    file: NamedTempFile,
    file_name: String,
}

async fn received(mut parts: Multipart) -> Result<Received, Failure> {
    let (mut fields, mut chosen) = (Form::default(), None);
    while let Some(part) = parts
        .next_field()
        .await
        .map_err(|error| not_received(&error))?
    {
        let name = part.name().unwrap_or_default().to_owned();
        if name == "file" {
            let file_name = part.file_name().unwrap_or_default().to_owned();
            chosen = Some((file_name, stored(part).await?));
        } else {
            let value = part.text().await.map_err(|error| not_received(&error))?;
            fields.set(name, value);
        }
    }
    match chosen {
        Some((file_name, file)) if !file_name.is_empty() => Ok(Received {
            fields,
            file,
            file_name,
        }),
        _ => bail!("file_missing", "nothing was imported: choose a file"),
    }
}

async fn stored(mut part: Field<'_>) -> Result<NamedTempFile, Failure> {
    let failed = |error: io::Error| {
        failure!(
            "file_failed",
            "keeping the file failed: {error}; free some room on the disk"
        )
    };
    // Only this user can read it.
    let mut file = NamedTempFile::new().map_err(failed)?;
    while let Some(chunk) = part.chunk().await.map_err(|error| not_received(&error))? {
        file.write_all(&chunk).map_err(failed)?;
    }
    Ok(file)
}

fn not_received(error: &MultipartError) -> Failure {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let megabytes = MAX_FILE_BYTES / 1024 / 1024;
        return failure!(
            "file_too_large",
            "the file has more than {megabytes} MB: split it, or use `ops code import`"
        );
    }
    failure!(
        "file_failed",
        "the file did not arrive whole; choose it again"
    )
}

fn in_file(failure: Failure, file_name: &str) -> Failure {
    let mut failure = in_fields(failure);
    for problem in &mut failure.problems {
        problem.file = file_name.to_owned();
    }
    failure
}

async fn show(console: Console, named: Named<(CampaignSlug, Environment, String)>) -> PageResult {
    let (scope, name) = named.names();
    let upload = console.uploads.find(&scope, &name)?;
    let progress = upload.progress.lock().clone();
    let is_running = matches!(progress, Progress::Running);
    let content = html! {
        @match progress {
            Progress::Checked => (described(&scope, &name, &upload)),
            Progress::Running => {
                p role="status" {
                    (grouped(upload.done.load(Ordering::Relaxed))) " of " (grouped(upload.checked.count)) " lines are imported."
                }
                p.soft { "This page renews itself. If it ends early, choose the same file again: what is stored stays, and the rest is added." }
            }
            Progress::Imported(imported) => (done(&imported)),
            Progress::Failed(why) => p.bad role="alert" { (why) },
        }
        p { a href=(codes_path(&scope)) { "All batches" } }
    };
    let title = format!("Import of {}", upload.file_name);
    let page = Page::new(&title, Section::Codes).in_scope(&scope);
    let page = if is_running { page.renewed() } else { page };
    Ok(page.render(content))
}

fn described(scope: &Scope, name: &str, upload: &Upload) -> Markup {
    let checked = &upload.checked;
    let characters = checked.list.characters();
    let rows = html! {
        @for of_length in &checked.lengths {
            tr {
                td { (of_length.length) }
                td { (grouped(of_length.count)) }
                td { code { (of_length.first.code) } " (line " (of_length.first.line) ")" }
                td { code { (of_length.last.code) } " (line " (of_length.last.line) ")" }
            }
        }
    };
    html! {
        p { "The file has " (grouped(checked.count)) " codes, of the characters " code { (characters) } ". Nothing is imported yet." }
        (table("Lengths of the codes", &["Length", "Codes", "First", "Last"], rows))
        @for remark in checked.remarks() { p.bad { (remark) } }
        @if checked.known > 0 { p { (grouped(checked.known)) " codes were imported before." } }
        @if checked.known_void > 0 { p.bad { (grouped(checked.known_void)) " of those are void and stay void: print others in their place." } }
        p { (sentence(&checked.odds_line())) }
        @if let Some(prize) = &upload.request.prize { p { "Each of these codes wins “" (prize) "” at once." } }
        @if checked.is_known() {
            p role="status" { "All of these codes were there before, so there is nothing to import." }
        } @else {
            form method="post" action=(upload_path(scope, name)) {
                p { button { "Import " (grouped(checked.new_codes())) " codes"
                    @if let Some(batch) = &upload.request.batch { " as batch " (batch) }
                } }
            }
        }
    }
}

fn done(imported: &Imported) -> Markup {
    html! {
        p.good role="status" {
            "Imported " (grouped(imported.imported)) " codes as batch " (imported.batch.as_deref().unwrap_or_default()) "; "
            (grouped(imported.duplicates)) " were there before. The codes work now."
        }
        @if imported.void > 0 {
            p.bad { (grouped(imported.void)) " of those that were there before are void and stay void. Print others in their place." }
        }
    }
}

/// The work goes on when the browser leaves the page.
async fn start(
    console: Console,
    named: Named<(CampaignSlug, Environment, String)>,
) -> PageResult<Redirect> {
    let (scope, name) = named.names();
    let upload = console.uploads.find(&scope, &name)?;
    let is_first = {
        let mut progress = upload.progress.lock();
        let is_first = matches!(*progress, Progress::Checked) && !upload.checked.is_known();
        if is_first {
            *progress = Progress::Running;
        }
        is_first
    };
    if is_first {
        let (tables, now) = (console.tables()?, console.now());
        task::spawn(async move {
            let show = |done| {
                upload.done.store(done, Ordering::Relaxed);
                console.access.used(console.now());
            };
            let Upload {
                scope,
                request,
                checked,
                ..
            } = &*upload;
            let imported = record_and_import(&tables, scope, request, checked, now, show).await;
            drop(upload.taken_file());
            *upload.progress.lock() = match imported {
                Ok(imported) => Progress::Imported(imported),
                Err(failure) => {
                    Progress::Failed(page_message(&in_file(failure, &upload.file_name)))
                }
            };
        });
    }
    Ok(Redirect::to(&upload_path(&scope, &name)))
}
