//! A sample submission and campaign for unit tests.

use common::domain::campaign::Campaign;
use common::domain::ids::{EntrantId, ReceiptId, SubmissionId};
use common::domain::scope::{Environment, Scope};
use common::domain::settling::PendingSettlement;
use common::domain::submission::{NewSubmission, Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;
use serde_json::json;

pub(crate) fn submission(created_at: Timestamp) -> Submission {
    let new = NewSubmission {
        submission_id: SubmissionId::from_random([1; 24]),
        scope: Scope {
            campaign: "demo".parse().expect("a slug"),
            environment: Environment::Live,
        },
        entrant_id: EntrantId::default(),
        phone: None,
        region: None,
        channel: None,
        claimed: None,
        consent: None,
        day: "1970-01-01".to_owned(),
        created_at,
        test_shift: None,
        request_id: None,
    };
    Submission {
        receipt_id: Some(ReceiptId::from_random([2; 16])),
        settling: Some(PendingSettlement::due_at(created_at, None)),
        ..Submission::new(new, SubmissionStatus::receipt_received())
    }
}

/// Two entries a submission; requires only a receipt.
pub(crate) fn campaign() -> Campaign {
    serde_json::from_value(json!({
        "slug": "demo", "name": "Demo", "brand": "Demo", "timezone": "Africa/Dar_es_Salaam", "paused": false,
        "window": { "start": null, "end": null }, "code": "none", "limits": {}, "entries_per_submission": 2,
        "wrong_codes": { "count": 5, "minutes": 60 }, "messages": {},
        "receipt": { "required": true, "typed": true, "on_no_match": "decline", "ranges": [], "products": [], "branches": [] },
    }))
    .expect("a campaign")
}
