//! What can be sent beside a body: the id in the path, the query, headers.

use serde_json::{Map, Value, json};

use super::schema::{such_as, text, uuid};

/// Parameters that every operation takes.
pub(super) const COMMON: [&str; 4] = ["Locale", "AcceptLanguage", "RequestId", "Campaign"];

/// What is ignored when it is not as described may be anything.
const ANYTHING: &str = "^[\\s\\S]*$";

/// Every parameter, by name.
pub(super) fn all() -> Map<String, Value> {
    let parameters = [
        (
            "Locale",
            parameter(
                "query",
                "locale",
                "The language of the copy: `en` or `sw`, whatever Accept-Language says. Other \
                values count for nothing.",
                such_as("sw", anything()),
            ),
        ),
        (
            "AcceptLanguage",
            parameter(
                "header",
                "Accept-Language",
                "Swahili when `sw` is preferred over `en`; anything else gives \
                English.",
                such_as("sw-TZ, en;q=0.5", anything()),
            ),
        ),
        (
            "RequestId",
            parameter(
                "header",
                "X-Request-Id",
                "Your own id for the request. It comes back and is logged when it has at most \
                128 characters, all of them letters, digits or one of `._+/=-`; otherwise it is replaced.",
                such_as("page-17.3", anything()),
            ),
        ),
        (
            "Campaign",
            parameter(
                "header",
                "SVC-Campaign",
                "The slug of the campaign that you mean. When it is not the key's own, the reply \
                is `campaign_mismatch`. Leave it out with a campaign key.",
                super::schemas::slug(),
            ),
        ),
        (
            "ClientIp",
            parameter(
                "header",
                "SVC-Client-IP",
                "The consumer's IP address as your server sees it; recommended. The \
                limits count its range (IPv4 /24, IPv6 /48). Of a list, the first address counts; a port or zone is \
                left out. Without the header, or when it holds no address, they count all calls of your server \
                together.",
                such_as("41.59.13.200", anything()),
            ),
        ),
        (
            "IdempotencyKey",
            required(parameter("header", "Idempotency-Key", KEY_OF_SUBMISSION, idempotency_key())),
        ),
        ("OptionalIdempotencyKey", parameter("header", "Idempotency-Key", KEY_OF_RECEIPT, idempotency_key())),
        (
            "SubmissionId",
            required(parameter(
                "path",
                "id",
                "The submission's id; anything that is none is `not_found`.",
                uuid(),
            )),
        ),
        (
            "ReceiptId",
            required(parameter(
                "path",
                "id",
                "The receipt's id; anything that is none is `not_found`.",
                uuid(),
            )),
        ),
    ];
    parameters.into_iter().map(|(name, parameter)| (name.to_owned(), parameter)).collect()
}

const KEY_OF_SUBMISSION: &str = "Names the attempt: a fresh UUID for each, the same one on every retry of it. 16 to \
    128 printable ASCII characters without a comma, sent once; double quotes around it do not make another key. Keys are remembered for \
    30 days.";
const KEY_OF_RECEIPT: &str = "Names the attempt, where you want a retry to find the first try's receipt: with a fresh \
    upload target, while the photo has not arrived. 16 to 128 printable ASCII characters without a comma. Keys are remembered for 30 days.";

/// Text that is never refused, so that any bound would be untrue.
fn anything() -> Value {
    json!({ "type": "string", "pattern": ANYTHING })
}

fn idempotency_key() -> Value {
    such_as("0b6f3c1e-8d0a-4c56-9f3e-2a7d51c4e980", text(16, 128, "^[\\u0020-\\u007E]+$"))
}

fn parameter(place: &str, name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "in": place, "description": description, "schema": schema })
}

fn required(mut parameter: Value) -> Value {
    super::schema::set(&mut parameter, "required", json!(true));
    parameter
}

/// A link to a parameter.
pub(super) fn link(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}
