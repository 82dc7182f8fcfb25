//! The Submission object, and the list of a phone's submissions.

use common::domain::message::MessageKey;
use common::domain::partner::reply::{MAX_CODE_CHARS, MAX_MESSAGE_CHARS};
use common::domain::submission::{DisplayStatus, ReviewStatus, State};
use serde_json::{Value, json};

use super::super::meanings::{display_meaning, message_meaning, review_meaning, state_meaning};
use super::super::schema::{
    KEY, day, field, integer, link, list, object, one_of, or_null, such_as, switch, text, time, uuid, words,
};
use super::campaign::{slug, timezone};

/// More entries than any submission earns.
const MAX_ENTRIES: u64 = 4_294_967_295;
/// Sums stay exact in every language that reads JSON.
const MAX_EXACT: u64 = 9_007_199_254_740_991;
/// The longest planned wait, a day.
const MAX_WAIT_SECONDS: u64 = 86_400;

/// The schemas of submissions.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Submission", submission()),
        (
            "SubmissionState",
            one_of("Current state of a submission. New values may be added.", &State::ALL, state_meaning),
        ),
        (
            "ReviewStatus",
            one_of(
                "Result of looking at the receipt. New values may be added.",
                &ReviewStatus::ALL,
                review_meaning,
            ),
        ),
        (
            "DisplayStatus",
            one_of(
                "The one status to show to the consumer. New values may be added.",
                &DisplayStatus::ALL,
                display_meaning,
            ),
        ),
        (
            "MessageKey",
            one_of(
                "Message to show. New keys may be added: show `message` for an unknown message key.",
                MessageKey::ALL,
                message_meaning,
            ),
        ),
        ("ReceiptRecord", record()),
        ("Upstream", upstream()),
        ("SubmissionList", submissions()),
        ("SubmissionListEntry", entry()),
    ]
}

fn submission() -> Value {
    object(
        "One attempt of a consumer to enter, including refused ones.",
        vec![
            field("id", "Submission id, a random UUID.", uuid()),
            field("ref", "Short reference that the consumer can quote.", reference()),
            field("campaign", "Campaign slug.", slug()),
            field("livemode", "`false` if it was created with a test key.", switch()),
            field("state", "Current state.", link("SubmissionState")),
            field(
                "review_status",
                "Result of looking at the receipt. Null without a receipt, and until the receipt has been read.",
                or_null(link("ReviewStatus")),
            ),
            field("display_status", "The one status to show to the consumer.", link("DisplayStatus")),
            field("message_key", "Message to show. Branch on this, never on `message`.", link("MessageKey")),
            field(
                "message",
                "Text for `message_key` in the request's language, including the campaign's own wording.",
                words(320),
            ),
            field(
                "reasons",
                "Reasons behind the outcome: message keys, and reasons for the service operator. For logs, not for branching. [List of reasons](/docs/outcomes#reasons).",
                list(10, text(1, 64, "^[a-z][a-z0-9_]*$")),
            ),
            field("entries", "Entries earned; 0 until accepted.", integer(0, MAX_ENTRIES)),
            field("instant_win", "Instant prize as text, or null.", or_null(words(200))),
            field(
                "terminal",
                "`true` once `state` is `accepted` or `rejected`. Stop polling then.",
                switch(),
            ),
            field(
                "poll_after_seconds",
                "Seconds to wait before you read the submission again; null when `terminal`.",
                or_null(integer(1, MAX_WAIT_SECONDS)),
            ),
            field(
                "replayed",
                "`true` when this phone has already entered this code; you get the earlier submission.",
                switch(),
            ),
            field(
                "receipt",
                "Summary of the tax authority's record. Null until the authority returned it, and without a receipt.",
                or_null(link("ReceiptRecord")),
            ),
            field(
                "upstream",
                "The partner's own reply, if a partner checks codes. Unstable: never branch on it.",
                or_null(link("Upstream")),
            ),
            field("created_at", "Creation time.", time()),
            field("updated_at", "Time of the last change.", time()),
        ],
    )
}

fn reference() -> Value {
    such_as("K7M2-Q9XD", text(9, 9, "^[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}$"))
}

fn record() -> Value {
    object(
        "Summary of the tax authority's record of a receipt.",
        vec![
            field(
                "date",
                "Date of the receipt in Tanzania (Africa/Dar_es_Salaam), whatever the campaign's time zone.",
                or_null(day()),
            ),
            field("branch", "Key of the participating shop, or null.", or_null(text(1, 64, KEY))),
            field("items_summary", "Qualifying items as text, or null.", or_null(words(20_000))),
            field("tra_verified", "Always `true`.", switch()),
        ],
    )
}

fn upstream() -> Value {
    let code = json!({
        "anyOf": [
            { "type": "integer", "format": "int64", "minimum": i64::MIN, "maximum": i64::MAX },
            words(MAX_CODE_CHARS),
            { "type": "null" },
        ],
    });
    object(
        "The partner's own reply. It can change without notice.",
        vec![
            field("code", "Partner's code.", code),
            field("message", "Partner's message.", or_null(words(MAX_MESSAGE_CHARS))),
        ],
    )
}

fn submissions() -> Value {
    object(
        "Latest submissions of a phone. For an unknown phone the list is empty.",
        vec![
            field(
                "submissions",
                "Submissions, newest first, at most 50. A submission of the last second may still be missing.",
                list(50, link("SubmissionListEntry")),
            ),
            field(
                "total_entries",
                "Sum of the entries of all accepted submissions, always up to date.",
                integer(0, MAX_EXACT),
            ),
            field("timezone", "Campaign's time zone, in which `date` is counted.", timezone()),
        ],
    )
}

fn entry() -> Value {
    object(
        "One submission of a phone.",
        vec![
            field("id", "Submission id.", uuid()),
            field("ref", "Reference shown to the consumer.", reference()),
            field("date", "Day of creation, in the campaign's time zone.", day()),
            field("display_status", "Status to show.", link("DisplayStatus")),
            field("message", "Message for it, in the request's language.", words(320)),
            field("entries", "Entries earned.", integer(0, MAX_ENTRIES)),
        ],
    )
}
