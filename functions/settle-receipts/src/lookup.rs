use std::time::Duration;

use common::domain::{Campaign, PhotoFault, ReceiptKey, Submission, VerificationCode};
use common::error::Error;
use common::telemetry;
use common::upstream::tax_authority::answer::{LookupAnswer, PortalError};
use tokio::time::{Instant, timeout_at};

use crate::SettleReceipts;
use crate::step_outcome::StepOutcome;
use common::app::lookup_throttle::{SeenSlot, SlotPermit};

/// Less time leaves the look-up to the next step.
const MIN_LOOKUP_TIME: Duration = Duration::from_secs(15);
/// Reserved for recording the outcome.
const CONCLUDING_TIME: Duration = Duration::from_secs(3);

pub(crate) struct LookupTime {
    pub(crate) seen: Option<SeenSlot>,
    pub(crate) step_ends_at: Instant,
}

impl SettleReceipts {
    /// Leaves the submission due if no slot is free in time.
    pub(crate) async fn lookup(
        &self,
        submission: &Submission,
        campaign: &Campaign,
        claim: ReceiptKey,
        time: LookupTime,
    ) -> Result<StepOutcome, Error> {
        let Some(receipt_time) = claim.time else {
            return Ok(StepOutcome::left_to_operator(PhotoFault::NoTime));
        };
        // An operator has removed the rules meanwhile.
        let Some(rules) = &campaign.receipt else {
            return Ok(StepOutcome::review("campaign_without_receipts"));
        };
        let answer_until = time.step_ends_at - CONCLUDING_TIME;
        let permit = self
            .wait_for_slot(submission, time.seen, answer_until - MIN_LOOKUP_TIME)
            .await?;
        if permit == SlotPermit::TooBusy {
            return Ok(StepOutcome::wait_until(
                self.worker.now(),
                "tax_authority_busy",
            ));
        }
        let looking_up = self.authority.lookup(&claim.code, receipt_time);
        let answer = timeout_at(answer_until, looking_up).await;
        let answer = answer.unwrap_or(LookupAnswer::Unavailable(PortalError::Deadline));
        if let LookupAnswer::Unavailable(error) = &answer {
            let subject = submission.submission_id;
            tracing::warn!(error = telemetry::cause(error), %subject, "the tax authority gave no answer");
        }
        let outcome =
            StepOutcome::from_answer(&answer, campaign, rules, submission, self.worker.retry());
        if outcome.findings.purchase.is_some()
            && self.purchase_taken(submission, &claim.code).await?
        {
            // Safe to reveal: the caller knew the receipt's time.
            return Ok(StepOutcome::already_used(outcome.findings.receipt));
        }
        Ok(outcome)
    }

    async fn wait_for_slot(
        &self,
        submission: &Submission,
        seen: Option<SeenSlot>,
        until: Instant,
    ) -> Result<SlotPermit, Error> {
        let seen = match seen {
            Some(seen) => seen,
            None => self.throttle.see().await?,
        };
        Ok(self
            .throttle
            .acquire(&submission.scope, seen, until, || self.worker.now())
            .await?)
    }

    /// True if another accepted submission has this purchase: no operator has to review.
    async fn purchase_taken(
        &self,
        submission: &Submission,
        code: &VerificationCode,
    ) -> Result<bool, Error> {
        let owner = self
            .worker
            .store()
            .receipts()
            .purchase(&submission.scope, code)
            .await?;
        Ok(owner.is_some_and(|owner| owner != submission.submission_id))
    }
}
