//! `ops submission`.

mod correct;
mod list;

use std::cmp::Reverse;

use common::config::Env;
use common::domain::receipt::payload::VerificationCode;
use common::domain::scope::Scope;
use common::domain::submission::approval::{Approval, ProposedChange};
use common::domain::submission::correction::Correction;
use common::domain::submission::{OperatorDecision, State, Submission};
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use super::{phone_or_typed, typed_or};
pub(crate) use crate::audit::words;
use crate::cli::{AcceptArgs, CorrectionArgs, ListArgs, ShowArgs, SubmissionCommand, VerdictArgs};
use crate::confirm::Answer;
use crate::failure::Failure;
use crate::format::{entries_in_words, lines, table, zoned_time};
use crate::settle::{ManualSettlement, Proof, Verdict, resume, settle};
use crate::submissions::Disclosure;
use crate::submissions::code_entered::CodeEntered;
use crate::submissions::timeline::{Event, Timeline};
use crate::submissions::view::{SubmissionView, as_json};
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};
use crate::{connection, phones, receipts, submissions, view};

pub(crate) async fn run(
    command: SubmissionCommand,
    env: &Env,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    match command {
        SubmissionCommand::Show { name, show } => show_found(&name, show, env, now).await,
        SubmissionCommand::Timeline { name } => show_timelines(&name, env, now).await,
        SubmissionCommand::List(args) => list_found(args, env, now, terminal).await,
        SubmissionCommand::Resume { names } => {
            let tables = connection::tables(env).await?;
            let mut resumed = Vec::new();
            for name in &names {
                resumed.push(resume(&tables, name, now).await?);
            }
            let text = format!(
                "{} resumed; the service works on them within a minute",
                resumed.len()
            );
            let views = views(&tables, &resumed).await?;
            Ok(Report::new(json!({ "submissions": views }), text))
        }
        SubmissionCommand::Revoke { args, free_code } => {
            correct_one(args, Correction::Revoke { free_code }, env, now).await
        }
        SubmissionCommand::Reopen(args) => correct_one(args, Correction::Reopen, env, now).await,
        SubmissionCommand::Settle {
            name,
            verdict,
            accept,
            why,
        } => settle_one(&name, &verdict, &accept, &why, env, now).await,
    }
}

async fn show_found(
    name: &str,
    show: ShowArgs,
    env: &Env,
    now: Timestamp,
) -> Result<Report, Failure> {
    let tables = connection::tables(env).await?;
    let found = submissions::find(&tables, name).await?;
    let mut shown = Vec::new();
    let ShowArgs {
        show_phone,
        show_receipt,
        show_photo,
    } = show;
    let disclosure = Disclosure {
        phone: show_phone,
        receipt: show_receipt,
        photo: show_photo,
    };
    for submission in &found {
        let recorded = submissions::record_disclosure(&tables, submission, disclosure, now).await?;
        let photo = recorded.as_ref().filter(|_| show_photo);
        let receipt = receipts::of_submission(&tables, env, submission, photo, now).await?;
        let zone = tables.campaign(&submission.scope.campaign).await?.timezone;
        let phone = phones::shown(&tables, submission, show_phone).await?;
        let code_entered = CodeEntered::before(&tables, submission, zone).await?;
        shown.push(SubmissionView {
            submission,
            phone,
            code_entered,
            receipt,
            zone,
            show_receipt,
        });
    }
    let texts: Vec<_> = shown.iter().map(|shown| lines(&shown.facts())).collect();
    let json: Vec<_> = shown.iter().map(SubmissionView::as_json).collect();
    Ok(Report::new(
        json!({ "submissions": json }),
        texts.join("\n"),
    ))
}

