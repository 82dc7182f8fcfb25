//! What an operator can do about a submission: revoke, reopen, review, block its phone; and agree to what another one asked for.

use common::domain::settling::Assignee;
use common::domain::submission::State;
use common::domain::submission::approval::{Approval, ProposedChange};
use common::domain::submission::correction::Correction;
use ops_core::approvals::{Decided, decline, in_words};
use ops_core::corrections::{correct_seen, done_in_words};
use ops_core::phones::{self, record_and_set_blocked};
use ops_core::submissions::Disclosure;

use super::render;
use crate::once::mark;
use crate::prelude::*;

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/submissions/{id}/revoke", post(revoke))
        .route("/submissions/{id}/reopen", post(reopen))
        .route("/submissions/{id}/decline", post(take_back))
        .route("/submissions/{id}/block", post(block))
        .route("/submissions/{id}/unblock", post(unblock))
}

/// The change that waits for a second person.
pub(super) async fn proposal(
    console: &Console,
    tables: &Tables,
    submission: &Submission,
    zone: Tz,
) -> Result<Markup, Failure> {
    let Some(Approval { change, decision }) = &submission.approval else {
        return Ok(html! {});
    };
    // Viewers are not asked for their identity.
    let is_own = console.has(Role::Reviewer).await? && {
        let by = tables.audit.operator_name().await?;
        decision.is_by(tables.audit.identity().await?, &by)
    };
    let why = decision.why.as_deref().unwrap_or("no reason given");
    let needed = match change {
        ProposedChange::Accept(_) => Role::Reviewer,
        ProposedChange::Correct(correction) => role_for(*correction),
    };
    let taken_back = |verb: &str| {
        html! {
            details {
                summary { (verb) " it …" }
                (form(submission, "decline", "decline", html! { p { button.danger { (verb) } } }))
            }
        }
    };
    let agree = match change {
        ProposedChange::Accept(_) => html! {
            p { a href=(review_path(submission)) { "Look at it in the review" } ", and accept the same there." }
        },
        ProposedChange::Correct(correction) => {
            let verb = match correction {
                Correction::Revoke { .. } => "revoke",
                Correction::Reopen => "reopen",
            };
            let (free_code, keep_prize) = match *correction {
                Correction::Revoke {
                    free_code,
                    keep_prize,
                } => (free_code, keep_prize),
                Correction::Reopen => (false, false),
            };
            form(
                submission,
                verb,
                "agree",
                html! {
                    @if free_code { (hidden("free_code", "on")) }
                    @if keep_prize { (hidden("keep_prize", "on")) }
                    p { button { "Approve: " (in_words(change)) } }
                },
            )
        }
    };
    let has = console.has(needed).await?;
    Ok(html! {
        section.asked aria-labelledby="asked" {
            h2 #asked { "Waits for a second person" }
            p { (decision.by) " asked on " (zoned_time(decision.at, zone)) " to " (in_words(change)) ": “" (why) "”" }
            @if is_own {
                p { "You asked for it, and it can decide who gets a prize, so another operator has to approve it on this page, with their own AWS identity and name. Nothing changes until then." }
                (with_role(has, "Withdrawing it", needed, taken_back("Withdraw")))
            } @else {
                (with_role(has, "Approving or declining it", needed, html! { (agree) (taken_back("Decline")) }))
            }
        }
    })
}

fn role_for(correction: Correction) -> Role {
    match correction {
        Correction::Revoke { .. } => Role::Reviewer,
        Correction::Reopen => Role::Operator,
    }
}

fn review_path(submission: &Submission) -> String {
    let id = submission.submission_id.to_string();
    with_query(
        &format!("{}/review", path_of(&submission.scope)),
        &[("id", &id)],
    )
}

