//! The reply of a pre-check.

use serde_json::Value;

use super::super::schema::{field, link, object, one_of, or_null, words};

/// The schemas of a pre-check.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![("Precheck", precheck()), ("PrecheckResult", result())]
}

fn precheck() -> Value {
    object(
        "What a pre-check found. Nothing is held: the submission judges the code again.",
        vec![
            field("precheck", "Whether the code could be entered now.", link("PrecheckResult")),
            field(
                "message_key",
                "Why the code cannot be entered: `invalid`, `already_used` or `code_held`; else null.",
                or_null(link("MessageKey")),
            ),
            field("message", "The copy for `message_key`; null when that is null.", or_null(words(320))),
        ],
    )
}

fn result() -> Value {
    one_of(
        "`unsupported` where only a submission can tell: in campaigns whose codes a partner checks, or that have none. \
         New values may come.",
        &["valid", "invalid", "already_used", "unsupported"],
    )
}
