//! The request objects. The service has no such types: it reads field by field, to report every
//! problem at once. Fields that may be omitted may be null; unknown ones are ignored. Every
//! language reads the patterns alike; words exclude control characters.

#![expect(dead_code, reason = "their schemas are used, never a value")]

use common::domain::receipt::photo::{MAX_BYTES, PhotoType};
use common::domain::submission::Channel;
use common::http::schema::Uuid;
use schemars::JsonSchema;

/// `+255`, `255` or `0`, then nine digits beginning with 61 to 69 or 70 to 79, with spaces, dots,
/// dashes and brackets anywhere.
const PHONE: &str = "^[ .()\\[\\]-]*(\\+[ .()\\[\\]-]*2[ .()\\[\\]-]*5[ .()\\[\\]-]*5|2[ .()\\[\\]-]*5[ .()\\[\\]-]*5|0)\
                     [ .()\\[\\]-]*(6[ .()\\[\\]-]*[1-9]|7[ .()\\[\\]-]*[0-9])([ .()\\[\\]-]*[0-9]){7}[ .()\\[\\]-]*$";
const NOT_BLANK: &str = "\\S";
/// Six characters or more, without white space at either end.
const SIX_AT_LEAST: &str = "^\\S.{4,}\\S$";
/// Something besides spaces and dashes.
const CODE: &str = "[A-Za-z0-9]";
const TIME_OF_DAY: &str = "^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$";

/// A phone number as typed.
#[derive(JsonSchema)]
#[schemars(inline, example = "0712 345 678")]
struct Phone(#[schemars(length(min = 9, max = 16), regex(pattern = PHONE))] String);

/// A code as typed.
#[derive(JsonSchema)]
#[schemars(inline, example = "TEST-0-VALID")]
struct Code(#[schemars(length(min = 1, max = 64), regex(pattern = CODE))] String);

/// Code to check.
#[derive(JsonSchema)]
pub(crate) struct CodeCheckRequest {
    /// Code as the consumer typed it. Case, spaces and dashes do not matter.
    code: Code,
    /// Consumer's phone. With it, a code that this consumer already entered reads as `valid` instead of `already_used`.
    phone: Option<Phone>,
}

/// Request body to enter a consumer.
#[derive(JsonSchema)]
pub(crate) struct SubmissionRequest {
    /// Tanzanian mobile number as typed: it starts with `+255`, `255` or `0`; spaces, dots, dashes and brackets are
    /// ignored. Any other value of 9 to 16 characters answers `phone_invalid`.
    phone: Phone,
    /// Code as the consumer typed it. Required if the campaign's `capabilities.code_required` is true, ignored if the
    /// campaign has no codes.
    code: Option<Code>,
    /// Must be `true`. Anything else answers `consent_required`.
    #[schemars(extend("const" = true))]
    consent: bool,
    /// Version of the text that the consumer agreed to, from `consent` of the campaign. Default: the current version.
    #[schemars(length(min = 1, max = 40), regex(pattern = NOT_BLANK))]
    consent_version: Option<String>,
    /// Consumer's region. Stored, never judged.
    #[schemars(length(max = 80))]
    region: Option<String>,
    /// How the consumer reached you. Stored and counted, never judged.
    channel: Option<Channel>,
    /// Id of a receipt. Required if the campaign's `capabilities.receipt_required` is true.
    receipt_id: Option<Uuid>,
    /// What the consumer says they bought. Stored for comparison; never affects the outcome.
    claimed: Option<Claimed>,
}

/// What the consumer says they bought.
#[derive(JsonSchema)]
struct Claimed {
    /// Products and quantities.
    #[schemars(length(max = 40))]
    items: Option<Vec<ClaimedItem>>,
    /// Name of the shop.
    #[schemars(length(max = 120))]
    branch: Option<String>,
}

/// One product of a claimed purchase.
#[derive(JsonSchema)]
struct ClaimedItem {
    /// Key of a product of the campaign. Any other text is taken too, and marked for your operator.
    #[schemars(length(min = 1, max = 64), regex(pattern = NOT_BLANK))]
    key: String,
    /// Quantity.
    #[schemars(range(min = 1, max = 99))]
    qty: u32,
}

/// Phone to look up.
#[derive(JsonSchema)]
pub(crate) struct LookupRequest {
    /// Tanzanian mobile number as typed.
    phone: Phone,
}

/// A photo that will be uploaded.
#[derive(JsonSchema)]
pub(crate) struct PhotoReceiptRequest {
    /// Selects the kind of receipt.
    #[schemars(extend("const" = "photo"))]
    r#type: String,
    /// Media type of the file after downsizing. The upload must have the same `Content-Type`.
    content_type: PhotoType,
    /// Exact length of the file in bytes. More than 5 MB answers 413 `file_too_large`.
    #[schemars(range(min = 1, max = MAX_BYTES))]
    size_bytes: u64,
    /// Text of the receipt's QR code, if your page read it. Used only to look the receipt up with the tax authority.
    #[schemars(length(max = 400))]
    qr_payload: Option<String>,
}

/// Verification code and time as printed on the receipt.
#[derive(JsonSchema)]
pub(crate) struct TypedReceiptRequest {
    /// Selects the kind of receipt.
    #[schemars(extend("const" = "typed"))]
    r#type: String,
    /// Verification code printed under the QR code.
    #[schemars(length(min = 6, max = 40), regex(pattern = SIX_AT_LEAST), example = &"TEST0VERIFIED")]
    code: String,
    /// Time printed on the receipt, `hh:mm` or `hh:mm:ss`. It must be a real time of day: `25:00` and `10:15:60` answer
    /// 422 `validation_failed`.
    #[schemars(length(min = 4, max = 8), regex(pattern = TIME_OF_DAY), example = "14:05")]
    time: String,
}
