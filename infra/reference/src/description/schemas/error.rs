//! The Error object.

use common::error::ErrorCode;
use serde_json::{Value, json};

use super::super::schema::{field, link, list, object, one_of_plain, optional, text, words};

/// Problems that one reply can list: a full list of claimed items with every field wrong has fewer.
const MAX_PROBLEMS: usize = 100;
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
            object("Body of every error reply.", vec![field("error", "The error.", link("Error"))]),
        ),
        ("Error", error()),
        ("FieldProblem", problem()),
        (
            "ErrorCode",
            one_of_plain(
                "Machine-readable error code. `session_expired` and `campaign_not_assigned` are reserved: no call \
                 returns them yet. New codes may be added: for an unknown error code, fall back to the HTTP status.",
                &codes,
            ),
        ),
    ]
}

fn error() -> Value {
    object(
        "What is wrong with a request and how to fix it.",
        vec![
            field("code", "Error code. Branch on this.", link("ErrorCode")),
            field("message", "What happened, for developers. The wording may change.", words(1000)),
            optional(
                "field",
                "First field at fault, such as `claimed.items[0].qty`. Present when one field is at fault.",
                text(1, 100, FIELD),
            ),
            optional(
                "errors",
                "All fields at fault, in the order of the reference. Only with `validation_failed`, when fields are at \
                 fault.",
                list(MAX_PROBLEMS, link("FieldProblem")),
            ),
            field("fix", "How to fix it, for developers. The wording may change.", words(1000)),
            field(
                "docs_url",
                "URL of this code's section in the reference.",
                json!({ "type": "string", "format": "uri", "minLength": 1, "maxLength": 500 }),
            ),
            field(
                "request_id",
                "Id of the request, as in `X-Request-Id`. Quote it to your service operator.",
                text(1, 128, super::super::headers::REQUEST_ID),
            ),
        ],
    )
}

fn problem() -> Value {
    object(
        "One field at fault.",
        vec![
            field("field", "Field name, such as `claimed.items[0].qty`.", text(1, 100, FIELD)),
            field(
                "pointer",
                "The same place as a JSON Pointer (RFC 6901), such as `/claimed/items/0/qty`.",
                text(1, 100, POINTER),
            ),
            field("message", "What is wrong with the field, for developers.", words(500)),
        ],
    )
}
