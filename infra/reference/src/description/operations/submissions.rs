//! The operations of submissions: enter, read, look up.

use common::domain::message::MessageKey;
use common::error::ErrorCode;
use common::http::routes;
use serde_json::{Value, json};

use super::refusals::Refusal;
use super::{Operation, Reply, RequestBody};
use crate::description::examples::{self, Example, OF_PARTNER, OF_RECEIPTS, RECEIPT_ID, SUBMISSION_ID};

pub(super) fn operations() -> Vec<Operation> {
    vec![create(), get(), lookup()]
}

fn create() -> Operation {
    Operation {
        route: routes::CREATE_SUBMISSION,
        id: "createSubmission",
        tag: "Submissions",
        summary: "Enter a consumer",
        description: "The one call that enters a consumer. It decides once and for good: a retry, unchanged and under \
                      its first Idempotency-Key, finds what the first try did.\n\nWhat happens to the consumer (a wrong \
                      code, a limit, a closed campaign) is a reply with status 200, to be shown by its `message_key` \
                      or `message`. An error means that the request itself is at fault, and nothing is recorded.\n\n\
                      While `terminal` is false, ask again after `poll_after_seconds`."
            .to_owned(),
        parameters: vec!["IdempotencyKey"],
        request: Some(RequestBody { schema: "SubmissionRequest", examples: requests() }),
        reply: Reply {
            description: "The submission, whatever came of it.",
            schema: "Submission",
            examples: outcomes(),
            can_be_replayed: true,
            links: json!({ "GetSubmission": read_again("$response.body#/id") }),
        },
        refusals: refusals(),
    }
}

fn requests() -> Vec<Example> {
    // A phone for each sample: a campaign may take no more than one entry a day of the same.
    vec![
        Example::new(
            "code",
            "With a code",
            json!({ "phone": "0716 345 678", "code": "TEST-0-VALID", "consent": true }),
        ),
        Example::new(
            "photo",
            "With a receipt",
            json!({ "phone": "0717 345 678", "consent": true, "receipt_id": RECEIPT_ID }),
        ),
        Example::new(
            "receipt",
            "With a receipt, and the purchase as the consumer tells it",
            json!({
                "phone": "0717 345 678", "consent": true, "receipt_id": RECEIPT_ID, "region": "Mwanza",
                "claimed": { "items": [{ "key": "chai-250", "qty": 2 }], "branch": "kko" },
            }),
        ),
    ]
}

fn outcomes() -> Vec<Example> {
    // No test has a record of the tax authority, or words of a partner.
    let under_review = json!({
        "campaign": OF_RECEIPTS, "livemode": true, "state": "pending", "review_status": "under_review",
        "display_status": "receipt_in_review", "entries": 0, "reasons": ["no_qr_code"], "terminal": false,
        "poll_after_seconds": 300,
    });
    let verified = json!({
        "campaign": OF_RECEIPTS, "livemode": true, "review_status": "verified", "entries": 2,
        "receipt": examples::record(true),
    });
    let declined = json!({
        "campaign": OF_RECEIPTS, "livemode": true, "state": "rejected", "review_status": "declined",
        "display_status": "needs_attention", "entries": 0, "reasons": ["receipt_wrong_store", "trader_unknown"],
        "receipt": examples::record(false),
    });
    let by_partner = json!({
        "campaign": OF_PARTNER, "livemode": true, "state": "rejected", "display_status": "not_accepted",
        "entries": 0, "reasons": ["already_used"],
        "upstream": { "code": 21, "message": "Code was redeemed before" },
    });
    vec![
        Example::new("entered", "In", examples::submission(MessageKey::Entered, Value::Null)),
        Example::new(
            "instant_win",
            "In, with an instant prize",
            examples::submission(MessageKey::InstantWin, json!({ "instant_win": "A crate of soda" })),
        ),
        Example::new(
            "already_used",
            "A code that another phone used",
            examples::refused(MessageKey::AlreadyUsed),
        ),
        Example::new("daily_limit", "Over the day's limit", examples::refused(MessageKey::DailyLimit)),
        Example::new(
            "receipt_received",
            "A receipt that is being checked",
            examples::open(MessageKey::ReceiptReceived, "pending", OF_RECEIPTS),
        ),
        Example::new(
            "under_review",
            "A receipt that a person looks at",
            examples::submission(MessageKey::ReceiptReceived, under_review),
        ),
        Example::new(
            "verified",
            "A receipt that counts",
            examples::submission(MessageKey::Entered, verified),
        ),
        Example::new(
            "declined",
            "A receipt that does not count",
            examples::submission(MessageKey::ReceiptWrongStore, declined),
        ),
        Example::new(
            "checking",
            "A partner that has not answered yet",
            examples::open(MessageKey::Checking, "unknown", OF_PARTNER),
        ),
        Example::new(
            "refused_by_partner",
            "A code that the partner refused",
            examples::submission(MessageKey::AlreadyUsed, by_partner),
        ),
    ]
}

