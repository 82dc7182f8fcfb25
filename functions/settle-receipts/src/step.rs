//! One step of settling a submission with a receipt: begin it, learn what there is to learn, write down what follows.

use std::time::Duration;

use common::app::settlement::{NEVER_FINISHED, Step, with_age};
use common::aws::settle_queue::SettleMessage;
use common::domain::message::MessageKey;
use common::domain::receipt::Evidence;
use common::domain::receipt::payload::ReceiptKey;
use common::domain::scope::Environment;
use common::domain::settling::{Anomaly, STEP_LEASE};
use common::domain::submission::Submission;
use common::error::Error;
use common::runtime::event_handler::{JobError, JobOutcome};
use common::store::submission_writes::SettleResult;

use tokio::time::Instant;

use crate::SettleReceipts;
use crate::conclusion::{StepOutcome, Transition};
use crate::look_up::LookUpTime;
use crate::pace::Seen;

/// What is not learnt by then is not learnt: a step has to end before it is taken for lost.
const LEARNING_TIMEOUT: Duration = STEP_LEASE.saturating_sub(Duration::from_secs(15));
/// A receipt that is older is looked up although its phone is throttled: wrong codes that a stranger sends under the
/// same number must not keep it waiting for good.
const MAX_THROTTLE_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

impl SettleReceipts {
    /// Does the step that is due, if one is; `seen` is the last slot of the tax authority, where it was looked at.
    ///
    /// # Errors
    /// When a table, storage or the photo reader fails; the step is then due again later.
    pub(crate) async fn step(
        &self,
        message: &SettleMessage,
        seen: Option<Seen>,
    ) -> Result<JobOutcome, JobError> {
        let begun = match self.worker.claim(message).await? {
            Step::Begun(begun) => begun,
            Step::NeverFinished(submission) => {
                let given_up = never_finished(&submission);
                return Ok(self.conclude(*submission, given_up).await?);
            }
            Step::Nothing(why) => return Ok(why.into()),
        };
        let step_ends_at = Instant::now() + LEARNING_TIMEOUT;
        let time = LookUpTime { seen, step_ends_at };
        let learning = tokio::time::timeout_at(step_ends_at, self.learn(&begun, time)).await;
        match learning.unwrap_or_else(|_| Err(Error::internal("a step took too long"))) {
            Ok(conclusion) => Ok(self.conclude(*begun, conclusion).await?),
            Err(error) => {
                // The step has ended, though badly; only one that kills goes without a new plan.
                let failed = StepOutcome::from_failure(&begun, self.worker.now(), self.worker.hasten());
                let finding = self.conclude(*begun, failed).await?;
                Err(JobError { error, figures: finding.figures })
            }
        }
    }

    /// Learns what there is to learn now.
    async fn learn(&self, submission: &Submission, time: LookUpTime) -> Result<StepOutcome, Error> {
        let campaign = self.worker.campaign(submission).await?;
        let Some(receipt_id) = submission.receipt_id else {
            // Without a receipt, only a slow sentinel is settled later.
            return Ok(Transition::Accept { entries: campaign.entries_per_submission, prize: None }.into());
        };
        let store = self.worker.store();
        let receipt = store.receipts().get(&submission.scope, receipt_id).await?;
        let receipt = receipt.ok_or_else(|| Error::internal("a submission's receipt is not there"))?;
        let Submission { scope, phone, day, .. } = submission;
        let entrant = store.entrants().get(scope, phone, day).await?;
        if entrant.blocked {
            return Ok(Transition::Reject(MessageKey::Blocked).into());
        }
        let evidence = receipt.source.evidence();
        if submission.scope.environment == Environment::Test {
            // Nothing of a test is read or asked for.
            return Ok(match evidence {
                Evidence::Sentinel(sentinel) => {
                    StepOutcome::from_sentinel(sentinel, &campaign, submission.status.state())
                }
                Evidence::Claim(_) | Evidence::Photo | Evidence::Malformed => {
                    StepOutcome::reject(MessageKey::ReceiptNotFound, "no_test_receipt")
                }
            });
        }
        let now = self.worker.now();
        match evidence {
            // A live receipt is never a sentinel: it was refused when it was made.
            Evidence::Sentinel(_) | Evidence::Malformed => {
                Ok(StepOutcome::reject(MessageKey::ReceiptNotFound, "receipt_code_impossible"))
            }
            Evidence::Claim(claim) => {
                // Code and time that the caller sent may be guessed, and many submissions at once be as many guesses.
                let throttled = entrant.throttled_until.filter(|_| entrant.is_throttled(now));
                match throttled.filter(|_| now.since(submission.created_at) < MAX_THROTTLE_WAIT) {
                    Some(until) => {
                        let obstacle = Some("phone_throttled");
                        Ok(StepOutcome { obstacle, ..Transition::WaitUntil(until).into() })
                    }
                    None => self.look_up(submission, &campaign, claim, time).await,
                }
            }
            Evidence::Photo => {
                let Some(photo) = self.photos.read(&receipt.scope, receipt.receipt_id).await? else {
                    return Ok(StepOutcome::review("photo_missing"));
                };
                let conclusion = match self.read(&photo).await? {
                    Ok(claim @ ReceiptKey { time: Some(_), .. }) => {
                        let conclusion = self.look_up(submission, &campaign, claim, time).await?;
                        // What the service reads itself is on a receipt, and no guess.
                        return Ok(StepOutcome { receipt_time_mismatch: false, ..conclusion });
                    }
                    Ok(_) => StepOutcome::review("no_time_in_qr_code"),
                    Err(conclusion) => conclusion,
                };
                self.compared(conclusion, submission, &photo, now).await
            }
        }
    }

    /// Writes down what follows.
    async fn conclude(&self, before: Submission, mut conclusion: StepOutcome) -> Result<JobOutcome, Error> {
        let now = self.worker.now();
        loop {
            let Ok(after) = conclusion.apply(&before, now, self.worker.hasten()) else {
                return Ok("settled_before".into());
            };
            let campaign = if conclusion.receipt_time_mismatch {
                Some(self.worker.campaign(&before).await?)
            } else {
                None
            };
            match self.worker.finish(&before, &after, campaign.as_ref()).await? {
                SettleResult::Committed if conclusion.is_blocked_upstream() => {
                    return Ok(with_age(conclusion.finding(), &after));
                }
                SettleResult::Committed => return Ok(conclusion.finding()),
                SettleResult::StaleRevision => return Ok("settled_by_another".into()),
                SettleResult::ReceiptAlreadyUsed => {
                    // A rejection takes no purchase, so this comes once.
                    let receipt = conclusion.receipt.take();
                    conclusion = Transition::Reject(MessageKey::ReceiptAlreadyUsed).into();
                    conclusion.receipt = receipt;
                }
            }
        }
    }
}

/// What follows for a submission whose step was begun again and again.
fn never_finished(submission: &Submission) -> StepOutcome {
    let before = submission.settling.as_ref().and_then(|settling| settling.anomaly.as_ref());
    let anomaly = Anomaly {
        what: format!(
            "a step was begun again and again, and never finished; {}",
            before.map_or("nothing else", |anomaly| anomaly.what.as_str())
        ),
        excerpt: before.and_then(|anomaly| anomaly.excerpt.clone()),
    };
    let unfinished = Some(NEVER_FINISHED);
    let anomaly = Some(anomaly);
    StepOutcome { reason: unfinished, anomaly, obstacle: unfinished, ..Transition::Unanswered.into() }
}
