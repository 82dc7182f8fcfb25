//! The tables of the reference: message keys, test codes and receipts, limits, states, reasons.

use common::domain::code::{Code, SentinelOutcome};
use common::domain::message::{Language, MessageKey, TextKey};
use common::domain::receipt::sentinel::ReceiptSentinel;
use common::domain::submission::{ReviewStatus, State, SubmissionStatus};
use serde::Serialize;
use serde_json::{Value, json};

use crate::pages::{at, markdown, text_of};

/// A table with a title and an introduction. Cells are plain text with code between backticks.
pub(crate) struct Table {
    /// The name in links and in `{{name}}`.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// The introduction.
    pub(crate) text: &'static str,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Head and rows.
    pub(crate) fn rows_in_markdown(&self) -> String {
        markdown::table(&self.head, self.rows.clone())
    }
}

/// The message keys with their meanings, from their schema, and the service's default texts.
pub(crate) fn message_keys(schema: &Value) -> Table {
    let meanings = at(schema, &["x-enumDescriptions"]);
    let row = |key: TextKey| {
        let when = match key {
            TextKey::Outcome(_) => text_of(meanings, key.as_str()),
            TextKey::Form(_) => {
                "For your form, beside the error of the same name. No submission has this key."
            }
        };
        vec![
            code(key.as_str()),
            when.to_owned(),
            key.text(Language::En).to_owned(),
            key.text(Language::Sw).to_owned(),
        ]
    };
    Table {
        name: "message-keys",
        title: "Message keys",
        text: "Branch on the key. A campaign can replace the text. New keys may be added: show `message` for an unknown key.",
        head: vec!["Key", "When", "English", "Swahili"],
        rows: TextKey::all().map(row).collect(),
    }
}

/// The codes that produce a given outcome with test keys.
pub(crate) fn test_codes() -> Table {
    let keys = MessageKey::ALL
        .iter()
        .map(|key| key.as_str().replace('_', "-").to_uppercase());
    let names = ["VALID".to_owned(), "SLOW".to_owned()]
        .into_iter()
        .chain(keys);
    let row = |name: String| {
        let typed = format!("TEST-0-{name}");
        let outcome = typed.parse::<Code>().ok().and_then(|code| code.sentinel());
        vec![
            code(&typed),
            outcome
                .map(|sentinel| code_outcome(sentinel.outcome))
                .unwrap_or_default(),
        ]
    };
    Table {
        name: "test-codes",
        title: "Test codes",
        text: "With a test key, these codes produce an outcome in any campaign with codes. Everything else still applies: \
               a campaign that is not live, a blocked or throttled phone, the limits of the phone, and the receipt if \
               the campaign needs one. Case does not matter. Test codes are not used up: each phone can send each of \
               them, and sending it again gives that phone's submission. A suffix such as `.7` makes another code with \
               the same outcome. Any other name after `TEST-0-` is `invalid`. A live key answers `sentinel_with_live_key`.",
        head: vec!["Code", "Outcome"],
        rows: names.map(row).collect(),
    }
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

/// The receipts that produce a given outcome with test keys.
pub(crate) fn test_receipts() -> Table {
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
        let outcome = ReceiptSentinel::parse(&typed)
            .map(receipt_outcome)
            .unwrap_or_default();
        vec![code(&typed), outcome]
    };
    Table {
        name: "test-receipts",
        title: "Test receipts",
        text: "With a test key, send one of these as the `code` of a typed receipt or the `qr_payload` of a photo. The \
               photo itself is not read: any file works that starts like a JPEG, PNG or WebP and has the announced \
               length. The tax authority is not asked. The submission is judged like any other first, the receipt a \
               moment later. A suffix such as `.7` makes another receipt with the same outcome. Anything else, a photo \
               without `qr_payload` included, is `receipt_not_found`.",
        head: vec!["Receipt", "Outcome, a moment after the submission"],
        rows: names.map(row).collect(),
    }
}

