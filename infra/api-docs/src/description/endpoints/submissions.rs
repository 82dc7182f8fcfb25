//! The endpoints on submissions.

use common::domain::message::MessageKey;
use common::error::ErrorCode;
use common::http::routes;
use serde_json::{Value, json};

use super::refusals::Refusal;
use super::{Endpoint, Reply, RequestBody};
use crate::description::examples::{self, Example, OF_PARTNER, OF_RECEIPTS, RECEIPT_ID};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![create(), get(), lookup()]
}

fn create() -> Endpoint {
    Endpoint {
        route: routes::CREATE_SUBMISSION,
        id: "createSubmission",
        tag: "Submissions",
        summary: "Enter a consumer",
        description: "Enters a consumer. A retry with the same body and Idempotency-Key returns the first request's \
                      submission, so a consumer never enters twice by accident.\n\nWhatever happens to the consumer \
                      (accepted, wrong code, limit reached, campaign closed) is a reply with status 200: branch on \
                      `message_key`, show `message`. An error means that your request is at fault; nothing is recorded \
                      then.\n\nWhile `terminal` is false, [read the submission again](/docs/polling) after \
                      `poll_after_seconds`.",
        parameters: vec!["IdempotencyKey"],
        request: Some(RequestBody {
            schema: "SubmissionRequest",
            examples: requests(),
        }),
        reply: Reply {
            description: "The submission, for every outcome.",
            schema: "Submission",
            examples: outcomes(),
            can_be_replayed: true,
            links: json!({ "GetSubmission": read_again("$response.body#/id") }),
        },
        refusals: refusals(),
    }
}

fn requests() -> Vec<Example> {
    // Campaigns may limit entries per phone and day, so each sample has its own phone.
    vec![
        Example::new(
            "code",
            "Code",
            json!({ "phone": "0716 345 678", "code": "TEST-0-VALID", "consent": true }),
        )
        .replied_with("entered"),
        Example::new(
            "instant_win",
            "Code with an instant prize",
            json!({ "phone": "0719 345 678", "code": "TEST-0-INSTANT-WIN", "consent": true }),
        )
        .replied_with("instant_win"),
        Example::new(
            "photo",
            "Receipt",
            json!({ "phone": "0717 345 678", "consent": true, "receipt_id": RECEIPT_ID }),
        )
        .replied_with("receipt_received"),
        Example::new(
            "receipt",
            "Receipt with a claimed purchase",
            json!({
                "phone": "0717 345 678", "consent": true, "receipt_id": RECEIPT_ID, "region": "Mwanza",
                "claimed": { "items": [{ "key": "chai-250", "qty": 2 }], "branch": "kko" },
            }),
        )
        .replied_with("receipt_received"),
        Example::new(
            "already_used",
            "Code that another phone used",
            json!({ "phone": "0718 345 678", "code": "TEST-0-ALREADY-USED", "consent": true }),
        )
        .replied_with("already_used"),
    ]
}

fn outcomes() -> Vec<Example> {
    // By hand: no test submission has a tax record or a partner's message.
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
        Example::new(
            "entered",
            "Accepted",
            examples::submission(MessageKey::Entered, Value::Null),
        ),
        Example::new(
            "instant_win",
            "Accepted, with an instant prize",
            examples::submission(
                MessageKey::InstantWin,
                json!({ "instant_win": "A crate of soda" }),
            ),
        ),
        Example::new(
            "verified",
            "Receipt accepted",
            examples::submission(MessageKey::Entered, verified),
        ),
        Example::new(
            "receipt_received",
            "Receipt being checked",
            examples::open(MessageKey::ReceiptReceived, "pending", OF_RECEIPTS),
        ),
        Example::new(
            "under_review",
            "Receipt in review",
            examples::submission(MessageKey::ReceiptReceived, under_review),
        ),
        Example::new(
            "checking",
            "Partner has not answered yet",
            examples::open(MessageKey::Checking, "unknown", OF_PARTNER),
        ),
        Example::new(
            "already_used",
            "Code that another phone used",
            examples::refused(MessageKey::AlreadyUsed),
        ),
        Example::new(
            "daily_limit",
            "Daily limit reached",
            examples::refused(MessageKey::DailyLimit),
        ),
        Example::new(
            "declined",
            "Receipt declined",
            examples::submission(MessageKey::ReceiptWrongStore, declined),
        ),
        Example::new(
            "refused_by_partner",
            "Code refused by the partner",
            examples::submission(MessageKey::AlreadyUsed, by_partner),
        ),
    ]
}

