//! One transaction writes all records of a submission.

mod corrections;
mod settle;

use aws_sdk_dynamodb::Client;
use tokio::time::Instant;

pub use self::corrections::CorrectionResult;
pub use self::settle::SettleResult;
use super::batch::{BatchGet, BatchItems, Found, Place};
use super::codes::Codes;
use super::entrants::{self, CountChange, Entrants, WrongCodeLogUpdate};
use super::idempotency_keys::{self, IdempotencyKeys, IdempotencyRecord};
use super::instant::Wins;
use super::instant_plans::{self, Plans};
use super::receipts::{self, Receipts};
use super::submissions::Submissions;
use super::transaction::{self, CancellationCause, MAX_CONFLICT_ATTEMPTS};
use super::write::Write;
use super::{Item, StoreResult, codes};
use crate::config::{ConfigError, Env};
use crate::domain::instant::{Claim, RefusedClaim};
use crate::domain::win::Win;
use crate::domain::{
    Campaign, CodeHold, CodeKey, CodeLookup, Entrant, EntrantId, IdempotencyKey, PhoneChecks,
    Receipt, ReceiptId, Scope, State, Submission, SubmissionId, Timestamp, WrongCodes,
};

const CONTENDED: &str = "others kept changing the same records";
/// Attempts before the records are read again: a conflict does not tell that the code was used.
const MAX_ATTEMPTS_UNREAD: u32 = 4;

#[derive(Clone, Debug)]
pub struct SubmissionStore {
    client: Client,
    idempotency_keys: IdempotencyKeys,
    codes: Codes,
    entrants: Entrants,
    submissions: Submissions,
    receipts: Receipts,
    wins: Wins,
    plans: Plans,
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
pub struct SubmissionWrite<'a> {
    pub keys: RecordKeys<'a>,
    pub body_hash: &'a str,
    pub submission: &'a Submission,
}

#[derive(Clone, Copy, Debug)]
pub struct RecordKeys<'a> {
    pub scope: &'a Scope,
    pub key: &'a IdempotencyKey,
    pub entrant: &'a EntrantId,
    pub code: Option<&'a CodeKey>,
    pub receipt: Option<ReceiptId>,
}

impl<'a> RecordKeys<'a> {
    #[must_use]
    pub fn with_code(self, code: Option<&'a CodeKey>) -> Self {
        Self { code, ..self }
    }
}

/// The defaults refuse nothing.
#[derive(Clone, Debug, Default)]
pub struct ExistingRecords {
    pub idempotency: Option<IdempotencyRecord<SubmissionId>>,
    pub code: CodeLookup,
    pub entrant: Entrant,
    pub receipt: Option<Receipt>,
    /// If it was a reason.
    pub refused_claim: Option<RefusedClaim>,
}

#[derive(Clone, Debug)]
pub struct BatchedRecords {
    pub records: ExistingRecords,
    pub is_complete: bool,
}

#[derive(Debug)]
pub enum WriteResult {
    Committed,
    ConditionFailed(Box<ExistingRecords>),
    /// Another submission has the reference: try another id.
    ReferenceTaken,
    /// Others kept writing: decide again with fresh records.
    Conflict {
        /// True if a copy of the request is in progress.
        same_request: bool,
    },
}

#[derive(Debug)]
pub enum ReplayWrite {
    Recorded,
    KeyUsed(IdempotencyRecord<SubmissionId>),
    CodeMoved,
    Conflict,
}

