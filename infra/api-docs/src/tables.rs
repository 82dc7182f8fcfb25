use common::domain::code::{Code, SentinelOutcome};
use common::domain::message::{Language, MessageKey, TextKey};
use common::domain::receipt::sentinel::ReceiptSentinel;
use common::domain::submission::{ReviewStatus, State, SubmissionStatus};
use serde::Serialize;
use serde_json::{Value, json};

use crate::pages::{at, markdown, text_of};

pub(crate) fn message_keys(schema: &Value) -> String {
    let meanings = at(schema, &["x-enumDescriptions"]);
    let row = |key: TextKey| {
        let when = match key {
            TextKey::Outcome(_) => text_of(meanings, key.as_str()),
            TextKey::Form(_) => {
                "For your form, beside the error of the same name. No submission has this key."
            }
        };
        let [english, swahili] = [Language::En, Language::Sw].map(|to| key.text(to).to_owned());
        vec![code(key.as_str()), when.to_owned(), english, swahili]
    };
    let head = ["Key", "When", "English", "Swahili"];
    markdown::table(&head, TextKey::all().map(row))
}

pub(crate) fn test_codes() -> String {
    let keys = MessageKey::ALL
        .iter()
        .map(|key| key.as_str().replace('_', "-").to_uppercase());
    let names = ["VALID".to_owned(), "SLOW".to_owned()]
        .into_iter()
        .chain(keys);
    let row = |name: String| {
        let typed = format!("TEST-0-{name}");
        let outcome = typed.parse::<Code>().ok().and_then(|code| code.sentinel());
        let outcome = outcome.map(|sentinel| code_outcome(sentinel.outcome));
        vec![code(&typed), outcome.unwrap_or_default()]
    };
    markdown::table(&["Code", "Outcome"], names.map(row))
}

fn code_outcome(outcome: SentinelOutcome) -> String {
    match outcome {
        SentinelOutcome::Enters => "accepted: `entered`".to_owned(),
        SentinelOutcome::Wins => "accepted: `instant_win`, with a prize".to_owned(),
        SentinelOutcome::Slow => {
            "`unknown` with `checking` first, `entered` a few seconds later".to_owned()
        }
        SentinelOutcome::Stays(key) => format!("never settles, with `{key}`"),
        SentinelOutcome::Rejected(key) => format!("rejected: `{key}`"),
    }
}

pub(crate) fn test_receipts() -> String {
    let keys = MessageKey::ALL
        .iter()
        .filter(|key| !matches!(key, MessageKey::AlreadyUsed));
    let bare = keys.map(|key| key.as_str().replace('_', "").to_uppercase());
    let short = bare.map(|name| {
        name.strip_prefix("RECEIPT")
            .map(str::to_owned)
            .unwrap_or(name)
    });
    let names = ["VERIFIED", "SLOW", "REVIEW"]
        .map(str::to_owned)
        .into_iter()
        .chain(short);
    let row = |name: String| {
        let typed = format!("TEST0{name}");
        let outcome = ReceiptSentinel::parse(&typed).map(receipt_outcome);
        vec![code(&typed), outcome.unwrap_or_default()]
    };
    let head = ["Receipt", "Outcome, a moment after the submission"];
    markdown::table(&head, names.map(row))
}

fn receipt_outcome(sentinel: ReceiptSentinel) -> String {
    code_outcome(match sentinel {
        ReceiptSentinel::Verified => SentinelOutcome::Enters,
        ReceiptSentinel::Wins => SentinelOutcome::Wins,
        ReceiptSentinel::Slow => SentinelOutcome::Slow,
        ReceiptSentinel::Stays(key) => SentinelOutcome::Stays(key),
        ReceiptSentinel::Declined(key) => SentinelOutcome::Rejected(key),
        ReceiptSentinel::Review => {
            return "in review: `display_status` is `receipt_in_review`".to_owned();
        }
    })
}

pub(crate) fn display_statuses() -> String {
    const REVIEWS: [Option<ReviewStatus>; 4] = [
        None,
        Some(ReviewStatus::Verified),
        Some(ReviewStatus::UnderReview),
        Some(ReviewStatus::Declined),
    ];
    let mut rows = Vec::new();
    for state in State::ALL {
        let mut by_status: Vec<(String, Vec<String>)> = Vec::new();
        for review in REVIEWS {
            let status = display_status(state, review);
            match by_status.iter_mut().find(|(known, _)| *known == status) {
                Some((_, reviews)) => reviews.push(in_json(&review)),
                None => by_status.push((status, vec![in_json(&review)])),
            }
        }
        for (status, reviews) in by_status {
            let is_any = reviews.len() == REVIEWS.len();
            let reviews: Vec<String> = reviews.iter().map(|review| code(review)).collect();
            let reviews = if is_any {
                "any".to_owned()
            } else {
                reviews.join(", ")
            };
            rows.push(vec![code(&in_json(&state)), reviews, code(&status)]);
        }
    }
    markdown::table(&["state", "review_status", "display_status"], rows)
}

fn display_status(state: State, review: Option<ReviewStatus>) -> String {
    let status = json!({
        "state": state, "review_status": review, "message_key": MessageKey::Checking, "entries": 0, "instant_win": null,
    });
    let status: Option<SubmissionStatus> = serde_json::from_value(status).ok();
    status
        .map(|status| in_json(&status.display_status()))
        .unwrap_or_default()
}

fn in_json(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
