//! One step of settling a submission with a receipt: begin it, learn what there is to learn, write down what follows.

use std::time::Duration;

use common::background::{Failed, Finding};
use common::domain::message::MessageKey;
use common::domain::receipt::Evidence;
use common::domain::receipt::payload::ReceiptClaim;
use common::domain::scope::Environment;
use common::domain::settling::{LONGEST_STEP, Surprise};
use common::domain::submission::Submission;
use common::error::Error;
use common::settle_queue::SettleMessage;
use common::settlement::worker::{NEVER_FINISHED, Step, with_age};
use common::store::ledger::Settled;

use tokio::time::Instant;

use crate::SettleReceipts;
use crate::conclusion::{Conclusion, Next};
use crate::look_up::LookUpTime;
use crate::pace::Seen;

/// What is not learnt by then is not learnt: a step has to end before it is taken for lost.
const LEARNING_TIMEOUT: Duration = LONGEST_STEP.saturating_sub(Duration::from_secs(15));
/// A receipt that is older is looked up although its phone is throttled: wrong codes that a stranger sends under the
/// same number must not keep it waiting for good.
const MAX_THROTTLE_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

impl SettleReceipts {
    /// Does the step that is due, if one is; `seen` is the last slot of the tax authority, where it was looked at.
    ///
    /// # Errors
    /// When a table, storage or the photo reader fails; the step is then due again later.
    pub(crate) async fn step(&self, message: &SettleMessage, seen: Option<Seen>) -> Result<Finding, Failed> {
        let begun = match self.worker.begin(message).await? {
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
                let failed = Conclusion::of_failure(&begun, self.worker.now(), self.worker.hasten());
                let finding = self.conclude(*begun, failed).await?;
                Err(Failed { error, figures: finding.figures })
            }
        }
    }

    /// Learns what there is to learn now.
    async fn learn(&self, submission: &Submission, time: LookUpTime) -> Result<Conclusion, Error> {
        let campaign = self.worker.campaign(submission).await?;
        let Some(receipt_id) = submission.receipt_id else {
            // Without a receipt, only a slow sentinel is settled later.
            return Ok(Next::Accept { entries: campaign.entries_per_submission, prize: None }.into());
        };
        let ledger = self.worker.ledger();
        let receipt = ledger.receipts().get(&submission.scope, receipt_id).await?;
        let receipt = receipt.ok_or_else(|| Error::internal("a submission's receipt is not there"))?;
        let Submission { scope, phone, day, .. } = submission;
        let entrant = ledger.entrants().get(scope, phone, day).await?;
        if entrant.blocked {
            return Ok(Next::Reject(MessageKey::Blocked).into());
        }
        let evidence = receipt.source.evidence();
        if submission.scope.environment == Environment::Test {
            // Nothing of a test is read or asked for.
            return Ok(match evidence {
                Evidence::Sentinel(sentinel) => {
                    Conclusion::of_sentinel(sentinel, &campaign, submission.standing.state())
                }
                Evidence::Claim(_) | Evidence::Photo | Evidence::Impossible => {
                    Conclusion::reject(MessageKey::ReceiptNotFound, "no_test_receipt")
                }
            });
        }
        let now = self.worker.now();
        match evidence {
            // A live receipt is never a sentinel: it was refused when it was made.
            Evidence::Sentinel(_) | Evidence::Impossible => {
                Ok(Conclusion::reject(MessageKey::ReceiptNotFound, "receipt_code_impossible"))
            }
            Evidence::Claim(claim) => {
                // Code and time that the caller sent may be guessed, and many submissions at once be as many guesses.
                let throttled = entrant.throttled_until.filter(|_| entrant.is_throttled(now));
                match throttled.filter(|_| now.since(submission.created_at) < MAX_THROTTLE_WAIT) {
                    Some(until) => {
                        let obstacle = Some("phone_throttled");
                        Ok(Conclusion { obstacle, ..Next::WaitUntil(until).into() })
                    }
                    None => self.look_up(submission, &campaign, claim, time).await,
                }
            }
            Evidence::Photo => {
                let Some(photo) = self.photos.read(&receipt.scope, receipt.receipt_id).await? else {
                    return Ok(Conclusion::review("photo_missing"));
                };
                let conclusion = match self.read(&photo).await? {
                    Ok(claim @ ReceiptClaim { time: Some(_), .. }) => {
                        let conclusion = self.look_up(submission, &campaign, claim, time).await?;
                        // What the service reads itself is on a receipt, and no guess.
                        return Ok(Conclusion { wrong_pair: false, ..conclusion });
                    }
                    Ok(_) => Conclusion::review("no_time_in_qr_code"),
                    Err(conclusion) => conclusion,
                };
                self.compared(conclusion, submission, &photo, now).await
            }
        }
    }

    /// Writes down what follows.
    async fn conclude(&self, before: Submission, mut conclusion: Conclusion) -> Result<Finding, Error> {
        let now = self.worker.now();
        loop {
            let Ok(after) = conclusion.applied_to(&before, now, self.worker.hasten()) else {
                return Ok("settled_before".into());
            };
            let campaign =
                if conclusion.wrong_pair { Some(self.worker.campaign(&before).await?) } else { None };
            match self.worker.finish(&before, &after, campaign.as_ref()).await? {
                Settled::Done if conclusion.is_hindered() => {
                    return Ok(with_age(conclusion.finding(), &after));
                }
                Settled::Done => return Ok(conclusion.finding()),
                Settled::Moved => return Ok("settled_by_another".into()),
                Settled::PurchaseTaken => {
                    // A rejection takes no purchase, so this comes once.
                    let receipt = conclusion.receipt.take();
                    conclusion = Next::Reject(MessageKey::ReceiptAlreadyUsed).into();
                    conclusion.receipt = receipt;
                }
            }
        }
    }
}

/// What follows for a submission whose step was begun again and again.
fn never_finished(submission: &Submission) -> Conclusion {
    let before = submission.settling.as_ref().and_then(|settling| settling.surprise.as_ref());
    let surprise = Surprise {
        what: format!(
            "a step was begun again and again, and never finished; {}",
            before.map_or("nothing else", |surprise| surprise.what.as_str())
        ),
        excerpt: before.and_then(|surprise| surprise.excerpt.clone()),
    };
    let unfinished = Some(NEVER_FINISHED);
    let surprise = Some(surprise);
    Conclusion { reason: unfinished, surprise, obstacle: unfinished, ..Next::Unanswered.into() }
}
