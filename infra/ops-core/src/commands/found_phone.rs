//! What campaigns know of a phone, for `ops person find`.

use crate::phones::{MAX_SUBMISSIONS, PhoneInScope};
use crate::prelude::*;
use crate::view::table;

const SUBMISSIONS: [(&str, &str); 4] = [
    ("REF", "/reference"),
    ("ID", "/id"),
    ("MESSAGE", "/message_key"),
    ("DAY", "/day"),
];

/// For programs, and for people.
pub(super) fn described(found: &[PhoneInScope], now: Timestamp) -> (Value, String) {
    let views: Vec<_> = found.iter().map(|found| found.as_json(now)).collect();
    let text = found.iter().zip(&views);
    let text = text
        .map(|(found, view)| as_text(found, view, now))
        .collect();
    (views.into(), text)
}

fn as_text(found: &PhoneInScope, view: &Value, now: Timestamp) -> String {
    let mut facts = vec![("campaign", scope_in_words(&found.scope))];
    facts.extend(found.facts(now));
    let mut text = format!("\n{}", lines(&facts));
    if let Some(submissions) = view.get("submissions").and_then(Value::as_array)
        && !submissions.is_empty()
    {
        text.push_str(&table(&SUBMISSIONS, submissions, found.campaign.timezone));
    }
    if found.submissions.len() >= usize::from(MAX_SUBMISSIONS) {
        text.push_str(&format!(
            "These are the newest {MAX_SUBMISSIONS} submissions.\n"
        ));
    }
    text
}
