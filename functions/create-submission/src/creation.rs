//! Handles one request: decides on the records known so far, and writes on condition that they are unchanged. If the
//! condition fails, decides again on the records that the failure returned.

use std::time::Duration;

use common::app::code_verifier::{CodeQuery, CodeRecords as _, VerifiedCode};
use common::app::resolved_code::{AcceptanceTiming, ResolvedCode};
use common::domain::admission::{CodeStatus, Decision, decide};
use common::domain::campaign::{Campaign, PersonalData};
use common::domain::entrant::PhoneChecks;
use common::domain::entrant_id::Consumer;
use common::domain::ids::SubmissionId;
use common::domain::message::MessageKey;
use common::domain::receipt::photo::MAX_BYTES;
use common::domain::receipt::{Receipt, ReceiptState, Source};
use common::domain::settling::{PendingSettlement, SENTINEL_DELAY};
use common::domain::submission::{
    CodeRefusal, Consent, NewSubmission, State, Submission, SubmissionStatus,
};
use common::domain::timestamp::Timestamp;
use common::error::{Error, ErrorCode};
use common::runtime::http_handler::{ApiRequest, REQUEST_BUDGET};
use common::store::codes::CodeKey;
use common::store::idempotency_keys::IdempotencyRecord;
use common::store::submission_writes::{
    RecordKeys, ReplayWrite, SubmissionStore, SubmissionWrite, WriteResult,
};
use common::store::transaction::backoff;

use crate::answer::{Answer, AnswerOrigin};
use crate::known_records::{KnownRecords, RecordSource, is_wrong_code};
use crate::request::{CreateSubmissionRequest, IdentifiedRequest};
use crate::service::SubmissionService;

/// Decisions per request. Every time others change the records first, one more is needed; the worst legitimate case,
/// ten wrong codes for one phone at once, stays below this.
const MAX_ATTEMPTS: u32 = 24;
/// Writes that end in conflicts per request, each tried several times: some two seconds with the waits between them.
const MAX_CONFLICTS: u32 = 8;
/// `Retry-After` while the same request is in progress elsewhere.
const IN_PROGRESS_WAIT: Duration = Duration::from_secs(1);
/// More than [`REQUEST_BUDGET`]: a request that arrives just before the retention ends can write after the sweep has read.
const RETENTION_MARGIN: Duration = Duration::from_secs(60);

pub(crate) struct Creation<'a> {
    service: &'a SubmissionService,
    store: SubmissionStore,
    api: &'a ApiRequest,
    request: &'a CreateSubmissionRequest,
    consumer: &'a Consumer,
    /// The keyed digest of the request's body.
    body_hash: &'a str,
    new: NewSubmission,
}

impl<'a> Creation<'a> {
    pub(crate) fn new(
        service: &'a SubmissionService,
        api: &'a ApiRequest,
        request: &'a IdentifiedRequest,
    ) -> Self {
        let IdentifiedRequest {
            request,
            consumer,
            body_hash,
            submission_id,
            phone,
        } = request;
        let current_text = api.campaign.consent.as_ref();
        let keeps_person = keeps_person(&api.campaign, api.received_at);
        let new = NewSubmission {
            submission_id: *submission_id,
            scope: api.scope.clone(),
            entrant_id: consumer.id.clone(),
            phone: keeps_person.then(|| phone.clone()),
            region: request.region.clone().filter(|_| keeps_person),
            claimed: request.claimed.clone().filter(|_| keeps_person),
            consent: Some(Consent {
                version: request
                    .consent_version
                    .clone()
                    .or_else(|| current_text.map(|text| text.version.clone())),
                language: api.language(),
            }),
            day: api.received_at.day_in(api.campaign.timezone),
            created_at: api.received_at,
            request_id: Some(api.http.ids.request.clone()),
        };
        Self {
            service,
            store: service.store().with_deadline(api.deadline),
            api,
            request,
            consumer,
            body_hash,
            new,
        }
    }