fn receipt_outcome(sentinel: ReceiptSentinel) -> String {
    match sentinel {
        ReceiptSentinel::Verified => "accepted: `entered`".to_owned(),
        ReceiptSentinel::Wins => "accepted: `instant_win`, with a prize".to_owned(),
        ReceiptSentinel::Slow => {
            "`unknown` with `checking` first, `entered` a few seconds later".to_owned()
        }
        ReceiptSentinel::Review => "in review: `display_status` is `receipt_in_review`".to_owned(),
        ReceiptSentinel::Stays(key) => format!("never settles, with `{key}`"),
        ReceiptSentinel::Declined(key) => format!("rejected: `{key}`"),
    }
}

/// The rate and size limits.
pub(crate) fn limits() -> Table {
    let rows = [
        (
            "Requests per API key",
            "600 per minute, unless the key has another limit",
            "all endpoints",
        ),
        (
            "Pre-checks per address range",
            "30 in any 10 minutes",
            "`POST /api/v1/codes/check`",
        ),
        (
            "Look-ups per phone",
            "5 in any 10 minutes",
            "`POST /api/v1/submissions/lookup`",
        ),
        (
            "Look-ups per address range",
            "30 in any 10 minutes",
            "`POST /api/v1/submissions/lookup`",
        ),
        (
            "Wrong codes per phone",
            "10 per hour unless the campaign sets another limit; then outcome `rate_limited`",
            "`POST /api/v1/submissions`",
        ),
        (
            "Receipts still being checked, per phone",
            "20; then outcome `rate_limited`. Receipts in review do not count",
            "`POST /api/v1/submissions`",
        ),
        (
            "Submissions per phone",
            "the campaign's `limits`; then outcome `daily_limit` or `entry_limit`",
            "`POST /api/v1/submissions`",
        ),
        (
            "Entries per receipt",
            "100 unless the campaign sets another limit; above it, your operator decides",
            "receipts",
        ),
        (
            "Submissions in a look-up",
            "latest 50",
            "`POST /api/v1/submissions/lookup`",
        ),
        ("Request body", "64 KiB", "all endpoints with a body"),
        (
            "Receipt photo",
            "5 MB (5,242,880 bytes), JPEG, PNG or WebP",
            "receipts",
        ),
        ("Upload target", "valid for 15 minutes", "receipts"),
        (
            "`Idempotency-Key`",
            "16 to 128 characters, remembered for 30 days",
            "submissions (required), receipts",
        ),
        (
            "Waiting for a request with the same key",
            "10 seconds; after that its pending submission is returned",
            "`POST /api/v1/submissions`",
        ),
        ("`code`", "1 to 64 characters", "pre-check, submission"),
        (
            "`phone`",
            "9 to 16 characters",
            "pre-check, submission, look-up",
        ),
        ("`region`", "up to 80 characters", "submission"),
        (
            "`claimed.items`",
            "up to 40 items, `qty` 1 to 99",
            "submission",
        ),
        ("`claimed.branch`", "up to 120 characters", "submission"),
        ("`qr_payload`", "up to 400 characters", "receipts"),
        (
            "`code` of a typed receipt",
            "6 to 40 characters",
            "receipts",
        ),
    ];
    let row = |(what, limit, applies): (&str, &str, &str)| {
        [what, limit, applies].map(str::to_owned).to_vec()
    };
    Table {
        name: "limits",
        title: "Limits",
        text: "Requests over a limit get 429 `rate_limited` and `Retry-After`. An address range is an IPv4 /24 or an IPv6 \
               /48 from `SVC-Client-IP`. Without that header, all calls of your server count together, which is \
               stricter. Lengths are counted in characters after white space at both ends is removed.",
        head: vec!["Limit", "Value", "Applies to"],
        rows: rows.into_iter().map(row).collect(),
    }
}

/// The rows of the status to show for each state and review status.
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

/// The display status of a submission in this state.
fn display_status(state: State, review: Option<ReviewStatus>) -> String {
    let status = json!({
        "state": state, "review_status": review, "message_key": MessageKey::Checking, "entries": 0, "instant_win": null,
    });
    let status: Option<SubmissionStatus> = serde_json::from_value(status).ok();
    status
        .map(|status| in_json(&status.display_status()))
        .unwrap_or_default()
}

/// An enum value as it appears in replies.
fn in_json(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
