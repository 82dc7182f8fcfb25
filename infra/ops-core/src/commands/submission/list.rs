//! Lists of submissions: newest, and unsettled.

use chrono_tz::Tz;
use common::domain::submission::Submission;
use serde_json::json;

use super::all_as_json;
use crate::format::{local_time, or_dash, table};
use crate::submissions::shown::{assignee, lookup_failures, next_step, word};
use crate::terminal::Report;

const NONE: &str = "There are no such submissions.";

/// Reports the newest submissions, in any state.
pub(super) fn newest(found: &[(&Submission, String)], zone: Tz) -> Report {
    let row = |(submission, phone): &(&Submission, String)| {
        vec![
            submission.reference().to_string(),
            submission.submission_id.to_string(),
            phone.clone(),
            word(json!(submission.status.state())),
            word(json!(submission.status.review_status())),
            submission.status.message_key().to_string(),
            local_time(submission.created_at, zone),
        ]
    };
    let text = if found.is_empty() {
        NONE.to_owned()
    } else {
        let rows: Vec<_> = found.iter().map(row).collect();
        let created = format!("CREATED ({})", zone.name());
        table(
            &["REF", "ID", "PHONE", "STATE", "REVIEW", "MESSAGE", &created],
            &rows,
        )
    };
    Report::new(all_as_json(found), text)
}

/// Reports unsettled submissions, of `all` that there are, with who acts next.
pub(super) fn unsettled(shown: &[(&Submission, String)], all: usize, zone: Tz) -> Report {
    let row = |(submission, _): &(&Submission, String)| {
        let settling = submission.settling.as_ref();
        vec![
            submission.reference().to_string(),
            submission.submission_id.to_string(),
            word(json!(submission.status.state())),
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
        ..Report::new(all_as_json(shown), text)
    }
}

/// Why a submission is not settled: its reasons and failed look-ups, otherwise the unexpected reply.
fn why(submission: &Submission) -> String {
    let mut why = submission.reasons.clone();
    why.extend(
        submission
            .first_acceptance()
            .map(|(_, first)| format!("accepted by {} alone", first.by)),
    );
    if let Some(pending) = &submission.settling {
        why.extend(lookup_failures(pending.lookup_failures()));
        if why.is_empty() {
            why.extend(
                pending
                    .anomaly
                    .as_ref()
                    .map(|anomaly| anomaly.summary.clone()),
            );
        }
    }
    or_dash((!why.is_empty()).then(|| why.join(", ")))
}
