//! A submission with its timeline.

use axum::Router;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use common::domain::ids::SubmissionId;
use common::domain::receipt::Source;
use common::domain::submission::{State, Submission, SubmissionStatus};
use maud::{Markup, html};
use ops_core::failure::Failure;
use ops_core::format::{local_time, zoned_time};
use ops_core::review::photo::{PhotoCopier, ShownPhoto};
use ops_core::submissions::code_entered::CodeEntered;
use ops_core::submissions::timeline::{Event, Timeline};
use ops_core::submissions::view::SubmissionView;
use ops_core::submissions::{self, Disclosure};
use ops_core::tables::Tables;
use ops_core::{phones, receipts};

use super::page;
use crate::failure::PageResult;
use crate::form::Form;
use crate::layout::{Page, Section, environment, facts, table};
use crate::state::Console;

pub(crate) fn routes() -> Router<Console> {
    Router::new().route("/submissions/{id}", get(page(show)).post(page(look)))
}

pub(crate) fn path_of_submission(id: SubmissionId) -> String {
    format!("/submissions/{id}")
}

async fn show(console: Console, Path(id): Path<String>) -> PageResult {
    render(&console, &id, Disclosure::default()).await
}

/// Shows the phone, the receipt's code or the photo too, once the audit log has a row about it. Not every role may see all.
async fn look(console: Console, (Path(id), form): (Path<String>, Form)) -> PageResult<Response> {
    let look = match form.get("show") {
        "photo" => return photo(&console, &id).await,
        "phone" => Disclosure {
            phone: true,
            ..Disclosure::default()
        },
        "receipt" => Disclosure {
            receipt: true,
            ..Disclosure::default()
        },
        _ => {
            return Err(Failure::new(
                "field_invalid",
                "the page asked for nothing that is known; reload it",
            )
            .into());
        }
    };
    Ok(render(&console, &id, look).await?.into_response())
}

/// A copy of the photo, as for a reviewer, once the audit log has a row about it.
async fn photo(console: &Console, id: &str) -> PageResult<Response> {
    let tables = console.tables()?;
    let submission = one(&tables, id).await?;
    let look = Disclosure {
        photo: true,
        ..Disclosure::default()
    };
    let recorded =
        submissions::record_disclosure(&tables, &submission, look, console.now()).await?;
    let shown = match (submission.receipt_id, &recorded) {
        (Some(receipt), Some(recorded)) => {
            let copier = PhotoCopier::new(&tables, console.env()).map_err(Failure::from)?;
            copier
                .copy(&submission.scope, receipt, recorded)
                .await?
                .shown
        }
        (_, _) => ShownPhoto::Nothing("It came without a receipt."),
    };
    match shown {
        ShownPhoto::Copy(photo) => Ok(([(CONTENT_TYPE, "image/png")], photo).into_response()),
        ShownPhoto::Nothing(why) => Err(Failure::new("photo_not_shown", why).into()),
    }
}

async fn one(tables: &Tables, id: &str) -> PageResult<Submission> {
    let found = submissions::find(tables, id).await?;
    let [submission] = found.as_slice() else {
        return Err(Failure::new(
            "submission_unknown",
            "this is not a submission's id; search for it",
        )
        .into());
    };
    Ok(submission.clone())
}

async fn render(console: &Console, id: &str, look: Disclosure) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let submission = &one(&tables, id).await?;
    submissions::record_disclosure(&tables, submission, look, now).await?;
    let zone = tables.campaign(&submission.scope.campaign).await?.timezone;
    let receipt = receipts::of_submission(&tables, console.env(), submission, None, now).await?;
    let entered = CodeEntered::before(&tables, submission, zone).await?;
    let Timeline {
        events, request_id, ..
    } = Timeline::new(submission, entered.as_ref(), receipt.as_ref(), zone);
    let phone = phones::shown(&tables, submission, look.phone).await?;
    let has_photo = receipt
        .as_ref()
        .is_some_and(|seen| matches!(seen.receipt.source, Source::Photo { .. }));
    let shown = SubmissionView {
        submission,
        phone,
        code_entered: entered,
        receipt,
        zone,
        show_receipt: look.receipt,
    };
    let known = shown.facts();
    // The text of a hidden value names the option of the command line.
    let value = |value: &str| {
        if value.starts_with("hidden; --") {
            "hidden".to_owned()
        } else {
            value.to_owned()
        }
    };
    let known = known
        .iter()
        .filter(|(_, value)| value != "-" && !value.is_empty());
    let known: Vec<_> = known
        .map(|(name, text)| (name.replace('_', " "), html! { (value(text)) }))
        .collect();
    let content = html! {
        p { (status(&submission.status)) " " (submission.scope.campaign) " " (environment(submission.scope.environment)) }
        h2 { "What happened" }
        ol.timeline {
            @for Event { at, what } in &events { li { time datetime=(at) { (zoned_time(*at, zone)) } (what) } }
        }
        p.soft { "Made by request " (request_id.as_deref().unwrap_or("not recorded")) "." }
        h2 { "Details" }
        (facts(&known))
        form.row method="post" {
            @if !look.phone { button name="show" value="phone" { "Show the phone" } }
            @if !look.receipt && submission.receipt_id.is_some() {
                button name="show" value="receipt" { "Show the receipt's code" }
            }
        }
        @if has_photo {
            // It opens beside this page, which stays as it is.
            form method="post" target="_blank" data-download { button name="show" value="photo" { "Show the photo" } }
        }
        p.soft { "A look is recorded in the audit log." }
    };
    let title = format!("Submission {}", submission.reference());
    Ok(Page::new(&title, Section::None)
        .in_scope(&submission.scope)
        .render(content))
}

pub(crate) fn status(status: &SubmissionStatus) -> Markup {
    let class = match status.state() {
        State::Accepted => "good",
        State::Rejected => "bad",
        State::Pending | State::Unknown => "paused",
    };
    html! { span.pill.(class) { (status.state().as_str()) } }
}

/// Submissions as a table.
pub(crate) async fn list(tables: &Tables, found: &[Submission]) -> Result<Markup, Failure> {
    let mut rows = Vec::new();
    for one in found {
        let zone = tables.campaign(&one.scope.campaign).await?.timezone;
        rows.push(vec![
            html! { a href=(path_of_submission(one.submission_id)) { (one.reference()) } },
            html! { (one.scope.campaign) " " (environment(one.scope.environment)) },
            html! { (phones::shown(tables, one, false).await?) },
            status(&one.status),
            html! { (one.status.message_key()) },
            html! { (local_time(one.created_at, zone)) " " (zone.name()) },
        ]);
    }
    let heading = [
        "Reference",
        "Campaign",
        "Phone",
        "State",
        "Message",
        "Created",
    ];
    Ok(table("Submissions", &heading, &rows))
}
