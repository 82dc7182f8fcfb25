//! Decides on known records and writes if they are unchanged; otherwise decides again.

use std::time::Duration;

use common::app::code_verifier::{CodeQuery, Staleness, VerifiedCode};
use common::app::winning_moments::{Claims, won};
use common::domain::admission::{Decision, decide};
use common::domain::key_encryption::DeploymentSecret;
use common::domain::phone_protection::Consumer;
use common::domain::receipt::photo::MAX_BYTES;
use common::domain::resolved_code::{AcceptanceTiming, ResolvedCode};
use common::domain::settling::SENTINEL_DELAY;
use common::domain::submission::{CodeRefusal, Consent};
use common::domain::{
    Campaign, Code, CodeStatus, MessageKey, PendingSettlement, PersonalData, PhoneChecks, Receipt,
    ReceiptState, Scope, Source, State, Submission, SubmissionId, SubmissionStatus, Timestamp,
};
use common::error::{Error, ErrorCode};
use common::random;
use common::runtime::http_handler::{ApiRequest, REQUEST_BUDGET};
use common::store::idempotency_keys::IdempotencyRecord;
use common::store::submission_writes::{
    RecordKeys, ReplayWrite, SubmissionStore, SubmissionWrite, WriteResult,
};
use common::store::transaction::backoff;

use crate::CreateSubmission;
use crate::created::{CreatedSubmission, Origin};
use crate::known_records::{KnownRecords, RecordSource, is_wrong_code};
use crate::request::CreateSubmissionRequest;

/// Each change by others needs one more attempt; the worst legitimate case is ten wrong codes of
/// one phone at once.
const MAX_ATTEMPTS: u32 = 24;
/// A conflict is several tries: some two seconds in all.
const MAX_CONFLICTS: u32 = 8;
const IN_PROGRESS_WAIT: Duration = Duration::from_secs(1);
/// More than [`REQUEST_BUDGET`]: a request that arrives just before the retention's end can write
/// after the sweep has read.
const RETENTION_MARGIN: Duration = Duration::from_secs(60);

pub(crate) struct Creation<'a> {
    function: &'a CreateSubmission,
    store: SubmissionStore,
    api: &'a ApiRequest,
    request: &'a CreateSubmissionRequest,
    secret: &'a DeploymentSecret,
    consumer: Consumer,
    code: Option<Code>,
    body_hash: String,
    day: String,
}

impl<'a> Creation<'a> {
    pub(crate) fn new(
        function: &'a CreateSubmission,
        api: &'a ApiRequest,
        request: &'a CreateSubmissionRequest,
        secret: &'a DeploymentSecret,
    ) -> Self {
        Self {
            store: function.store.with_deadline(api.deadline),
            consumer: secret.consumer(&api.scope, request.phone.clone()),
            code: request.code_for(&api.campaign),
            body_hash: secret.keyed_digest(&api.scope, &request.body_digest),
            day: api.domain_now.day_in(api.campaign.timezone),
            function,
            api,
            request,
            secret,
        }
    }

    pub(crate) async fn run(&self) -> Result<CreatedSubmission, Error> {
        let Self { api, store, .. } = self;
        let ApiRequest {
            scope,
            campaign,
            received_at: now,
            domain_now,
            prefetched,
            ..
        } = api;
        let verifier = &self.function.verifier;
        verifier.cache_prefetched(prefetched, scope, *now)?;
        let moments = &self.function.moments;
        moments.cache_prefetched(prefetched, scope, *now)?;
        if let Err(unmet) = self.request.check(campaign) {
            return self.replay_or(unmet).await;
        }
        let mut known = KnownRecords::new(store, self.keys(), &self.day, *now, prefetched);
        let mut new = self.new_submission()?;
        let mut claims = moments.claims(scope, campaign);
        let mut conflicts = 0;
        for attempt in 1..=MAX_ATTEMPTS {
            let code = self.verify_code(&mut known).await?;
            if let Some(record) = known.records.idempotency.take() {
                return self.replay_key(record).await;
            }
            let checks = self.check_receipt(&code, &mut known).await?;
            let entrant = &known.records.entrant;
            let next = match decide(campaign, entrant, &code.status, checks, *domain_now) {
                Decision::Replay(earlier) => self.replay_code(&code, earlier).await?,
                Decision::Reject(key) if known.must_load_before_rejecting(&code, key) => Next::Load,
                Decision::Reject(key) => self.reject(&new, &code, key, &mut known).await?,
                Decision::Admit => {
                    let entering = self.enter(&new, &code, checks, &mut known, &mut claims);
                    entering.await?
                }
            };
            match next {
                Next::Answer(created) => return Ok(*created),
                Next::OtherId => new = self.new_submission()?,
                Next::Load => known.load().await?,
                Next::Conflict { same_request } => {
                    conflicts += 1;
                    if conflicts == MAX_CONFLICTS {
                        return Err(contended(same_request));
                    }
                    backoff(conflicts).await;
                    known.load().await?;
                }
                Next::Retry if attempt > 1 => backoff(attempt).await,
                Next::Retry => {}
            }
        }
        Err(contended(false))
    }

