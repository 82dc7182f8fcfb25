//! The Receipt object of replies.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::aws::photos::UploadTarget;
use crate::domain::receipt::photo::{MAX_BYTES, PhotoType};
use crate::domain::receipt::{Receipt, ReceiptState, Source};

/// A receipt as callers see it. Whoever has its target can upload, so it does not print.
#[derive(Clone, Serialize)]
pub struct ReceiptObject {
    id: String,
    #[serde(rename = "type")]
    receipt_type: ReceiptType,
    state: ReceiptState,
    upload: Option<UploadObject>,
    created_at: String,
}

/// What a receipt is made of.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum ReceiptType {
    Photo,
    Typed,
}

/// Where the photo is to be put.
#[derive(Clone, Serialize)]
struct UploadObject {
    url: String,
    method: &'static str,
    headers: BTreeMap<String, String>,
    expires_at: String,
    max_bytes: u64,
    accepted_types: [&'static str; 3],
}

impl ReceiptObject {
    /// Renders a receipt, with the upload's target where the photo is still to come.
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
            accepted_types: PhotoType::ALL.map(PhotoType::media_type),
        }
    }
}
