//! The objects of requests. A field that may be left out may also be null; fields that the service does
//! not know are ignored.

use common::domain::receipt::photo::MAX_BYTES;
use serde_json::{Value, json};

use super::super::schema::{
    PRINTABLE, field, integer, link, list, object, optional, or_null, such_as, text, uuid,
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
    such_as("TEST-0-VALID", text(1, 64, PRINTABLE))
}

fn code_check() -> Value {
    object(
        "A code to be checked.",
        vec![
            field(
                "code",
                "The code as the consumer typed it, in any case, with or without spaces and dashes.",
                code(),
            ),
            optional(
                "phone",
                "The consumer's phone: then a code that this very consumer entered reads as `valid`.",
                or_null(phone()),
            ),
        ],
    )
}

fn submission() -> Value {
    object(
        "A consumer who wants to enter.",
        vec![
            field(
                "phone",
                "A mobile number of Tanzania, in any usual spelling: from `+255`, `255` or `0` on; spaces, dots, dashes \
                 and brackets may stand anywhere. Another number of the right length is `phone_invalid`.",
                phone(),
            ),
            optional(
                "code",
                "The code as the consumer typed it. Needed when the campaign's `capabilities.code_required` is true, \
                 ignored when the campaign has no codes.",
                or_null(code()),
            ),
            field(
                "consent",
                "That the consumer agreed; anything but `true` is `consent_required`.",
                json!({ "type": "boolean", "const": true }),
            ),
            optional("region", "Where the consumer is from.", or_null(text(0, 80, PRINTABLE))),
            optional(
                "receipt_id",
                "The id of a receipt. Needed when the campaign's `capabilities.receipt_required` is true.",
                or_null(uuid()),
            ),
            optional(
                "claimed",
                "The purchase in the consumer's own words. It is kept to be compared, and no outcome rests on it.",
                or_null(link("Claimed")),
            ),
        ],
    )
}

fn claimed() -> Value {
    object(
        "A purchase, as the consumer tells it.",
        vec![
            optional("items", "Products and how many.", or_null(list(40, link("ClaimedItem")))),
            optional("branch", "The shop.", or_null(text(0, 120, PRINTABLE))),
        ],
    )
}

fn claimed_item() -> Value {
    object(
        "One product.",
        vec![
            field("key", "The product's key, from the campaign.", text(1, 64, PRINTABLE)),
            field("qty", "How many.", integer(1, 99)),
        ],
    )
}

fn lookup() -> Value {
    object(
        "A phone whose submissions are wanted.",
        vec![field("phone", "A Tanzanian mobile number as typed.", phone())],
    )
}

fn receipt() -> Value {
    json!({
        "description": "A receipt to be announced: a photo, or code and time typed in.",
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
            field("type", "The selector.", json!({ "type": "string", "const": "photo" })),
            field(
                "content_type",
                "The type of the file, after downsizing; the upload has to carry it.",
                link("PhotoType"),
            ),
            field(
                "size_bytes",
                "The length of the file; the upload has to be exactly this long. More is `file_too_large`.",
                integer(1, MAX_BYTES),
            ),
            optional(
                "qr_payload",
                "What the QR code on the receipt says, when the page read it; used only to ask the tax authority.",
                or_null(text(0, 400, PRINTABLE)),
            ),
        ],
    )
}

fn typed() -> Value {
    object(
        "Code and time, as printed on the receipt.",
        vec![
            field("type", "The selector.", json!({ "type": "string", "const": "typed" })),
            field(
                "code",
                "The verification code under the QR code.",
                such_as("TEST0VERIFIED", text(6, 40, PRINTABLE)),
            ),
            field(
                "time",
                "The time of the receipt, `hh:mm` or `hh:mm:ss`.",
                such_as("14:05", text(4, 8, "^([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$")),
            ),
        ],
    )
}
