//! Parameters in the path, the query and headers.

use common::http::schema::{Slug, Uuid};
use serde_json::{Map, Value, json};

use super::schema::{set, text, with_example};
use super::schemas;

pub(crate) const COMMON: [&str; 4] = ["Locale", "AcceptLanguage", "RequestId", "Campaign"];

const ANYTHING: &str = "^[\\s\\S]*$";

pub(crate) fn all() -> Map<String, Value> {
    let parameters = [
        (
            "Locale",
            parameter(
                "query",
                "locale",
                "Language of `message` and `messages`: `en` or `sw`. Wins over Accept-Language. Other values are \
                ignored.",
                with_example("sw", anything()),
            ),
        ),
        (
            "AcceptLanguage",
            parameter(
                "header",
                "Accept-Language",
                "Swahili when `sw` (or `sw-…`) ranks above `en` by q-value, English otherwise.",
                with_example("sw-TZ, en;q=0.5", anything()),
            ),
        ),
        (
            "RequestId",
            parameter(
                "header",
                "X-Request-Id",
                "Your own id for the request, echoed in the reply and logged. At most 128 letters, digits and \
                `._+/=-`; any other value is replaced by a generated one.",
                with_example("page-17.3", anything()),
            ),
        ),
        (
            "Campaign",
            parameter(
                "header",
                "SVC-Campaign",
                "Campaign slug. If it is not the key's own campaign, the reply is 422 `campaign_mismatch`. Not \
                needed with a campaign key.",
                schemas::of::<Slug>(),
            ),
        ),
        (
            "ClientIp",
            parameter(
                "header",
                "SVC-Client-IP",
                "The consumer's IP address as your server sees it. Recommended: limits then count the consumer's \
                address range (IPv4 /24, IPv6 /48). Of a list, the first address counts; a port or zone is dropped. \
                Without it, or if it is not an address, all calls of your server count together.",
                with_example("41.59.13.200", anything()),
            ),
        ),
        (
            "IdempotencyKey",
            required(parameter(
                "header",
                "Idempotency-Key",
                KEY_OF_SUBMISSION,
                idempotency_key(),
            )),
        ),
        (
            "OptionalIdempotencyKey",
            parameter(
                "header",
                "Idempotency-Key",
                KEY_OF_RECEIPT,
                idempotency_key(),
            ),
        ),
        (
            "SubmissionId",
            required(parameter(
                "path",
                "id",
                "The submission's id. Anything that is not a UUID answers 404 `not_found`.",
                schemas::of::<Uuid>(),
            )),
        ),
        (
            "ReceiptId",
            required(parameter(
                "path",
                "id",
                "The receipt's id. Anything that is not a UUID answers 404 `not_found`.",
                schemas::of::<Uuid>(),
            )),
        ),
    ];
    parameters
        .into_iter()
        .map(|(name, parameter)| (name.to_owned(), parameter))
        .collect()
}

const KEY_OF_SUBMISSION: &str = "One key for each attempt, such as a UUID; send the same key on every retry of that \
    attempt. 16 to 128 printable ASCII characters without commas. A key in double quotes is the same key as without \
    them. Keys are remembered for 30 days.";
const KEY_OF_RECEIPT: &str = "With a key, a retry returns the first request's receipt, with a fresh upload target while \
    the photo has not arrived. 16 to 128 printable ASCII characters without commas. Keys are remembered for 30 days.";

/// Never refused, so without limit.
fn anything() -> Value {
    json!({ "type": "string", "pattern": ANYTHING })
}

fn idempotency_key() -> Value {
    with_example(
        "0b6f3c1e-8d0a-4c56-9f3e-2a7d51c4e980",
        text(16, 128, "^[ -~]+$"),
    )
}

fn parameter(place: &str, name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "in": place, "description": description, "schema": schema })
}

fn required(mut parameter: Value) -> Value {
    set(&mut parameter, "required", json!(true));
    parameter
}

pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}
