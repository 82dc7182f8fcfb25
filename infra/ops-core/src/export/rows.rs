//! Rows of exports. New columns go to the end: others' programs and spreadsheets count them.

use chrono_tz::Tz;
use common::domain::draw::contact::Contact;
use common::domain::partner::reply::UpstreamCode;
use common::domain::submission::{DeclaredItem, Submission};
use common::domain::timestamp::Timestamp;
use common::store::entrants::EntrantRecord;
use serde_json::{Value, json};

use crate::format::local_time;

/// `_local` times are in the campaign's zone.
pub(super) const SUBMISSION: [&str; 33] = [
    "id",
    "ref",
    "campaign",
    "environment",
    "entrant_id",
    "phone",
    "state",
    "review_status",
    "display_status",
    "message_key",
    "reasons",
    "entries",
    "instant_win",
    "day",
    "created_at",
    "created_at_local",
    "updated_at",
    "updated_at_local",
    "region",
    "claimed_items",
    "claimed_branch",
    "consent_version",
    "consent_language",
    "receipt_id",
    "receipt_date",
    "receipt_branch",
    "receipt_items",
    "upstream_code",
    "upstream_message",
    "decided_by",
    "decided_at",
    "decided_at_local",
    "decision_why",
];

/// Counts span the whole campaign; the latest submission is of the exported time.
pub(super) const ENTRANT: [&str; 11] = [
    "entrant_id",
    "phone",
    "submissions",
    "entries",
    "blocked_since",
    "blocked_since_local",
    "latest_ref",
    "latest_state",
    "latest_region",
    "latest_at",
    "latest_at_local",
];

pub(super) fn submission(submission: &Submission, phone: Option<String>, zone: Tz) -> Vec<Value> {
    let Submission {
        status,
        scope,
        claimed,
        receipt,
        upstream,
        consent,
        decision,
        ..
    } = submission;
    let item = |item: &DeclaredItem| format!("{} x {}", item.qty, item.key);
    let items = claimed.as_ref().map(|claimed| {
        claimed
            .items
            .iter()
            .map(item)
            .collect::<Vec<_>>()
            .join(", ")
    });
    let code = upstream.as_ref().map(|upstream| match &upstream.code {
        UpstreamCode::Number(code) => code.to_string(),
        UpstreamCode::Text(code) => code.clone(),
    });
    let decided_at = decision.as_ref().map(|decision| decision.at);
    vec![
        json!(submission.submission_id),
        json!(submission.reference().to_string()),
        json!(scope.campaign),
        json!(scope.environment.to_string()),
        json!(submission.entrant_id.as_str()),
        json!(phone),
        json!(status.state()),
        json!(status.review_status()),
        json!(status.display_status()),
        json!(status.message_key()),
        json!(submission.reasons.join(", ")),
        json!(status.entries()),
        json!(status.instant_win()),
        json!(submission.day),
        utc(Some(submission.created_at)),
        local(Some(submission.created_at), zone),
        utc(Some(submission.updated_at)),
        local(Some(submission.updated_at), zone),
        json!(submission.region),
        json!(items),
        json!(claimed.as_ref().and_then(|claimed| claimed.branch.as_ref())),
        json!(
            consent
                .as_ref()
                .and_then(|consent| consent.version.as_ref())
        ),
        json!(consent.as_ref().map(|consent| consent.language)),
        json!(submission.receipt_id.map(|id| id.to_string())),
        json!(receipt.as_ref().and_then(|receipt| receipt.date.as_ref())),
        json!(receipt.as_ref().and_then(|receipt| receipt.branch.as_ref())),
        json!(
            receipt
                .as_ref()
                .and_then(|receipt| receipt.items_summary.as_ref())
        ),
        json!(code),
        json!(
            upstream
                .as_ref()
                .and_then(|upstream| upstream.message.as_ref())
        ),
        json!(decision.as_ref().map(|decision| &decision.by)),
        utc(decided_at),
        local(decided_at, zone),
        json!(decision.as_ref().and_then(|decision| decision.why.as_ref())),
    ]
}

pub(super) fn entrant(
    entrant: &EntrantRecord,
    latest: Option<&Submission>,
    phone: Option<String>,
    zone: Tz,
) -> Vec<Value> {
    let latest_at = latest.map(|latest| latest.created_at);
    vec![
        json!(entrant.id.as_str()),
        json!(phone),
        json!(entrant.submissions),
        json!(entrant.entries),
        utc(entrant.blocked_since),
        local(entrant.blocked_since, zone),
        json!(latest.map(|latest| latest.reference().to_string())),
        json!(latest.map(|latest| latest.status.state())),
        json!(latest.and_then(|latest| latest.region.as_ref())),
        utc(latest_at),
        local(latest_at, zone),
    ]
}

pub(super) const DRAWN: [&str; 9] = [
    "draw",
    "prize",
    "place",
    "ref",
    "phone",
    "region",
    "state",
    "last_step_at",
    "last_step_at_local",
];

pub(super) fn drawn(contact: &Contact, phone: Option<String>, zone: Tz) -> Vec<Value> {
    vec![
        json!(contact.draw),
        json!(contact.prize),
        json!(contact.place),
        json!(contact.reference.as_ref().map(ToString::to_string)),
        json!(phone),
        json!(contact.region),
        json!(contact.state().to_string()),
        utc(contact.changed_at()),
        local(contact.changed_at(), zone),
    ]
}

fn utc(time: Option<Timestamp>) -> Value {
    json!(time.map(|time| time.to_string()))
}

fn local(time: Option<Timestamp>, zone: Tz) -> Value {
    json!(time.map(|time| local_time(time, zone)))
}
