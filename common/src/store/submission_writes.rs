//! What a submission is made of, across tables, in one write: the request, the code, the entrant's
//! counts and the submission itself. All of it is written, or nothing is.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TransactWriteItem;

use super::batch::{BatchGet, BatchItems, Found};
use super::codes::{Claim, CodeKey, CodeRecord, Codes};
use super::entrants::{self, CountChange, Entrants, WrongCodeLogUpdate};
use super::idempotency_keys::{self, IdempotencyKeys, IdempotencyRecord};
use super::receipts::{self, Receipts};
use super::submissions::Submissions;
use super::transaction::{self, Reason, TransactionResult};
use super::{Item, StoreError, codes};
use crate::config::{ConfigError, Env};
use crate::domain::campaign::Campaign;
use crate::domain::entrant::{Entrant, PhoneChecks, WrongCodes};
use crate::domain::ids::{IdempotencyKey, ReceiptId, SubmissionId};
use crate::domain::message::MessageKey;
use crate::domain::phone::Phone;
use crate::domain::receipt::Receipt;
use crate::domain::scope::Scope;
use crate::domain::submission::{State, Submission};
use crate::domain::timestamp::Timestamp;

/// What is being done when settling fails.
const SETTLING: &str = "settling a submission";
/// Why a write is given up.
const CONTENDED: &str = "others kept changing the same records";

/// The tables of a submission.
#[derive(Clone, Debug)]
pub struct SubmissionStore {
    client: Client,
    requests: IdempotencyKeys,
    codes: Codes,
    entrants: Entrants,
    submissions: Submissions,
    receipts: Receipts,
}

/// A submission to be written, with the request that led to it.
#[derive(Clone, Copy, Debug)]
pub struct SubmissionWrite<'a> {
    /// The request's Idempotency-Key.
    pub key: &'a IdempotencyKey,
    /// The digest of the request's body.
    pub body_hash: &'a str,
    /// The code, when it has a record of its own.
    pub code: Option<&'a CodeKey>,
    /// The receipt that came with it.
    pub receipt: Option<ReceiptId>,
    /// The submission as it is to be.
    pub submission: &'a Submission,
}

/// The records that decide about a submission.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// What it belongs to.
    pub scope: &'a Scope,
    /// The request's Idempotency-Key.
    pub key: &'a IdempotencyKey,
    /// Whose it is.
    pub phone: &'a Phone,
    /// The code, when it has a record of its own.
    pub code: Option<&'a CodeKey>,
    /// The receipt that came with it.
    pub receipt: Option<ReceiptId>,
}

impl<'a> SubmissionWrite<'a> {
    fn records(self) -> Records<'a> {
        let Self { key, code, receipt, submission: Submission { scope, phone, .. }, .. } = self;
        Records { scope, key, phone, code, receipt }
    }
}

/// What the tables say about a submission that is being made. What is not said was found harmless.
#[derive(Clone, Debug, Default)]
pub struct ExistingState {
    /// The Idempotency-Key was used before.
    pub request: Option<IdempotencyRecord<SubmissionId>>,
    /// The code's record.
    pub code: CodeLookup,
    /// The phone's standing.
    pub entrant: Entrant,
    /// The receipt, where it was looked at.
    pub receipt: Option<Receipt>,
}

/// What the table says of a code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CodeLookup {
    /// Nothing that stands in the way.
    #[default]
    NoRecordNeeded,
    /// It would have to have a record and has none.
    Missing,
    /// This.
    Found(CodeRecord),
}

impl CodeLookup {
    /// The batch of an imported code, as its own record names it.
    pub fn imported_batch(&self) -> Option<&str> {
        match self {
            Self::Found(record) => record.batch.as_deref(),
            Self::NoRecordNeeded | Self::Missing => None,
        }
    }

    /// What a code's record, or its absence, says.
    pub fn new(name: &CodeKey, record: Option<CodeRecord>) -> Self {
        match (name, record) {
            (_, Some(record)) => Self::Found(record),
            (CodeKey::Imported { .. }, None) => Self::Missing,
            (CodeKey::Minted(_) | CodeKey::Partner(_) | CodeKey::Sentinel(_), None) => Self::NoRecordNeeded,
        }
    }
}

