//! Reviews submissions by keyboard, one after the other.
//!
//! [`card`] renders one; [`lookup`] what the tax authority says; [`meanwhile`] what others did;
//! [`waiting`] lists all that wait.

mod card;
mod lookup;
mod meanwhile;
pub(crate) mod screens;
mod waiting;

use std::str::FromStr;
use std::sync::Arc;

use common::domain::message::MessageKey;
use common::domain::receipt::payload::VerificationCode;
use common::store::review_locks::{ReviewLock, ReviewLocks};
use ops_core::approvals::Decided;
use ops_core::corrections::reopen;
use ops_core::review::answer::{ReviewDecision, ReviewResult, write};
use ops_core::review::photo::COPY_TYPE;
use ops_core::review::progress::progress;
use ops_core::review::queue::reviewer;
use ops_core::settle::{Proof, Verdict};
use serde_json::json;

use self::meanwhile::{changed, first};
use self::screens::Screen;
use crate::prelude::*;

/// Time to take an answer back, in the page; claims last longer.
const UNDO_WINDOW: Duration = Duration::from_secs(8);

/// Failure code: the submission is not the shown revision.
const MOVED: &str = "submission_moved";

const REASONS: [(char, MessageKey); 9] = [
    ('1', MessageKey::ReceiptUnreadable),
    ('2', MessageKey::ReceiptWrongStore),
    ('3', MessageKey::ReceiptOutsideWindow),
    ('4', MessageKey::ReceiptNoQualifyingProduct),
    ('5', MessageKey::ReceiptAlreadyUsed),
    ('6', MessageKey::ReceiptNotFound),
    ('7', MessageKey::ReceiptTimeMismatch),
    ('8', MessageKey::ReceiptNotUploaded),
    ('9', MessageKey::Invalid),
];

const KEYS: [(&str, &str); 11] = [
    (
        "a",
        "accept; asks for the receipt's code if it is not known",
    ),
    ("e", "accept with another code or number of entries"),
    ("1 to 9", "reject, for the reason with that number"),
    ("s", "skip: leave it to others"),
    (
        "u",
        "undo the last answer, within 8 seconds; answers of the same second together",
    ),
    ("o", "reopen another operator's decision"),
    ("z", "zoom the photo; arrows move it"),
    ("r", "rotate the photo"),
    ("c", "more contrast"),
    ("?", "show these keys"),
    ("Esc", "close a form or a window"),
];

pub(crate) fn routes() -> Router<Console> {
    let path = |end: &str| format!("/campaigns/{{campaign}}/{{environment}}/review{end}");
    Router::new()
        .route(&path(""), get(review))
        .route(&path("/next"), post(next))
        .route(&path("/answer"), post(answer))
        .route(&path("/lookup"), post(lookup::look_up))
        .route(&path("/skip"), post(skip))
        .route(&path("/heartbeat"), post(heartbeat))
        .route(&path("/leave"), post(leave))
        .route(&path("/reopen"), post(reopen_one))
        .route(&path("/photo/{screen}/{id}"), get(photo))
        .route(
            &path("/waiting"),
            get(waiting::list).post(waiting::reject_many),
        )
}

struct Refusal(StatusCode, String);

