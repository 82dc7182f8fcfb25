//! Lists of submissions.

use crate::prelude::*;
use crate::view;

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

/// `more` are not shown.
pub(super) fn report(views: Vec<Value>, is_unsettled: bool, more: usize, zone: Tz) -> Report {
    let mut columns = vec![("REF", "/ref"), ("ID", "/id"), ("STATE", "/state")];
    columns.extend(if is_unsettled {
        &UNSETTLED[..]
    } else {
        &NEWEST
    });
    let text = match views.is_empty() {
        true => "There are no such submissions.".to_owned(),
        false => format!(
            "{}Times are those of {}.\n",
            view::table(&columns, &views, zone),
            zone.name()
        ),
    };
    let note = (is_unsettled && more > 0)
        .then(|| format!("{more} more are not settled; --limit shows more of them"));
    Report {
        note,
        ..Report::new(json!({ "submissions": views }), text)
    }
}