    /// Creates the submission, or finds the earlier one that answers the request. `None` if another submission has its
    /// reference.
    pub(crate) async fn run(&self) -> Result<Option<Answer>, Error> {
        let Self {
            service,
            store,
            api,
            new,
            ..
        } = self;
        service
            .verifier()
            .cache_prefetched(&api.prefetched, &api.scope, api.received_at)?;
        if let Err(unmet) = self.request.check(&api.campaign) {
            return self.replay_or(unmet).await.map(Some);
        }
        let mut known = KnownRecords::new(
            store,
            self.keys(None),
            &new.day,
            api.received_at,
            &api.prefetched,
        );
        let mut conflicts = 0;
        for attempt in 1..=MAX_ATTEMPTS {
            let code = self.verify_code(&mut known).await?;
            if let Some(record) = known.take_idempotency() {
                return self.replay_key(record).await.map(Some);
            }
            let checks = self.check_receipt(&code, &mut known).await?;
            let entrant = &known.records.entrant;
            let next = match decide(
                &api.campaign,
                entrant,
                &code.status,
                checks,
                api.received_at,
            ) {
                Decision::Replay(earlier) => self.replay_code(&code, earlier).await?,
                Decision::Reject(key) if known.must_load_before_rejecting(&code, key) => Next::Load,
                Decision::Reject(key) => self.reject(&code, key, &mut known).await?,
                Decision::Admit => self.enter(&code, checks, &mut known).await?,
            };
            match next {
                Next::Answer(answer) => return Ok(Some(*answer)),
                Next::OtherId => return Ok(None),
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

    fn keys(&self, code: Option<&'a CodeKey>) -> RecordKeys<'a> {
        let CreateSubmissionRequest {
            key, receipt_id, ..
        } = self.request;
        let entrant = &self.consumer.id;
        RecordKeys {
            scope: &self.api.scope,
            key,
            entrant,
            code,
            receipt: *receipt_id,
        }
    }

    fn write<'b>(
        &'b self,
        code: &'b VerifiedCode,
        submission: &'b Submission,
    ) -> SubmissionWrite<'b> {
        let CreateSubmissionRequest {
            key, receipt_id, ..
        } = self.request;
        let (body_hash, code) = (self.body_hash, code.resolved.key());
        SubmissionWrite {
            key,
            body_hash,
            code,
            receipt: *receipt_id,
            submission,
        }
    }

    async fn verify_code(&self, known: &mut KnownRecords<'_>) -> Result<VerifiedCode, Error> {
        let Self { api, request, .. } = self;
        let Some(code) = &request.code else {
            known.look_up(None).await?;
            return Ok(VerifiedCode::not_needed());
        };
        let (policy, consumer) = (api.campaign.code, Some(self.consumer));
        let query = CodeQuery {
            scope: &api.scope,
            policy,
            code,
            consumer,
        };
        Ok(self
            .service
            .verifier()
            .verify(query, known, api.now())
            .await?)
    }

    /// Checks the receipt, if there is one, and returns which of the phone's limits apply. A replay of the consumer's
    /// own code takes precedence over any fault of the receipt.
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

    /// Returns the receipt if a submission can use it.
    async fn usable_receipt(&self, receipt: Option<Receipt>) -> Result<Receipt, Error> {
        let at_fault = |code: ErrorCode| Error::from(code).with_field("receipt_id");
        let receipt = receipt.ok_or_else(|| at_fault(ErrorCode::NotFound))?;
        if receipt.state() == ReceiptState::Attached {
            return Err(at_fault(ErrorCode::ReceiptAlreadyAttached));
        }
        let receipt = self
            .service
            .uploads()
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
        code: &VerifiedCode,
        checks: PhoneChecks,
        known: &mut KnownRecords<'_>,
    ) -> Result<Next, Error> {
        let Self { api, .. } = self;
        let submission = self.entered(&code.resolved);
        let (write, entrant) = (self.write(code, &submission), &known.records.entrant);
        let result = self
            .store
            .create_admitted(write, entrant, &api.campaign, checks, api.received_at)
            .await?;
        next(result, submission, known, RecordSource::Conditions)
    }

    async fn reject(
        &self,
        code: &VerifiedCode,
        reason: MessageKey,
        known: &mut KnownRecords<'_>,
    ) -> Result<Next, Error> {
        let Self { api, new, .. } = self;
        let submission = Submission {
            reasons: vec![reason.as_str().to_owned()],
            code_refusal: self.code_refusal(code, reason),
            ..Submission::new(new.clone(), SubmissionStatus::rejected(reason))
        };
        let entrant = &known.records.entrant;
        let log = is_wrong_code(code, reason)
            .then(|| entrant.with_wrong_code(&api.campaign, api.received_at));
        let wrong_code = log.as_ref().map(|log| (entrant, log));
        let result = self
            .store
            .create_rejected(self.write(code, &submission), wrong_code, api.received_at)
            .await?;
        // A rejection's conditions do not cover the code's record.
        next(result, submission, known, RecordSource::Assumed)
    }

    /// The holder of the code, if that is why the submission is rejected. It is in the record that the decision was made on.
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
        code.key()
            .and_then(|key| self.service.verifier().batch_of(&self.api.scope, key))
    }

    /// The submission if nothing refuses it: accepted, or pending with its next step scheduled.
    fn entered(&self, code: &ResolvedCode) -> Submission {
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
                let settled_at = now.after(self.service.speedup().apply(SENTINEL_DELAY));
                (
                    SubmissionStatus::unanswered(),
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
            partner_code: request.code.clone().filter(|_| is_for_partner),
            settling,
            ..Submission::new(self.new.clone(), status)
        }
    }

    /// Answers with the consumer's earlier submission of the same code, unless it has lost the code since.
    async fn replay_code(&self, code: &VerifiedCode, earlier: SubmissionId) -> Result<Next, Error> {
        // Read before the write below: that write requires the submission to still hold the code, so a successful write
        // proves that the submission was not rejected when it was read.
        let submission = self.service.submission(&self.api.scope, earlier).await?;
        if submission.status.state() == State::Rejected {
            return Ok(Next::Load);
        }
        let keys = RecordKeys {
            code: code.resolved.key(),
            ..self.keys(None)
        };
        match self
            .store
            .record_replay(keys, self.body_hash, earlier, self.api.received_at)
            .await?
        {
            ReplayWrite::Recorded => Ok(Next::answer(submission, AnswerOrigin::SameCodeAndPhone)),
            ReplayWrite::KeyUsed(record) => {
                Ok(Next::Answer(Box::new(self.replay_key(record).await?)))
            }
            ReplayWrite::CodeMoved => Ok(Next::Load),
            ReplayWrite::Conflict => Err(contended(true)),
        }
    }

    /// Answers a retry of a request that the campaign accepted at the time, even if the campaign's requirements have
    /// changed.
    async fn replay_or(&self, unmet: Error) -> Result<Answer, Error> {
        let known = self
            .store
            .load_records(self.keys(None), &self.new.day, self.api.received_at)
            .await?;
        match known.idempotency {
            Some(record) => self.replay_key(record).await,
            None => Err(unmet),
        }
    }

    async fn replay_key(&self, record: IdempotencyRecord<SubmissionId>) -> Result<Answer, Error> {
        let Self { service, api, .. } = self;
        if record.body_hash != self.body_hash {
            return Err(ErrorCode::IdempotencyKeyReused.into());
        }
        let submission = service.submission(&api.scope, record.record_id).await?;
        let age = api.received_at.since(submission.created_at);
        let is_with_partner = submission.revision == 0
            && submission
                .settling
                .as_ref()
                .is_some_and(|settling| settling.is_under_way(api.received_at));
        if is_with_partner && age < REQUEST_BUDGET {
            // After the first request's time budget, return the submission in its current state.
            return Err(Error::from(ErrorCode::IdempotencyInProgress)
                .with_retry_after(REQUEST_BUDGET - age));
        }
        Ok(Answer::new(
            submission,
            AnswerOrigin::SameIdempotencyKey {
                was_replay: record.replayed,
            },
        ))
    }
}

/// Whether a new submission records phone, region and claims. After the retention it is a refusal, since the campaign has
/// ended, and the sweep has passed.
fn keeps_person(campaign: &Campaign, received_at: Timestamp) -> bool {
    let until = campaign.keeps_until(PersonalData::Phones);
    until.is_none_or(|until| received_at.after(RETENTION_MARGIN) < until)
}

/// The next move after a decision.
enum Next {
    Answer(Box<Answer>),
    /// Make the submission again with another id.
    OtherId,
    /// Decide again with the records that a failed condition returned.
    Retry,
    /// Decide again after reading all records.
    Load,
    /// The same, because others were writing these records: hundreds of phones may send one code that was published.
    Conflict {
        /// Whether another copy of the request was writing.
        same_request: bool,
    },
}

impl Next {
    fn answer(submission: Submission, kind: AnswerOrigin) -> Self {
        Self::Answer(Box::new(Answer::new(submission, kind)))
    }
}

/// Maps a write result to the next move; `source` says how complete the records of a failed condition are.
fn next(
    result: WriteResult,
    submission: Submission,
    known: &mut KnownRecords<'_>,
    source: RecordSource,
) -> Result<Next, Error> {
    match result {
        WriteResult::Committed => Ok(Next::answer(submission, AnswerOrigin::New)),
        WriteResult::ConditionFailed(records) => {
            known.replace(*records, source);
            Ok(Next::Retry)
        }
        WriteResult::ReferenceTaken => Ok(Next::OtherId),
        WriteResult::Conflict { same_request } => Ok(Next::Conflict { same_request }),
    }
}

/// The error after losing every race. Sending the same request again is safe.
fn contended(same_request: bool) -> Error {
    if same_request {
        Error::from(ErrorCode::IdempotencyInProgress).with_retry_after(IN_PROGRESS_WAIT)
    } else {
        Error::internal("others kept changing the same records")
    }
}
