//! `ops submission settle`, `revoke` and `reopen`.

use crate::approvals::{decline, in_words, proposal_json};
use crate::cli::{AcceptArgs, CorrectionArgs, VerdictArgs};
use crate::corrections::{correct, done_in_words};
use crate::prelude::*;
use crate::settle::{Proof, Verdict, settle};
use crate::submissions::one;
use crate::submissions::view::as_json;

pub(super) async fn settle_one(
    tables: &Tables,
    name: &str,
    verdict: &VerdictArgs,
    accept: &AcceptArgs,
    why: &str,
    now: Timestamp,
) -> Result<Report> {
    let verdict = match verdict.reject {
        Some(key) => Verdict::Reject(key),
        None => Verdict::Accept {
            entries: accept.entries,
            proof: proof(accept)?,
        },
    };
    let decision = tables
        .audit
        .decision(validate_reason(why, "--why")?, now)
        .await?;
    let decided = settle(tables, name, verdict, decision).await?;
    report(tables, decided, settled_in_words).await
}

fn proof(args: &AcceptArgs) -> Result<Proof> {
    match &args.receipt_code {
        None if args.without_receipt_code => Ok(Proof::Waived),
        None => Ok(Proof::Record),
        Some(text) => VerificationCode::parse_typed(text).map(Proof::Read).ok_or_else(|| {
            failure!(
                "receipt_code_invalid",
                "--receipt-code is not a receipt's verification code, which has 6 to 40 letters and digits; \
                 read it from the receipt again"
            )
        }),
    }
}

fn settled_in_words(after: &Submission) -> String {
    let entries = match after.status.entries() {
        0 => String::new(),
        entries => format!(", with {}", entries_in_words(entries)),
    };
    let key = after.status.message_key();
    format!("{} settled as `{key}`{entries}", after.reference())
}

pub(super) async fn correct_one(
    tables: &Tables,
    CorrectionArgs { name, why }: &CorrectionArgs,
    correction: Correction,
    now: Timestamp,
) -> Result<Report> {
    let decision = tables
        .audit
        .decision(validate_reason(why, "--why")?, now)
        .await?;
    let decided = correct(tables, name, correction, decision).await?;
    report(tables, decided, |after| {
        corrected_in_words(after, correction)
    })
    .await
}

pub(super) async fn decline_one(
    tables: &Tables,
    name: &str,
    why: &str,
    now: Timestamp,
) -> Result<Report> {
    let decision = tables.audit.decision(validate_reason(why, "--why")?, now);
    let decision = decision.await?;
    let after = decline(tables, &one(tables, name).await?, &decision).await?;
    let text = format!(
        "{}: the request is gone; nothing else has changed",
        after.reference()
    );
    let phone = phones::shown(tables, &after, false).await?;
    Ok(Report::new(as_json(&after, phone), text))
}

fn corrected_in_words(after: &Submission, correction: Correction) -> String {
    let words = done_in_words(after, correction);
    let next = match correction {
        Correction::Revoke { .. } => "",
        Correction::Reopen => "; settle it with `ops submission settle`",
    };
    format!("{} {words}{next}", after.reference())
}

async fn report(
    tables: &Tables,
    decided: Decided,
    done: impl Fn(&Submission) -> String,
) -> Result<Report> {
    let submission = decided.submission();
    let phone = phones::shown(tables, submission, false).await?;
    let json = as_json(submission, phone);
    Ok(match &decided {
        Decided::Done(after) => Report::new(json, done(after)),
        Decided::Proposed {
            after,
            at_stake,
            replaced,
        } => {
            let text = proposed_in_words(after, at_stake, replaced.as_deref());
            let replaced = replaced.as_deref().map(proposal_json);
            let more = replaced.map(|first| ("replaced_proposal", first));
            Report::new(extended(json, more), text)
        }
        Decided::Unchanged(before) => {
            let decision = before.decision.as_ref();
            let when = decision.map(|decision| format!(" by {} at {}", decision.by, decision.at));
            let text = format!(
                "{} was revoked already{}; nothing was changed",
                before.reference(),
                when.unwrap_or_default()
            );
            Report::new(json, text)
        }
    })
}

fn proposed_in_words(after: &Submission, at_stake: &str, replaced: Option<&Approval>) -> String {
    let asked = after.approval.as_ref().map(|first| {
        let (by, change) = (&first.decision.by, in_words(&first.change));
        let rejection = match first.change {
            ProposedChange::Accept(_) => "; one person is enough to reject it",
            ProposedChange::Correct(_) => "",
        };
        format!(
            "{by} asks to {change}; {at_stake}, so nothing has changed yet. A second operator has to ask for the same, with their \
             own AWS identity and name{rejection}"
        )
    });
    let instead = replaced.map(|Approval { change, decision }| {
        let (by, at, change) = (&decision.by, decision.at, in_words(change));
        let code = match replaced.map(|first| &first.change) {
            Some(ProposedChange::Accept(_)) => ", or with another code",
            Some(ProposedChange::Correct(_)) | None => "",
        };
        format!(". This replaces what {by} asked for at {at}: to {change}{code}")
    });
    format!(
        "{}: {}{}",
        after.reference(),
        asked.unwrap_or_default(),
        instead.unwrap_or_default()
    )
}