    fn new_submission(&self) -> Result<Submission, Error> {
        let Self { api, request, .. } = self;
        let (scope, submission_id) = (&api.scope, random::submission_id());
        let (phone, nonce) = (&self.consumer.phone, random::bytes());
        let phone = self
            .secret
            .encrypt_phone(scope, submission_id, phone, nonce)
            .ok_or_else(|| Error::internal("a phone cannot be encrypted"))?;
        let keeps_person = keeps_person(&api.campaign, api.received_at);
        let current_text = api.campaign.consent.as_ref();
        let version = request.consent_version.clone();
        let shift = api.domain_now.as_millis() - api.received_at.as_millis();
        let entrant = self.consumer.id.clone();
        Ok(Submission {
            phone: keeps_person.then_some(phone),
            region: request.region.clone().filter(|_| keeps_person),
            channel: request.channel,
            claimed: request.claimed.clone().filter(|_| keeps_person),
            consent: Some(Consent {
                version: version.or_else(|| current_text.map(|text| text.version.clone())),
                language: api.language(),
            }),
            notify: api.campaign.has_webhooks(),
            test_shift: Some(shift).filter(|shift| *shift != 0),
            request_id: Some(api.http.ids.request.clone()),
            ..Submission::new(
                submission_id,
                scope.clone(),
                entrant,
                self.day.clone(),
                api.domain_now,
            )
        })
    }

