//! A submission: its story, its timeline, and what can be done about it.

mod actions;
mod story;

use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use common::domain::submission::{State, SubmissionStatus};
use ops_core::phones;
use ops_core::review::photo::{COPY_TYPE, PhotoCopier, ShownPhoto};
use ops_core::submissions::timeline::Event;
use ops_core::submissions::view::SubmissionView;
use ops_core::submissions::{self, Disclosure};

use crate::layout::scope;
use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route("/submissions/{id}", get(show).post(look))
        .merge(actions::routes())
}

pub(crate) fn path_of_submission(id: SubmissionId) -> String {
    format!("/submissions/{id}")
}

async fn show(console: Console, Path(id): Path<String>) -> PageResult {
    render(&console, &id, Disclosure::default(), html! {}).await
}

/// Shows a hidden part after a row in the audit log. Not every role may see all.
async fn look(console: Console, Path(id): Path<String>, form: Form) -> PageResult<Response> {
    let mut look = Disclosure::default();
    match form.get("show") {
        "photo" => return photo(&console, &id).await,
        "phone" => look.phone = true,
        "receipt" => look.receipt = true,
        _ => {
            let message = "the page asked for nothing that is known; reload it";
            return Err(Failure::new("field_invalid", message).into());
        }
    }
    Ok(render(&console, &id, look, html! {}).await?.into_response())
}

/// A copy, as for a reviewer.
async fn photo(console: &Console, id: &str) -> PageResult<Response> {
    let tables = console.tables()?;
    let submission = submissions::one(&tables, id).await?;
    let look = Disclosure {
        photo: true,
        ..Disclosure::default()
    };
    let recorded =
        submissions::record_disclosure(&tables, &submission, look, console.now()).await?;
    let Some(receipt) = submission.receipt_id else {
        return Err(Failure::new("photo_not_shown", "it came without a receipt").into());
    };
    let copier = PhotoCopier::new(&tables)?;
    let copied = copier.copy(&submission.scope, receipt, &recorded).await?;
    match copied.shown {
        ShownPhoto::Copy(photo) => Ok(([(CONTENT_TYPE, COPY_TYPE)], photo).into_response()),
        ShownPhoto::Nothing(why) => Err(Failure::new("photo_not_shown", why).into()),
    }
}

/// Submissions of the phone that are shown beside this one.
const MAX_OTHERS: u16 = 20;

async fn others(
    console: &Console,
    tables: &Tables,
    submission: &Submission,
) -> Result<Markup, Failure> {
    if !console.has(Role::Reviewer).await? {
        return Ok(lacks("Seeing them", Role::Reviewer));
    }
    let Submission {
        scope, entrant_id, ..
    } = submission;
    let recent = tables
        .submissions()
        .recent(scope, entrant_id, MAX_OTHERS)
        .await?;
    let others = recent
        .iter()
        .filter(|other| other.submission_id != submission.submission_id);
    let rows = html! {
        @for other in others.clone() {
            tr {
                td { a href=(path_of_submission(other.submission_id)) { (other.reference()) } }
                td { (status(&other.status)) }
                td { (other.status.message_key().as_str().replace('_', " ")) }
                td { (other.day) }
            }
        }
    };
    Ok(html! {
        @if others.count() == 0 {
            p { "There are no others in this campaign." }
        } @else {
            (table("Other submissions of the phone", &["Reference", "State", "Reason", "Day"], rows))
        }
        @if recent.len() == usize::from(MAX_OTHERS) { p.soft { "These are its latest." } }
    })
}

async fn render(console: &Console, id: &str, look: Disclosure, told: Markup) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let submission = &submissions::one(&tables, id).await?;
    let campaign = tables.campaign(&submission.scope.campaign).await?;
    let view = SubmissionView::load(&tables, submission, look, now).await?;
    let timeline = view.timeline();
    let known = view.facts().into_iter().map(|(name, value)| {
        // A hidden value's text names the command line's option.
        let is_hidden = value.starts_with("hidden; --");
        let value = if is_hidden {
            "hidden".to_owned()
        } else {
            value
        };
        (name.replace('_', " "), value)
    });
    let known: Vec<_> = known.collect();
    let content = html! {
        (told)
        p { (status(&submission.status)) " " (scope(&submission.scope)) }
        (story::story(&tables, submission, &view, &campaign).await?)
        (actions::proposal(console, &tables, submission, view.zone).await?)
        (actions::actions(console, &tables, submission).await?)
        h2 { "What happened" }
        ol.timeline {
            @for Event { at, what } in &timeline.events { li { time datetime=(at) { (zoned_time(*at, view.zone)) } (what) } }
        }
        p.soft { "Made by request " (timeline.request_id.as_deref().unwrap_or("not recorded")) "." }
        h2 { "Other submissions of the phone" }
        (others(console, &tables, submission).await?)
        h2 { "Details" }
        (facts(&known))
        form.row method="post" {
            @if !look.phone { button name="show" value="phone" { "Show the phone" } }
            @if !look.receipt && submission.receipt_id.is_some() {
                button name="show" value="receipt" { "Show the receipt's code" }
            }
        }
        @if view.has_photo() {
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
    pill(class, status.state().as_str())
}

pub(crate) async fn list(tables: &Tables, found: &[Submission]) -> Result<Markup, Failure> {
    let mut rows = Vec::new();
    for one in found {
        let zone = tables.zone(&one.scope).await?;
        let phone = phones::shown(tables, one, false).await?;
        rows.push(html! {
            tr {
                td { a href=(path_of_submission(one.submission_id)) { (one.reference()) } }
                td { (scope(&one.scope)) }
                td { (phone) }
                td { (status(&one.status)) }
                td { (one.status.message_key()) }
                td { (zoned_time(one.created_at, zone)) }
            }
        });
    }
    let heading = [
        "Reference",
        "Campaign",
        "Phone",
        "State",
        "Message",
        "Created",
    ];
    Ok(table(
        "Submissions",
        &heading,
        html! { @for row in rows { (row) } },
    ))
}