fn refusals() -> Vec<Refusal> {
    let receipt = |code, summary| Refusal::new(code, summary).field("receipt_id");
    vec![
        Refusal::new(ErrorCode::IdempotencyKeyRequired, "No Idempotency-Key"),
        Refusal::new(ErrorCode::IdempotencyKeyInvalid, "A key that is too short"),
        Refusal::new(ErrorCode::IdempotencyKeyReused, "A key that came with another body before"),
        Refusal::new(ErrorCode::IdempotencyInProgress, "The first try is still being worked on"),
        Refusal::new(ErrorCode::ValidationFailed, "Fields at fault").problems(&[
            ("code", "/code", "`code` must be a string of 1 to 64 characters."),
            (
                "claimed.items[0].qty",
                "/claimed/items/0/qty",
                "`claimed.items[0].qty` must be a whole number from 1 to 99.",
            ),
        ]),
        Refusal::new(ErrorCode::ValidationFailed, "A body that is no JSON object")
            .named("validation_failed_body")
            .detail("The body is empty; send a JSON object."),
        Refusal::new(ErrorCode::ConsentRequired, "No consent").field("consent"),
        Refusal::new(ErrorCode::PhoneInvalid, "Not a Tanzanian mobile number").field("phone"),
        Refusal::new(ErrorCode::SentinelWithLiveKey, "A test code with a live key").field("code"),
        receipt(ErrorCode::NotFound, "No such receipt under this key").named("not_found_receipt"),
        receipt(ErrorCode::ReceiptRequired, "The campaign needs a receipt"),
        receipt(ErrorCode::ReceiptNotUploaded, "The photo is not there"),
        receipt(ErrorCode::ReceiptAlreadyAttached, "Another submission has the receipt"),
        receipt(ErrorCode::FileTooLarge, "The stored file is over 5 MB"),
        receipt(ErrorCode::FileWrongType, "The stored file is no JPEG, PNG or WebP"),
    ]
}

fn get() -> Operation {
    Operation {
        route: routes::GET_SUBMISSION,
        id: "getSubmission",
        tag: "Submissions",
        summary: "Read a submission",
        description: "How a submission stands by now. While `terminal` is false, ask again after \
                      `poll_after_seconds`."
            .to_owned(),
        parameters: vec!["SubmissionId"],
        request: None,
        reply: Reply {
            description: "The submission.",
            schema: "Submission",
            examples: outcomes(),
            can_be_replayed: false,
            links: json!({ "GetSubmission": read_again("$response.body#/id") }),
        },
        refusals: Vec::new(),
    }
}

fn lookup() -> Operation {
    Operation {
        route: routes::LOOKUP_SUBMISSIONS,
        id: "lookupSubmissions",
        tag: "Submissions",
        summary: "Look up a phone's submissions",
        description: "A phone's latest 50 submissions and its entries. 5 look-ups of one phone and 30 of one address \
                      range are taken in any 10 minutes."
            .to_owned(),
        parameters: vec!["ClientIp"],
        request: Some(RequestBody {
            schema: "LookupRequest",
            examples: vec![Example::new("phone", "A phone as typed", json!({ "phone": "0712 345 678" }))],
        }),
        reply: Reply {
            description: "The phone's submissions.",
            schema: "SubmissionList",
            examples: vec![
                Example::new("some", "A phone with two submissions", examples::lookup(true)),
                Example::new("none", "A phone never seen", examples::lookup(false)),
            ],
            can_be_replayed: false,
            links: json!({ "GetNewestSubmission": read_again("$response.body#/submissions/0/id") }),
        },
        refusals: vec![
            Refusal::new(ErrorCode::ValidationFailed, "Fields at fault").problems(&[(
                "phone",
                "/phone",
                "`phone` must be a string of 9 to 16 characters.",
            )]),
            Refusal::new(ErrorCode::PhoneInvalid, "Not a Tanzanian mobile number").field("phone"),
            Refusal::new(ErrorCode::RateLimited, "The phone's or the address range's limit is reached")
                .named("rate_limited_phone")
                .detail(
                    "This phone has used up its 5 look-ups of 10 minutes, or its address range its 30. Without \
                     SVC-Client-IP, all calls of your server count together.",
                ),
        ],
    }
}

fn read_again(id: &str) -> Value {
    json!({
        "operationId": "getSubmission",
        "description": format!("How the submission stands later; `{SUBMISSION_ID}`, say."),
        "parameters": { "id": id },
    })
}
