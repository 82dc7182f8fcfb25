mod decide;

use std::cmp::Reverse;

use self::decide::{correct_one, decline_one, settle_one};
use super::{phone_or_typed, typed_or};
use crate::cli::{ListArgs, SubmissionCommand};
use crate::prelude::*;
use crate::settle::resume;
use crate::submissions;
use crate::submissions::code_entered::CodeEntered;
use crate::submissions::timeline::{Event, Timeline};
use crate::submissions::view::{SubmissionView, as_json};

const NEWEST: [(&str, &str); 4] = [
    ("PHONE", "/phone"),
    ("REVIEW", "/review_status"),
    ("MESSAGE", "/message_key"),
    ("CREATED", "/created_at"),
];
/// Says who acts next, and why.
const UNSETTLED: [(&str, &str); 7] = [
    ("ASSIGNEE", "/settling/assignee"),
    ("NEXT STEP", "/settling/next_step_at"),
    ("WAITS SINCE", "/settling/waiting_since"),
    ("REASONS", "/reasons"),
    ("FAILED LOOKUPS", "/settling/lookups"),
    ("ANOMALY", "/settling/anomaly"),
    ("PROPOSED BY", "/proposal/decision/by"),
];

pub(crate) async fn run(
    command: SubmissionCommand,
    env: &Env,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let tables = &connection::tables(env).await?;
    match command {
        SubmissionCommand::Show { name, show } => {
            let json = |view: &SubmissionView<'_>| view.as_json();
            let text = |view: &SubmissionView<'_>| lines(&view.facts());
            report_each(tables, &name, show, now, json, text).await
        }
        SubmissionCommand::Timeline { name } => {
            let json = |view: &SubmissionView<'_>| of_record(&view.timeline());
            let text = |view: &SubmissionView<'_>| timeline_text(&view.timeline());
            report_each(tables, &name, Disclosure::default(), now, json, text).await
        }
        SubmissionCommand::List(args) => list_found(tables, args, terminal).await,
        SubmissionCommand::Resume { names } => {
            let mut resumed = Vec::new();
            for name in &names {
                resumed.push(resume(tables, name, now).await?);
            }
            let text = format!(
                "{} resumed; the service works on them within a minute",
                resumed.len()
            );
            let views = views(tables, &resumed).await?;
            Ok(Report::new(json!({ "submissions": views }), text))
        }
        SubmissionCommand::Revoke {
            args,
            free_code,
            keep_prize,
        } => {
            let revoke = Correction::Revoke {
                free_code,
                keep_prize,
            };
            correct_one(tables, &args, revoke, now).await
        }
        SubmissionCommand::Reopen(args) => {
            correct_one(tables, &args, Correction::Reopen, now).await
        }
        SubmissionCommand::Decline { name, why } => decline_one(tables, &name, &why, now).await,
        SubmissionCommand::Settle {
            name,
            verdict,
            accept,
            why,
        } => settle_one(tables, &name, &verdict, &accept, &why, now).await,
    }
}

async fn report_each(
    tables: &Tables,
    name: &str,
    show: Disclosure,
    now: Timestamp,
    json: impl Fn(&SubmissionView<'_>) -> Value,
    text: impl Fn(&SubmissionView<'_>) -> String,
) -> Result<Report> {
    let (mut documents, mut texts) = (Vec::new(), Vec::new());
    for submission in &submissions::find(tables, name).await? {
        let view = SubmissionView::load(tables, submission, show, now).await?;
        documents.push(json(&view));
        texts.push(text(&view));
    }
    Ok(Report::new(
        json!({ "submissions": documents }),
        texts.join("\n"),
    ))
}

fn timeline_text(timeline: &Timeline) -> String {
    let row = |event: &Event| vec![zoned_time(event.at, timeline.zone), event.what.clone()];
    let request = timeline.request_id.as_deref().unwrap_or("not recorded");
    let (reference, id) = (&timeline.reference, &timeline.id);
    let table = aligned(&["AT", "WHAT"], timeline.events.iter().map(row));
    format!("{reference} {id}, made by request {request}\n{table}")
}

/// Searches an index, or, once the operator agrees, the whole table.
async fn list_found(
    tables: &Tables,
    args: ListArgs,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let ListArgs {
        scope,
        unsettled,
        phone,
        code,
        reference,
        state,
        limit,
    } = args;
    let scope = Scope::from(scope);
    let campaign = tables.campaign(&scope.campaign).await?;
    let (limit, zone) = (usize::from(limit), campaign.timezone);
    let wanted =
        |submission: &Submission| state.is_none_or(|state| submission.status.state() == state);
    let is_open = matches!(state, Some(State::Pending | State::Unknown));
    let is_by_code = code.is_some();
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    if let Some(typed) = phone {
        let phone = phone_or_typed(&typed, terminal)?;
        found = submissions::of_phone(tables, &scope, &phone).await?;
    } else if let Some(typed) = code {
        let typed = typed_or(&typed, "Code: ", terminal)?;
        found.extend(submissions::of_code(tables, &campaign, &scope, &typed).await?);
    } else if let Some(reference) = reference {
        let submissions = tables.submissions();
        found.extend(submissions.by_reference(&scope, reference).await?);
    } else if unsettled || is_open {
        (found, unreadable) = tables.submissions().list_unsettled(&scope).await?;
    } else {
        let question = "This takes about a minute for ten million submissions; --phone, --code, --ref, --unsettled and \
                        --state pending or unknown answer at once. Go on?";
        if terminal.input.is_some() {
            terminal.confirm(question)?;
        } else {
            terminal.note("this takes about a minute for ten million submissions");
        }
        (found, unreadable) = tables.submissions().list(&scope, limit, wanted).await?;
    }
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
    let views = views(tables, shown).await?;
    let more = found.len() - shown.len();
    let mut columns = vec![("REF", "/ref"), ("ID", "/id"), ("STATE", "/state")];
    columns.extend(if unsettled { &UNSETTLED[..] } else { &NEWEST });
    let mut text = match views.is_empty() {
        true => "There are no such submissions.".to_owned(),
        false => format!(
            "{}Times are those of {}.\n",
            table(&columns, &views, zone),
            zone.name()
        ),
    };
    if let Some(holder) = found.first().filter(|_| is_by_code) {
        let entered = CodeEntered::by(tables, holder.clone(), zone).await?;
        text += &entered.sentence();
    }
    let note = (unsettled && more > 0)
        .then(|| format!("{more} more are not settled; --limit shows more of them"));
    let left_out = (!left_out.is_empty()).then(|| ("left_out", json!(left_out)));
    let json = extended(json!({ "submissions": views }), left_out);
    Ok(Report::new(json, text).with_note(note))
}

async fn views(tables: &Tables, found: &[Submission]) -> Result<Vec<Value>> {
    let mut views = Vec::with_capacity(found.len());
    for submission in found {
        let phone = phones::shown(tables, submission, false).await?;
        views.push(as_json(submission, phone));
    }
    Ok(views)
}
