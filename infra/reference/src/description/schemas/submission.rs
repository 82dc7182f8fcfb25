//! The Submission object, and the list of a phone's submissions.

use common::domain::message::MessageKey;
use common::domain::partner::reply::{MOST_CODE_CHARS, MOST_MESSAGE_CHARS};
use common::domain::submission::{DisplayStatus, ReviewStatus, State};
use serde_json::{Value, json};

use super::super::schema::{
    KEY, day, field, integer, link, list, object, one_of, or_null, such_as, switch, text, time, uuid, words,
};
use super::campaign::{slug, timezone};

/// More entries than any submission earns.
const MOST_ENTRIES: u64 = 4_294_967_295;
/// Sums stay exact in every language that reads JSON.
const LARGEST_EXACT: u64 = 9_007_199_254_740_991;
/// The longest planned wait, a day.
const LONGEST_WAIT_SECONDS: u64 = 86_400;

/// The schemas of submissions.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Submission", submission()),
        (
            "SubmissionState",
            one_of(
                "`pending`: still being checked. `unknown`: the partner or the tax authority has not answered, and the \
                 service goes on asking by itself. `accepted` and `rejected` are final. New values may come.",
                &State::ALL,
            ),
        ),
        (
            "ReviewStatus",
            one_of(
                "`verified`: the receipt counts. `under_review`: a person looks at it. `declined`: it does not count. \
                 New values may come.",
                &ReviewStatus::ALL,
            ),
        ),
        (
            "DisplayStatus",
            one_of(
                "The one status to show. `needs_attention` means that the consumer can do something: send a better \
                 receipt, with the same code. New values may come.",
                &DisplayStatus::ALL,
            ),
        ),
        (
            "MessageKey",
            one_of(
                "Which message applies. New keys may come: show `message` for a key that you do not know.",
                MessageKey::ALL,
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
        "One attempt of a consumer to enter, refused ones included.",
        vec![
            field("id", "Its id, a random UUID.", uuid()),
            field("ref", "A short reference that the consumer can quote.", reference()),
            field("campaign", "The campaign's slug.", slug()),
            field("livemode", "False when it was made with a test key.", switch()),
            field("state", "How far it is decided.", link("SubmissionState")),
            field(
                "review_status",
                "How far the receipt has been looked at; null without a receipt, and until it has been read.",
                or_null(link("ReviewStatus")),
            ),
            field("display_status", "The one status to show to the consumer.", link("DisplayStatus")),
            field(
                "message_key",
                "Which message applies. Branch on this, never on `message`.",
                link("MessageKey"),
            ),
            field(
                "message",
                "The copy for `message_key`, in the language of the request, with the campaign's own words.",
                words(320),
            ),
            field(
                "reasons",
                "What lies behind the outcome: message keys, and reasons for operations. For logs, not for branching.",
                list(10, text(1, 64, "^[a-z][a-z0-9_]*$")),
            ),
            field("entries", "Entries earned; 0 until it is accepted.", integer(0, MOST_ENTRIES)),
            field("instant_win", "The instant prize in words; null without one.", or_null(words(200))),
            field(
                "terminal",
                "Whether nothing more happens without a person: `accepted` or `rejected`.",
                switch(),
            ),
            field(
                "poll_after_seconds",
                "How long to wait before asking again; null when `terminal`.",
                or_null(integer(1, LONGEST_WAIT_SECONDS)),
            ),
            field(
                "replayed",
                "Whether the phone had sent the code before, and this is the submission of then.",
                switch(),
            ),
            field(
                "receipt",
                "What the tax authority's record says; null until it is known, and without a receipt.",
                or_null(link("ReceiptRecord")),
            ),
            field(
                "upstream",
                "The partner's own words, where a partner checks codes. Unstable: never branch on it.",
                or_null(link("Upstream")),
            ),
            field("created_at", "When it was made.", time()),
            field("updated_at", "When it last changed.", time()),
        ],
    )
}

fn reference() -> Value {
    such_as("K7M2-Q9XD", text(9, 9, "^[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}$"))
}

fn record() -> Value {
    object(
        "What the tax authority's record of a receipt says.",
        vec![
            field("date", "The day of the purchase.", or_null(day())),
            field("branch", "The key of the participating branch.", or_null(text(1, 64, KEY))),
            field("items_summary", "The qualifying items, in words.", or_null(words(20_000))),
            field("tra_verified", "Always true where there is a record.", switch()),
        ],
    )
}

fn upstream() -> Value {
    let code = json!({
        "anyOf": [
            { "type": "integer", "format": "int64", "minimum": i64::MIN, "maximum": i64::MAX },
            words(MOST_CODE_CHARS),
            { "type": "null" },
        ],
    });
    object(
        "The partner's own words. They change without notice.",
        vec![
            field("code", "The partner's code.", code),
            field("message", "The partner's message.", or_null(words(MOST_MESSAGE_CHARS))),
        ],
    )
}

fn submissions() -> Value {
    object(
        "A phone's latest submissions. A phone that was never seen has an empty list.",
        vec![
            field("submissions", "Newest first.", list(50, link("SubmissionListEntry"))),
            field("total_entries", "All entries of accepted submissions.", integer(0, LARGEST_EXACT)),
            field("timezone", "The campaign's time zone, in which `date` is counted.", timezone()),
        ],
    )
}

fn entry() -> Value {
    object(
        "One submission of a phone.",
        vec![
            field("id", "The submission's id.", uuid()),
            field("ref", "Its reference.", reference()),
            field("date", "The day on which it was made, in the campaign's time zone.", day()),
            field("display_status", "The status to show.", link("DisplayStatus")),
            field("message", "The message for it, in the language of the request.", words(320)),
            field("entries", "Entries that it earned.", integer(0, MOST_ENTRIES)),
        ],
    )
}