impl<E: Into<Failure>> From<E> for Refusal {
    fn from(error: E) -> Self {
        let message = page_message(&error.into());
        Self(StatusCode::UNPROCESSABLE_ENTITY, message)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

type Reply<T = StatusCode> = Result<T, Refusal>;

/// Puts the submission of the query's `id` first.
async fn review(console: Console, Named(scope): Named<Scope>, Query(query): Query) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    // Fails for an unknown campaign.
    let campaign = tables.campaign(&scope.campaign).await?;
    let by = tables.audit.operator_name().await?;
    let screen = console.screens.open(scope.clone(), &by, now);
    let said = match query.get("id") {
        "" => None,
        id => first(&tables, &campaign, &screen, id, now).await?,
    };
    let content = html! {
        p #progress.soft { "Loading …" }
        p #said role="status" { @if let Some(said) = &said { (said) } }
        (tools(&scope))
        div #review data-screen=(screen.name) data-hold=(UNDO_WINDOW.as_millis()) {}
        p #failed hidden { "The next receipt could not be fetched. " button #again type="button" { "Try again" } }
        p #nothing hidden tabindex="-1" { "No submissions to review. The list is refreshed every 30 seconds." }
        p.soft {
            "Press " kbd { "?" } " for all keys. An answer is written after " (span_in_words(UNDO_WINDOW)) ", or when you leave this page; until then "
            kbd { "u" } " takes it back."
        }
        noscript { p.bad { "Reviewing needs JavaScript. " code { "ops submission settle" } " does without." } }
        (windows())
    };
    let frame = Page::new("Review", Section::Review)
        .in_scope(&scope)
        .with_script(assets::REVIEW_SCRIPT);
    Ok(frame.render(content))
}

/// `receipt_wrong_store` as `wrong store`, `no_qr_code` as `no QR code`.
fn words(key: &str) -> String {
    key.strip_prefix("receipt_")
        .unwrap_or(key)
        .replace('_', " ")
        .replace("qr code", "QR code")
}

fn tools(scope: &Scope) -> Markup {
    const TOOLS: [(&str, &str); 7] = [
        ("u", "Undo"),
        ("e", "Accept with changes"),
        ("z", "Zoom"),
        ("r", "Rotate"),
        ("c", "Contrast"),
        ("o", "Reopen a decision"),
        ("?", "All keys"),
    ];
    html! {
        div #tools.answers role="group" aria-label="Tools" {
            @for (key, name) in TOOLS { button.quiet type="button" data-key=(key) { (name) " " kbd { (key) } } }
            label.inline { input #single-keys type="checkbox" checked; " Single keys" }
            a href=(waiting::path(scope)) { "List of what waits" }
        }
    }
}

fn windows() -> Markup {
    html! {
        dialog #reopening aria-labelledby="reopening-title" {
            form method="dialog" {
                h2 #reopening-title { "Reopen a decision" }
                p.soft { "You cannot reopen your own decision. An accepted submission is revoked first, and reopened in a second step." }
                (text_field("name", "Reference or id"))
                (text_field("why", "Reason, which stays in the log"))
                p.row { button value="yes" { "Reopen" } button.danger type="button" data-close { "Back " kbd { "Esc" } } }
            }
        }
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl.keys { @for (key, does) in KEYS { div { dt { kbd { (key) } } dd { (does) } } } }
            p.row { button type="button" data-close { "Close " kbd { "Esc" } } }
        }
    }
}

/// A request of an open screen.
struct ScreenRequest {
    screen: Arc<Screen>,
    tables: Tables,
    locks: ReviewLocks,
    now: Timestamp,
}

impl ScreenRequest {
    fn from_form(console: &Console, form: &Form) -> Result<Self, Failure> {
        let (tables, now) = (console.tables()?, console.now());
        Ok(Self {
            screen: console.screens.find(form.get("screen"), now)?,
            locks: tables.review_locks()?,
            tables,
            now,
        })
    }
}

/// No content if nothing is left to claim.
async fn next(console: Console, form: Form) -> Reply<Response> {
    let ScreenRequest {
        screen,
        tables,
        locks,
        now,
    } = ScreenRequest::from_form(&console, &form)?;
    let copier = PhotoCopier::new(&tables)?;
    let mut queue = screen.queue.lock().await;
    let Some(claimed) = queue.next(&tables, &locks, now).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let id = claimed.submission.submission_id;
    let loaded = Box::pin(ReviewItem::load(&tables, &copier, claimed, now)).await;
    let mut item = match loaded {
        Ok(item) => item,
        Err(failure) => {
            queue.skip(&locks, id, now).await?;
            return Err(failure.into());
        }
    };
    screen.keep_photo(&mut item);
    Ok(Html(card::card(&item, &screen.name, now).into_string()).into_response())
}

