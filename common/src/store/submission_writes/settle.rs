use super::{CONTENDED, SubmissionStore, claimed, taken};
use crate::domain::instant::{Claim, RefusedClaim};
use crate::domain::win::Win;
use crate::domain::{Assignee, Campaign, Entrant, MessageKey, State, Submission, WrongCodes};
use crate::store::entrants::{self, CountChange, WrongCodeLogUpdate};
use crate::store::transaction::{self, CancellationCause, MAX_CONFLICT_ATTEMPTS};
use crate::store::{StoreError, StoreResult, Write};

const SETTLING: &str = "settling a submission";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleResult {
    Committed,
    StaleRevision,
    ReceiptAlreadyUsed,
}

/// Items with what it means if their condition fails.
type Parts = Vec<(Failure, Write)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Settled(SettleResult),
    /// The phone's log has changed, so that a retry may succeed; or it is at a cap.
    Entrant,
    Claim,
}

const STALE: Failure = Failure::Settled(SettleResult::StaleRevision);

impl SubmissionStore {
    /// `wrong_code_in` logs a wrong code or receipt time under that campaign's limit. A partner
    /// code's provisional entry goes when the partner gives another verdict, first fails to answer,
    /// or an operator takes over.
    pub async fn settle(
        &self,
        before: &Submission,
        after: &Submission,
        wrong_code_in: Option<&Campaign>,
    ) -> StoreResult<SettleResult> {
        let settled = self.settle_with(before, after, wrong_code_in, None).await?;
        settled.map_err(|_| StoreError::new(SETTLING, "it claimed no prize"))
    }

    /// Nothing is written if the claim is refused.
    pub(crate) async fn settle_with(
        &self,
        before: &Submission,
        after: &Submission,
        wrong_code_in: Option<&Campaign>,
        claim: Option<&Claim>,
    ) -> StoreResult<Result<SettleResult, RefusedClaim>> {
        /// More than the concurrent submissions of one phone.
        const MAX_ATTEMPTS: u32 = 10;
        for attempt in 1..=MAX_ATTEMPTS {
            let log = self
                .changed_wrong_code_log(before, after, wrong_code_in)
                .await?;
            let wrong_codes = log
                .as_ref()
                .map(|(before, after)| WrongCodeLogUpdate { before, after });
            match self.settle_over(before, after, wrong_codes, claim).await? {
                Some(settled) => return Ok(settled),
                None => transaction::backoff(attempt).await,
            }
        }
        Err(StoreError::new(SETTLING, CONTENDED))
    }

    async fn changed_wrong_code_log(
        &self,
        before: &Submission,
        after: &Submission,
        wrong_code_in: Option<&Campaign>,
    ) -> StoreResult<Option<(Entrant, WrongCodes)>> {
        let Submission {
            scope,
            entrant_id,
            day,
            status,
            created_at,
            updated_at: now,
            ..
        } = after;
        let is_of_partner = before.partner_code.is_some();
        // The limit of requests in flight keeps the entry in the log.
        let unanswered_since = |submission: &Submission| {
            submission
                .settling
                .as_ref()?
                .partner_progress()
                .unanswered_since
        };
        let is_first_silence =
            unanswered_since(before).is_none() && unanswered_since(after).is_some();
        let with_operator = Some(Assignee::Operator);
        let is_escalated = after.assignee() == with_operator && before.assignee() != with_operator;
        let was_right = status.is_terminal() && status.message_key() != MessageKey::Invalid;
        if wrong_code_in.is_none()
            && !(is_of_partner && (was_right || is_first_silence || is_escalated))
        {
            return Ok(None);
        }
        let entrant = self.entrants.get(scope, entrant_id, day).await?;
        let log = match wrong_code_in {
            Some(campaign) if is_of_partner => {
                entrant.with_earlier_wrong_code(campaign, *created_at, *now)
            }
            Some(campaign) => Some(entrant.with_wrong_code(campaign, *now)),
            None => entrant.without_code(*created_at),
        };
        Ok(log.map(|log| (entrant, log)))
    }

    /// `None` if the log has changed since.
    async fn settle_over(
        &self,
        before: &Submission,
        after: &Submission,
        wrong_codes: Option<WrongCodeLogUpdate<'_>>,
        claim: Option<&Claim>,
    ) -> StoreResult<Option<Result<SettleResult, RefusedClaim>>> {
        let Submission {
            scope,
            entrant_id,
            day,
            submission_id,
            status,
            ..
        } = after;
        let change = self.submissions.change(before, after);
        let mut parts: Parts = vec![(STALE, change)];
        let freed = match status.state() {
            State::Accepted => {
                parts.extend(self.redeem(after));
                0
            }
            State::Rejected => {
                let code_key = after.code_key.as_ref();
                let free = code_key.map(|code_key| self.codes.free(code_key, *submission_id));
                parts.extend(free.map(|free| (STALE, free)));
                1
            }
            State::Pending | State::Unknown => 0,
        };
        let change = CountChange {
            submissions: -freed,
            entries: status.entries().into(),
            open_receipts: i32::from(after.has_open_receipt())
                - i32::from(before.has_open_receipt()),
            wrong_codes,
            claim,
        };
        let count = self.entrants.change(scope, entrant_id, day, change);
        parts.extend(count.map(|count| (Failure::Entrant, count)));
        let win = Win::new(Some(before), after).map(|win| self.wins.create(&claimed(win, claim)));
        parts.extend(win.map(|win| (STALE, win)));
        parts.extend(claim.map(|claim| (Failure::Claim, self.plans.claim(scope, claim))));
        let (meanings, items): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let items = || items.clone();
        let written = transaction::write_until(items, self.deadline, MAX_CONFLICT_ATTEMPTS).await?;
        let Err(reasons) = written else {
            return Ok(Some(Ok(SettleResult::Committed)));
        };
        let mut failed = meanings.iter().zip(&reasons);
        let failed = failed.find_map(|(meaning, reason)| match reason {
            CancellationCause::ConditionFailed(item) => Some((meaning, item.as_ref())),
            CancellationCause::None
            | CancellationCause::Conflict
            | CancellationCause::Throttled => None,
        });
        let (meaning, item) = failed.ok_or_else(|| StoreError::new(SETTLING, CONTENDED))?;
        let is_capped = || {
            let (item, claim) = (item?, claim?);
            entrants::is_capped(item, claim).then_some(RefusedClaim::Capped)
        };
        Ok(match meaning {
            Failure::Settled(settled) => Some(Ok(*settled)),
            Failure::Entrant => is_capped().map(Err),
            Failure::Claim => Some(Err(taken(item)?)),
        })
    }

    fn redeem(&self, after: &Submission) -> Parts {
        let Submission {
            scope,
            submission_id,
            code_key,
            purchase,
            ..
        } = after;
        let redeem = code_key.as_ref().map(|code_key| {
            let redeem = self.codes.redeem(code_key, *submission_id);
            (STALE, redeem)
        });
        let take = purchase.as_ref().map(|purchase| {
            let now = after.updated_at;
            let take = self
                .receipts
                .take_purchase(scope, purchase, *submission_id, now);
            (Failure::Settled(SettleResult::ReceiptAlreadyUsed), take)
        });
        redeem.into_iter().chain(take).collect()
    }
}