impl SubmissionStore {
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            client: client.clone(),
            idempotency_keys: IdempotencyKeys::from_env(env, client)?,
            codes: Codes::from_env(env, client)?,
            entrants: Entrants::from_env(env, client)?,
            submissions: Submissions::from_env(env, client)?,
            receipts: Receipts::from_env(env, client)?,
            wins: Wins::from_env(env, client)?,
            plans: Plans::from_env(env, client)?,
            deadline: None,
        })
    }

    #[must_use]
    pub fn with_deadline(&self, deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..self.clone()
        }
    }

    pub fn idempotency_keys(&self) -> &IdempotencyKeys {
        &self.idempotency_keys
    }

    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    pub fn entrants(&self) -> &Entrants {
        &self.entrants
    }

    pub fn receipts(&self) -> &Receipts {
        &self.receipts
    }

    pub fn submissions(&self) -> &Submissions {
        &self.submissions
    }

    pub fn wins(&self) -> &Wins {
        &self.wins
    }

    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// The phone's counts are those of `day`.
    pub async fn load_records(
        &self,
        keys: RecordKeys<'_>,
        day: &str,
        now: Timestamp,
    ) -> StoreResult<ExistingRecords> {
        let mut batch = BatchGet::default();
        self.add_to(&mut batch, keys);
        let items = batch
            .send_until(&self.client, "loading a submission's state", self.deadline)
            .await?;
        Ok(self.find_in(&items, keys, day, now)?.records)
    }

    pub fn add_to(&self, batch: &mut BatchGet, keys: RecordKeys<'_>) {
        let places = self.places(keys);
        places.iter().flatten().for_each(|place| batch.add(place));
    }

    fn places(&self, keys: RecordKeys<'_>) -> [Option<Place>; 4] {
        let RecordKeys {
            scope,
            key,
            entrant,
            code,
            receipt,
        } = keys;
        [
            Some(self.idempotency_keys.place::<SubmissionId>(scope, key)),
            Some(self.entrants.place(scope, entrant)),
            code.map(|code| self.codes.place(scope, code)),
            receipt.map(|receipt| self.receipts.place(scope, receipt)),
        ]
    }

    pub fn find_in(
        &self,
        items: &BatchItems,
        keys: RecordKeys<'_>,
        day: &str,
        now: Timestamp,
    ) -> StoreResult<BatchedRecords> {
        let places = self.places(keys);
        let found = places.map(|place| place.map(|place| items.find(&place)));
        let was_asked = |found: &Found<'_>| !matches!(found, Found::NotAsked);
        let is_complete = found.iter().flatten().all(was_asked);
        let code = match found[2] {
            None | Some(Found::NotAsked) => CodeLookup::NoRecord,
            Some(found) => code_lookup(keys.code, found.item())?,
        };
        let [idempotency, entrant, _, receipt] = found.map(|found| found.and_then(Found::item));
        let idempotency = idempotency.map(|item| idempotency_keys::read_unexpired(item, now));
        let entrant = entrant.map(|item| entrants::read(item, day));
        let records = ExistingRecords {
            idempotency: idempotency.transpose()?.flatten(),
            code,
            entrant: entrant.transpose()?.unwrap_or_default(),
            receipt: receipt.map(receipts::read).transpose()?,
            refused_claim: None,
        };
        Ok(BatchedRecords {
            records,
            is_complete,
        })
    }

    /// Writes an accepted or pending submission, if key, code, receipt and a place of its phone are
    /// free. `before` is the phone as read.
    ///
    /// A partner's unverified code is logged as wrong, so no phone has more codes in verification
    /// than it may send wrong ones.
    pub async fn create_admitted(
        &self,
        write: SubmissionWrite<'_>,
        before: &Entrant,
        campaign: &Campaign,
        checks: PhoneChecks,
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> StoreResult<WriteResult> {
        let SubmissionWrite {
            keys, submission, ..
        } = write;
        let RecordKeys { scope, code, .. } = keys;
        let log = submission
            .partner_code
            .is_some()
            .then(|| before.with_wrong_code(campaign, submission.created_at));
        let wrong_codes = log
            .as_ref()
            .map(|after| WrongCodeLogUpdate { before, after });
        let hold = CodeHold {
            entrant: keys.entrant.clone(),
            submission_id: submission.submission_id,
            redeemed: submission.status.state() == State::Accepted,
        };
        let win = Win::new(None, submission).map(|win| claimed(win, claim));
        let items = || {
            let mut items = vec![self.idempotency_put(write, now)];
            items.extend(code.map(|code| self.codes.hold(scope, code, &hold, now)));
            items.push(self.entrants.count(
                submission,
                campaign.limits,
                checks,
                wrong_codes,
                claim,
            ));
            items.extend(submission.receipt_id.map(|receipt| {
                self.receipts
                    .attach(scope, receipt, submission.submission_id)
            }));
            items.extend(win.as_ref().map(|win| self.wins.create(win)));
            items.extend(claim.map(|claim| self.plans.claim(scope, claim)));
            items.push(self.submissions.create(submission));
            items
        };
        self.create(items, code, claim, write, now).await
    }

    /// Takes no code and no place; logs a wrong code of the phone.
    pub async fn create_rejected(
        &self,
        write: SubmissionWrite<'_>,
        wrong_code: Option<(&Entrant, &WrongCodes)>,
        now: Timestamp,
    ) -> StoreResult<WriteResult> {
        let Submission {
            scope,
            entrant_id,
            day,
            ..
        } = write.submission;
        let wrong_codes = wrong_code.map(|(before, after)| WrongCodeLogUpdate { before, after });
        let change = CountChange {
            wrong_codes,
            ..CountChange::default()
        };
        let items = || {
            let mut items = vec![self.idempotency_put(write, now)];
            items.extend(self.entrants.change(scope, entrant_id, day, change));
            items.push(self.submissions.create(write.submission));
            items
        };
        self.create(items, None, None, write, now).await
    }

    /// A conflict returns only some records: all are read.
    async fn create(
        &self,
        items: impl Fn() -> Vec<Write>,
        code: Option<&CodeKey>,
        claim: Option<&Claim>,
        write: SubmissionWrite<'_>,
        now: Timestamp,
    ) -> StoreResult<WriteResult> {
        let written = transaction::write_until(items, self.deadline, MAX_ATTEMPTS_UNREAD).await?;
        let Err(reasons) = written else {
            return Ok(WriteResult::Committed);
        };
        let conflicts = reasons.iter().any(|reason| {
            matches!(
                reason,
                CancellationCause::Conflict | CancellationCause::Throttled
            )
        });
        let fails = reasons.iter().any(CancellationCause::is_failed_condition);
        let day = &write.submission.day;
        let mut state = match (fails, conflicts) {
            (false, _) => {
                let same_request = matches!(reasons.first(), Some(CancellationCause::Conflict));
                return Ok(WriteResult::Conflict { same_request });
            }
            (true, _) if is_reference_taken(&reasons) => return Ok(WriteResult::ReferenceTaken),
            (true, true) => self.load_records(write.keys, day, now).await?,
            (true, false) => state_from(&reasons, code, write.submission)?,
        };
        state.refused_claim = claim
            .map(|claim| refused_claim(claim, &reasons, code))
            .transpose()?
            .flatten();
        Ok(WriteResult::ConditionFailed(Box::new(state)))
    }

    fn idempotency_put(&self, write: SubmissionWrite<'_>, now: Timestamp) -> Write {
        let record = IdempotencyRecord {
            body_hash: write.body_hash.to_owned(),
            record_id: write.submission.submission_id,
            replayed: false,
        };
        self.idempotency_keys
            .put(write.keys.scope, write.keys.key, &record, now)
    }

    /// Records an earlier submission under an Idempotency-Key, while it has the code.
    ///
    /// A timeline of a replay and a settler: the replay reads that submission 1 has the code; the
    /// settler rejects submission 1 and frees the code; the replay's condition fails, and it
    /// decides again.
    pub async fn record_replay(
        &self,
        keys: RecordKeys<'_>,
        body_hash: &str,
        earlier: SubmissionId,
        now: Timestamp,
    ) -> StoreResult<ReplayWrite> {
        let RecordKeys {
            scope, key, code, ..
        } = keys;
        let record = IdempotencyRecord {
            body_hash: body_hash.to_owned(),
            record_id: earlier,
            replayed: true,
        };
        let items = || {
            let mut items = vec![self.idempotency_keys.put(scope, key, &record, now)];
            items.extend(code.map(|code| self.codes.check(scope, code, earlier)));
            items
        };
        let written = transaction::write_until(items, self.deadline, MAX_CONFLICT_ATTEMPTS).await?;
        let Err(reasons) = written else {
            return Ok(ReplayWrite::Recorded);
        };
        match reasons.as_slice() {
            [CancellationCause::ConditionFailed(Some(item)), ..] => {
                idempotency_keys::read(item).map(ReplayWrite::KeyUsed)
            }
            [_, CancellationCause::ConditionFailed(_)] => Ok(ReplayWrite::CodeMoved),
            _ => Ok(ReplayWrite::Conflict),
        }
    }

    /// False if the submission has changed.
    pub async fn erase(&self, before: &Submission, entrant: &EntrantId) -> StoreResult<bool> {
        let sentinel = before
            .code_key
            .as_ref()
            .filter(|code_key| codes::is_sentinel(code_key));
        let mut after = before.erased(entrant.clone());
        after.code_key = after.code_key.filter(|_| sentinel.is_none());
        let change = self.submissions.change(before, &after);
        let mut items = vec![change.clone()];
        let id = before.submission_id;
        if let Some(sentinel) = sentinel {
            items.push(self.codes.delete_sentinel(sentinel, id));
        } else if let Some(code_key) = after.code_key.as_ref().filter(|_| before.status.counts()) {
            items.push(self.codes.replace_entrant(code_key, id, entrant));
        }
        let mut written = transaction::write(items).await?;
        if let Err(reasons) = &written
            && sentinel.is_some()
            && matches!(
                reasons.as_slice(),
                [
                    CancellationCause::None,
                    CancellationCause::ConditionFailed(_)
                ]
            )
        {
            // Another submission of the person has the record, and its erasure deletes it.
            written = transaction::write(vec![change]).await?;
        }
        Ok(written.is_ok())
    }
}