/// No content means settled. On failure the page shows the submission again, except for 409:
/// another reviewer has it, or it changed.
async fn answer(console: Console, form: Form) -> Reply<Response> {
    let ScreenRequest {
        screen,
        tables,
        locks,
        now,
    } = ScreenRequest::from_form(&console, &form)?;
    let submission_id = field(&form, "id")?;
    let verdict = verdict(&form)?;
    let decision = ReviewDecision {
        submission_id,
        revision: field(&form, "revision")?,
        is_spot_check: field(&form, "second_look")?,
        looked_up: looked_up(&screen, submission_id, &verdict),
        verdict,
    };
    let lock = locks
        .acquire(&screen.scope, submission_id, &screen.holder, now)
        .await?;
    if let ReviewLock::Held { holder, .. } = lock {
        screen.forget_photo(submission_id);
        let message = format!(
            "not written: {} has it now, because this page was left alone for two minutes.",
            reviewer(&holder)
        );
        return Err(Refusal(StatusCode::CONFLICT, message));
    }
    let written = Box::pin(write(&tables, &screen.scope, &decision, now)).await;
    let is_settled = matches!(
        written,
        Ok(ReviewResult::Decided(Decided::Done(_)) | ReviewResult::SpotCheck(_))
    );
    let said = match written {
        Err(failure) if failure.code == MOVED => {
            let message = changed(&tables, &screen.scope, submission_id, &failure).await?;
            Err(Refusal(StatusCode::CONFLICT, message))
        }
        written => said(written),
    };
    let comes_back = said
        .as_ref()
        .is_err_and(|Refusal(status, _)| *status != StatusCode::CONFLICT);
    if !comes_back {
        screen.forget_photo(submission_id);
        let mut queue = screen.queue.lock().await;
        if is_settled {
            queue.answered(submission_id, now);
        } else {
            // Changed, or waits for a second person. An unreleased claim ends within two minutes.
            drop(queue.skip(&locks, submission_id, now).await);
        }
    }
    said
}

fn said(written: Result<ReviewResult, Failure>) -> Reply<Response> {
    match written {
        Ok(ReviewResult::Decided(Decided::Proposed { at_stake, .. })) => {
            let waits = format!("accepted by you; {at_stake}, so it waits for a second person.");
            Ok(waits.into_response())
        }
        Ok(ReviewResult::Decided(Decided::Done(_) | Decided::Unchanged(_))) => {
            Ok(StatusCode::NO_CONTENT.into_response())
        }
        Ok(ReviewResult::SpotCheck(after)) => {
            let agrees = after.spot_check.is_some_and(|look| look.agrees);
            let compared = if agrees {
                "agrees with"
            } else {
                "differs from"
            };
            Ok(format!("your second look {compared} the decision.").into_response())
        }
        Ok(ReviewResult::ReceiptTaken(other)) => Err(Refusal(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!(
                "not accepted: {} was accepted with the same receipt. Reject this one as already used, or read the code again.",
                other.reference()
            ),
        )),
        Err(failure) => Err(failure.into()),
    }
}

fn looked_up(screen: &Screen, id: SubmissionId, verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Accept {
            proof: Proof::Read(code),
            ..
        } => screen.looked_up(id, code),
        Verdict::Accept { .. } | Verdict::Reject(_) => None,
    }
}

fn verdict(form: &Form) -> Result<Verdict, Failure> {
    let verdict = match form.get("verdict") {
        "accept" => accepted(form)?,
        "reject" => Verdict::Reject(field(form, "reason")?),
        _ => return Err(no_field("verdict")),
    };
    verdict.check()?;
    Ok(verdict)
}

fn accepted(form: &Form) -> Result<Verdict, Failure> {
    let proof = match (form.get("code"), form.get("without")) {
        ("", "") => Proof::Record,
        ("", _) => Proof::Waived,
        (_, without) if !without.is_empty() => {
            bail!(
                "receipt_code_conflicts",
                "nothing was accepted: leave the receipt's code out, or say that it can be read"
            );
        }
        (code, _) => Proof::Read(typed_code(code)?),
    };
    let entries = if form.get("entries").is_empty() {
        None
    } else {
        Some(field(form, "entries")?)
    };
    Ok(Verdict::Accept { entries, proof })
}