/// How a write ended.
#[derive(Debug)]
pub enum WriteResult {
    /// Everything was written.
    Committed,
    /// Nothing was, because of this.
    ConditionFailed(Box<ExistingState>),
    /// Nothing was, because others kept touching the same records.
    Conflict {
        /// Also the record of this Idempotency-Key: the same request is on its way elsewhere.
        same_request: bool,
    },
}

/// How recording a replay ended.
#[derive(Debug)]
pub enum ReplayWrite {
    /// The Idempotency-Key leads to the earlier submission now.
    Recorded,
    /// The Idempotency-Key led to this before.
    KeyUsed(IdempotencyRecord<SubmissionId>),
    /// The earlier submission no longer has the code; nothing was written.
    CodeMoved,
    /// Others kept touching the same records; nothing was written.
    Conflict,
}

/// How settling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleResult {
    /// It was written.
    Committed,
    /// The submission had moved on in the meantime; nothing was written.
    StaleRevision,
    /// Another submission was accepted with the same purchase; nothing was written.
    ReceiptAlreadyUsed,
}

/// Parts of a transaction, each with what it means when its condition fails: `None` when the phone's log of
/// wrong codes has changed, so that another try may do.
type Parts = Vec<(Option<SettleResult>, TransactWriteItem)>;