/// True if only the last item, the new submission, failed.
fn is_reference_taken(reasons: &[CancellationCause]) -> bool {
    reasons
        .iter()
        .position(CancellationCause::is_failed_condition)
        .is_some_and(|first| first + 1 == reasons.len())
}

/// Items come in this order: Idempotency-Key; code, if any; entrant, unless a rejection leaves it;
/// receipt, if any; win, if any; plan's state, if it claims a prize; submission.
fn state_from(
    reasons: &[CancellationCause],
    code: Option<&CodeKey>,
    submission: &Submission,
) -> StoreResult<ExistingRecords> {
    let mut state = ExistingRecords::default();
    let mut reasons = reasons
        .split_last()
        .map(|(_, others)| others)
        .unwrap_or_default()
        .iter();
    if let Some(CancellationCause::ConditionFailed(Some(item))) = reasons.next() {
        state.idempotency = Some(idempotency_keys::read(item)?);
    }
    if code.is_some()
        && let Some(CancellationCause::ConditionFailed(item)) = reasons.next()
    {
        state.code = code_lookup(code, item.as_ref())?;
    }
    if let Some(CancellationCause::ConditionFailed(Some(item))) = reasons.next() {
        state.entrant = entrants::read(item, &submission.day)?;
    }
    if submission.receipt_id.is_some()
        && let Some(CancellationCause::ConditionFailed(Some(item))) = reasons.next()
    {
        state.receipt = Some(receipts::read(item)?);
    }
    Ok(state)
}

