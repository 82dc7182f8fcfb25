//! Writes of operators' corrections: revoking an accepted submission, reopening a rejected one.

use aws_sdk_dynamodb::types::TransactWriteItem;

use super::{CONTENDED, SubmissionStore};
use crate::domain::campaign::PhoneLimits;
use crate::domain::entrant::PhoneChecks;
use crate::domain::message::MessageKey;
use crate::domain::submission::Submission;
use crate::store::codes::{Claim, CodeKey};
use crate::store::entrants::{self, CountChange};
use crate::store::transaction::{self, CancellationCause, TransactionResult};
use crate::store::{StoreError, required};

const CORRECTING: &str = "correcting a submission";

/// The result of writing a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorrectionResult {
    /// It was written.
    Committed,
    /// The submission had changed in the meantime, or a further condition failed; nothing was written.
    StaleRevision,
    /// Another submission has the code, or the code was voided; nothing was written.
    CodeTaken,
    /// The phone cannot take a place, for this reason; nothing was written.
    PhoneRefused(MessageKey),
}

impl SubmissionStore {
    /// Writes a submission with a proposal or a second look, which callers do not see. False if it had changed in the
    /// meantime.
    pub async fn annotate(
        &self,
        before: &Submission,
        after: &Submission,
    ) -> Result<bool, StoreError> {
        let update = transaction::update(self.submissions.change_update(before, after)?);
        transaction::write_one(&self.client, update, CORRECTING).await
    }

    /// Writes a revoked submission: the phone gets its place back and loses the entries, the purchase can be entered
    /// again, and the code stays used or becomes free. If `condition` fails, nothing is written.
    pub async fn revoke(
        &self,
        before: &Submission,
        after: &Submission,
        free_code: bool,
        condition: Option<TransactWriteItem>,
    ) -> Result<CorrectionResult, StoreError> {
        let Submission {
            scope,
            submission_id: id,
            code_key,
            purchase,
            entrant_id,
            day,
            ..
        } = before;
        let mut items = vec![transaction::update(
            self.submissions.change_update(before, after)?,
        )];
        items.extend(condition);
        if let Some(code_key) = code_key {
            let code = if free_code {
                self.codes.free_update(code_key, *id)
            } else {
                self.codes.keep_used_update(code_key, *id)
            };
            items.push(transaction::update(code?));
        }
        let entries = -i64::from(before.status.entries());
        let change = CountChange {
            submissions: -1,
            entries,
            ..CountChange::default()
        };
        items.extend(
            self.entrants
                .change_update(scope, entrant_id, day, change)?
                .map(transaction::update),
        );
        if let Some(purchase) = purchase {
            items.push(transaction::delete(
                self.receipts.purchase_delete(scope, purchase, *id)?,
            ));
        }
        Ok(match transaction::write(&self.client, items).await? {
            TransactionResult::Committed => CorrectionResult::Committed,
            TransactionResult::Cancelled(_) => CorrectionResult::StaleRevision,
        })
    }

    /// Writes a reopened submission, which takes its code and a place of its phone again, if both are free. The purchase
    /// is taken when it is accepted.
    ///
    /// A timeline of reopening and a new submission of the freed code: both find it free; the first write takes it; the
    /// second's condition fails.
    pub async fn reopen(
        &self,
        before: &Submission,
        after: &Submission,
        limits: PhoneLimits,
    ) -> Result<CorrectionResult, StoreError> {
        let change = transaction::update(self.submissions.change_update(before, after)?);
        let mut parts: Vec<_> = vec![(CorrectionResult::StaleRevision, change)];
        if let Some(code_key) = &after.code_key {
            let Some(code) = self.take_again(after, code_key).await? else {
                return Ok(CorrectionResult::CodeTaken);
            };
            parts.push((CorrectionResult::CodeTaken, code));
        }
        let count = self.entrants.count_update(
            after,
            limits,
            PhoneChecks::default(),
            None,
            after.updated_at,
        )?;
        parts.push((
            CorrectionResult::PhoneRefused(MessageKey::EntryLimit),
            transaction::update(count),
        ));
        let (meanings, items): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let reasons = match transaction::write(&self.client, items).await? {
            TransactionResult::Committed => return Ok(CorrectionResult::Committed),
            TransactionResult::Cancelled(reasons) => reasons,
        };
        let failed = meanings
            .into_iter()
            .zip(reasons)
            .find_map(|(meaning, reason)| match reason {
                CancellationCause::ConditionFailed(item) => Some((meaning, item)),
                CancellationCause::None
                | CancellationCause::Conflict
                | CancellationCause::Throttled => None,
            });
        match failed {
            None => Err(StoreError::new(CORRECTING, CONTENDED)),
            Some((CorrectionResult::PhoneRefused(_), Some(item))) => {
                let entrant = entrants::read(&item, &after.day)?;
                let blocked = entrant.blocked.then_some(MessageKey::Blocked);
                let refused = blocked
                    .or_else(|| entrant.over_limit(limits))
                    .unwrap_or(MessageKey::EntryLimit);
                Ok(CorrectionResult::PhoneRefused(refused))
            }
            Some((meaning, _)) => Ok(meaning),
        }
    }

    /// The transaction item that gives a submission its code again: the one that it has kept, or else a free one. `None`
    /// if another has it.
    async fn take_again(
        &self,
        submission: &Submission,
        code_key: &str,
    ) -> Result<Option<TransactWriteItem>, StoreError> {
        let Submission {
            scope,
            submission_id: id,
            entrant_id,
            updated_at: now,
            ..
        } = submission;
        let key = required(CodeKey::parse(scope, code_key), CORRECTING)?;
        let record = self.codes.get(scope, &key).await?.unwrap_or_default();
        let update = match (record.claim, key) {
            (Some(claim), _) if claim.submission_id == *id => {
                self.codes.hold_again_update(code_key, *id, entrant_id)?
            }
            (Some(_), _) => return Ok(None),
            (None, key) => {
                // Only the record knows an imported code's batch.
                let key = match (key, record.batch) {
                    (CodeKey::Imported { digest, .. }, Some(batch)) => {
                        CodeKey::Imported { digest, batch }
                    }
                    (key, _) => key,
                };
                let claim = Claim {
                    entrant: entrant_id.clone(),
                    submission_id: *id,
                    redeemed: false,
                };
                self.codes.claim_update(scope, &key, &claim, *now)?
            }
        };
        Ok(Some(transaction::update(update)))
    }
}