/// Asks for the reason. `name` tells the fields of several forms apart.
fn form(submission: &Submission, verb: &str, name: &str, rest: Markup) -> Markup {
    let id = format!("why-{name}");
    html! {
        form method="post" action={ (path_of_submission(submission.submission_id)) "/" (verb) } {
            (hidden("revision", &submission.revision.to_string()))
            (mark())
            label for=(id) { "Reason, which stays in the record" }
            input id=(id) name="why" required maxlength="500" autocomplete="off";
            (rest)
        }
    }
}

pub(super) async fn actions(
    console: &Console,
    tables: &Tables,
    submission: &Submission,
) -> Result<Markup, Failure> {
    let is_reviewer = console.has(Role::Reviewer).await?;
    let is_operator = console.has(Role::Operator).await?;
    let entrant = tables
        .entrants
        .get(&submission.scope, &submission.entrant_id, &submission.day)
        .await?;
    Ok(html! {
        h2 { "What can be done" }
        @match submission.status.state() {
            // Another request would replace the one that waits.
            State::Accepted | State::Rejected if submission.approval.is_some() => p { "A second person decides first, above." },
            State::Accepted => (with_role(is_reviewer, "Revoking it", Role::Reviewer, revoke_form(submission))),
            State::Rejected => (with_role(is_operator, "Reopening it", Role::Operator, reopen_form(submission))),
            State::Pending | State::Unknown => @if submission.assignee() == Some(Assignee::Operator) {
                (with_role(is_reviewer, "Reviewing it", Role::Reviewer, html! {
                    p { a.button href=(review_path(submission)) { "Review this one" } }
                }))
            } @else {
                p { "The service works on it. It comes to the review if a person has to decide." }
            }
        }
        @if submission.phone.is_none() {
            p.soft { "Its phone is erased, so it can neither be blocked nor told another outcome." }
        } @else {
            (with_role(is_operator, "Blocking its phone", Role::Operator, block_form(submission, entrant.blocked)))
        }
    })
}

fn revoke_form(submission: &Submission) -> Markup {
    let rest = html! {
        @if submission.code_key().is_some() {
            p { label.inline { input type="checkbox" name="free_code" value="on"; " Its code can be entered again" } }
        }
        @if submission.status.instant_win().is_some() {
            p { label.inline { input type="checkbox" name="keep_prize" value="on"; " Its instant prize was handed over and stays with the winner" } }
        }
        p { button.danger { "Revoke" } }
    };
    html! {
        details {
            summary { "Revoke it …" }
            p { "Its entries are taken back, and the consumer is told to ask customer care. If a prize or a draw is at stake, a second person has to approve." }
            (form(submission, "revoke", "revoke", rest))
        }
    }
}

fn reopen_form(submission: &Submission) -> Markup {
    html! {
        details {
            summary { "Reopen it …" }
            p { "It waits for a person again, with its code. A decision of yours is reopened by another operator." }
            (form(submission, "reopen", "reopen", html! { p { button { "Reopen" } } }))
        }
    }
}

fn block_form(submission: &Submission, is_blocked: bool) -> Markup {
    let campaign = &submission.scope.campaign;
    html! {
        @if is_blocked {
            details {
                summary { "Unblock its phone …" }
                p { "The phone is blocked. Unblocked, it can enter " (campaign) " again, in test and live." }
                (form(submission, "unblock", "unblock", html! { p { button { "Unblock the phone" } } }))
            }
        } @else {
            details {
                summary { "Block its phone …" }
                p { "The phone can enter nothing more in " (campaign) ", test and live. Its submissions stay as they are." }
                (form(submission, "block", "block", html! { p { button.danger { "Block the phone" } } }))
            }
        }
    }
}

async fn revoke(console: Console, Path(id): Path<String>, form: Form) -> PageResult<Response> {
    let revoke = Correction::Revoke {
        free_code: form.get("free_code") == "on",
        keep_prize: form.get("keep_prize") == "on",
    };
    correct(console, id, form, revoke).await
}

async fn reopen(console: Console, Path(id): Path<String>, form: Form) -> PageResult<Response> {
    correct(console, id, form, Correction::Reopen).await
}

