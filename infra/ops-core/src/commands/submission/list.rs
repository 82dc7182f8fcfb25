//! Lists of newest and of unsettled submissions.

use chrono_tz::Tz;
use common::domain::submission::Submission;
use serde_json::{Value, json};

use crate::format::{local_time, or_dash, table};
use crate::submissions::view::{assignee, lookup_failures, next_step};
use crate::terminal::Report;
use crate::view;

const NONE: &str = "There are no such submissions.";

pub(super) fn newest(views: Vec<Value>, zone: Tz) -> Report {
    let created = format!("CREATED ({})", zone.name());
    let columns = [
        ("REF", "/ref"),
        ("ID", "/id"),
        ("PHONE", "/phone"),
        ("STATE", "/state"),
        ("REVIEW", "/review_status"),
        ("MESSAGE", "/message_key"),
        (&created, "/created_at"),
    ];
    let text = match views.is_empty() {
        true => NONE.to_owned(),
        false => view::table(&columns, &views, zone),
    };
    Report::new(json!({ "submissions": views }), text)
}

/// `all` is their number; says who acts next.
pub(super) fn unsettled(shown: &[Submission], views: Vec<Value>, all: usize, zone: Tz) -> Report {
    let row = |submission: &Submission| {
        let settling = submission.settling.as_ref();
        vec![
            submission.reference().to_string(),
            submission.submission_id.to_string(),
            submission.status.state().as_str().to_owned(),
            or_dash(settling.map(|settling| assignee(settling.assignee))),
            or_dash(settling.map(|settling| next_step(settling, |at| local_time(at, zone)))),
            why(submission),
        ]
    };
    let text = if shown.is_empty() {
        NONE.to_owned()
    } else {
        let rows: Vec<_> = shown.iter().map(row).collect();
        let next_step = format!("NEXT STEP ({})", zone.name());
        table(
            &["REF", "ID", "STATE", "ASSIGNEE", &next_step, "WHY"],
            &rows,
        )
    };
    let more = all.saturating_sub(shown.len());
    let note =
        (more > 0).then(|| format!("{more} more are not settled; --limit shows more of them"));
    Report {
        note,
        ..Report::new(json!({ "submissions": views }), text)
    }
}

/// Reasons and failed look-ups, otherwise the unexpected reply.
fn why(submission: &Submission) -> String {
    let mut why = submission.reasons.clone();
    let first = submission.first_acceptance();
    why.extend(first.map(|(_, first)| format!("accepted by {} alone", first.by)));
    if let Some(pending) = &submission.settling {
        why.extend(lookup_failures(pending.lookup_failures()));
        if why.is_empty() {
            let anomaly = pending.anomaly.as_ref();
            why.extend(anomaly.map(|anomaly| anomaly.summary.clone()));
        }
    }
    or_dash((!why.is_empty()).then(|| why.join(", ")))
}