async fn show_timelines(name: &str, env: &Env, now: Timestamp) -> Result<Report, Failure> {
    let tables = connection::tables(env).await?;
    let mut timelines = Vec::new();
    for submission in submissions::find(&tables, name).await? {
        let receipt = receipts::of_submission(&tables, env, &submission, None, now).await?;
        let zone = tables.campaign(&submission.scope.campaign).await?.timezone;
        let entered = CodeEntered::before(&tables, &submission, zone).await?;
        timelines.push(Timeline::new(
            &submission,
            entered.as_ref(),
            receipt.as_ref(),
            zone,
        ));
    }
    Ok(report_timelines(&timelines))
}

async fn settle_one(
    name: &str,
    verdict: &VerdictArgs,
    accept: &AcceptArgs,
    why: &str,
    env: &Env,
    now: Timestamp,
) -> Result<Report, Failure> {
    let why = Some(words(why, "--why")?);
    let verdict = match verdict.reject {
        Some(key) => Verdict::Reject(key),
        None => Verdict::Accept {
            entries: accept.entries,
            proof: proof(accept)?,
        },
    };
    let tables = connection::tables(env).await?;
    let by = tables.audit.operator_name().await?;
    let decision = OperatorDecision {
        by,
        at: now,
        why,
        confirmed: None,
        identity: None,
    };
    let (submission, text) = match settle(&tables, name, verdict, decision).await? {
        ManualSettlement::Done(after) => {
            let text = settled_in_words(&after);
            (after, text)
        }
        ManualSettlement::Proposed {
            after,
            at_stake,
            replaced,
        } => {
            let text = proposed_in_words(&after, &at_stake, replaced.as_deref());
            (after, text)
        }
    };
    let phone = phones::shown(&tables, &submission, false).await?;
    Ok(Report::new(as_json(&submission, &phone), text))
}

fn settled_in_words(after: &Submission) -> String {
    let status = &after.status;
    let entries = match status.entries() {
        0 => String::new(),
        entries => format!(", with {}", entries_in_words(entries)),
    };
    format!(
        "{} settled as `{}`{entries}",
        after.reference(),
        status.message_key()
    )
}

fn proposed_in_words(after: &Submission, at_stake: &str, replaced: Option<&Approval>) -> String {
    let accepts = after.first_acceptance().map(|(first, decision)| {
        format!(
            "{} accepts {} with {}",
            decision.by,
            after.reference(),
            entries_in_words(first.entries)
        )
    });
    let instead = replaced.and_then(|Approval { change, decision }| match change {
        ProposedChange::Accept(replaced) => Some(format!(
            ". This replaces what {} accepted at {}, with {} or another code",
            decision.by,
            decision.at,
            entries_in_words(replaced.entries)
        )),
        ProposedChange::Correct(_) => None,
    });
    format!(
        "{}; {at_stake}, so it still waits. A second operator has to accept it with the same \
         entries and code, with their own AWS identity and name; anybody can reject it{}",
        accepts.unwrap_or_default(),
        instead.unwrap_or_default()
    )
}

