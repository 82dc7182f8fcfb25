//! `ops submission`.

use common::config::Env;
use common::domain::moment::Moment;
use common::domain::scope::Scope;
use common::domain::submission::{OperatorDecision, Submission};
use serde_json::{Value, json};

use super::{lines, or_nothing};
use crate::cli::{SubmissionCommand, VerdictArgs};
use crate::connection;
use crate::console::Report;
use crate::failure::Failure;
use crate::phones::masked;
use crate::submissions::{self, Verdict};
use crate::words::table;

/// Characters of a name or a reason that an operator gives.
const WORDS_CHARS: std::ops::RangeInclusive<usize> = 1..=500;

pub(crate) async fn run(command: SubmissionCommand, env: &Env, now: Moment) -> Result<Report, Failure> {
    match command {
        SubmissionCommand::Show { name, show_phone } => {
            let found = submissions::find(&connection::tables(env).await?, &name).await?;
            Ok(report_shown(&found, show_phone))
        }
        SubmissionCommand::List { campaign, environment, unsettled, limit } => {
            let scope = Scope { campaign, environment };
            let tables = connection::tables(env).await?;
            let found = submissions::list(&tables, &scope, unsettled, usize::from(limit)).await?;
            Ok(report_list(&found))
        }
        SubmissionCommand::Settle { id, verdict: VerdictArgs { reject, .. }, why, by } => {
            let decision = OperatorDecision {
                by: words(by.or_else(|| env.optional("USER")).as_deref(), "--by")?,
                at: now,
                why: why.map(|why| words(Some(&why), "--why")).transpose()?,
            };
            let verdict = reject.map_or(Verdict::Accept, Verdict::Reject);
            let settled = submissions::settle(&connection::tables(env).await?, id, verdict, decision).await?;
            let text = format!("{} settled as `{}`", settled.reference, settled.standing.message_key());
            Ok(Report::new(as_json(&settled, false), text))
        }
    }
}

fn words(text: Option<&str>, option: &str) -> Result<String, Failure> {
    let text = text.unwrap_or_default().trim();
    if WORDS_CHARS.contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        let message = format!("{option} must be 1 to 500 characters on one line; it goes into the record");
        Err(Failure::new("words_invalid", message))
    }
}

fn report_shown(found: &[Submission], show_phone: bool) -> Report {
    let texts: Vec<String> = found.iter().map(|submission| as_text(submission, show_phone)).collect();
    let json: Vec<Value> = found.iter().map(|submission| as_json(submission, show_phone)).collect();
    Report::new(json!({ "submissions": json }), texts.join("\n"))
}

fn report_list(found: &[Submission]) -> Report {
    let row = |submission: &Submission| {
        vec![
            submission.reference.to_string(),
            submission.submission_id.to_string(),
            word(json!(submission.standing.state())),
            word(json!(submission.standing.review_status())),
            submission.standing.message_key().to_string(),
            submission.created_at.to_string(),
        ]
    };
    let text = if found.is_empty() {
        "There are no such submissions.".to_owned()
    } else {
        let rows: Vec<_> = found.iter().map(row).collect();
        table(&["REF", "ID", "STATE", "REVIEW", "MESSAGE", "CREATED"], &rows)
    };
    let json: Vec<Value> = found.iter().map(|submission| as_json(submission, false)).collect();
    Report::new(json!({ "submissions": json }), text)
}

/// A name in the API's spelling, or the sign for nothing.
fn word(value: Value) -> String {
    or_nothing(value.as_str())
}

fn phone(submission: &Submission, show_phone: bool) -> String {
    if show_phone { submission.phone.expose_e164().to_owned() } else { masked(&submission.phone) }
}

fn as_text(submission: &Submission, show_phone: bool) -> String {
    let Submission { scope, standing, .. } = submission;
    let claimed = |claimed: &common::domain::submission::Claimed| {
        let items = claimed.items.iter().map(|item| format!("{} x {}", item.qty, item.key));
        items.chain(claimed.branch.iter().map(|branch| format!("at {branch}"))).collect::<Vec<_>>().join(", ")
    };
    let decision = |decision: &OperatorDecision| {
        let why = decision.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("by {} at {}{why}", decision.by, decision.at)
    };
    lines(&[
        ("ref", submission.reference.to_string()),
        ("id", submission.submission_id.to_string()),
        ("campaign", scope.campaign.to_string()),
        ("environment", scope.environment.to_string()),
        ("phone", phone(submission, show_phone)),
        ("state", word(json!(standing.state()))),
        ("review_status", word(json!(standing.review_status()))),
        ("display_status", word(json!(standing.display_status()))),
        ("message_key", standing.message_key().to_string()),
        ("reasons", submission.reasons.join(", ")),
        ("entries", standing.entries().to_string()),
        ("instant_win", or_nothing(standing.instant_win())),
        ("region", or_nothing(submission.region.as_ref())),
        ("claimed", or_nothing(submission.claimed.as_ref().map(claimed))),
        ("decision", or_nothing(submission.decision.as_ref().map(decision))),
        ("day", submission.day.clone()),
        ("created_at", submission.created_at.to_string()),
        ("updated_at", submission.updated_at.to_string()),
    ])
}

fn as_json(submission: &Submission, show_phone: bool) -> Value {
    let Submission { scope, standing, .. } = submission;
    let decision = submission
        .decision
        .as_ref()
        .map(|decision| json!({ "by": decision.by, "at": decision.at.to_string(), "why": decision.why }));
    json!({
        "id": submission.submission_id,
        "ref": submission.reference.to_string(),
        "campaign": scope.campaign,
        "environment": scope.environment,
        "phone": phone(submission, show_phone),
        "state": standing.state(),
        "review_status": standing.review_status(),
        "display_status": standing.display_status(),
        "message_key": standing.message_key(),
        "reasons": submission.reasons,
        "entries": standing.entries(),
        "instant_win": standing.instant_win(),
        "region": submission.region,
        "claimed": submission.claimed,
        "decision": decision,
        "day": submission.day,
        "created_at": submission.created_at.to_string(),
        "updated_at": submission.updated_at.to_string(),
    })
}
