use common::domain::receipt::photo::photo_digest;
use common::domain::{
    Anomaly, Findings, PhotoFault, ReceiptKey, State, Submission, SubmissionId, Timestamp,
    Transition,
};
use common::error::Error;
use common::telemetry;
use photo::Unreadable;

use crate::SettleReceipts;
use crate::step_outcome::StepOutcome;

pub(crate) enum PhotoContent {
    /// The only receipt; its time if readable.
    Receipt(ReceiptKey),
    Nothing(PhotoFault),
}

impl SettleReceipts {
    pub(crate) async fn read(
        &self,
        photo: &[u8],
        subject: SubmissionId,
    ) -> Result<PhotoContent, Error> {
        let nothing = |fault| Ok(PhotoContent::Nothing(fault));
        let payloads = match self.reader.read(photo).await {
            Ok(payloads) => payloads,
            Err(Unreadable::NotDecoded(not_decoded)) => {
                tracing::info!(error = telemetry::cause(&not_decoded), %subject, "a photo was not decoded");
                return nothing(PhotoFault::from(&not_decoded));
            }
            Err(Unreadable::NoQrCode) => return nothing(PhotoFault::NoQrCode),
            Err(Unreadable::TooSlow) => return nothing(PhotoFault::TooSlow),
            Err(Unreadable::Crashed) => return nothing(PhotoFault::ReaderCrashed),
            Err(Unreadable::Io(cause)) => return Err(Error::internal(cause)),
        };
        let mut claims: Vec<_> = payloads
            .iter()
            .filter_map(|payload| ReceiptKey::from_payload(payload))
            .collect();
        // Any word looks like a code, so codes with a time take precedence.
        if claims.iter().any(|claim| claim.time.is_some()) {
            claims.retain(|claim| claim.time.is_some());
        }
        let Some(first) = claims.first().cloned() else {
            return nothing(PhotoFault::NoReceipt);
        };
        let several = claims.iter().any(|claim| claim.code != first.code);
        if several {
            nothing(PhotoFault::SeveralReceipts)
        } else {
            Ok(PhotoContent::Receipt(first))
        }
    }

    pub(crate) async fn with_earlier_photo(
        &self,
        outcome: StepOutcome,
        submission: &Submission,
        photo: &[u8],
        now: Timestamp,
    ) -> Result<StepOutcome, Error> {
        if !matches!(outcome.transition, Transition::Review(_)) {
            return Ok(outcome);
        }
        let (scope, id, digest) = (
            &submission.scope,
            submission.submission_id,
            photo_digest(photo),
        );
        let store = self.worker.store();
        let mut rejected = None;
        while let Some(earlier) = store
            .receipts()
            .claim_photo(scope, &digest, id, rejected, now)
            .await?
        {
            let found = store.submissions().get(scope, earlier).await?;
            match found.filter(|found| found.status.state() != State::Rejected) {
                Some(found) => {
                    let summary = format!("submission {} sent the same photo", found.reference());
                    let anomaly = Some(Anomaly {
                        summary,
                        excerpt: None,
                    });
                    let findings = Findings {
                        anomaly,
                        ..Findings::default()
                    };
                    return Ok(StepOutcome {
                        findings,
                        ..StepOutcome::left_to_operator(PhotoFault::SeenBefore)
                    });
                }
                None => rejected = Some(earlier),
            }
        }
        Ok(outcome)
    }
}