fn refusals() -> Vec<Refusal> {
    let receipt = |code, summary| Refusal::new(code, summary).field("receipt_id");
    vec![
        Refusal::new(ErrorCode::IdempotencyKeyRequired, "No Idempotency-Key"),
        Refusal::new(
            ErrorCode::IdempotencyKeyInvalid,
            "Idempotency-Key too short",
        ),
        Refusal::new(
            ErrorCode::IdempotencyKeyReused,
            "Idempotency-Key used with another body",
        ),
        Refusal::new(
            ErrorCode::IdempotencyInProgress,
            "First request still in progress",
        ),
        Refusal::new(ErrorCode::ValidationFailed, "Invalid fields").problems(&[
            ("code", "`code` must be a string of 1 to 64 characters."),
            (
                "claimed.items[0].qty",
                "`claimed.items[0].qty` must be a whole number from 1 to 99.",
            ),
        ]),
        Refusal::new(ErrorCode::ValidationFailed, "Body is not a JSON object")
            .named("validation_failed_body")
            .detail("The body is empty; send a JSON object."),
        Refusal::new(ErrorCode::ConsentRequired, "No consent").field("consent"),
        Refusal::new(ErrorCode::PhoneInvalid, "Not a Tanzanian mobile number").field("phone"),
        Refusal::new(ErrorCode::SentinelWithLiveKey, "Test code with a live key").field("code"),
        receipt(ErrorCode::NotFound, "Unknown receipt").named("not_found_receipt"),
        receipt(ErrorCode::ReceiptRequired, "The campaign needs a receipt"),
        receipt(ErrorCode::ReceiptNotUploaded, "Photo not uploaded"),
        receipt(
            ErrorCode::ReceiptAlreadyAttached,
            "Receipt used by another submission",
        ),
        receipt(ErrorCode::FileTooLarge, "The stored file is over 5 MB"),
        receipt(
            ErrorCode::FileWrongType,
            "The stored file is not a JPEG, PNG or WebP",
        ),
    ]
}

fn get() -> Endpoint {
    Endpoint {
        route: routes::GET_SUBMISSION,
        id: "getSubmission",
        tag: "Submissions",
        summary: "Read a submission",
        description: "Returns a submission as it is now. While `terminal` is false, read it again after \
                      `poll_after_seconds`.",
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

fn lookup() -> Endpoint {
    Endpoint {
        route: routes::LOOKUP_SUBMISSIONS,
        id: "lookupSubmissions",
        tag: "Submissions",
        summary: "Look up a phone's submissions",
        description: "Returns a phone's latest 50 submissions and the sum of its entries. The list can be a second behind: \
                      a submission that was created just now counts in `total_entries` before it is in \
                      `submissions`.\n\nLimited to 5 look-ups per phone and 30 per client address range in any 10 \
                      minutes.",
        parameters: vec!["ClientIp"],
        request: Some(RequestBody {
            schema: "LookupRequest",
            examples: vec![
                Example::new("phone", "Phone", json!({ "phone": "0712 345 678" }))
                    .replied_with("some"),
            ],
        }),
        reply: Reply {
            description: "The phone's submissions.",
            schema: "SubmissionList",
            examples: vec![
                Example::new("some", "Phone with two submissions", examples::lookup(true)),
                Example::new("none", "Unknown phone", examples::lookup(false)),
            ],
            can_be_replayed: false,
            links: json!({ "GetNewestSubmission": read_again("$response.body#/submissions/0/id") }),
        },
        refusals: vec![
            Refusal::new(ErrorCode::ValidationFailed, "Invalid fields")
                .problems(&[("phone", "`phone` must be a string of 9 to 16 characters.")]),
            Refusal::new(ErrorCode::PhoneInvalid, "Not a Tanzanian mobile number").field("phone"),
            Refusal::new(
                ErrorCode::RateLimited,
                "Limit of the phone or address range reached",
            )
            .named("rate_limited_phone")
            .detail("This phone has used up its 5 look-ups of 10 minutes."),
        ],
    }
}

fn read_again(id: &str) -> Value {
    json!({
        "operationId": "getSubmission",
        "description": "The submission's state later.",
        "parameters": { "id": id },
    })
}
