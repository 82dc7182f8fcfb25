use std::time::Duration;

use common::app::job::{JobError, JobOutcome};
use common::app::settlement::{LeaseResult, ReceiptRecords};
use common::aws::settle_queue::SettleMessage;
use common::domain::receipt::LookupSource;
use common::domain::settling::{MAX_CLOCK_DIFFERENCE, STEP_LEASE};
use common::domain::{
    Environment, MessageKey, PhotoFault, Receipt, ReceiptKey, Submission, Transition,
};
use common::error::Error;
use common::store::submission_writes::SettleResult;

use tokio::time::Instant;

use crate::SettleReceipts;
use crate::evidence::PhotoContent;
use crate::lookup::LookupTime;
use crate::step_outcome::StepOutcome;
use common::app::lookup_throttle::SeenSlot;

/// A step, final write included, ends within its lease, even by a clock that is ahead.
const VERIFY_TIMEOUT: Duration = STEP_LEASE
    .saturating_sub(MAX_CLOCK_DIFFERENCE)
    .saturating_sub(Duration::from_secs(15));
/// A stranger can send wrong codes under a phone.
const MAX_THROTTLE_WAIT: Duration = Duration::from_hours(24);

impl SettleReceipts {
    /// Failed steps are retried later. `seen` and `read`: last slot and submission, if known.
    pub(crate) async fn step(
        &self,
        message: &SettleMessage,
        seen: Option<SeenSlot>,
        read: Option<Submission>,
    ) -> Result<JobOutcome, JobError> {
        let leased = match self.worker.lease(message, read).await? {
            LeaseResult::Leased(leased) => leased,
            LeaseResult::Exhausted(submission) => {
                let outcome = StepOutcome::exhausted(&submission);
                return Ok(self.conclude(&submission, outcome).await?);
            }
            LeaseResult::Skipped(why) => return Ok(why.into()),
        };
        let step_ends_at = Instant::now() + VERIFY_TIMEOUT;
        let time = LookupTime { seen, step_ends_at };
        let verified =
            tokio::time::timeout_at(step_ends_at, self.verify_receipt(&leased, time)).await;
        let concluded =
            match verified.unwrap_or_else(|_| Err(Error::internal("a step took too long"))) {
                Ok(outcome) => self.conclude(&leased, outcome).await,
                Err(error) => Err(error),
            };
        match concluded {
            Ok(logged) => Ok(logged),
            Err(error) => {
                // Writes the submission alone, which succeeds while another table refuses writes.
                let failed = StepOutcome::from_failure(&leased, self.worker.retry());
                let logged = self.conclude(&leased, failed).await?;
                Err(JobError {
                    error,
                    metrics: logged.metrics,
                })
            }
        }
    }

    async fn verify_receipt(
        &self,
        submission: &Submission,
        time: LookupTime,
    ) -> Result<StepOutcome, Error> {
        let Some(receipt_id) = submission.receipt_id else {
            // A test code with a delayed acceptance.
            let campaign = self.worker.campaign(submission).await?;
            let accept = Transition::Accept {
                entries: campaign.entries_per_submission,
                prize: None,
            };
            return Ok(accept.into());
        };
        let records = self.worker.receipt_records(submission, receipt_id).await?;
        let ReceiptRecords {
            campaign,
            receipt,
            entrant,
        } = records;
        if entrant.blocked {
            return Ok(Transition::reject(MessageKey::Blocked).into());
        }
        let evidence = receipt.source.lookup_source();
        if submission.scope.environment == Environment::Test {
            // Test submissions read no photo and need no lookup.
            return Ok(match evidence {
                LookupSource::Sentinel(sentinel) => {
                    let state = submission.status.state();
                    StepOutcome::from_sentinel(sentinel, &campaign, state, self.worker.retry())
                }
                LookupSource::Known(_) | LookupSource::Photo | LookupSource::Malformed => {
                    StepOutcome::reject(MessageKey::ReceiptNotFound, "no_test_receipt")
                }
            });
        }
        let now = self.worker.now();
        match evidence {
            // Refused at creation with a live key.
            LookupSource::Sentinel(_) | LookupSource::Malformed => Ok(StepOutcome::reject(
                MessageKey::ReceiptNotFound,
                "receipt_code_impossible",
            )),
            LookupSource::Known(claim) => {
                // The caller's code and time may be guesses.
                let throttled = entrant
                    .throttled_until
                    .filter(|_| entrant.is_throttled(now));
                match throttled.filter(|_| now.since(submission.created_at) < MAX_THROTTLE_WAIT) {
                    Some(until) => Ok(StepOutcome::wait_until(until, "phone_throttled")),
                    None => self.lookup(submission, &campaign, claim, time).await,
                }
            }
            LookupSource::Photo => {
                let Receipt {
                    scope, receipt_id, ..
                } = &receipt;
                let Some(photo) = self.photos.read(scope, *receipt_id).await? else {
                    return Ok(StepOutcome::left_to_operator(PhotoFault::Missing));
                };
                let outcome = match self.read(&photo, submission.submission_id).await? {
                    PhotoContent::Receipt(claim @ ReceiptKey { time: Some(_), .. }) => {
                        let outcome = self.lookup(submission, &campaign, claim, time).await?;
                        // The photo's code was not guessed.
                        return Ok(StepOutcome {
                            receipt_time_mismatch: false,
                            ..outcome
                        });
                    }
                    PhotoContent::Receipt(_) => StepOutcome::left_to_operator(PhotoFault::NoTime),
                    PhotoContent::Nothing(fault) => StepOutcome::from_photo_fault(fault),
                };
                self.with_earlier_photo(outcome, submission, &photo, now)
                    .await
            }
        }
    }

    async fn conclude(
        &self,
        before: &Submission,
        mut outcome: StepOutcome,
    ) -> Result<JobOutcome, Error> {
        let now = self.worker.now();
        loop {
            let Ok(after) = outcome.apply(before, now) else {
                return Ok("already_settled".into());
            };
            let wrong_code_in = match outcome.receipt_time_mismatch {
                true => Some(self.worker.campaign(before).await?),
                false => None,
            };
            match self
                .worker
                .finish(before, &after, wrong_code_in.as_ref())
                .await?
            {
                SettleResult::Committed => return Ok(outcome.logged(&after)),
                SettleResult::StaleRevision => return Ok("settled_by_another".into()),
                // The next outcome takes no purchase.
                SettleResult::ReceiptAlreadyUsed => {
                    outcome = StepOutcome::already_used(outcome.findings.receipt);
                }
            }
        }
    }
}
