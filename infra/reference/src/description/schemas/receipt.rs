//! The Receipt object.

use common::domain::receipt::ReceiptState;
use common::domain::receipt::photo::MAX_BYTES;
use serde_json::{Value, json};

use super::super::schema::{field, integer, link, list, map, object, one_of, or_null, time, uuid};

/// The schemas of receipts.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Receipt", receipt()),
        ("ReceiptType", one_of("A photo to be uploaded, or code and time typed in.", &["photo", "typed"])),
        (
            "ReceiptState",
            one_of(
                "`awaiting_upload`: the photo is not there yet. `uploaded`: ready to be used. `attached`: a submission \
                 uses it. New values may come.",
                &ReceiptState::ALL,
            ),
        ),
        ("UploadTarget", target()),
    ]
}

fn receipt() -> Value {
    object(
        "A receipt: announced, perhaps uploaded, then attached to one submission.",
        vec![
            field("id", "What you send as `receipt_id` with the submission.", uuid()),
            field("type", "What it is made of.", link("ReceiptType")),
            field("state", "How far it has come.", link("ReceiptState")),
            field(
                "upload",
                "Where to put the photo, while it is awaited; else null, as on every GET and with a typed receipt.",
                or_null(link("UploadTarget")),
            ),
            field("created_at", "When it was announced.", time()),
        ],
    )
}

fn target() -> Value {
    object(
        "Where a browser puts the photo, and with what. The first file that arrives is the only one.",
        vec![
            field(
                "url",
                "The address; it works until `expires_at`.",
                json!({ "type": "string", "format": "uri", "minLength": 1, "maxLength": 4096 }),
            ),
            field("method", "Always `PUT`.", json!({ "type": "string", "const": "PUT" })),
            field(
                "headers",
                "The headers of the PUT, exactly: they are signed. A browser sets `content-length` by itself.",
                map(10, "^[a-z0-9-]+$", 200),
            ),
            field("expires_at", "Until when the address works; ask for a fresh one after that.", time()),
            field("max_bytes", "The largest photo, in bytes.", integer(1, MAX_BYTES)),
            field("accepted_types", "The types of photos that are taken.", list(10, link("PhotoType"))),
        ],
    )
}
