//! The list of what waits for a person: by reason, and receipts of one basket to be rejected together.

use common::domain::message::{Language, MessageKey};
use ops_core::review::waiting::{PAGE, Rejection, WaitingPage, reject};

use super::meanwhile::changed;
use super::{MOVED, REASONS, no_field, words};
use crate::prelude::*;

pub(super) fn path(scope: &Scope) -> String {
    format!("{}/review/waiting", path_of(scope))
}

/// The list of those with the basket of `id` on the page `from`, and `named`, such as those with its
/// file.
pub(super) fn path_of_same(
    scope: &Scope,
    id: SubmissionId,
    named: &[SubmissionId],
    from: usize,
) -> String {
    let named: Vec<_> = named.iter().map(SubmissionId::to_string).collect();
    let (id, named, from) = (id.to_string(), named.join(","), from.to_string());
    let fields = [("same", id), ("named", named), ("from", from)];
    let fields = fields
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    with_query(&path(scope), &fields)
}

fn path_of_review(submission: &Submission) -> String {
    let id = submission.submission_id;
    format!("{}/review?id={id}", path_of(&submission.scope))
}

pub(super) async fn list(
    console: Console,
    Named(scope): Named<Scope>,
    Query(query): Query,
) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let campaign = tables.campaign(&scope.campaign).await?;
    let from = query.get("from").parse().unwrap_or(0);
    let page = WaitingPage::read(&tables, &scope, from).await?;
    let content = match query.get("same").parse() {
        Ok(id) => {
            let named = query.get("named").split(',');
            let named: Vec<_> = named.filter_map(|id| id.parse().ok()).collect();
            let alike = page.alike(&tables, &scope, id, &named).await?;
            same(&alike, &scope, from, now)
        }
        Err(_) => by_reason(&page, &scope, query.get("reason"), from, now),
    };
    let title = format!("Waiting for a person in {}", campaign.name);
    Ok(framed(&title, &scope, content))
}

fn framed(title: &str, scope: &Scope, content: Markup) -> Html<String> {
    let frame = Page::new(title, Section::Review).in_scope(scope);
    frame.render(html! {
        p { a href={ (path_of(scope)) "/review" } { "Back to the review" } }
        (content)
    })
}

fn by_reason(
    page: &WaitingPage,
    scope: &Scope,
    chosen: &str,
    from: usize,
    now: Timestamp,
) -> Markup {
    let reasons: Vec<_> = page
        .reasons()
        .into_iter()
        .map(|(reason, count)| (reason, format!("{} ({count})", words(reason))))
        .collect();
    let options = reasons
        .iter()
        .map(|(reason, words)| (*reason, words.as_str()));
    let shown: Vec<_> = page
        .submissions
        .iter()
        .filter(|one| chosen.is_empty() || one.reasons.iter().any(|reason| reason == chosen))
        .collect();
    let end = from + PAGE;
    html! {
        p {
            (page.total) " wait"
            @if page.total > PAGE { ", longest waiting first; this page has numbers " (from + 1) " to " (end.min(page.total)) }
            @if page.unreadable > 0 { ". " (page.unreadable) " cannot be read by this version of ops" }
            "."
        }
        form.row method="get" {
            div { (select("reason", "Why", std::iter::once(("", "any reason")).chain(options), chosen, false)) }
            @if from > 0 { (hidden("from", &from.to_string())) }
            button { "Show" }
        }
        @if shown.is_empty() { p { "None." } }
        @else { (submissions(&shown, now, |one| html! { td { a href=(path_of_same(scope, one.submission_id, &[], from)) { "same basket" } } })) }
        @if page.total > end {
            p { a href=(with_query(&path(scope), &[("from", &end.to_string()), ("reason", chosen)])) { "The next " (PAGE.min(page.total - end)) } }
        }
    }
}

fn submissions(
    all: &[&Submission],
    now: Timestamp,
    last: impl Fn(&Submission) -> Markup,
) -> Markup {
    let rows = html! {
        @for one in all {
            tr {
                td { a href=(path_of_review(one)) { (one.reference()) } }
                td { @if let Some(settling) = &one.settling { (span_in_words(now.since(settling.next_step_at))) } }
                td { (one.reasons.iter().map(|reason| words(reason)).collect::<Vec<_>>().join(", ")) }
                td { (or_dash(one.region.as_deref())) }
                (last(one))
            }
        }
    };
    table(
        "Waiting submissions",
        &["Reference", "Waits for", "Why", "Region", "Together"],
        rows,
    )
}

/// What a checkbox names: the submission as it was shown.
fn seen(submission: &Submission) -> String {
    format!("{}:{}", submission.submission_id, submission.revision)
}