async fn correct(
    console: Console,
    id: String,
    form: Form,
    correction: Correction,
) -> PageResult<Response> {
    let (tables, now) = (console.tables()?, console.now());
    let done = async {
        let why = validate_reason(form.get("why"), "the reason")?;
        let before = shown(&tables, &id, &form).await?;
        let decision = tables.audit.decision(why, now).await?;
        Box::pin(correct_seen(&tables, before, correction, decision)).await
    };
    let said = done.await.map(|decided| match decided {
        Decided::Done(after) => {
            let words = done_in_words(&after, correction);
            format!("{} {words}.", after.reference())
        }
        Decided::Proposed { at_stake, .. } => format!(
            "Nothing has changed yet: {at_stake}, so a second person has to approve it on this page, with their own AWS identity and name."
        ),
        Decided::Unchanged(_) => "It was revoked before, so nothing was changed.".to_owned(),
    });
    answer(&console, &id, said).await
}

async fn take_back(console: Console, Path(id): Path<String>, form: Form) -> PageResult<Response> {
    let (tables, now) = (console.tables()?, console.now());
    let done = async {
        let why = validate_reason(form.get("why"), "the reason")?;
        let before = shown(&tables, &id, &form).await?;
        let decision = tables.audit.decision(why, now).await?;
        decline(&tables, &before, &decision).await
    };
    let said = done.await.map(|after| {
        let reference = after.reference();
        format!("The request is gone, which the log records; {reference} stays as it was.")
    });
    answer(&console, &id, said).await
}

/// The submission, unless it changed since the page with this form was made.
async fn shown(tables: &Tables, id: &str, form: &Form) -> Result<Submission, Failure> {
    let submission = submissions::one(tables, id).await?;
    if form.get("revision") != submission.revision.to_string() {
        bail!(
            "submission_moved",
            "it changed after this page was made, so nothing was done. This is how it stands now"
        );
    }
    Ok(submission)
}

async fn block(console: Console, Path(id): Path<String>, form: Form) -> PageResult<Response> {
    set_blocked(console, id, form, true).await
}

async fn unblock(console: Console, Path(id): Path<String>, form: Form) -> PageResult<Response> {
    set_blocked(console, id, form, false).await
}

async fn set_blocked(
    console: Console,
    id: String,
    form: Form,
    blocked: bool,
) -> PageResult<Response> {
    let (tables, now) = (console.tables()?, console.now());
    let done = async {
        let why = validate_reason(form.get("why"), "the reason")?;
        let submission = submissions::one(&tables, &id).await?;
        let Some(phone) = tables.secrets().phone_of(&submission).await? else {
            bail!("erased", "its phone is erased, so it cannot be blocked");
        };
        let decision = phones::decision(&tables, why, now).await?;
        let slug = &submission.scope.campaign;
        let set = record_and_set_blocked(&tables, slug, &phone, blocked, &decision);
        let changed = console.sent_forms.once(&form, set).await?;
        let word = match (blocked, changed) {
            (true, true) => "is blocked",
            (true, false) => "was blocked already",
            (false, true) => "is unblocked",
            (false, false) => "was not blocked",
        };
        Ok(format!(
            "{} {word} in {slug}, test and live.",
            phone.masked()
        ))
    };
    let said = done.await;
    answer(&console, &id, said).await
}

/// The page as it stands now, with what was done or why not.
async fn answer(
    console: &Console,
    id: &str,
    said: Result<String, Failure>,
) -> PageResult<Response> {
    let (status, told) = match said {
        Ok(said) => (StatusCode::OK, html! { p.good role="status" { (said) } }),
        Err(failure) => {
            let words = match failure.code {
                "submission_moved" => {
                    "It changed after this page was made, so nothing was done. This is how it stands now.".to_owned()
                }
                _ => page_message(&failure),
            };
            let told = html! { p.bad role="alert" { (words) } };
            (PageError::from(failure).status(), told)
        }
    };
    let page = render(console, id, Disclosure::default(), told).await?;
    Ok((status, page).into_response())
}
