//! `POST /api/v1/codes/check`.

use common::domain::message::MessageKey;
use common::error::ErrorCode;
use common::http::routes;
use serde_json::{Value, json};

use super::refusals::Refusal;
use super::{Operation, Reply, RequestBody};
use crate::description::examples::{self, Example};

pub(super) fn operations() -> Vec<Operation> {
    vec![Operation {
        route: routes::CHECK_CODE,
        id: "checkCode",
        tag: "Codes",
        summary: "Pre-check a code",
        description: "Tells whether a code could be entered, while the consumer is still typing. It changes nothing \
                      about the code, which a submission judges anew. 30 pre-checks of one address range are taken in \
                      any 10 minutes."
            .to_owned(),
        parameters: vec!["ClientIp"],
        request: Some(RequestBody {
            schema: "CodeCheckRequest",
            examples: vec![
                Example::new("code", "A code alone", json!({ "code": "TEST-0-VALID" })),
                Example::new(
                    "with_phone",
                    "With the consumer's phone",
                    json!({ "code": "TEST-0-ALREADY-USED", "phone": "0712 345 678" }),
                ),
            ],
        }),
        reply: Reply {
            description: "What was found.",
            schema: "Precheck",
            examples: vec![
                Example::new("valid", "It could be entered", examples::precheck("valid", None)),
                Example::new(
                    "invalid",
                    "It is not genuine",
                    examples::precheck("invalid", Some(MessageKey::Invalid)),
                ),
                Example::new(
                    "already_used",
                    "Another phone redeemed it",
                    examples::precheck("already_used", Some(MessageKey::AlreadyUsed)),
                ),
                Example::new(
                    "code_held",
                    "Another phone's submission is being checked with it",
                    examples::precheck("already_used", Some(MessageKey::CodeHeld)),
                ),
                Example::new("unsupported", "Only a submission can tell", examples::precheck("unsupported", None)),
            ],
            can_be_replayed: false,
            links: Value::Null,
        },
        refusals: vec![
            Refusal::new(ErrorCode::ValidationFailed, "Fields at fault").problems(&[
                ("code", "/code", "`code` is missing."),
                ("phone", "/phone", "`phone` must be a Tanzanian mobile number."),
            ]),
            Refusal::new(ErrorCode::SentinelWithLiveKey, "A test code with a live key").field("code"),
            Refusal::new(ErrorCode::RateLimited, "The address range's limit is reached")
                .named("rate_limited_address")
                .detail(
                    "This address range has used up its 30 pre-checks of 10 minutes. Without SVC-Client-IP, all calls \
                     of your server count together.",
                ),
        ],
    }]
}