fn typed_code(typed: &str) -> Result<VerificationCode, Failure> {
    VerificationCode::parse_typed(typed).ok_or_else(|| {
        failure!(
            "receipt_code_invalid",
            "a receipt's code has 6 to 40 letters and digits; read it from the receipt again"
        )
    })
}

fn field<T: FromStr>(form: &Form, name: &str) -> Result<T, Failure> {
    form.get(name).parse().map_err(|_| no_field(name))
}

fn no_field(name: &str) -> Failure {
    failure!(
        "field_invalid",
        "the page sent no {name} that can be used; reload it"
    )
}

async fn skip(console: Console, form: Form) -> Reply {
    let ScreenRequest {
        screen, locks, now, ..
    } = ScreenRequest::from_form(&console, &form)?;
    let id = field(&form, "id")?;
    screen.forget_photo(id);
    screen.queue.lock().await.skip(&locks, id, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn heartbeat(console: Console, form: Form) -> Reply<Response> {
    let ScreenRequest {
        screen,
        tables,
        locks,
        now,
    } = ScreenRequest::from_form(&console, &form)?;
    let mut queue = screen.queue.lock().await;
    let lost = queue.renew(&locks, now).await?;
    let waiting = queue.waiting();
    drop(queue);
    let progress = progress_line(&tables, &screen.scope, waiting, now).await?;
    for id in &lost {
        screen.forget_photo(*id);
    }
    let reply = json!({ "lost": lost, "progress": progress });
    Ok(([(CONTENT_TYPE, "application/json")], reply.to_string()).into_response())
}

async fn progress_line(
    tables: &Tables,
    scope: &Scope,
    (waiting, oldest): (usize, Option<Timestamp>),
    now: Timestamp,
) -> Result<String, Failure> {
    let done = progress(tables, scope, tables.zone(scope).await?, now).await?;
    let oldest =
        oldest.map(|oldest| format!(", the oldest for {}", span_in_words(now.since(oldest))));
    let mut line = format!(
        "{waiting} waiting{} · decided today: {}, this hour: {}",
        oldest.unwrap_or_default(),
        number(done.today),
        number(done.hour),
    );
    let looks = done.agreed + done.differed;
    if looks > 0 {
        line += &format!(
            " · second looks: {} of {} agree",
            number(done.agreed),
            number(looks)
        );
    }
    Ok(line)
}

/// Releases what has no answer; those sent when the page closes may arrive later.
async fn leave(console: Console, form: Form) -> Reply {
    let ScreenRequest { screen, locks, .. } = ScreenRequest::from_form(&console, &form)?;
    let answered: Vec<SubmissionId> = form
        .get("answered")
        .split(',')
        .filter_map(|id| id.parse().ok())
        .collect();
    screen.forget_photos();
    screen.queue.lock().await.leave(&locks, &answered).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reopen_one(console: Console, form: Form) -> Reply<String> {
    let (tables, now) = (console.tables()?, console.now());
    let why = validate_reason(form.get("why"), "the reason")?;
    let decision = tables.audit.decision(why, now).await?;
    let reopened = Box::pin(reopen(&tables, form.get("name"), decision)).await?;
    let reference = reopened.submission().reference();
    Ok(match reopened {
        Decided::Done(after) if after.is_revoked() => format!(
            "{reference} is revoked, and its entries are taken back. To have it decided again, reopen it once more, which needs the \
             rights of an operator."
        ),
        Decided::Done(_) => format!("{reference} waits for a reviewer again."),
        Decided::Proposed { .. } => format!(
            "A prize was won: nothing has changed in {reference} until a second person asks for the same."
        ),
        Decided::Unchanged(_) => format!("{reference} was not changed."),
    })
}

async fn photo(
    console: Console,
    Named((_, _, screen, id)): Named<(CampaignSlug, Environment, String, SubmissionId)>,
) -> Reply<Response> {
    let screen = console.screens.find(&screen, console.now())?;
    let photo = screen.photo(id).ok_or_else(|| {
        let gone = "This photo is not shown any more.".to_owned();
        Refusal(StatusCode::NOT_FOUND, gone)
    })?;
    Ok(([(CONTENT_TYPE, COPY_TYPE)], photo).into_response())
}
