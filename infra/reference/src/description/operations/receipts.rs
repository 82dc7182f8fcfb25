//! The operations of receipts: start, ask for a fresh target, read.

use common::error::ErrorCode;
use common::http::routes;
use serde_json::{Value, json};

use super::refusals::Refusal;
use super::{Operation, Reply, RequestBody};
use crate::description::examples::{self, Example};

pub(super) fn operations() -> Vec<Operation> {
    vec![create(), refresh(), get()]
}

fn create() -> Operation {
    Operation {
        route: routes::CREATE_RECEIPT,
        id: "createReceipt",
        tag: "Receipts",
        summary: "Start a receipt",
        description: "Announces a receipt. For a photo, the reply says where to PUT the file, with which headers, \
                      exactly; the target works for 15 minutes. Downsize the photo in the browser first, to 2,000 \
                      pixels on its longest side as JPEG. Then send its id as `receipt_id` with the submission."
            .to_owned(),
        parameters: vec!["OptionalIdempotencyKey"],
        request: Some(RequestBody {
            schema: "ReceiptRequest",
            examples: vec![
                Example::new(
                    "photo",
                    "A photo",
                    json!({ "type": "photo", "content_type": "image/jpeg", "size_bytes": 183_138 }),
                ),
                Example::new(
                    "test_photo",
                    "A photo that stands for a test receipt",
                    json!({
                        "type": "photo", "content_type": "image/jpeg", "size_bytes": 183_138,
                        "qr_payload": "TEST0VERIFIED",
                    }),
                ),
                Example::new(
                    "typed",
                    "Typed in",
                    json!({ "type": "typed", "code": "TEST0VERIFIED", "time": "14:05" }),
                ),
            ],
        }),
        reply: Reply {
            description: "The receipt.",
            schema: "Receipt",
            examples: vec![
                Example::new("photo", "A photo to be uploaded", examples::receipt("photo", "awaiting_upload", true)),
                Example::new("typed", "Typed in", examples::receipt("typed", "uploaded", false)),
            ],
            can_be_replayed: true,
            links: links(),
        },
        refusals: vec![
            Refusal::new(ErrorCode::IdempotencyKeyInvalid, "A key that is too short"),
            Refusal::new(ErrorCode::IdempotencyKeyReused, "A key that came with another body before"),
            Refusal::new(ErrorCode::ValidationFailed, "Fields at fault").problems(&[
                (
                    "content_type",
                    "/content_type",
                    "`content_type` must be one of `image/jpeg`, `image/png`, `image/webp`.",
                ),
                ("size_bytes", "/size_bytes", "`size_bytes` must be a whole number greater than 0."),
            ]),
            Refusal::new(ErrorCode::ValidationFailed, "A campaign that takes no receipts")
                .named("validation_failed_campaign")
                .detail("This campaign takes no receipts."),
            Refusal::new(ErrorCode::FileTooLarge, "More than 5 MB").field("size_bytes"),
            Refusal::new(ErrorCode::TypedReceiptUnsupported, "The campaign takes photos alone").field("type"),
            Refusal::new(ErrorCode::SentinelWithLiveKey, "A test receipt with a live key").field("code"),
        ],
    }
}

fn refresh() -> Operation {
    Operation {
        route: routes::REFRESH_UPLOAD_URL,
        id: "refreshUploadUrl",
        tag: "Receipts",
        summary: "Get a fresh upload target",
        description:
            "While the photo has not arrived, the receipt with a target that works for 15 minutes again; \
                      once it is there, the receipt without one."
                .to_owned(),
        parameters: vec!["ReceiptId"],
        request: None,
        reply: Reply {
            description: "The receipt.",
            schema: "Receipt",
            examples: vec![
                Example::new(
                    "awaiting_upload",
                    "The photo is still to come",
                    examples::receipt("photo", "awaiting_upload", true),
                ),
                Example::new("uploaded", "The photo is there", examples::receipt("photo", "uploaded", false)),
            ],
            can_be_replayed: false,
            links: links(),
        },
        refusals: vec![
            Refusal::new(ErrorCode::ReceiptAlreadyAttached, "A submission has the receipt"),
            Refusal::new(ErrorCode::ValidationFailed, "A receipt that was typed in")
                .detail("This receipt is typed in; there is nothing to upload."),
        ],
    }
}

fn get() -> Operation {
    Operation {
        route: routes::GET_RECEIPT,
        id: "getReceipt",
        tag: "Receipts",
        summary: "Read a receipt",
        description: "How far a receipt has come.".to_owned(),
        parameters: vec!["ReceiptId"],
        request: None,
        reply: Reply {
            description: "The receipt, always without a target.",
            schema: "Receipt",
            examples: vec![
                Example::new(
                    "awaiting_upload",
                    "The photo is still to come",
                    examples::receipt("photo", "awaiting_upload", false),
                ),
                Example::new("uploaded", "The photo is there", examples::receipt("photo", "uploaded", false)),
                Example::new(
                    "attached",
                    "A submission uses it",
                    examples::receipt("photo", "attached", false),
                ),
            ],
            can_be_replayed: false,
            links: links(),
        },
        refusals: Vec::new(),
    }
}

/// What takes a receipt's id.
fn links() -> Value {
    json!({
        "GetReceipt": {
            "operationId": "getReceipt",
            "description": "How far the receipt has come later.",
            "parameters": { "id": "$response.body#/id" },
        },
        "RefreshUploadUrl": {
            "operationId": "refreshUploadUrl",
            "description": "A fresh target while the photo has not arrived.",
            "parameters": { "id": "$response.body#/id" },
        },
        "CreateSubmission": {
            "operationId": "createSubmission",
            "description": "The submission that uses the receipt, with the consumer's own phone and consent. A receipt \
                            is used once, so its id can name the attempt.",
            "parameters": { "Idempotency-Key": "$response.body#/id" },
            "requestBody": { "phone": "0717 345 678", "consent": true, "receipt_id": "{$response.body#/id}" },
        },
    })
}
