use common::domain::phone::Phone;
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::format::{lines, scope_in_words};
use crate::phones::{MAX_SUBMISSIONS, PhoneInScope};
use crate::terminal::Report;
use crate::view::table;

pub(super) fn report(phone: &Phone, found: &[PhoneInScope], now: Timestamp) -> Report {
    let scopes: Vec<_> = found.iter().map(|found| found.as_json(now)).collect();
    let texts: Vec<_> = found
        .iter()
        .zip(&scopes)
        .map(|(found, view)| as_text(phone, found, view, now))
        .collect();
    let text = match texts.is_empty() {
        true => format!("No campaign knows {}.", phone.masked()),
        false => texts.join("\n"),
    };
    Report::new(json!({ "phone": phone.masked(), "scopes": scopes }), text)
}

fn as_text(phone: &Phone, found: &PhoneInScope, view: &Value, now: Timestamp) -> String {
    const SUBMISSIONS: [(&str, &str); 4] = [
        ("REF", "/reference"),
        ("ID", "/id"),
        ("MESSAGE", "/message_key"),
        ("DAY", "/day"),
    ];
    let mut facts = vec![
        ("phone", phone.masked()),
        ("campaign", scope_in_words(&found.scope)),
    ];
    facts.extend(found.facts(now));
    let mut text = lines(&facts);
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