fn same(alike: &[Submission], scope: &Scope, from: usize, now: Timestamp) -> Markup {
    let all: Vec<_> = alike.iter().map(seen).collect();
    let shown: Vec<_> = alike.iter().collect();
    let reasons: Vec<_> = REASONS
        .into_iter()
        .map(|(_, key)| (key.as_str(), words(key.as_str())))
        .collect();
    let reasons = reasons.iter().map(|(key, words)| (*key, words.as_str()));
    html! {
        p {
            "Same products, shop and day, or the same receipt or photo, among "
            @if from == 0 { "the " (PAGE) " longest waiting" } @else { "numbers " (from + 1) " to " (from + PAGE) " of those waiting" }
            ": " (alike.len()) "."
        }
        @if alike.is_empty() { p { "It does not wait any more." } }
        @else {
            form method="post" action=(path(scope)) {
                (hidden("all", &all.join(",")))
                (submissions(&shown, now, |one| html! {
                    td { label.inline { input type="checkbox" name=(seen(one)) value="yes" checked; " reject" } }
                }))
                (select("reason", "Reason", reasons, MessageKey::ReceiptAlreadyUsed.as_str(), true))
                p { button.danger { "Reject those ticked" } }
            }
        }
    }
}

/// Asks once, with the number and what consumers will read; then each is decided on its own.
pub(super) async fn reject_many(
    console: Console,
    Named(scope): Named<Scope>,
    form: Form,
) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let campaign = tables.campaign(&scope.campaign).await?;
    let reason = REASONS
        .into_iter()
        .map(|(_, key)| key)
        .find(|key| key.as_str() == form.get("reason"));
    let reason = reason.ok_or_else(|| failure!("reason_invalid", "choose a reason"))?;
    let is_confirmed = !form.get("chosen").is_empty();
    let chosen: Vec<_> = if is_confirmed {
        form.get("chosen").split(',').collect()
    } else {
        let ticked = |one: &&str| !form.get(one).is_empty();
        form.get("all").split(',').filter(ticked).collect()
    };
    if chosen.is_empty() {
        let nothing = failure!(
            "nothing_chosen",
            "nothing was rejected: tick at least one receipt"
        );
        return Err(nothing.into());
    }
    if !is_confirmed {
        let content = confirmation(&campaign, &scope, &chosen, reason);
        return Ok(framed("Reject together", &scope, content));
    }
    let as_shown = |one: &str| -> Option<(SubmissionId, u32)> {
        let (id, revision) = one.split_once(':')?;
        Some((id.parse().ok()?, revision.parse().ok()?))
    };
    let chosen: Option<Vec<_>> = chosen.into_iter().map(as_shown).collect();
    let chosen = chosen.ok_or_else(|| no_field("submission"))?;
    let locks = tables.review_locks()?;
    let by = tables.audit.operator_name().await?;
    let holder = format!("{by} {}", hex::encode(random::bytes::<16>()));
    let (mut rejected, mut left) = (0, Vec::new());
    for shown in chosen {
        let (id, _) = shown;
        let why = match reject(&tables, &locks, &scope, shown, reason, (&holder, now)).await {
            Rejection::Rejected => {
                rejected += 1;
                continue;
            }
            Rejection::HeldBy(by) => format!("open with {by} right now"),
            Rejection::Refused(failure) if failure.code == MOVED => {
                let changed = changed(&tables, &scope, id, &failure).await;
                changed.unwrap_or_else(|failure| page_message(&failure))
            }
            Rejection::Refused(failure) => page_message(&failure),
        };
        left.push((id, why));
    }
    let content = html! {
        p role="status" { (rejected) " rejected as " (words(reason.as_str())) ", each with its own row in the log." }
        @if !left.is_empty() {
            h2 { "Not rejected" }
            ul { @for (id, why) in &left { li { a href=(path_of_submission(*id)) { (id.reference()) } ": " (why) } } }
        }
    };
    Ok(framed("Reject together", &scope, content))
}

fn confirmation(campaign: &Campaign, scope: &Scope, chosen: &[&str], reason: MessageKey) -> Markup {
    let messages = &campaign.messages;
    let receipts = if chosen.len() == 1 {
        "1 receipt".to_owned()
    } else {
        format!("{} receipts", chosen.len())
    };
    html! {
        p { "Reject " b { (receipts) } " as " b { (words(reason.as_str())) } "? Each consumer will read, in their language:" }
        ul {
            @for language in Language::ALL { li lang=(language) { (messages.text(reason, language)) } }
        }
        p.soft { "Each is a decision of its own in the log. A mistake is reopened one by one, by a second person." }
        form method="post" action=(path(scope)) {
            (hidden("chosen", &chosen.join(",")))
            (hidden("reason", reason.as_str()))
            p { button.danger { "Reject " (receipts) } }
        }
    }
}
