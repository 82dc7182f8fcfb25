//! Downloads of a draw: the sheet, what is published, the certificate and the winners.

use ops_core::draws::{self, downloads};
use ops_core::export::winners_of_draw;

use super::{InDraw, path_of_draw};
use crate::prelude::*;

pub(super) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}/draws/{draw}";
    Router::new()
        .route(&format!("{path}/sheet.html"), get(sheet))
        .route(&format!("{path}/evidence.zip"), get(evidence))
        .route(&format!("{path}/certificate"), get(certificate_page))
        .route(&format!("{path}/certificate.zip"), get(certificate))
        .route(&format!("{path}/winners.csv"), post(winners))
}

pub(super) fn section(scope: &Scope, draw: &Draw) -> Markup {
    let path = path_of_draw(scope, &draw.name);
    html! {
        h2 { "Files" }
        ul {
            li { a href={ (path) "/sheet.html" } download { "The sheet to print and sign" } }
            @if draw.published_at.is_some() {
                li { a href={ (path) "/evidence.zip" } download { "What is published before the round" } ": entries, header and commitment, in a ZIP file" }
            }
            @if draw.outcome.is_some() {
                li { a href={ (path) "/certificate" } { "The certificate, with all that is published beside it" } }
            }
        }
        @if draw.outcome.is_some() {
            form.row method="post" action={ (path) "/winners.csv" } data-download {
                button.quiet { "Download the winners as CSV" }
                label.inline { input type="checkbox" name="phones" value="yes"; " with whole phone numbers, which is recorded in the audit log" }
            }
        }
    }
}

async fn sheet(console: Console, named: InDraw) -> PageResult<Response> {
    let (scope, name) = named.names();
    let tables = console.tables()?;
    let campaign = tables.campaign(&scope.campaign).await?;
    let draw = draws::find(&tables, &scope, &name).await?;
    let sheet = draws::sheet(&tables, &draw, &campaign)?;
    Ok(download(
        &format!("{name}-sheet.html"),
        "text/html; charset=utf-8",
        sheet,
    ))
}

async fn evidence(console: Console, named: InDraw) -> PageResult<Response> {
    let (scope, name) = named.names();
    let tables = console.tables()?;
    let draw = draws::find(&tables, &scope, &name).await?;
    let zip = downloads::evidence(&tables, &scope, &draw, console.now())
        .boxed()
        .await?;
    Ok(download(&format!("{name}-evidence.zip"), ZIP, zip))
}

async fn zipped(
    console: &Console,
    scope: &Scope,
    name: &DrawName,
) -> PageResult<(Vec<u8>, Vec<String>)> {
    let tables = console.tables()?;
    let campaign = tables.campaign(&scope.campaign).await?;
    let draw = draws::find(&tables, scope, name).await?;
    let writing = downloads::certificate(&tables, scope, &campaign, &draw, console.now());
    Ok(writing.boxed().await?)
}

/// Says what the certificate's writer has to know, before the download.
async fn certificate_page(console: Console, named: InDraw) -> PageResult {
    let (scope, name) = named.names();
    let (zip, erasures) = zipped(&console, &scope, &name).await?;
    let path = path_of_draw(&scope, &name);
    let content = html! {
        p { "The certificate is a page that lets anyone check the draw. The ZIP file has it, and all that is published beside it; publish the whole folder. After more calls, download it again: the log of calls changes." }
        @for erased in &erasures { p.bad { (erased) } }
        p { a.button href={ (path) "/certificate.zip" } download { "Download the certificate (" (kilobytes(zip.len())) " KB)" } }
        p.soft { "It has all references of each phone that was drawn. A later erasure does not reach copies." }
        p { a href=(path) { "All winners of the draw " (name) } }
    };
    Ok(Page::new(&format!("Certificate of {name}"), Section::Draws)
        .in_scope(&scope)
        .render(content))
}

fn kilobytes(bytes: usize) -> String {
    grouped(bytes.div_ceil(1000))
}

async fn certificate(console: Console, named: InDraw) -> PageResult<Response> {
    let (scope, name) = named.names();
    let (zip, _) = zipped(&console, &scope, &name).await?;
    Ok(download(&format!("{name}-certificate.zip"), ZIP, zip))
}

async fn winners(console: Console, named: InDraw, form: Form) -> PageResult<Response> {
    let (scope, name) = named.names();
    let (tables, now) = (console.tables()?, console.now());
    let phones = form.get("phones") == "yes";
    let csv = winners_of_draw(tables, scope, name.clone(), phones, now)
        .boxed()
        .await?;
    Ok(download(&format!("{name}-winners.csv"), CSV, csv))
}
