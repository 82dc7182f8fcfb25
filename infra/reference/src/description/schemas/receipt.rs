//! The Receipt object.

use common::domain::receipt::ReceiptState;
use common::domain::receipt::photo::MAX_BYTES;
use serde_json::{Value, json};

use super::super::schema::{field, integer, link, list, map, object, one_of, or_null, time, uuid};

/// The schemas of receipts.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Receipt", receipt()),
        (
            "ReceiptType",
            one_of("Kind of receipt.", &["photo", "typed"], |kind| match kind {
                "photo" => "A photo that is uploaded to storage.",
                _ => "Verification code and time, typed by the consumer.",
            }),
        ),
        (
            "ReceiptState",
            one_of("Current state of a receipt. New values may be added.", &ReceiptState::ALL, |state| {
                match state {
                    ReceiptState::AwaitingUpload => "The photo has not arrived in storage yet.",
                    ReceiptState::Uploaded => {
                        "The photo is there, or the receipt was typed. Ready for a submission."
                    }
                    ReceiptState::Attached => "A submission uses the receipt. No other submission can.",
                }
            }),
        ),
        ("UploadTarget", target()),
    ]
}

fn receipt() -> Value {
    object(
        "A receipt that one submission can use.",
        vec![
            field("id", "Receipt id; send it as `receipt_id` with the submission.", uuid()),
            field("type", "Kind of receipt.", link("ReceiptType")),
            field("state", "Current state.", link("ReceiptState")),
            field(
                "upload",
                "Upload target while the photo has not arrived. Null for typed receipts, once the photo is there, and on every GET.",
                or_null(link("UploadTarget")),
            ),
            field("created_at", "Creation time.", time()),
        ],
    )
}

fn target() -> Value {
    object(
        "Where to upload the photo. The first upload that succeeds is the only one.",
        vec![
            field(
                "url",
                "Presigned URL, valid until `expires_at`.",
                json!({ "type": "string", "format": "uri", "minLength": 1, "maxLength": 4096 }),
            ),
            field("method", "Always `PUT`.", json!({ "type": "string", "const": "PUT" })),
            field(
                "headers",
                "Headers to send with the PUT exactly as given: they are signed. Browsers and curl set `content-length` themselves.",
                map(10, "^[a-z0-9-]+$", 200),
            ),
            field("expires_at", "End of the URL's validity. Ask for a fresh target after that.", time()),
            field("max_bytes", "Maximum photo size in bytes.", integer(1, MAX_BYTES)),
            field("accepted_types", "Accepted photo types.", list(10, link("PhotoType"))),
        ],
    )
}
