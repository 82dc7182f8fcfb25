//! The introduction of the description.

use serde_json::{Value, json};

/// Changes within v1 only add.
const VERSION: &str = "1.0.0";

/// `docs` is the reference's URL.
pub(crate) fn info(docs: &str) -> Value {
    json!({
        "title": "Campaign Entry Service",
        "version": VERSION,
        "summary": "Enter consumers into promotional campaigns by code or by receipt.",
        "description": description(docs),
        "contact": { "name": "Campaign Entry Service", "url": docs },
        "license": { "name": "Apache 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" },
    })
}

pub(crate) fn tags() -> Value {
    json!([
        { "name": "Campaign", "description": "What a campaign needs, and the text of its messages." },
        { "name": "Codes", "description": "Pre-check a code without using it." },
        { "name": "Receipts", "description": "Start receipts and upload their photos." },
        { "name": "Submissions", "description": "Enter consumers and read the outcome." },
    ])
}

fn description(docs: &str) -> String {
    format!(
        "Your server sends a code or a receipt, a phone number and consent; the service decides \
        whether that consumer is in.\n\n\
        - Whatever happens to a consumer is a reply with status 200 and a `message_key`. An error means that your \
        request is at fault; nothing is recorded then.\n\
        - Times are UTC, phones are returned as E.164, names are lower snake case. Codes and phones never appear in a \
        URL.\n\
        - Every reply has `X-Request-Id` and `Cache-Control: no-store`; its body is JSON.\n\
        - Changes within v1 are additive: we may add fields, message keys, error codes and enum values at any time. \
        Ignore unknown fields, and show `message` for an unknown message key.\n\
        - Checks run in this order, and the first problem decides: path and method, API key, SVC-Campaign, the key's \
        rate limit, Idempotency-Key, body, fields in the order of `x-order`, test codes, what the campaign needs, receipt.\n\
        - Replies that API Gateway makes itself, such as its own throttling, do not have this shape and carry no \
        `X-Request-Id` of the service.\n\n\
        [Message keys]({docs}/outcomes), [test codes and receipts]({docs}/sentinels), [limits]({docs}/limits)."
    )
}