/// Lists submissions from an index, or, once the operator agrees, from the whole table.
async fn list_found(
    args: ListArgs,
    env: &Env,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let ListArgs {
        campaign,
        environment,
        unsettled,
        phone,
        code,
        reference,
        state,
        limit,
        confirm,
    } = args;
    let tables = connection::tables(env).await?;
    let campaign = tables.campaign(&campaign).await?;
    let scope = Scope {
        campaign: campaign.slug.clone(),
        environment,
    };
    let (limit, zone) = (usize::from(limit), campaign.timezone);
    let wanted =
        |submission: &Submission| state.is_none_or(|state| submission.status.state() == state);
    let is_open = matches!(state, Some(State::Pending | State::Unknown));
    let is_by_code = code.is_some();
    let (mut found, unreadable) = match (phone, code, reference) {
        (Some(typed), _, _) => {
            let phone = phone_or_typed(&typed, terminal)?;
            (
                submissions::of_phone(&tables, &scope, &phone).await?,
                Vec::new(),
            )
        }
        (_, Some(typed), _) => {
            let typed = typed_or(&typed, "Code: ", terminal)?;
            let found = submissions::of_code(&tables, &campaign, &scope, &typed, now).await?;
            (found.into_iter().collect(), Vec::new())
        }
        (_, _, Some(reference)) => {
            let found = tables
                .store
                .submissions()
                .by_reference(&scope, reference)
                .await?;
            (found.into_iter().collect(), Vec::new())
        }
        _ if unsettled || is_open => submissions::list_unsettled(&tables, &scope).await?,
        _ => {
            let question = "This takes about a minute for ten million submissions; --phone, --code, --ref, --unsettled and \
                            --state pending or unknown answer at once. Go on?";
            if terminal.input.is_some() {
                terminal.confirm(question, Answer::Yes, confirm)?;
            } else {
                terminal.note("this takes about a minute for ten million submissions");
            }
            submissions::list(&tables, &scope, limit, wanted).await?
        }
    };
    let left_out: Vec<_> = unreadable
        .iter()
        .map(|record| format!("{record}: {}", record.reason))
        .collect();
    left_out
        .iter()
        .for_each(|record| terminal.note(&format!("left out: {record}")));
    found.retain(wanted);
    if !unsettled {
        found.sort_by_key(|submission| Reverse(submission.created_at));
    }
    let shown = found.get(..limit).unwrap_or(&found);
    let views = views(&tables, shown).await?;
    let mut report = if unsettled {
        list::unsettled(shown, views, found.len(), zone)
    } else {
        list::newest(views, zone)
    };
    if let Some(holder) = found.first().filter(|_| is_by_code) {
        report.text.push_str(
            &CodeEntered::by(&tables, holder.clone(), zone)
                .await?
                .sentence(),
        );
    }
    if let Some(document) = report.json.as_object_mut().filter(|_| !left_out.is_empty()) {
        document.insert("left_out".to_owned(), json!(left_out));
    }
    Ok(report)
}

async fn correct_one(
    args: CorrectionArgs,
    correction: Correction,
    env: &Env,
    now: Timestamp,
) -> Result<Report, Failure> {
    let CorrectionArgs { name, why } = args;
    let why = Some(words(&why, "--why")?);
    let tables = connection::tables(env).await?;
    let by = tables.audit.operator_name().await?;
    let decision = OperatorDecision {
        by,
        at: now,
        why,
        confirmed: None,
        identity: None,
    };
    correct::run(&tables, &name, correction, decision).await
}

fn proof(args: &AcceptArgs) -> Result<Proof, Failure> {
    match &args.receipt_code {
        None if args.without_receipt_code => Ok(Proof::Waived),
        None => Ok(Proof::Record),
        Some(text) => VerificationCode::parse_typed(text).map(Proof::Read).ok_or_else(|| {
            let message = "--receipt-code is not a receipt's verification code, which has 6 to 40 letters and digits; \
                           read it from the receipt again";
            Failure::new("receipt_code_invalid", message)
        }),
    }
}

fn report_timelines(timelines: &[Timeline]) -> Report {
    let text = |timeline: &Timeline| {
        let row = |event: &Event| vec![zoned_time(event.at, timeline.zone), event.what.clone()];
        let rows: Vec<_> = timeline.events.iter().map(row).collect();
        let request = timeline.request_id.as_deref().unwrap_or("not recorded");
        let (reference, id) = (&timeline.reference, &timeline.id);
        let table = table(&["AT", "WHAT"], &rows);
        format!("{reference} {id}, made by request {request}\n{table}")
    };
    let texts: Vec<_> = timelines.iter().map(text).collect();
    let json: Vec<_> = timelines.iter().map(view::of_record).collect();
    Report::new(json!({ "submissions": json }), texts.join("\n"))
}

/// The views of submissions, with masked phones.
async fn views(tables: &Tables, found: &[Submission]) -> Result<Vec<Value>, Failure> {
    let mut views = Vec::with_capacity(found.len());
    for submission in found {
        let phone = phones::shown(tables, submission, false).await?;
        views.push(as_json(submission, &phone));
    }
    Ok(views)
}
