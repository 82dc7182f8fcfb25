//! The reply of a pre-check.

use serde_json::Value;

use super::super::schema::{field, link, object, one_of, or_null, words};

const RESULTS: [&str; 4] = ["valid", "invalid", "already_used", "unsupported"];

/// The schemas of a pre-check.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![("Precheck", precheck()), ("PrecheckResult", result())]
}

fn precheck() -> Value {
    object(
        "Result of a pre-check. It does not hold or redeem the code; the submission checks it again.",
        vec![
            field("precheck", "Whether the code could be entered now.", link("PrecheckResult")),
            field(
                "message_key",
                "Reason why the code cannot be entered: `invalid`, `already_used` or `code_held`. Null otherwise.",
                or_null(link("MessageKey")),
            ),
            field("message", "Text for `message_key`, or null.", or_null(words(320))),
        ],
    )
}

fn result() -> Value {
    one_of("Result of a pre-check. New values may be added.", &RESULTS, |result| match result {
        "valid" => "The code can be entered, or this phone entered it before.",
        "invalid" => "The code does not exist or was withdrawn.",
        "already_used" => {
            "Another phone redeemed the code, or holds it with a submission that is still being checked \
                 (`code_held`)."
        }
        _ => "Only a submission can tell: a partner checks the codes of this campaign, or it has none.",
    })
}