impl SubmissionStore {
    /// The tables that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            client: client.clone(),
            requests: IdempotencyKeys::from_env(env)?,
            codes: Codes::from_env(env, client)?,
            entrants: Entrants::from_env(env, client)?,
            submissions: Submissions::from_env(env, client)?,
            receipts: Receipts::from_env(env, client)?,
        })
    }

    /// The codes.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// The entrants.
    pub fn entrants(&self) -> &Entrants {
        &self.entrants
    }

    /// The receipts.
    pub fn receipts(&self) -> &Receipts {
        &self.receipts
    }

    /// The submissions.
    pub fn submissions(&self) -> &Submissions {
        &self.submissions
    }

    /// Reads everything there is to know before a submission is made, in one call.
    ///
    /// # Errors
    /// When a table does not answer, or a record cannot be read.
    pub async fn look(
        &self,
        entry: SubmissionWrite<'_>,
        now: Timestamp,
    ) -> Result<ExistingState, StoreError> {
        let mut batch = BatchGet::default();
        self.add_to(&mut batch, entry.records());
        let items = batch.send(&self.client, "reading what is known").await?;
        self.find_in(&items, entry, now).map(|(known, _)| known)
    }

    /// Adds what there is to know before a submission is made to what a batch reads.
    pub fn add_to(&self, batch: &mut BatchGet, records: Records<'_>) {
        let Records { scope, key, phone, code, receipt } = records;
        self.requests.add_to::<SubmissionId>(batch, scope, key);
        self.entrants.add_to(batch, scope, phone);
        if let Some(code) = code {
            self.codes.add_to(batch, scope, code);
        }
        if let Some(receipt) = receipt {
            self.receipts.add_to(batch, scope, receipt);
        }
    }

    /// What a batch tells of these records, and whether it asked for all of them.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn find_in(
        &self,
        items: &BatchItems,
        entry: SubmissionWrite<'_>,
        now: Timestamp,
    ) -> Result<(ExistingState, bool), StoreError> {
        let Records { scope, key, phone, code, receipt } = entry.records();
        let request = self.requests.find_in::<SubmissionId>(items, scope, key);
        let entrant = self.entrants.find_in(items, scope, phone);
        let code_found = code.map(|code| self.codes.find_in(items, scope, code));
        let receipt = receipt.map(|receipt| self.receipts.find_in(items, scope, receipt));
        let asked = [Some(request), Some(entrant), code_found, receipt];
        let is_complete = !asked.iter().flatten().any(|found| matches!(found, Found::NotAsked));
        let remembered = request.item().map(|item| idempotency_keys::read_unexpired(item, now));
        let known = ExistingState {
            request: remembered.transpose()?.flatten(),
            code: match code_found {
                None | Some(Found::NotAsked) => CodeLookup::NoRecordNeeded,
                Some(found) => code_lookup(code, found.item())?,
            },
            entrant: entrant
                .item()
                .map(|item| entrants::read(item, &entry.submission.day))
                .transpose()?
                .unwrap_or_default(),
            receipt: receipt.and_then(Found::item).map(receipts::read).transpose()?,
        };
        Ok((known, is_complete))
    }

    /// Enters a submission: remembers the request, takes the code, counts the phone, writes the
    /// submission, attaches the receipt, if every one of them is free to be.
    ///
    /// A code that a partner has yet to judge is logged as a wrong one, until the partner says that it is not:
    /// however many a phone sends at once, no more are judged than wrong ones would be.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn enter(
        &self,
        entry: SubmissionWrite<'_>,
        seen: &Entrant,
        campaign: &Campaign,
        checks: PhoneChecks,
        now: Timestamp,
    ) -> Result<WriteResult, StoreError> {
        let SubmissionWrite { code, submission, .. } = entry;
        let Submission { scope, phone, status, .. } = submission;
        let guess = submission.partner_code.is_some().then(|| seen.with_wrong_code(campaign, now));
        let guess = guess.as_ref().map(|after| WrongCodeLogUpdate { seen, after });
        let mut items = vec![transaction::put(self.remember(entry, now)?)];
        if let Some(code) = code {
            let claim = Claim {
                phone: phone.clone(),
                submission_id: submission.submission_id,
                redeemed: status.state() == State::Accepted,
            };
            items.push(transaction::update(self.codes.claim(scope, code, &claim, now)?));
        }
        let count = self.entrants.count(submission, campaign.limits, checks, guess, now)?;
        items.push(transaction::update(count));
        items.push(transaction::put(self.submissions.create(submission)?));
        if let Some(receipt) = submission.receipt_id {
            let attach = self.receipts.attach(scope, receipt, submission.submission_id)?;
            items.push(transaction::update(attach));
        }
        let written = transaction::write(&self.client, items).await?;
        self.written(written, code, entry, now).await
    }

    /// Records a refused submission: remembers the request, writes the submission and, after a wrong
    /// code, the phone's log of them. It takes no code and counts towards no limit.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn refuse(
        &self,
        entry: SubmissionWrite<'_>,
        wrong_code: Option<(&Entrant, &WrongCodes)>,
        now: Timestamp,
    ) -> Result<WriteResult, StoreError> {
        let submission = entry.submission;
        let mut items = vec![transaction::put(self.remember(entry, now)?)];
        if let Some((seen, after)) = wrong_code {
            let change =
                CountChange { guess: Some(WrongCodeLogUpdate { seen, after }), ..CountChange::default() };
            let Submission { scope, phone, day, .. } = submission;
            items.extend(self.entrants.change(scope, phone, day, change)?.map(transaction::update));
        }
        items.push(transaction::put(self.submissions.create(submission)?));
        let written = transaction::write(&self.client, items).await?;
        self.written(written, None, entry, now).await
    }

    /// How a transaction ended, and what it told of the records. One that failed by a condition and met a conflict
    /// as well tells half of it, so that all of it is read.
    async fn written(
        &self,
        outcome: TransactionResult,
        code: Option<&CodeKey>,
        entry: SubmissionWrite<'_>,
        now: Timestamp,
    ) -> Result<WriteResult, StoreError> {
        let reasons = match outcome {
            TransactionResult::WriteResult => return Ok(WriteResult::Committed),
            TransactionResult::Refused(reasons) => reasons,
        };
        let conflicts = reasons.iter().any(|reason| matches!(reason, Reason::Conflict | Reason::Throttled));
        let fails = reasons.iter().any(|reason| matches!(reason, Reason::ConditionFailed(_)));
        let known = match (fails, conflicts) {
            (false, _) => {
                let same_request = matches!(reasons.first(), Some(Reason::Conflict));
                return Ok(WriteResult::Conflict { same_request });
            }
            (true, true) => self.look(entry, now).await?,
            (true, false) => known_by(&reasons, code, &entry.submission.day)?,
        };
        Ok(WriteResult::ConditionFailed(Box::new(known)))
    }

    fn remember(
        &self,
        entry: SubmissionWrite<'_>,
        now: Timestamp,
    ) -> Result<aws_sdk_dynamodb::types::Put, StoreError> {
        let record = IdempotencyRecord {
            body_hash: entry.body_hash.to_owned(),
            record_id: entry.submission.submission_id,
            replayed: false,
        };
        self.requests.remember(&entry.submission.scope, entry.key, &record, now)
    }

    /// Remembers a request that was answered with the earlier submission of the same code and phone, while that
    /// one has the code.
    ///
    /// A timeline of a replay and a settler: the replay reads that submission 1 has the code; the settler rejects
    /// submission 1 and frees the code; the replay's condition fails, and it decides again.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn remember_replay(
        &self,
        entry: SubmissionWrite<'_>,
        earlier: SubmissionId,
        now: Timestamp,
    ) -> Result<ReplayWrite, StoreError> {
        let scope = &entry.submission.scope;
        let record =
            IdempotencyRecord { body_hash: entry.body_hash.to_owned(), record_id: earlier, replayed: true };
        let mut items = vec![transaction::put(self.requests.remember(scope, entry.key, &record, now)?)];
        if let Some(code) = entry.code {
            items.push(transaction::check(self.codes.check_claim(scope, code, earlier)?));
        }
        let reasons = match transaction::write(&self.client, items).await? {
            TransactionResult::WriteResult => return Ok(ReplayWrite::Recorded),
            TransactionResult::Refused(reasons) => reasons,
        };
        match reasons.as_slice() {
            [Reason::ConditionFailed(Some(item)), ..] => {
                idempotency_keys::read(item).map(ReplayWrite::KeyUsed)
            }
            [_, Reason::ConditionFailed(_)] => Ok(ReplayWrite::CodeMoved),
            _ => Ok(ReplayWrite::Conflict),
        }
    }

    /// Writes a submission that has moved on, if it is still as in `before`. An accepted one redeems its
    /// code, earns its entries and takes its purchase; a rejected one frees its code and gives its place back.
    /// With `wrong`, its code or its receipt's time was wrong, and is logged under the limit of that campaign.
    /// A code that a partner does not call wrong, or gives no answer about, is no longer logged as a wrong one.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn settle(
        &self,
        before: &Submission,
        after: &Submission,
        wrong: Option<&Campaign>,
    ) -> Result<SettleResult, StoreError> {
        /// More than come from one phone at once.
        const MAX_TRIES: u32 = 10;
        for tries in 1..=MAX_TRIES {
            let guess = self.guess(before, after, wrong).await?;
            let guess = guess.as_ref().map(|(seen, after)| WrongCodeLogUpdate { seen, after });
            match self.settle_as_seen(before, after, guess).await? {
                Some(settled) => return Ok(settled),
                None => transaction::backoff(tries).await,
            }
        }
        Err(StoreError::new(SETTLING, CONTENDED))
    }

    /// How settling changes the phone's log of wrong codes, if it does: the phone as it is, and the log after.
    async fn guess(
        &self,
        before: &Submission,
        after: &Submission,
        wrong: Option<&Campaign>,
    ) -> Result<Option<(Entrant, WrongCodes)>, StoreError> {
        let Submission { scope, phone, day, status, created_at, updated_at: now, .. } = after;
        let is_of_partner = before.partner_code.is_some();
        let is_first_silence = status.state() == State::Unknown && before.status.state() == State::Pending;
        let was_right = status.is_terminal() && status.message_key() != MessageKey::Invalid;
        if wrong.is_none() && !(is_of_partner && (was_right || is_first_silence)) {
            return Ok(None);
        }
        let entrant = self.entrants.get(scope, phone, day).await?;
        let log = match wrong {
            Some(campaign) if is_of_partner => entrant.with_earlier_wrong_code(campaign, *created_at, *now),
            Some(campaign) => Some(entrant.with_wrong_code(campaign, *now)),
            None => entrant.without_code(*created_at),
        };
        Ok(log.map(|log| (entrant, log)))
    }

    /// As [`SubmissionStore::settle`], with this change of the log; `None` when the log has changed since.
    async fn settle_as_seen(
        &self,
        before: &Submission,
        after: &Submission,
        guess: Option<WrongCodeLogUpdate<'_>>,
    ) -> Result<Option<SettleResult>, StoreError> {
        let Submission { scope, phone, day, submission_id, status, .. } = after;
        let change = self.submissions.change(before, after)?;
        let mut parts: Parts = vec![(Some(SettleResult::StaleRevision), transaction::put(change))];
        let freed = match status.state() {
            State::Accepted => {
                self.redeem(after, &mut parts)?;
                0
            }
            State::Rejected => {
                if let Some(code_key) = &after.code_key {
                    let free = self.codes.free(code_key, *submission_id)?;
                    parts.push((Some(SettleResult::StaleRevision), transaction::update(free)));
                }
                1
            }
            State::Pending | State::Unknown => 0,
        };
        let change = CountChange {
            submissions: -freed,
            entries: status.entries(),
            open_receipts: i32::from(after.has_open_receipt()) - i32::from(before.has_open_receipt()),
            guess,
        };
        let count = self.entrants.change(scope, phone, day, change)?;
        parts.extend(count.map(|count| (None, transaction::update(count))));
        let (meanings, items): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let reasons = match transaction::write(&self.client, items).await? {
            TransactionResult::WriteResult => return Ok(Some(SettleResult::Committed)),
            TransactionResult::Refused(reasons) => reasons,
        };
        let failed = reasons.iter().position(|reason| matches!(reason, Reason::ConditionFailed(_)));
        let meaning = failed.and_then(|failed| meanings.get(failed)).copied();
        meaning.ok_or_else(|| StoreError::new(SETTLING, CONTENDED))
    }

    /// An accepted submission redeems its code and takes its purchase.
    fn redeem(&self, after: &Submission, parts: &mut Parts) -> Result<(), StoreError> {
        let Submission { scope, submission_id, code_key, purchase, .. } = after;
        if let Some(code_key) = code_key {
            let redeem = self.codes.redeem(code_key, *submission_id)?;
            parts.push((Some(SettleResult::StaleRevision), transaction::update(redeem)));
        }
        if let Some(purchase) = purchase {
            let claim = self.receipts.claim_purchase(scope, purchase, *submission_id, after.updated_at)?;
            parts.push((Some(SettleResult::ReceiptAlreadyUsed), transaction::put(claim)));
        }
        Ok(())
    }
}

