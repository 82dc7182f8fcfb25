//! A submission's story in sentences: what came, what became of it, and why.

use common::domain::message::Language;
use common::domain::settling::Assignee;
use common::domain::submission::{OperatorDecision, State};
use ops_core::codes::batch_of;
use ops_core::submissions::view::SubmissionView;

use crate::prelude::*;

pub(super) async fn story(
    tables: &Tables,
    submission: &Submission,
    view: &SubmissionView<'_>,
    campaign: &Campaign,
) -> Result<Markup, Failure> {
    let batch = batch_of(tables, submission).await?;
    let prize = batch.as_ref().and_then(|batch| batch.prize.as_ref());
    let key = submission.status.message_key();
    let consent = submission.consent.as_ref();
    let language = consent.map_or(Language::En, |consent| consent.language);
    let text = campaign.messages.text(key, language);
    let entered = view.code_entered();
    Ok(html! {
        p {
            (sender(view.phone())) " sent it on " (at(submission.created_at, view.zone))
            @if let Some(batch) = &batch {
                ", with a code of batch " (batch.name) @if let Some(prize) = prize { " (" (prize) ")" }
            }
            @if submission.receipt_id.is_some() { @if batch.is_some() { " and a receipt" } @else { ", with a receipt" } }
            "."
        }
        p {
            (outcome(submission, view.zone)) " The consumer reads: “" (text) "”"
        }
        @if let Some(entered) = entered {
            p { (entered.sentence()) " " a href=(path_of_submission(entered.holder().submission_id)) { "Show that submission" } "." }
        }
        @if let Some(decision) = &submission.decision {
            p {
                @if submission.status.is_terminal() { "It was decided " } @else { "It was reopened " }
                (decided(decision)) ", on " (at(decision.at, view.zone)) "."
            }
        }
    })
}

fn sender(phone: &str) -> Markup {
    html! { @if phone.starts_with('+') { (phone) } @else { "A phone that is " (phone) } }
}

fn at(at: Timestamp, zone: Tz) -> String {
    at.in_zone(zone).format("%-d %b %Y %H:%M").to_string()
}

fn outcome(submission: &Submission, zone: Tz) -> String {
    let status = &submission.status;
    let reason = status.message_key().as_str().replace('_', " ");
    match status.state() {
        State::Accepted => {
            let entries = entries_in_words(status.entries());
            match status.instant_win() {
                Some(prize) => format!("It is accepted, with {entries} and the prize “{prize}”."),
                None => format!("It is accepted, with {entries}."),
            }
        }
        State::Rejected if submission.is_revoked() => {
            "It was accepted, and revoked since.".to_owned()
        }
        State::Rejected => format!("It was refused: {reason}."),
        State::Pending | State::Unknown => {
            let Some(settling) = &submission.settling else {
                return format!("It is not settled: {reason}.");
            };
            let next = at(settling.next_step_at, zone);
            match settling.assignee {
                Assignee::Operator => {
                    let why = submission.reasons.iter();
                    let why = joined(why.map(|reason| reason.replace('_', " ")));
                    let why = if why.is_empty() { reason } else { why };
                    format!("It waits for a person since {next}: {why}.")
                }
                Assignee::Service => {
                    format!("The service works on it; the next step is due on {next}.")
                }
            }
        }
    }
}

fn decided(decision: &OperatorDecision) -> String {
    let words = |by: &str, why: Option<&String>| match why {
        Some(why) => format!("by {by} (“{why}”)"),
        None => format!("by {by}"),
    };
    let first = words(&decision.by, decision.why.as_ref());
    match &decision.confirmed {
        Some(second) => format!("{first} and {}", words(&second.by, second.why.as_ref())),
        None => first,
    }
}
