//! `POST /api/v1/codes/check`.

use common::domain::message::MessageKey;
use common::error::ErrorCode;
use common::http::routes;
use serde_json::{Value, json};

use super::refusals::Refusal;
use super::{Endpoint, Reply, RequestBody};
use crate::description::examples::{self, Example};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![Endpoint {
        route: routes::CHECK_CODE,
        id: "checkCode",
        tag: "Codes",
        summary: "Pre-check a code",
        description: "Checks a complete code before the consumer submits the form: call it once when the field loses \
                      focus, not on each key stroke. It does not hold or redeem the code; the submission checks it \
                      again.\n\nLimited to 30 pre-checks per client address range in any 10 minutes.",
        parameters: vec!["ClientIp"],
        request: Some(RequestBody {
            schema: "CodeCheckRequest",
            examples: vec![
                Example::new("code", "Code only", json!({ "code": "TEST-0-VALID" })).replied_with("valid"),
                Example::new(
                    "with_phone",
                    "With the consumer's phone",
                    json!({ "code": "TEST-0-ALREADY-USED", "phone": "0712 345 678" }),
                )
                .replied_with("already_used"),
                Example::new("held", "Code held by another phone", json!({ "code": "TEST-0-CODE-HELD" }))
                    .replied_with("code_held"),
                Example::new("wrong", "Wrong code", json!({ "code": "TEST-0-INVALID" })).replied_with("invalid"),
            ],
        }),
        reply: Reply {
            description: "Result of the pre-check.",
            schema: "Precheck",
            examples: vec![
                Example::new("valid", "The code can be entered", examples::precheck("valid", None)),
                Example::new(
                    "invalid",
                    "The code does not exist",
                    examples::precheck("invalid", Some(MessageKey::Invalid)),
                ),
                Example::new(
                    "already_used",
                    "Another phone redeemed the code",
                    examples::precheck("already_used", Some(MessageKey::AlreadyUsed)),
                ),
                Example::new(
                    "code_held",
                    "Another phone's submission holds the code",
                    examples::precheck("already_used", Some(MessageKey::CodeHeld)),
                ),
                Example::new("unsupported", "Only a submission can tell", examples::precheck("unsupported", None)),
            ],
            can_be_replayed: false,
            links: Value::Null,
        },
        refusals: vec![
            Refusal::new(ErrorCode::ValidationFailed, "Invalid fields").problems(&[
                ("code", "`code` is missing."),
                ("phone", "`phone` must be a Tanzanian mobile number."),
            ]),
            Refusal::new(ErrorCode::SentinelWithLiveKey, "A test code with a live key").field("code"),
            Refusal::new(ErrorCode::RateLimited, "Limit of the address range reached")
                .named("rate_limited_address")
                .detail(
                    "This address range has used up its 30 pre-checks of 10 minutes. Without SVC-Client-IP, all calls \
                     of your server count together.",
                ),
        ],
    }]
}
