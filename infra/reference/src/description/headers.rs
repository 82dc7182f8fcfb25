//! The headers of replies.

use serde_json::{Map, Value, json};

use super::schema::{integer, set, such_as, text};

/// What an X-Request-Id is made of.
pub(super) const REQUEST_ID: &str = "^[A-Za-z0-9._+/=-]+$";
/// A list of limits as structured fields have it: `"key";q=600;w=60, "address";q=30;w=600`.
const LIMITS: &str = "^\"[a-z]+\"(;[a-z]+=[0-9]+)+(, \"[a-z]+\"(;[a-z]+=[0-9]+)+)*$";
/// Longer than three limits, the most of any operation.
const LIMITS_CHARS: usize = 200;
/// The longest wait of any limit, in seconds.
const MAX_WAIT: u64 = 86_400;

/// Every header, by name.
pub(super) fn all() -> Map<String, Value> {
    let headers = [
        (
            "X-Request-Id",
            "Id of the request: your own when it can be logged, otherwise one that the service generates.",
            such_as("req_5f0c1d2e3a4b5c6d7e8f9a0b", text(1, 128, REQUEST_ID)),
        ),
        (
            "Cache-Control",
            "API replies must not be stored.",
            json!({ "type": "string", "const": "no-store" }),
        ),
        (
            "RateLimit-Policy",
            "Limits of the operation, in the format of the IETF draft on RateLimit header fields: `q` requests in `w` \
             seconds. `key` is the API key's ceiling, `address` the consumer's address range, `phone` the phone number.",
            such_as("\"key\";q=600;w=60", text(1, LIMITS_CHARS, LIMITS)),
        ),
        (
            "RateLimit",
            "What is left: `r` requests, and `t` seconds until the window ends or has room again. The value for `key` is \
             an estimate, because several servers share the ceiling. A limit is left out when this reply did not look \
             at it.",
            such_as("\"key\";r=599;t=42", text(1, LIMITS_CHARS, LIMITS)),
        ),
        (
            "Retry-After",
            "Seconds to wait before you send the same request again.",
            such_as(17, integer(1, MAX_WAIT)),
        ),
        (
            "Idempotent-Replayed",
            "`true` when this Idempotency-Key was used before: nothing was done again, and the reply is the first \
             request's record as it is now. Absent otherwise.",
            json!({ "type": "string", "const": "true" }),
        ),
        ("Allow", "Methods that the path accepts.", such_as("POST", text(3, 30, "^[A-Z]+(, [A-Z]+)*$"))),
        ("WWW-Authenticate", "Authentication scheme.", json!({ "type": "string", "const": "Bearer" })),
    ];
    let mut all = Map::new();
    for (name, description, schema) in headers {
        let header = json!({ "description": description, "schema": schema });
        if SOMETIMES.contains(&name) {
            all.insert(format!("{name}{WHEN_COUNTED}"), header.clone());
        }
        let mut header = header;
        set(&mut header, "required", json!(name != "Idempotent-Replayed"));
        all.insert(name.to_owned(), header);
    }
    all
}

/// The headers that some replies have only when the request was counted.
const SOMETIMES: [&str; 2] = ["RateLimit", "RateLimit-Policy"];
/// What tells the two apart.
const WHEN_COUNTED: &str = "-When-Counted";

/// A header of one reply.
pub(super) fn header(name: &str) -> (String, Value) {
    (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }))
}

/// A header that the reply has only when the request was counted.
pub(super) fn when_counted(name: &str) -> (String, Value) {
    (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}{WHEN_COUNTED}") }))
}
