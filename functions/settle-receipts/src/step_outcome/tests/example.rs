//! A sample submission and campaign for unit tests.

use common::domain::{
    Campaign, EntrantId, Environment, PendingSettlement, ReceiptId, Scope, Submission,
    SubmissionId, SubmissionStatus, Timestamp,
};
use serde_json::json;

pub(crate) fn submission(created_at: Timestamp) -> Submission {
    let scope = Scope {
        campaign: "demo".parse().expect("a slug"),
        environment: Environment::Live,
    };
    let (id, day) = (SubmissionId::from_random([1; 24]), "1970-01-01".to_owned());
    Submission {
        receipt_id: Some(ReceiptId::from_random([2; 16])),
        settling: Some(PendingSettlement::due_at(created_at, None)),
        status: SubmissionStatus::receipt_received(),
        ..Submission::new(id, scope, EntrantId::default(), day, created_at)
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
