//! The tax authority's answer about a typed receipt, before a decision.

use common::domain::receipt::judgement::{Judgement, ReceiptVerdict};
use common::domain::receipt::payload::{ReceiptKey, ReceiptTime};
use common::domain::receipt::record::{FiscalItem, FiscalRecord};
use common::upstream::http_client::TransportError;
use common::upstream::tax_authority::answer::{LookupAnswer, PortalError};
use ops_core::review::lookup::{FoundReceipt, ReceiptLookup};

use super::{Refusal, Reply, ScreenRequest, field, typed_code, words};
use crate::prelude::*;

const BUSY: &str = "busy";

/// Only for a receipt on this screen.
pub(super) async fn look_up(console: Console, form: Form) -> Reply<Html<String>> {
    let ScreenRequest { screen, tables, .. } = ScreenRequest::from_form(&console, &form)?;
    let id = field(&form, "id")?;
    let code = typed_code(form.get("code"))?;
    let time = ReceiptTime::from_typed(form.get("time")).map_err(|_| {
        failure!(
            "receipt_time_invalid",
            "a receipt's time has hours and minutes, such as 14:05:33; read it from the receipt again"
        )
    })?;
    let is_here = screen.queue.lock().await.has(id);
    let submission = tables.submissions().get(&screen.scope, id).await?;
    let Some(submission) = submission.filter(|_| is_here) else {
        let message = "Another reviewer has this receipt now, so it was not looked up.";
        return Err(Refusal(StatusCode::CONFLICT, message.to_owned()));
    };
    let campaign = tables.campaign(&screen.scope.campaign).await?;
    let key = ReceiptKey {
        code: code.clone(),
        time: Some(time),
    };
    let looking_up =
        ops_core::review::lookup::look_up(&tables, &submission, &campaign, key, || console.now());
    let (result, answer) = match Box::pin(looking_up).await? {
        ReceiptLookup::Found(receipt) => ("found", found(&receipt, &campaign, &submission)),
        ReceiptLookup::NotFound(answer) => (answer.as_str(), not_found(&answer)),
        ReceiptLookup::Busy => {
            let why = "Every look-up of the last 15 seconds went to a receipt of the queue.";
            let next = "Press Enter again to wait for the next one";
            (BUSY, not_found_because(BUSY, why, next))
        }
    };
    screen.keep_look_up(id, code, result);
    Ok(Html(answer.into_string()))
}

fn not_found(answer: &LookupAnswer) -> Markup {
    let (why, next) = match answer {
        // The caller shows it.
        LookupAnswer::Found(_) => ("The tax authority has this receipt.", "Look at it again"),
        LookupAnswer::WrongTime => (
            "The tax authority has this code, with another time.",
            "Read the time again",
        ),
        LookupAnswer::NotFoundYet => (
            "The tax authority does not know this code. Shops upload late, sometimes by hours.",
            "Read the code again",
        ),
        LookupAnswer::Throttled => (
            "The tax authority turns look-ups away for some minutes, because there were too many.",
            "Skip this receipt for now",
        ),
        LookupAnswer::RefererRefused => (
            "The tax authority refused the way we ask. The service's own look-ups fail too.",
            "Tell your administrator",
        ),
        LookupAnswer::Unavailable(PortalError::OtherReceipt) => (
            "The tax authority sent the page of another receipt.",
            "Change nothing and look it up again",
        ),
        LookupAnswer::Unavailable(
            PortalError::Deadline | PortalError::Transport(TransportError::Timeout),
        ) => (
            "The tax authority is slow: it did not answer in time.",
            "Look it up again",
        ),
        LookupAnswer::Unavailable(_) => (
            "The tax authority cannot be reached, or answers with an error.",
            "Look it up again later",
        ),
        LookupAnswer::Unexpected(_) => (
            "The tax authority sent a page that the service cannot read.",
            "Tell your administrator",
        ),
    };
    not_found_because(answer.as_str(), why, next)
}

fn not_found_because(answer: &str, why: &str, next: &str) -> Markup {
    html! {
        p.bad data-answer=(answer) { (why) " " (next) ", or decide by hand: tick that it is accepted without the tax authority." }
    }
}

