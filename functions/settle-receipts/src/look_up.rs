//! Asking the tax authority about a receipt, and what follows from its answer.

use std::time::Duration;

use common::domain::campaign::Campaign;
use common::domain::message::MessageKey;
use common::domain::receipt::payload::{ReceiptKey, VerificationCode};
use common::domain::submission::Submission;
use common::error::Error;
use common::upstream::tax_authority::answer::{Answer, PortalError};
use tokio::time::{Instant, timeout_at};

use crate::SettleReceipts;
use crate::conclusion::{StepOutcome, Transition};
use crate::pace::{Permit, Seen};

/// A look-up that has less time than this is left to the next step.
const MIN_LOOK_UP_TIME: Duration = Duration::from_secs(15);
/// Kept of a step's time for what follows from an answer.
const CONCLUDING_TIME: Duration = Duration::from_secs(3);

/// What a look-up of one step needs to know of its time.
pub(crate) struct LookUpTime {
    /// The last slot, where it was looked at before.
    pub(crate) seen: Option<Seen>,
    /// When the step ends, whatever was learnt.
    pub(crate) step_ends_at: Instant,
}

impl SettleReceipts {
    /// Asks about a receipt, once the pace allows it. When it does not in time, the submission is due again at once.
    pub(crate) async fn look_up(
        &self,
        submission: &Submission,
        campaign: &Campaign,
        claim: ReceiptKey,
        time: LookUpTime,
    ) -> Result<StepOutcome, Error> {
        let Some(receipt_time) = claim.time else { return Ok(StepOutcome::review("no_time_in_qr_code")) };
        // The block was taken out of the campaign while this one waited.
        let Some(rules) = &campaign.receipt else {
            return Ok(StepOutcome::review("campaign_without_receipts"));
        };
        let answer_until = time.step_ends_at - CONCLUDING_TIME;
        if self.wait_for_slot(submission, time.seen, answer_until - MIN_LOOK_UP_TIME).await?
            == Permit::TooBusy
        {
            let obstacle = Some("tax_authority_busy");
            return Ok(StepOutcome { obstacle, ..Transition::WaitUntil(self.worker.now()).into() });
        }
        let looking_up = self.authority.look_up(&claim.code, receipt_time);
        let answer = timeout_at(answer_until, looking_up).await;
        let answer = answer.unwrap_or(Answer::Trouble(PortalError::Deadline));
        let (now, hasten) = (self.worker.now(), self.worker.hasten());
        let conclusion = StepOutcome::from_answer(answer, campaign, rules, submission, now, hasten);
        if conclusion.purchase.is_some() && self.is_anothers(submission, &claim.code).await? {
            // Told only to whoever knows the time.
            let receipt = conclusion.receipt;
            return Ok(StepOutcome { receipt, ..Transition::Reject(MessageKey::ReceiptAlreadyUsed).into() });
        }
        Ok(conclusion)
    }

    async fn wait_for_slot(
        &self,
        submission: &Submission,
        seen: Option<Seen>,
        until: Instant,
    ) -> Result<Permit, Error> {
        let seen = match seen {
            Some(seen) => seen,
            None => self.pace.see().await?,
        };
        Ok(self.pace.take(&submission.scope, seen, until, || self.worker.now()).await?)
    }

    /// Whether a purchase belongs to another submission: then no person has to look at this one.
    async fn is_anothers(&self, submission: &Submission, code: &VerificationCode) -> Result<bool, Error> {
        let owner = self.worker.store().receipts().purchase(&submission.scope, code).await?;
        Ok(owner.is_some_and(|owner| owner != submission.submission_id))
    }
}