    fn keys(&self) -> RecordKeys<'_> {
        self.request.record_keys(&self.api.scope, &self.consumer.id)
    }

    fn write<'b>(
        &'b self,
        code: &'b VerifiedCode,
        submission: &'b Submission,
    ) -> SubmissionWrite<'b> {
        SubmissionWrite {
            keys: self.keys().with_code(code.resolved.key()),
            body_hash: &self.body_hash,
            submission,
        }
    }

    async fn verify_code(&self, known: &mut KnownRecords<'_>) -> Result<VerifiedCode, Error> {
        let Self { api, function, .. } = self;
        let Some(code) = &self.code else {
            known.select_code(None);
            known.load_missing().await?;
            return Ok(VerifiedCode::not_needed());
        };
        let query = CodeQuery {
            scope: &api.scope,
            policy: api.campaign.code,
            code,
            consumer: Some(&self.consumer),
        };
        let (verifier, now) = (&function.verifier, api.now());
        let mut verified = VerifiedCode::not_needed();
        for staleness in Staleness::ALL {
            let resolved = verifier.resolve(query, None, staleness, now).await?;
            known.select_code(resolved.key());
            known.load_missing().await?;
            let judging = verifier.judge(query, resolved, &known.records.code, staleness, now);
            verified = judging.await?;
            if verified.status != CodeStatus::Invalid {
                break;
            }
        }
        Ok(verified)
    }

    /// A replay of the consumer's own code takes precedence over any fault of the receipt.
    async fn check_receipt(
        &self,
        code: &VerifiedCode,
        known: &mut KnownRecords<'_>,
    ) -> Result<PhoneChecks, Error> {
        let has_code = code.status != CodeStatus::NotNeeded;
        let is_own_code = matches!(code.status, CodeStatus::OwnedBySamePhone(_));
        if self.request.receipt_id.is_none() || is_own_code {
            return Ok(PhoneChecks {
                throttle: has_code,
                open_receipts: false,
            });
        }
        let receipt = self.usable_receipt(known.records.receipt.take()).await?;
        let checks = PhoneChecks {
            throttle: has_code || receipt.is_typed(),
            open_receipts: true,
        };
        known.records.receipt = Some(receipt);
        Ok(checks)
    }

    async fn usable_receipt(&self, receipt: Option<Receipt>) -> Result<Receipt, Error> {
        let at_fault = |code: ErrorCode| Error::from(code).with_field("receipt_id");
        let receipt = receipt.ok_or_else(|| at_fault(ErrorCode::NotFound))?;
        if receipt.state() == ReceiptState::Attached {
            return Err(at_fault(ErrorCode::ReceiptAlreadyAttached));
        }
        let receipt = self
            .function
            .uploads
            .reconcile(receipt, self.api.received_at)
            .await?;
        match (&receipt.source, receipt.arrived) {
            (Source::Typed { .. }, _) => Ok(receipt),
            (Source::Photo { .. }, None) => Err(at_fault(ErrorCode::ReceiptNotUploaded)),
            (Source::Photo { .. }, Some(arrived)) if arrived.bytes > MAX_BYTES => {
                Err(at_fault(ErrorCode::FileTooLarge))
            }
            (Source::Photo { .. }, Some(arrived)) if arrived.photo_type.is_none() => {
                Err(at_fault(ErrorCode::FileWrongType))
            }
            (Source::Photo { .. }, Some(_)) => Ok(receipt),
        }
    }

    async fn enter(
        &self,
        new: &Submission,
        code: &VerifiedCode,
        checks: PhoneChecks,
        known: &mut KnownRecords<'_>,
        claims: &mut Claims<'_>,
    ) -> Result<Next, Error> {
        let (campaign, now) = (&self.api.campaign, self.api.received_at);
        let entered = self.entered(new, &code.resolved);
        let claim = claims.next_for(&entered, now).await?;
        let submission = won(entered, claim.as_ref());
        let (write, entrant) = (self.write(code, &submission), &known.records.entrant);
        let writing =
            self.store
                .create_admitted(write, entrant, campaign, checks, claim.as_ref(), now);
        let mut result = writing.await?;
        if let WriteResult::ConditionFailed(records) = &mut result
            && let Some(refused) = records.refused_claim.take()
        {
            claims.refused(refused);
        }
        Ok(next(result, submission, known, RecordSource::Conditions))
    }

    async fn reject(
        &self,
        new: &Submission,
        code: &VerifiedCode,
        reason: MessageKey,
        known: &mut KnownRecords<'_>,
    ) -> Result<Next, Error> {
        let (campaign, now) = (&self.api.campaign, self.api.received_at);
        let submission = Submission {
            reasons: vec![reason.as_str().to_owned()],
            code_refusal: self.code_refusal(code, reason),
            status: SubmissionStatus::rejected(reason),
            ..new.clone()
        };
        let entrant = &known.records.entrant;
        let log = is_wrong_code(code, reason)
            .then(|| entrant.with_wrong_code(campaign, self.api.domain_now));
        let wrong_code = log.as_ref().map(|log| (entrant, log));
        let write = self.write(code, &submission);
        let result = self.store.create_rejected(write, wrong_code, now).await?;
        // A rejection's conditions do not cover the code's record.
        Ok(next(result, submission, known, RecordSource::Assumed))
    }

    fn code_refusal(&self, code: &VerifiedCode, reason: MessageKey) -> Option<CodeRefusal> {
        let holder = code
            .status
            .holder()
            .filter(|_| code.status.rejection() == Some(reason))?;
        Some(CodeRefusal {
            holder,
            batch: self.batch_of(&code.resolved),
        })
    }

    fn batch_of(&self, code: &ResolvedCode) -> Option<String> {
        let verifier = &self.function.verifier;
        verifier.batch_of(&self.api.scope, code.key()?)
    }

    fn entered(&self, new: &Submission, code: &ResolvedCode) -> Submission {
        let Self { api, request, .. } = self;
        let (now, prize) = (api.received_at, code.prize().map(str::to_owned));
        let first_step = PendingSettlement::due_at(now, prize.clone());
        let (status, settling) = match (code.acceptance(), request.receipt_id) {
            (AcceptanceTiming::ByPartner, _) => (
                SubmissionStatus::checking(),
                Some(PendingSettlement::asking(now)),
            ),
            (AcceptanceTiming::StaysPending(MessageKey::ReceiptReceived), _) => (
                SubmissionStatus::receipt_received(),
                Some(first_step.escalate(now)),
            ),
            (AcceptanceTiming::StaysPending(_), _) => {
                (SubmissionStatus::checking(), Some(first_step.escalate(now)))
            }
            (AcceptanceTiming::Immediate | AcceptanceTiming::Delayed, Some(_)) => {
                (SubmissionStatus::receipt_received(), Some(first_step))
            }
            (AcceptanceTiming::Delayed, None) => {
                let settled_at = now.after(self.function.speedup.apply(SENTINEL_DELAY));
                (
                    SubmissionStatus::unknown(),
                    Some(PendingSettlement::due_at(settled_at, prize)),
                )
            }
            (AcceptanceTiming::Immediate, None) => (
                SubmissionStatus::accepted(api.campaign.entries_per_submission, prize),
                None,
            ),
        };
        let is_for_partner = code.acceptance() == AcceptanceTiming::ByPartner;
        Submission {
            code_key: code.key().map(|key| key.in_scope(&api.scope)),
            batch: self.batch_of(code),
            receipt_id: request.receipt_id,
            partner_code: self.code.clone().filter(|_| is_for_partner),
            settling,
            status,
            ..new.clone()
        }
    }

    async fn replay_code(&self, code: &VerifiedCode, earlier: SubmissionId) -> Result<Next, Error> {
        // Read before the write below, which requires the submission to hold the code: if that
        // succeeds, the submission was not rejected at the read.
        let submission = self.function.submission(&self.api.scope, earlier).await?;
        if submission.status.state() == State::Rejected {
            return Ok(Next::Load);
        }
        let (keys, now) = (
            self.keys().with_code(code.resolved.key()),
            self.api.received_at,
        );
        let recording = self
            .store
            .record_replay(keys, &self.body_hash, earlier, now);
        match recording.await? {
            ReplayWrite::Recorded => Ok(Next::answer(submission, Origin::SameCodeAndPhone)),
            ReplayWrite::KeyUsed(record) => {
                Ok(Next::Answer(Box::new(self.replay_key(record).await?)))
            }
            ReplayWrite::CodeMoved => Ok(Next::Load),
            ReplayWrite::Conflict => Err(contended(true)),
        }
    }

    /// For a retry of an accepted request, even if the requirements have changed.
    async fn replay_or(&self, unmet: Error) -> Result<CreatedSubmission, Error> {
        let known = self
            .store
            .load_records(self.keys(), &self.day, self.api.received_at)
            .await?;
        match known.idempotency {
            Some(record) => self.replay_key(record).await,
            None => Err(unmet),
        }
    }

    async fn replay_key(
        &self,
        record: IdempotencyRecord<SubmissionId>,
    ) -> Result<CreatedSubmission, Error> {
        let Self { function, api, .. } = self;
        if record.body_hash != self.body_hash {
            return Err(ErrorCode::IdempotencyKeyReused.into());
        }
        let submission = function.submission(&api.scope, record.record_id).await?;
        let age = api.received_at.since(submission.sent_at());
        let is_with_partner = submission.revision == 0
            && submission
                .settling
                .as_ref()
                .is_some_and(|settling| settling.is_under_way(api.received_at));
        if is_with_partner && age < REQUEST_BUDGET {
            // After the first request's time, return the submission's current state.
            return Err(Error::from(ErrorCode::IdempotencyInProgress)
                .with_retry_after(REQUEST_BUDGET - age));
        }
        Ok(CreatedSubmission::new(
            submission,
            Origin::SameIdempotencyKey {
                was_replay: record.replayed,
            },
        ))
    }
}

