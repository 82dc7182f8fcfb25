//! The tables of the reference: message keys, test codes and receipts, limits, states, reasons.

use common::domain::code::{Code, SentinelOutcome};
use common::domain::message::{Language, MessageKey, TextKey};
use common::domain::receipt::sentinel::ReceiptSentinel;
use common::domain::submission::{ReviewStatus, State, SubmissionStatus};
use serde::Serialize;
use serde_json::{Value, json};

use crate::pages::{at, text_of};

/// A table with a title and an introduction. Cells are plain text with code between backticks.
pub struct Table {
    /// The name in links and in `{{name}}`.
    pub name: &'static str,
    pub title: &'static str,
    /// The introduction.
    pub text: &'static str,
    /// The column heads.
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// The message keys with their meanings, from their schema, and the service's default texts.
pub fn message_keys(schema: &Value) -> Table {
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
pub fn test_codes() -> Table {
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
pub fn test_receipts() -> Table {
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
pub fn limits() -> Table {
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

/// The status to show for each state and review status.
pub(crate) fn display_statuses() -> Table {
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
    Table {
        name: "display-status",
        title: "Display status",
        text: "The service computes `display_status` from `state` and `review_status`.",
        head: vec!["state", "review_status", "display_status"],
        rows,
    }
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

/// The transitions between states.
pub(crate) fn transitions() -> Table {
    let rows = [
        (
            "(new)",
            "`accepted`",
            "Good service code, no receipt needed.",
            "`entered`, `instant_win`",
        ),
        (
            "(new)",
            "`rejected`",
            "An outcome about the consumer: wrong code, limit, closed campaign.",
            "the reason's key",
        ),
        (
            "(new)",
            "`pending`",
            "A receipt must be checked, or a partner asked.",
            "`receipt_received`, `checking`",
        ),
        (
            "`pending`",
            "`unknown`",
            "The partner did not answer within 8 seconds, or too many requests to it were already in flight.",
            "`checking`",
        ),
        (
            "`pending`",
            "`pending`, `under_review`",
            "Your operator must review it: no readable QR code, no product matched, too many entries, or a photo that was sent before.",
            "`receipt_received`",
        ),
        (
            "`pending`, `unknown`",
            "`accepted`",
            "The partner accepted the code, or the receipt counts.",
            "`entered`, `instant_win`",
        ),
        (
            "`pending`, `unknown`",
            "`rejected`",
            "The partner refused the code, the receipt does not count (`declined`), or the phone was blocked meanwhile.",
            "the reason's key",
        ),
        (
            "`under_review`",
            "`accepted` or `rejected`",
            "Your operator decided.",
            "`entered`, or the reason's key",
        ),
        (
            "`accepted`",
            "`rejected`",
            "Your operator found that the entry must not count.",
            "`blocked`",
        ),
        (
            "`rejected`",
            "`pending`, `under_review`; without a receipt `unknown`",
            "Your operator found that it was rejected by mistake, and looks at it again.",
            "`receipt_received`, `checking`",
        ),
    ];
    let row = |(from, to, when, key): (&str, &str, &str, &str)| {
        [from, to, when, key].map(str::to_owned).to_vec()
    };
    Table {
        name: "transitions",
        title: "State transitions",
        text: "`accepted` and `rejected` are final unless your operator corrects them, which is rare: stop polling, and read the submission \
               again when you show it. A submission never settles by giving up: after 24 hours without an \
               answer it stays `unknown`, and your service operator is alerted.",
        head: vec!["From", "To", "When", "message_key"],
        rows: rows.into_iter().map(row).collect(),
    }
}

/// The values of `reasons` other than message keys.
pub(crate) fn reasons() -> Table {
    let rows = [
        (
            "no_qr_code",
            "The photo shows no readable QR code. In review.",
        ),
        (
            "no_receipt_in_qr_codes",
            "The QR codes in the photo are not of a receipt. In review.",
        ),
        (
            "photo_seen_before",
            "The same photo came with another submission. In review.",
        ),
        (
            "several_receipts_in_photo",
            "The photo shows more than one receipt. In review.",
        ),
        (
            "no_time_in_qr_code",
            "The QR code has no time, so the receipt cannot be looked up. In review.",
        ),
        (
            "no_product_matched",
            "No line of the receipt is a participating product.",
        ),
        (
            "too_many_entries",
            "The receipt earns more than the campaign accepts unseen. In review.",
        ),
        ("receipt_cancelled", "The shop cancelled the receipt."),
        (
            "receipt_from_training",
            "The fiscal device was in training mode.",
        ),
        (
            "receipt_from_the_future",
            "The receipt is dated after the submission. In review.",
        ),
        ("trader_unknown", "The shop does not take part."),
        (
            "fiscal_device_unknown",
            "The shop takes part, but not with this fiscal device.",
        ),
        (
            "receipt_code_impossible",
            "No receipt can have this verification code.",
        ),
        ("photo_not_decoded", "The file is not an image."),
        (
            "referer_refused",
            "The tax authority refused the request. Your service operator is alerted.",
        ),
        (
            "partner_unanswered",
            "The partner has not answered for a day.",
        ),
        ("operator_decision", "Your operator decided."),
        (
            "reopened",
            "Your operator found that the submission was rejected by mistake, and looks at it again.",
        ),
        (
            "revoked",
            "Your operator found that the accepted entry must not count.",
        ),
        ("asked_for_by_test", "A test receipt asked for a review."),
        (
            "no_test_receipt",
            "The key is a test key, and this is not a test receipt.",
        ),
    ];
    let row = |(reason, meaning): (&str, &str)| vec![code(reason), meaning.to_owned()];
    Table {
        name: "reasons",
        title: "Reasons",
        text: "`reasons` holds message keys and, for the service operator, values such as these. Log them; do not branch \
               on them: they can change.",
        head: vec!["Reason", "Meaning"],
        rows: rows.into_iter().map(row).collect(),
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
