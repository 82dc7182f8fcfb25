use super::{CONTENDED, SubmissionStore};
use crate::domain::{CodeHold, CodeKey, MessageKey, PhoneChecks, PhoneLimits, Submission};
use crate::store::entrants::{self, CountChange};
use crate::store::transaction::{self, CancellationCause};
use crate::store::{StoreError, StoreResult, Write, required};

const CORRECTING: &str = "correcting a submission";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorrectionResult {
    Committed,
    /// The submission had changed, or a further condition failed.
    StaleRevision,
    /// Another submission has the code, or it was voided.
    CodeTaken,
    PhoneRefused(MessageKey),
}

impl SubmissionStore {
    /// Invisible to callers; false if the submission had changed.
    pub async fn annotate(&self, before: &Submission, after: &Submission) -> StoreResult<bool> {
        transaction::write_one(self.submissions.change(before, after), CORRECTING).await
    }

    /// The phone gets its place back and loses the entries; purchase and, if asked, code become
    /// free. `further` conditions and changes are part of the transaction.
    pub async fn revoke(
        &self,
        before: &Submission,
        after: &Submission,
        free_code: bool,
        further: Vec<Write>,
    ) -> StoreResult<CorrectionResult> {
        let Submission {
            scope,
            submission_id: id,
            code_key,
            purchase,
            entrant_id,
            day,
            ..
        } = before;
        let mut items = vec![self.submissions.change(before, after)];
        items.extend(further);
        items.extend(code_key.as_ref().map(|code_key| {
            if free_code {
                self.codes.free(code_key, *id)
            } else {
                self.codes.keep_used(code_key, *id)
            }
        }));
        let change = CountChange {
            submissions: -1,
            entries: -i64::from(before.status.entries()),
            ..CountChange::default()
        };
        items.extend(self.entrants.change(scope, entrant_id, day, change));
        let purchase = purchase.as_ref();
        items.extend(purchase.map(|purchase| self.receipts.release_purchase(scope, purchase, *id)));
        Ok(match transaction::write(items).await? {
            Ok(()) => CorrectionResult::Committed,
            Err(_) => CorrectionResult::StaleRevision,
        })
    }

    /// Takes code and place again. A timeline of reopening and a new submission of the freed code:
    /// both find it free; the first write takes it; the second's condition fails.
    pub async fn reopen(
        &self,
        before: &Submission,
        after: &Submission,
        limits: PhoneLimits,
    ) -> StoreResult<CorrectionResult> {
        let change = self.submissions.change(before, after);
        let mut parts = vec![(CorrectionResult::StaleRevision, change)];
        if let Some(code_key) = &after.code_key {
            let Some(code) = self.take_again(after, code_key).await? else {
                return Ok(CorrectionResult::CodeTaken);
            };
            parts.push((CorrectionResult::CodeTaken, code));
        }
        let count = self
            .entrants
            .count(after, limits, PhoneChecks::default(), None, None);
        parts.push((
            CorrectionResult::PhoneRefused(MessageKey::EntryLimit),
            count,
        ));
        let (meanings, items): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let Err(reasons) = transaction::write(items).await? else {
            return Ok(CorrectionResult::Committed);
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

    async fn take_again(
        &self,
        submission: &Submission,
        code_key: &str,
    ) -> StoreResult<Option<Write>> {
        let Submission {
            scope,
            submission_id: id,
            entrant_id,
            updated_at: now,
            ..
        } = submission;
        let key = required(CodeKey::parse(scope, code_key), CORRECTING)?;
        let record = self.codes.get(scope, &key).await?.unwrap_or_default();
        let update = match (record.hold, key) {
            (Some(hold), _) if hold.submission_id == *id => {
                self.codes.hold_again(code_key, *id, entrant_id)
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
                let hold = CodeHold {
                    entrant: entrant_id.clone(),
                    submission_id: *id,
                    redeemed: false,
                };
                self.codes.hold(scope, &key, &hold, *now)
            }
        };
        Ok(Some(update))
    }
}
