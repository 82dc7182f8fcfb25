//! The objects of requests. A field that may be left out may also be null; fields that the service does
//! not know are ignored.

use common::domain::receipt::photo::MAX_BYTES;
use serde_json::{Value, json};

use super::super::schema::{
    CODE, NOT_BLANK, PRINTABLE, SIX_AT_LEAST, field, integer, link, list, object, optional, or_null, such_as,
    text, uuid,
};

/// Every way of typing a Tanzanian mobile number: `+255`, `255` or `0`, then nine digits that begin with
/// 61 to 69 or 70 to 79, with spaces, dots, dashes and brackets anywhere.
const PHONE: &str = "^[ .()\\[\\]-]*(\\+[ .()\\[\\]-]*2[ .()\\[\\]-]*5[ .()\\[\\]-]*5|2[ .()\\[\\]-]*5[ .()\\[\\]-]*5|0)\
                     [ .()\\[\\]-]*(6[ .()\\[\\]-]*[1-9]|7[ .()\\[\\]-]*[0-9])([ .()\\[\\]-]*[0-9]){7}[ .()\\[\\]-]*$";

/// The schemas of requests.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("CodeCheckRequest", code_check()),
        ("SubmissionRequest", submission()),
        ("Claimed", claimed()),
        ("ClaimedItem", claimed_item()),
        ("LookupRequest", lookup()),
        ("ReceiptRequest", receipt()),
        ("PhotoReceiptRequest", photo()),
        ("TypedReceiptRequest", typed()),
    ]
}

fn phone() -> Value {
    such_as("0712 345 678", text(9, 16, PHONE))
}

fn code() -> Value {
    such_as("TEST-0-VALID", text(1, 64, CODE))
}

fn code_check() -> Value {
    object(
        "Code to check.",
        vec![
            field("code", "Code as the consumer typed it. Case, spaces and dashes do not matter.", code()),
            optional(
                "phone",
                "Consumer's phone. With it, a code that this consumer already entered reads as `valid` instead of `already_used`.",
                or_null(phone()),
            ),
        ],
    )
}

fn submission() -> Value {
    object(
        "Request body to enter a consumer.",
        vec![
            field(
                "phone",
                "Tanzanian mobile number as typed: it starts with `+255`, `255` or `0`; spaces, dots, dashes and brackets \
                 are ignored. Any other value of 9 to 16 characters answers `phone_invalid`.",
                phone(),
            ),
            optional(
                "code",
                "Code as the consumer typed it. Required if the campaign's `capabilities.code_required` is true, ignored \
                 if the campaign has no codes.",
                or_null(code()),
            ),
            field(
                "consent",
                "Must be `true`. Anything else answers `consent_required`.",
                json!({ "type": "boolean", "const": true }),
            ),
            optional("region", "Consumer's region. Stored, never judged.", or_null(text(0, 80, PRINTABLE))),
            optional(
                "receipt_id",
                "Id of a receipt. Required if the campaign's `capabilities.receipt_required` is true.",
                or_null(uuid()),
            ),
            optional(
                "claimed",
                "What the consumer says they bought. Stored for comparison; never affects the outcome.",
                or_null(link("Claimed")),
            ),
        ],
    )
}

fn claimed() -> Value {
    object(
        "What the consumer says they bought.",
        vec![
            optional("items", "Products and quantities.", or_null(list(40, link("ClaimedItem")))),
            optional("branch", "Name of the shop.", or_null(text(0, 120, PRINTABLE))),
        ],
    )
}

fn claimed_item() -> Value {
    object(
        "One product of a claimed purchase.",
        vec![
            field("key", "Key of a product of the campaign.", text(1, 64, NOT_BLANK)),
            field("qty", "Quantity.", integer(1, 99)),
        ],
    )
}

fn lookup() -> Value {
    object("Phone to look up.", vec![field("phone", "Tanzanian mobile number as typed.", phone())])
}

fn receipt() -> Value {
    json!({
        "description": "A photo that will be uploaded, or a typed verification code and time.",
        "oneOf": [link("PhotoReceiptRequest"), link("TypedReceiptRequest")],
        "discriminator": {
            "propertyName": "type",
            "mapping": {
                "photo": "#/components/schemas/PhotoReceiptRequest",
                "typed": "#/components/schemas/TypedReceiptRequest",
            },
        },
    })
}

fn photo() -> Value {
    object(
        "A photo that will be uploaded.",
        vec![
            field("type", "Selects the kind of receipt.", json!({ "type": "string", "const": "photo" })),
            field(
                "content_type",
                "Media type of the file after downsizing. The upload must have the same `Content-Type`.",
                link("PhotoType"),
            ),
            field(
                "size_bytes",
                "Exact length of the file in bytes. More than 5 MB answers 413 `file_too_large`.",
                integer(1, MAX_BYTES),
            ),
            optional(
                "qr_payload",
                "Text of the receipt's QR code, if your page read it. Used only to look the receipt up with the tax authority.",
                or_null(text(0, 400, PRINTABLE)),
            ),
        ],
    )
}

fn typed() -> Value {
    object(
        "Verification code and time as printed on the receipt.",
        vec![
            field("type", "Selects the kind of receipt.", json!({ "type": "string", "const": "typed" })),
            field(
                "code",
                "Verification code printed under the QR code.",
                such_as("TEST0VERIFIED", text(6, 40, SIX_AT_LEAST)),
            ),
            field(
                "time",
                "Time printed on the receipt, `hh:mm` or `hh:mm:ss`. It must be a real time of day: `25:00` and `10:15:60` answer 422 `validation_failed`.",
                such_as("14:05", text(4, 8, "^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$")),
            ),
        ],
    )
}
