//! The endpoints on receipts.

use common::error::ErrorCode;
use common::http::routes;
use serde_json::{Value, json};

use super::refusals::Refusal;
use super::{Endpoint, Reply, RequestBody};
use crate::description::examples::{self, Example};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![create(), refresh(), get()]
}

fn create() -> Endpoint {
    Endpoint {
        route: routes::CREATE_RECEIPT,
        id: "createReceipt",
        tag: "Receipts",
        summary: "Start a receipt",
        description: "Starts a receipt. For a photo, the reply has the upload target: `PUT` the file to `upload.url` \
                      with exactly the headers of `upload.headers`, within 15 minutes. Downsize the photo in the \
                      browser first, to a JPEG of at most 2,000 pixels on its longest side. Then send the receipt's \
                      `id` as `receipt_id` with the submission, within 30 days.\n\n[All steps with commands](/docs/receipts).",
        parameters: vec!["OptionalIdempotencyKey"],
        request: Some(RequestBody {
            schema: "ReceiptRequest",
            examples: vec![
                Example::new(
                    "photo",
                    "Photo",
                    json!({ "type": "photo", "content_type": "image/jpeg", "size_bytes": 183_138 }),
                )
                .replied_with("photo"),
                Example::new(
                    "test_photo",
                    "Photo that stands for a test receipt",
                    json!({
                        "type": "photo", "content_type": "image/jpeg", "size_bytes": 183_138,
                        "qr_payload": "TEST0VERIFIED",
                    }),
                )
                .replied_with("photo"),
                Example::new(
                    "typed",
                    "Typed code and time",
                    json!({ "type": "typed", "code": "TEST0VERIFIED", "time": "14:05" }),
                )
                .replied_with("typed"),
            ],
        }),
        reply: Reply {
            description: "The receipt.",
            schema: "Receipt",
            examples: vec![
                Example::new(
                    "photo",
                    "Photo with its upload target",
                    examples::receipt("photo", "awaiting_upload", true),
                ),
                Example::new(
                    "typed",
                    "Typed receipt",
                    examples::receipt("typed", "uploaded", false),
                ),
            ],
            can_be_replayed: true,
            links: links(),
        },
        refusals: vec![
            Refusal::new(
                ErrorCode::IdempotencyKeyInvalid,
                "Idempotency-Key too short",
            ),
            Refusal::new(
                ErrorCode::IdempotencyKeyReused,
                "Idempotency-Key used with another body",
            ),
            Refusal::new(ErrorCode::ValidationFailed, "Invalid fields").problems(&[
                (
                    "content_type",
                    "`content_type` must be one of `image/jpeg`, `image/png`, `image/webp`.",
                ),
                (
                    "size_bytes",
                    "`size_bytes` must be a whole number greater than 0.",
                ),
            ]),
            Refusal::new(ErrorCode::ValidationFailed, "Campaign takes no receipts")
                .named("validation_failed_campaign")
                .detail("This campaign takes no receipts."),
            Refusal::new(ErrorCode::FileTooLarge, "Photo over 5 MB").field("size_bytes"),
            Refusal::new(
                ErrorCode::TypedReceiptUnsupported,
                "Campaign takes photos only",
            )
            .field("type"),
            Refusal::new(
                ErrorCode::SentinelWithLiveKey,
                "Test receipt with a live key",
            )
            .field("code"),
        ],
    }
}

fn refresh() -> Endpoint {
    Endpoint {
        route: routes::REFRESH_UPLOAD_URL,
        id: "refreshUploadUrl",
        tag: "Receipts",
        summary: "Get a fresh upload target",
        description: "Returns the receipt with a new upload target, valid for another 15 minutes, while the photo has not \
                      arrived. Once it is there, `upload` is null.",
        parameters: vec!["ReceiptId"],
        request: None,
        reply: Reply {
            description: "The receipt.",
            schema: "Receipt",
            examples: vec![
                Example::new(
                    "awaiting_upload",
                    "Photo not uploaded yet",
                    examples::receipt("photo", "awaiting_upload", true),
                ),
                Example::new(
                    "uploaded",
                    "Photo uploaded",
                    examples::receipt("photo", "uploaded", false),
                ),
            ],
            can_be_replayed: false,
            links: links(),
        },
        refusals: vec![
            Refusal::new(
                ErrorCode::ReceiptAlreadyAttached,
                "A submission uses the receipt",
            ),
            Refusal::new(ErrorCode::ValidationFailed, "Typed receipt")
                .detail("This receipt is typed in; there is nothing to upload."),
        ],
    }
}

fn get() -> Endpoint {
    Endpoint {
        route: routes::GET_RECEIPT,
        id: "getReceipt",
        tag: "Receipts",
        summary: "Read a receipt",
        description: "Returns the current state of a receipt. After an upload, `state` usually changes to `uploaded` within a second or two, \
                      when storage reports the file; a submission does not need to wait for that.",
        parameters: vec!["ReceiptId"],
        request: None,
        reply: Reply {
            description: "The receipt. `upload` is always null.",
            schema: "Receipt",
            examples: vec![
                Example::new(
                    "awaiting_upload",
                    "Photo not uploaded yet",
                    examples::receipt("photo", "awaiting_upload", false),
                ),
                Example::new(
                    "uploaded",
                    "Photo uploaded",
                    examples::receipt("photo", "uploaded", false),
                ),
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

fn links() -> Value {
    json!({
        "GetReceipt": {
            "operationId": "getReceipt",
            "description": "The receipt's state later.",
            "parameters": { "id": "$response.body#/id" },
        },
        "RefreshUploadUrl": {
            "operationId": "refreshUploadUrl",
            "description": "A fresh upload target while the photo has not arrived.",
            "parameters": { "id": "$response.body#/id" },
        },
        "CreateSubmission": {
            "operationId": "createSubmission",
            "description": "Submission that uses the receipt, with the consumer's own phone and consent. A receipt \
                            is used once, so its id can be the Idempotency-Key.",
            "parameters": { "Idempotency-Key": "$response.body#/id" },
            "requestBody": { "phone": "0717 345 678", "consent": true, "receipt_id": "{$response.body#/id}" },
        },
    })
}
