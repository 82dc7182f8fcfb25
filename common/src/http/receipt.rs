use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::aws::photos::UploadTarget;
use crate::domain::receipt::photo::MAX_BYTES;
use crate::domain::{PhotoType, Receipt, ReceiptState, Source};
use crate::http::schema::{Time, Uuid};

/// A receipt that one submission can use.
// The holder of the upload target can upload, so it does not print.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "Receipt")]
pub struct ReceiptObject {
    /// Receipt id; send it as `receipt_id` with the submission.
    #[schemars(with = "Uuid")]
    id: String,
    /// Kind of receipt.
    #[serde(rename = "type")]
    receipt_type: ReceiptType,
    /// Current state.
    state: ReceiptState,
    /// Upload target while the photo has not arrived. Null for typed receipts, once the photo is there, and on every GET.
    upload: Option<UploadObject>,
    /// Creation time.
    #[schemars(with = "Time")]
    created_at: String,
}

text_enum! {
    /// Kind of receipt.
    #[derive(JsonSchema)]
    pub enum ReceiptType {
        /// A photo that is uploaded to storage.
        Photo = "photo",
        /// Verification code and time, typed by the consumer.
        Typed = "typed",
    }
}

/// Where to upload the photo. The first upload that succeeds is the only one.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "UploadTarget")]
struct UploadObject {
    /// Presigned URL, valid until `expires_at`.
    #[schemars(url, length(min = 1, max = 4096))]
    url: String,
    /// Always `PUT`.
    #[schemars(extend("const" = "PUT"))]
    method: &'static str,
    /// Headers to send with the PUT exactly as given: they are signed. Browsers and curl set `content-length` themselves.
    #[schemars(extend(
        "maxProperties" = 10,
        "propertyNames" = { "pattern": "^[a-z0-9-]+$", "maxLength": 64 },
        "additionalProperties" = { "type": "string", "maxLength": 200 },
    ))]
    headers: BTreeMap<String, String>,
    /// End of the URL's validity. Ask for a fresh target after that.
    #[schemars(with = "Time")]
    expires_at: String,
    /// Maximum photo size in bytes.
    #[schemars(range(min = 1, max = MAX_BYTES))]
    max_bytes: u64,
    /// Accepted photo types.
    #[schemars(with = "Vec<PhotoType>", length(max = 10))]
    accepted_types: [PhotoType; 3],
}

impl ReceiptObject {
    pub fn new(receipt: &Receipt, upload: Option<UploadTarget>) -> Self {
        Self {
            id: receipt.receipt_id.to_string(),
            receipt_type: match receipt.source {
                Source::Photo { .. } => ReceiptType::Photo,
                Source::Typed { .. } => ReceiptType::Typed,
            },
            state: receipt.state(),
            upload: upload.map(UploadObject::new),
            created_at: receipt.created_at.to_string(),
        }
    }
}

impl UploadObject {
    fn new(target: UploadTarget) -> Self {
        Self {
            url: target.url,
            method: "PUT",
            headers: target.headers,
            expires_at: target.expires_at.to_string(),
            max_bytes: MAX_BYTES,
            accepted_types: PhotoType::ALL,
        }
    }
}
