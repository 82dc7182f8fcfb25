//! A sample submission for unit tests.

use common::domain::entrant_id::EntrantId;
use common::domain::ids::{ReceiptId, SubmissionId};
use common::domain::scope::{Environment, Scope};
use common::domain::settling::PendingSettlement;
use common::domain::submission::{Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;

/// A submission whose receipt is due to be looked up.
pub(crate) fn submission(created_at: Timestamp) -> Submission {
    Submission {
        submission_id: SubmissionId::from_random([1; 16]),
        reference: "K7M2-Q9XD".parse().expect("a reference"),
        scope: Scope { campaign: "demo".parse().expect("a slug"), environment: Environment::Live },
        entrant_id: EntrantId::default(),
        phone: None,
        code_key: None,
        batch: None,
        receipt_id: Some(ReceiptId::from_random([2; 16])),
        receipt: None,
        purchase: None,
        partner_code: None,
        upstream: None,
        status: SubmissionStatus::receipt_received(),
        reasons: Vec::new(),
        day: "1970-01-01".to_owned(),
        region: None,
        claimed: None,
        consent: None,
        decision: None,
        acceptance: None,
        proposal: None,
        second_look: None,
        settling: Some(PendingSettlement::due_at(created_at, None)),
        revision: 0,
        created_at,
        updated_at: created_at,
        request_id: None,
        history: Vec::new(),
    }
}