/// False after the retention: the sweep has passed.
fn keeps_person(campaign: &Campaign, received_at: Timestamp) -> bool {
    let until = campaign.keeps_until(PersonalData::Phones);
    until.is_none_or(|until| received_at.after(RETENTION_MARGIN) < until)
}

enum Next {
    Answer(Box<CreatedSubmission>),
    OtherId,
    Retry,
    Load,
    /// Hundreds of phones may send a published code: read all records and decide.
    Conflict {
        same_request: bool,
    },
}

impl Next {
    fn answer(submission: Submission, origin: Origin) -> Self {
        Self::Answer(Box::new(CreatedSubmission::new(submission, origin)))
    }
}

impl CreateSubmission {
    pub(crate) async fn submission(
        &self,
        scope: &Scope,
        id: SubmissionId,
    ) -> Result<Submission, Error> {
        let found = self.store.submissions().get(scope, id).await?;
        found.ok_or_else(|| Error::internal("a record names a submission that is not there"))
    }
}

fn next(
    result: WriteResult,
    submission: Submission,
    known: &mut KnownRecords<'_>,
    source: RecordSource,
) -> Next {
    match result {
        WriteResult::Committed => Next::answer(submission, Origin::New),
        WriteResult::ConditionFailed(records) => {
            known.replace(*records, source);
            Next::Retry
        }
        WriteResult::ReferenceTaken => Next::OtherId,
        WriteResult::Conflict { same_request } => Next::Conflict { same_request },
    }
}

fn contended(same_request: bool) -> Error {
    if same_request {
        Error::from(ErrorCode::IdempotencyInProgress).with_retry_after(IN_PROGRESS_WAIT)
    } else {
        Error::internal("others kept changing the same records")
    }
}
