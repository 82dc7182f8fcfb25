//! The headers of replies.

use common::http::schema::RequestId;
use serde_json::{Map, Value, json};

use super::examples;
use super::replies::{Replies, open};
use super::schema::{integer, set, text, with_example};
use super::schemas;

/// Limits as a structured field: `"key";q=600;w=60, "address";q=30;w=600`.
const LIMITS: &str = "^\"[a-z]+\"(;[a-z]+=[0-9]+)+(, \"[a-z]+\"(;[a-z]+=[0-9]+)+)*$";
/// Enough for three limits, an endpoint's most.
const LIMITS_CHARS: usize = 200;
const MAX_WAIT: u64 = 86_400;

pub(crate) fn all(replies: Replies) -> Map<String, Value> {
    let headers = [
        (
            "X-Request-Id",
            "Id of the request: your own when it can be logged, otherwise one that the service generates.",
            with_example(examples::REQUEST_ID, schemas::of::<RequestId>()),
        ),
        (
            "Cache-Control",
            "API replies must not be stored.",
            json!({ "type": "string", "const": "no-store" }),
        ),
        (
            "RateLimit-Policy",
            "Limits of the endpoint, in the format of the IETF draft on RateLimit header fields: `q` requests in `w` \
             seconds. `key` is the API key's limit, `address` the consumer's address range, `phone` the phone number.",
            with_example("\"key\";q=600;w=60", text(1, LIMITS_CHARS, LIMITS)),
        ),
        (
            "RateLimit",
            "What is left: `r` requests, and `t` seconds until the window ends or has room again. The value for `key` is \
             an estimate, because several servers share the limit. A limit is left out when this reply did not look \
             at it.",
            with_example("\"key\";r=599;t=42", text(1, LIMITS_CHARS, LIMITS)),
        ),
        (
            "Retry-After",
            "Seconds to wait before you send the same request again.",
            with_example(17, integer(1, MAX_WAIT)),
        ),
        (
            "Idempotent-Replayed",
            "`true` when this Idempotency-Key was used before: nothing was done again, and the reply is the first \
             request's record as it is now. Absent otherwise.",
            json!({ "type": "string", "const": "true" }),
        ),
        (
            "Allow",
            "Methods that the path accepts.",
            with_example("POST", text(3, 30, "^[A-Z]+(, [A-Z]+)*$")),
        ),
        (
            "WWW-Authenticate",
            "Authentication scheme.",
            json!({ "type": "string", "const": "Bearer" }),
        ),
    ];
    let mut all = Map::new();
    for (name, description, mut schema) in headers {
        if replies == Replies::Open {
            open(&mut schema);
        }
        let header = json!({ "description": description, "schema": schema });
        if SOMETIMES.contains(&name) {
            all.insert(format!("{name}{WHEN_COUNTED}"), header.clone());
        }
        let mut header = header;
        set(
            &mut header,
            "required",
            json!(name != "Idempotent-Replayed"),
        );
        all.insert(name.to_owned(), header);
    }
    all
}

/// Headers that some replies have only if counted.
const SOMETIMES: [&str; 2] = ["RateLimit", "RateLimit-Policy"];
const WHEN_COUNTED: &str = "-When-Counted";

pub(crate) fn header(name: &str) -> (String, Value) {
    (
        name.to_owned(),
        json!({ "$ref": format!("#/components/headers/{name}") }),
    )
}

pub(crate) fn when_counted(name: &str) -> (String, Value) {
    (
        name.to_owned(),
        json!({ "$ref": format!("#/components/headers/{name}{WHEN_COUNTED}") }),
    )
}
