//! What the reference lists: message keys, test codes and receipts, limits.

use common::domain::code::{Code, SentinelOutcome};
use common::domain::message::{Language, MessageKey};
use common::domain::receipt::sentinel::ReceiptSentinel;

/// A table with a title and a text before it. Cells are plain text with code between backticks.
pub(crate) struct Table {
    /// A name for links.
    pub(crate) name: &'static str,
    /// The title.
    pub(crate) title: &'static str,
    /// What it is about.
    pub(crate) text: &'static str,
    /// The heads of its columns.
    pub(crate) head: Vec<&'static str>,
    /// Its rows.
    pub(crate) rows: Vec<Vec<String>>,
}

/// Every table.
pub(crate) fn all() -> Vec<Table> {
    vec![message_keys(), test_codes(), test_receipts(), limits()]
}

/// The message keys with the service's own copy.
pub(crate) fn message_keys() -> Table {
    let row = |key: &MessageKey| {
        vec![code(key.as_str()), key.copy(Language::En).to_owned(), key.copy(Language::Sw).to_owned()]
    };
    Table {
        name: "message-keys",
        title: "Message keys",
        text: "Branch on the key; a campaign can have its own words. New keys may come: show `message` then.",
        head: vec!["Key", "English", "Swahili"],
        rows: MessageKey::ALL.iter().map(row).collect(),
    }
}

/// The codes that stand for outcomes, with test keys.
pub(crate) fn test_codes() -> Table {
    let keys = MessageKey::ALL.iter().map(|key| key.as_str().replace('_', "-").to_uppercase());
    let names = ["VALID".to_owned(), "SLOW".to_owned()].into_iter().chain(keys);
    let row = |name: String| {
        let typed = format!("TEST-0-{name}");
        let outcome = typed.parse::<Code>().ok().and_then(|code| code.sentinel());
        vec![code(&typed), outcome.map(|sentinel| code_outcome(sentinel.outcome)).unwrap_or_default()]
    };
    Table {
        name: "test-codes",
        title: "Test codes",
        text: "With a test key, these codes ask for an outcome, in any campaign with codes. They are judged where any \
               code is. What comes before still decides first: a receipt that the campaign needs (without it, the \
               error `receipt_required`), a campaign that is not live, a blocked phone, a phone that sent too many \
               wrong codes. What comes after still decides of a good code: the limits of the phone, and the receipt. \
               Case does not matter; a suffix such as `.7` makes another code of the same outcome. With a live key \
               they are `sentinel_with_live_key`.",
        head: vec!["Code", "What happens"],
        rows: names.map(row).collect(),
    }
}

fn code_outcome(outcome: SentinelOutcome) -> String {
    match outcome {
        SentinelOutcome::Enters => "accepted: `entered`".to_owned(),
        SentinelOutcome::Wins => "accepted: `instant_win`, with a prize".to_owned(),
        SentinelOutcome::Slow => "`unknown` with `checking` first, `entered` a few seconds later".to_owned(),
        SentinelOutcome::Stays(key) => format!("stays open with `{key}`"),
        SentinelOutcome::Refused(key) => format!("rejected: `{key}`"),
    }
}

/// The receipts that stand for outcomes, with test keys.
pub(crate) fn test_receipts() -> Table {
    let keys = MessageKey::ALL.iter().filter(|key| !matches!(key, MessageKey::AlreadyUsed));
    let bare = keys.map(|key| key.as_str().replace('_', "").to_uppercase());
    let short = bare.map(|name| name.strip_prefix("RECEIPT").map(str::to_owned).unwrap_or(name));
    let names = ["VERIFIED", "SLOW", "REVIEW"].map(str::to_owned).into_iter().chain(short);
    let row = |name: String| {
        let typed = format!("TEST0{name}");
        let outcome = ReceiptSentinel::parse(&typed).map(receipt_outcome).unwrap_or_default();
        vec![code(&typed), outcome]
    };
    Table {
        name: "test-receipts",
        title: "Test receipts",
        text: "With a test key, these take a receipt's place, as the `code` of a typed receipt or the `qr_payload` of \
               a photo. The photo is never read: any file will do that begins like a JPEG, PNG or WebP and is exactly \
               as long as announced. The tax authority is never asked. The submission itself is judged as any other, \
               and the receipt after it. A suffix such as `.7` makes another receipt of the same outcome.",
        head: vec!["Receipt", "What happens, a moment after the submission"],
        rows: names.map(row).collect(),
    }
}

fn receipt_outcome(sentinel: ReceiptSentinel) -> String {
    match sentinel {
        ReceiptSentinel::Verified => "accepted: `entered`".to_owned(),
        ReceiptSentinel::Wins => "accepted: `instant_win`, with a prize".to_owned(),
        ReceiptSentinel::Slow => "`unknown` with `checking` first, `entered` a few seconds later".to_owned(),
        ReceiptSentinel::Review => "waits for a person: `receipt_in_review`".to_owned(),
        ReceiptSentinel::Stays(key) => format!("stays open with `{key}`"),
        ReceiptSentinel::Declined(key) => format!("rejected: `{key}`"),
    }
}

/// What is limited.
pub(crate) fn limits() -> Table {
    let rows = [
        (
            "Requests of one API key",
            "600 a minute, unless it was issued with another ceiling",
            "every operation",
        ),
        ("Pre-checks of one address range", "30 in any 10 minutes", "`POST /api/v1/codes/check`"),
        ("Look-ups of one phone", "5 in any 10 minutes", "`POST /api/v1/submissions/lookup`"),
        ("Look-ups of one address range", "30 in any 10 minutes", "`POST /api/v1/submissions/lookup`"),
        (
            "Wrong codes of one phone",
            "10 in an hour, unless the campaign has another limit; then `rate_limited` as an outcome",
            "`POST /api/v1/submissions`",
        ),
        (
            "Submissions of one phone",
            "the campaign's `limits`; then `daily_limit` or `entry_limit` as an outcome",
            "`POST /api/v1/submissions`",
        ),
        ("Submissions in a look-up", "the latest 50", "`POST /api/v1/submissions/lookup`"),
        ("Body of a request", "64 KiB", "every operation with a body"),
        ("Photo of a receipt", "5 MB (5,242,880 bytes) of JPEG, PNG or WebP", "receipts"),
        ("Upload target", "15 minutes", "receipts"),
        (
            "Idempotency-Key",
            "16 to 128 characters; remembered for 30 days",
            "submissions (required), receipts",
        ),
        (
            "Waiting for a request with the same key",
            "10 seconds; after that its pending submission is returned",
            "`POST /api/v1/submissions`",
        ),
        ("`code`", "1 to 64 characters", "pre-check, submission"),
        ("`phone`", "9 to 16 characters", "pre-check, submission, look-up"),
        ("`region`", "up to 80 characters", "submission"),
        ("`claimed`", "up to 40 items of 1 to 99 each; `branch` up to 120 characters", "submission"),
        ("`qr_payload`", "up to 400 characters", "receipts"),
        ("`code` of a typed receipt", "6 to 40 characters", "receipts"),
    ];
    let row = |(what, limit, applies): (&str, &str, &str)| [what, limit, applies].map(str::to_owned).to_vec();
    Table {
        name: "limits",
        title: "Limits",
        text: "What is over a limit of requests is `rate_limited` with `Retry-After`. An address range is an IPv4 /24 \
               or an IPv6 /48 from `SVC-Client-IP`; without that header, your server's own address counts alone, \
               which is stricter.",
        head: vec!["What", "Limit", "Where"],
        rows: rows.into_iter().map(row).collect(),
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