/// Reads the reasons of a transaction that a condition refused. The request is always the first item; then the
/// code, if there is one; then the entrant; then the submission, whose id is new; last the receipt, if there is
/// one.
fn known_by(reasons: &[Reason], code: Option<&CodeKey>, day: &str) -> Result<ExistingState, StoreError> {
    let mut known = ExistingState::default();
    let mut reasons = reasons.iter();
    if let Some(Reason::ConditionFailed(Some(item))) = reasons.next() {
        known.request = Some(idempotency_keys::read(item)?);
    }
    if code.is_some()
        && let Some(Reason::ConditionFailed(item)) = reasons.next()
    {
        known.code = code_lookup(code, item.as_ref())?;
    }
    if let Some(Reason::ConditionFailed(Some(item))) = reasons.next() {
        known.entrant = entrants::read(item, day)?;
    }
    // The submission's own reason tells nothing.
    if let Some(Reason::ConditionFailed(Some(item))) = reasons.nth(1) {
        known.receipt = Some(receipts::read(item)?);
    }
    Ok(known)
}

fn code_lookup(code: Option<&CodeKey>, item: Option<&Item>) -> Result<CodeLookup, StoreError> {
    let record = item.map(codes::read).transpose()?;
    Ok(code.map_or(CodeLookup::NoRecordNeeded, |name| CodeLookup::new(name, record)))
}
