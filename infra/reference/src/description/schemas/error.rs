//! The Error object.

use common::error::ErrorCode;
use serde_json::{Value, json};

use super::super::schema::{field, link, list, object, one_of, optional, text, words};

/// Problems that one reply can list: a full list of claimed items with every field wrong has fewer.
const MOST_PROBLEMS: usize = 100;
/// A name such as `claimed.items[0].qty`.
const FIELD: &str = "^[a-z_]+(\\[[0-9]+\\])?(\\.[a-z_]+(\\[[0-9]+\\])?)*$";
/// A JSON Pointer such as `/claimed/items/0/qty`.
const POINTER: &str = "^(/[a-z0-9_]+)+$";

/// The schemas of errors.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    vec![
        (
            "ErrorBody",
            object("The body of every error.", vec![field("error", "What is wrong.", link("Error"))]),
        ),
        ("Error", error()),
        ("FieldProblem", problem()),
        (
            "ErrorCode",
            one_of(
                "What is wrong, for programs. `session_expired` and `campaign_not_assigned` are reserved: no call \
                 returns them yet. New codes may come: go by the status for a code that you do not know.",
                &codes,
            ),
        ),
    ]
}

fn error() -> Value {
    object(
        "What is wrong with a request, and what to do about it.",
        vec![
            field("code", "What is wrong. Branch on this.", link("ErrorCode")),
            field("message", "What happened, for a developer; the words may change.", words(1000)),
            optional(
                "field",
                "The first field at fault, such as `claimed.items[0].qty`.",
                text(1, 100, FIELD),
            ),
            optional(
                "errors",
                "All fields at fault, in the order of the reference; only with `validation_failed`, when fields are at \
                 fault.",
                list(MOST_PROBLEMS, link("FieldProblem")),
            ),
            field("fix", "How to fix it, for a developer; the words may change.", words(1000)),
            field(
                "docs_url",
                "Where the reference explains this code.",
                json!({ "type": "string", "format": "uri", "minLength": 1, "maxLength": 500 }),
            ),
            field(
                "request_id",
                "Names the request, as the X-Request-Id header does: quote it to operations.",
                text(1, 128, super::super::headers::REQUEST_ID),
            ),
        ],
    )
}

fn problem() -> Value {
    object(
        "One field at fault.",
        vec![
            field("field", "The field, such as `claimed.items[0].qty`.", text(1, 100, FIELD)),
            field(
                "pointer",
                "The same place as a JSON Pointer (RFC 6901), such as `/claimed/items/0/qty`.",
                text(1, 100, POINTER),
            ),
            field("message", "What is wrong with it, for a developer.", words(500)),
        ],
    )
}