fn found(found: &FoundReceipt, campaign: &Campaign, submission: &Submission) -> Markup {
    let FoundReceipt {
        record,
        judgement,
        entered,
    } = found;
    let verified = judgement.as_ref().and_then(entries);
    let is_clear = verified.is_some() && entered.is_none();
    // A second person accepts with the first one's number.
    let filled_in = verified.filter(|_| submission.first_acceptance().is_none());
    let entered = html! {
        @match entered {
            Some(other) => {
                mark { "yes" } ", " a href=(path_of_submission(other.submission_id)) target="_blank" rel="noopener" { (other.reference()) }
                " at " (zoned_time(other.created_at, campaign.timezone))
            }
            None => "no",
        }
    };
    let products = judgement.as_ref().map(|judgement| &judgement.summary);
    let products = products.and_then(|summary| summary.items_summary.as_deref());
    let known = [
        ("Shop", shop(record, judgement.as_ref(), campaign)),
        ("Bought", bought_at(record)),
        ("Total", html! { (amount(record.total_incl_cents)) }),
        ("Taking part", html! { (products.unwrap_or("no product")) }),
        ("The rules", rules(judgement.as_ref())),
        ("Entered before", entered),
    ];
    html! {
        div data-answer="found" data-entries=[filled_in] data-clear[is_clear] {
            @if is_clear { p.good { "The tax authority has this receipt. " kbd { "Enter" } " accepts it." } }
            @else { p { b { "The tax authority has this receipt." } " Read on before you decide; to accept it, use the button." } }
            (facts(&known))
            details {
                summary { (number(i64::try_from(record.items.len()).unwrap_or(i64::MAX))) " items" }
                ul { @for item in &record.items { li { (line(item)) } } }
            }
        }
    }
}

fn shop(record: &FiscalRecord, judgement: Option<&Judgement>, campaign: &Campaign) -> Markup {
    let branches = campaign.receipt.as_ref().map(|rules| &rules.branches);
    let key = judgement.and_then(|judgement| judgement.summary.branch.as_ref());
    let branch = branches.and_then(|all| all.iter().find(|one| Some(&one.key) == key));
    html! {
        (record.trader.as_deref().unwrap_or("not named")) ", TIN " (record.tin)
        @if let Some(branch) = branch { " (" (branch.name) ")" }
    }
}

fn bought_at(record: &FiscalRecord) -> Markup {
    html! { (record.date) @if let Some(time) = record.time { " " (time.expose()) } }
}

fn rules(judgement: Option<&Judgement>) -> Markup {
    html! {
        @match judgement.map(|judgement| &judgement.verdict) {
            Some(ReceiptVerdict::Verified { entries }) => { "accept it with " (entries_in_words(*entries)) }
            Some(ReceiptVerdict::Declined(key, reason)) => { mark { "reject it: " (words(key.as_str())) } " (" (words(reason.as_str())) ")" }
            Some(ReceiptVerdict::Review(reason)) => { "leave it to you: " (words(reason.as_str())) }
            None => "none: the campaign takes no receipts any more",
        }
    }
}

fn entries(judgement: &Judgement) -> Option<u32> {
    match judgement.verdict {
        ReceiptVerdict::Verified { entries } => Some(entries),
        ReceiptVerdict::Declined(..) | ReceiptVerdict::Review(_) => None,
    }
}

fn line(item: &FiscalItem) -> Markup {
    let thousandths = item.quantity.map(|quantity| quantity.as_thousandths());
    let quantity = thousandths.map(|all| match all % 1_000 {
        0 => format!("{} x ", all / 1_000),
        part => format!("{}.{:03} x ", all / 1_000, part.abs()),
    });
    html! { (quantity.unwrap_or_default()) (item.description) ", " (amount(Some(item.amount_cents))) }
}

/// Such as `1,234.50`.
fn amount(cents: Option<i64>) -> String {
    cents.map_or_else(
        || "not known".to_owned(),
        |cents| format!("{}.{:02}", number(cents / 100), (cents % 100).abs()),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_failure_has_its_own_words() {
        let failures = [
            LookupAnswer::WrongTime,
            LookupAnswer::NotFoundYet,
            LookupAnswer::Throttled,
            LookupAnswer::RefererRefused,
            LookupAnswer::Unavailable(PortalError::OtherReceipt),
            LookupAnswer::Unavailable(PortalError::Deadline),
            LookupAnswer::Unavailable(PortalError::Status(503)),
        ];
        let words = failures.map(|answer| not_found(&answer).into_string());
        assert_eq!(BTreeSet::from(words).len(), 7);
    }

    #[test]
    fn amounts_are_grouped() {
        assert_eq!(amount(Some(250_000)), "2,500.00");
        assert_eq!(amount(Some(-105)), "-1.05");
        assert_eq!(amount(None), "not known");
    }
}