/// The entrant comes after the code, and the plan's state before the submission.
fn refused_claim(
    claim: &Claim,
    reasons: &[CancellationCause],
    code: Option<&CodeKey>,
) -> StoreResult<Option<RefusedClaim>> {
    let entrant = reasons.get(1 + usize::from(code.is_some()));
    if let Some(CancellationCause::ConditionFailed(Some(item))) = entrant
        && entrants::is_capped(item, claim)
    {
        return Ok(Some(RefusedClaim::Capped));
    }
    match reasons.iter().rev().nth(1) {
        Some(CancellationCause::ConditionFailed(item)) => taken(item.as_ref()).map(Some),
        _ => Ok(None),
    }
}

fn taken(item: Option<&Item>) -> StoreResult<RefusedClaim> {
    let state = item.cloned().map(instant_plans::read_state).transpose()?;
    Ok(RefusedClaim::Taken(state.map(Box::new)))
}

fn claimed(win: Win, claim: Option<&Claim>) -> Win {
    match claim {
        Some(claim) => win.by_claim(claim),
        None => win,
    }
}

fn code_lookup(code: Option<&CodeKey>, item: Option<&Item>) -> StoreResult<CodeLookup> {
    let record = item.map(codes::read).transpose()?;
    Ok(code.map_or(CodeLookup::NoRecord, |key| CodeLookup::new(key, record)))
}
