//! Rows of exports. New columns go to the end: programs count them.

use common::store::entrants::EntrantRecord;

use crate::prelude::*;
use crate::submissions::view::{COLUMNS, as_json};
use crate::view::cell;

pub(super) type Row = Vec<String>;

/// Counts span the whole campaign; the latest submission is of the exported time.
pub(super) const ENTRANT: [(&str, &str); 11] = [
    ("entrant_id", "/id"),
    ("phone", "/phone"),
    ("submissions", "/submissions"),
    ("entries", "/entries"),
    ("blocked_since", "/blocked_since"),
    ("blocked_since_local", "/blocked_since"),
    ("latest_ref", "/latest/ref"),
    ("latest_state", "/latest/state"),
    ("latest_region", "/latest/region"),
    ("latest_at", "/latest/created_at"),
    ("latest_at_local", "/latest/created_at"),
];

pub(super) const DRAWN: [(&str, &str); 9] = [
    ("draw", "/draw"),
    ("prize", "/prize"),
    ("place", "/place"),
    ("ref", "/ref"),
    ("phone", "/phone"),
    ("region", "/region"),
    ("state", "/state"),
    ("last_step_at", "/last_step_at"),
    ("last_step_at_local", "/last_step_at"),
];

/// The columns of submissions, and where the prize is.
pub(super) const WON: [(&str, &str); COLUMNS.len() + 1] = {
    let mut all = [("status", "/status"); COLUMNS.len() + 1];
    let (columns, _) = all.split_at_mut(COLUMNS.len());
    columns.copy_from_slice(&COLUMNS);
    all
};

pub(super) fn row(columns: &[(&str, &str)], view: &Value, zone: Tz) -> Row {
    let text = |(name, pointer): &(&str, &str)| {
        let time = |at| match name.ends_with("_local") {
            true => local_time(at, zone),
            false => at.to_string(),
        };
        cell(view, pointer, time, |number| number.to_string()).unwrap_or_default()
    };
    columns.iter().map(text).collect()
}

pub(super) fn submission(submission: &Submission, phone: Option<String>) -> Value {
    let entrant = json!(submission.entrant_id.as_str());
    extended(as_json(submission, phone), [("entrant_id", entrant)])
}

pub(super) fn entrant(
    entrant: &EntrantRecord,
    latest: Option<&Submission>,
    phone: Option<String>,
) -> Value {
    let latest = latest.map(|latest| as_json(latest, Value::Null));
    let more = [("phone", json!(phone)), ("latest", json!(latest))];
    extended(of_record(entrant), more)
}

pub(super) fn drawn(contact: &Contact, phone: Option<String>) -> Value {
    json!({
        "draw": contact.draw,
        "prize": contact.prize,
        "place": contact.place,
        "ref": contact.reference.as_ref().map(ToString::to_string),
        "phone": phone,
        "region": contact.region,
        "state": contact.state().to_string(),
        "last_step_at": contact.changed_at(),
    })
}
