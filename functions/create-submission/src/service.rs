//! Entering a consumer: decide from what is known, write on the condition that it is still so, and
//! when it is not, decide again from what the failed condition brought back.

use std::time::Duration;

use common::app::code_verifier::{Acceptance, CodeVerifier, ResolvedCode, Staleness};
use common::app::partner_gateway::{Answered, Caller, PartnerGateway};
use common::app::uploads::Uploads;
use common::aws::settle_queue::SettleQueues;
use common::config::{self, ConfigError};
use common::domain::admission::{CodeStatus, Decision, decide};
use common::domain::campaign::{Campaign, CodePolicy};
use common::domain::entrant::PhoneChecks;
use common::domain::ids::SubmissionId;
use common::domain::message::MessageKey;
use common::domain::partner::outcome::{PartnerOutcome, Unanswered};
use common::domain::receipt::Receipt;
use common::domain::receipt::photo::MAX_BYTES;
use common::domain::receipt::{ReceiptState, Source as ReceiptSource};
use common::domain::retry::{RetryContext, RetrySpeedup};
use common::domain::scope::Scope;
use common::domain::settling::{Dependency, PendingSettlement, SENTINEL_DELAY};
use common::domain::submission::{State, Submission, SubmissionStatus};
use common::error::{Error, ErrorCode};
use common::http::reply::LogFields;
use common::random;
use common::runtime::http_handler::{ApiRequest, AppContext};
use common::store::batch::BatchGet;
use common::store::code_books::CodeBooks;
use common::store::idempotency_keys::IdempotencyRecord;
use common::store::submission_writes::{
    CodeLookup, ExistingState, Records, ReplayWrite, SettleResult, SubmissionStore, SubmissionWrite,
    WriteResult,
};
use common::store::transaction::backoff;
use common::telemetry;
use tokio::time::Instant;

use crate::request::CreateSubmissionRequest;

/// Decisions for one request. Each further one is taken because somebody else changed what it rested
/// on; ten wrong codes at once from one phone, the worst honest case, need no more than these.
const MAX_ATTEMPTS: u32 = 24;
/// All that one request may take: well before API Gateway gives up on it.
const BUDGET: Duration = Duration::from_secs(10);
/// What a caller is told to wait when the same request is being worked on elsewhere.
const IN_PROGRESS_WAIT: Duration = Duration::from_secs(1);
/// A throttled phone is refused after a multiple of this. A good code and a wrong one take different calls, which end
/// well within it, so that the time does not tell one from the other.
const THROTTLED_REPLY_STEP: Duration = Duration::from_millis(200);
/// All that asking a partner may take.
const PARTNER_BUDGET: Duration = Duration::from_secs(8);
/// Kept of the ten seconds for writing down what the partner said.
const WRITING: Duration = Duration::from_secs(1);

/// Where consumers are entered.
pub(crate) struct SubmissionService {
    store: SubmissionStore,
    verifier: CodeVerifier,
    uploads: Uploads,
    partners: PartnerGateway,
    queues: SettleQueues,
    hasten: RetrySpeedup,
}

/// What a request is answered with.
pub(crate) struct Answer {
    /// The submission.
    pub(crate) submission: Submission,
    /// It is an earlier one of the same code and phone.
    pub(crate) replayed: bool,
    /// The request's Idempotency-Key led to it before.
    pub(crate) idempotent_replay: bool,
    /// What else the log should tell.
    pub(crate) notes: LogFields,
}

impl Answer {
    /// The submission that this request made.
    fn new(submission: Submission) -> Self {
        Self { submission, replayed: false, idempotent_replay: false, notes: LogFields::default() }
    }
}

/// How far the tables have been asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Not at all: everything is taken for harmless.
    Nothing,
    /// By the conditions of a write: what failed came back, what did not was harmless.
    Conditions,
    /// By reading everything.
    Read,
}

impl SubmissionService {
    /// Connects to what the environment names.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub(crate) fn from_context(setup: &AppContext) -> Result<Self, ConfigError> {
        let AppContext { env, aws, .. } = setup;
        let store = SubmissionStore::from_env(env, &aws.dynamodb())?;
        Ok(Self {
            verifier: CodeVerifier::new(store.codes().clone(), CodeBooks::from_env(env, aws)?),
            uploads: Uploads::from_env(env, aws, store.receipts().clone())?,
            partners: PartnerGateway::from_env(env, aws)?,
            queues: SettleQueues::from_env(&Dependency::ALL, env, aws)?,
            hasten: config::hasten(env)?,
            store,
        })
    }

    /// Fetches what entering needs besides the tables, before the first event.
    pub(crate) async fn prepare(&self) {
        self.verifier.prepare().await;
    }

    /// Adds to a batch what deciding about a request takes: the code book, and the records that decide. The code's record
    /// can be named where the campaign and its book were seen here before.
    pub(crate) fn prefetch(
        &self,
        wish: Option<CreateSubmissionRequest>,
        scope: &Scope,
        campaign: Option<&Campaign>,
        batch: &mut BatchGet,
    ) {
        self.verifier.add_to(batch, scope);
        let Some(mut wish) = wish else { return };
        let mut code_name = None;
        if let Some(campaign) = campaign {
            wish = wish.for_campaign(campaign);
            let code = wish.code.as_ref();
            code_name = code
                .and_then(|code| self.verifier.name_by_cached_book(scope, code, &wish.phone, campaign.code));
        }
        let CreateSubmissionRequest { key, phone, receipt_id, .. } = &wish;
        let records = Records { scope, key, phone, code: code_name.as_ref(), receipt: *receipt_id };
        self.store.add_to(batch, records);
    }

    /// Enters the consumer, or records why not, or answers with what was decided before.
    ///
    /// Whatever was written when time is up stays, and the same request finds it.
    pub(crate) async fn enter(
        &self,
        call: &ApiRequest,
        wish: &CreateSubmissionRequest,
    ) -> Result<Answer, Error> {
        let started = Instant::now();
        let in_time = tokio::time::timeout(BUDGET, self.decide_and_write(call, wish)).await;
        let mut answer = in_time.unwrap_or_else(|_| Err(contended(true)))?;
        if answer.idempotent_replay || answer.replayed {
            return Ok(answer);
        }
        if answer.submission.status.message_key() == MessageKey::RateLimited {
            let steps = started.elapsed().as_millis() / THROTTLED_REPLY_STEP.as_millis() + 1;
            let steps = u32::try_from(steps).unwrap_or(u32::MAX);
            tokio::time::sleep_until(started + THROTTLED_REPLY_STEP.saturating_mul(steps)).await;
        }
        let asks = answer
            .submission
            .settling
            .as_ref()
            .is_some_and(|settling| settling.is_under_way(call.received_at));
        if asks {
            answer.submission = self.ask_partner(call, answer.submission, &mut answer.notes).await?;
        }
        self.queues.wake(&answer.submission, call.now()).await;
        Ok(answer)
    }

    /// Asks the partner about a submission just written, and writes down what follows. Whatever goes wrong
    /// here, the submission stands and is settled later.
    async fn ask_partner(
        &self,
        call: &ApiRequest,
        before: Submission,
        notes: &mut LogFields,
    ) -> Result<Submission, Error> {
        let spent = call.now().since(call.received_at);
        let limit = PARTNER_BUDGET.min(BUDGET.saturating_sub(spent).saturating_sub(WRITING));
        let clock = || call.now();
        let answered = self.partners.ask(&before, &call.campaign, limit, Caller::Request, clock).await;
        let Answered { outcome, lease } = answered.unwrap_or_else(|error| {
            notes.error_chain = telemetry::error_chain(&error);
            PartnerOutcome::NoAnswer(Unanswered::service_failed()).into()
        });
        notes.metrics.extend(outcome.metrics());
        let retry = RetryContext { now: call.now(), speedup: self.hasten, jitter: random::unit_f64() };
        let entries = call.campaign.entries_per_submission;
        let Ok(after) = outcome.applied_to(&before, entries, retry) else {
            self.partners.release(lease).await;
            return Ok(before);
        };
        let wrong = outcome.is_wrong_code().then_some(&*call.campaign);
        let (settled, ()) =
            tokio::join!(self.store.settle(&before, &after, wrong), self.partners.release(lease));
        match settled {
            Ok(SettleResult::Committed) => Ok(after),
            // Somebody else was first: an operator.
            Ok(SettleResult::StaleRevision | SettleResult::ReceiptAlreadyUsed) => {
                self.submission(&call.scope, before.submission_id).await
            }
            // It stands as it was written, and is settled once this step is taken for lost.
            Err(_) => Ok(before),
        }
    }

    async fn decide_and_write(
        &self,
        call: &ApiRequest,
        wish: &CreateSubmissionRequest,
    ) -> Result<Answer, Error> {
        self.verifier.take_over(&call.prefetched, &call.scope, call.received_at)?;
        let draft = draft(call, wish);
        if let Err(unmet) = wish.check(call) {
            // A retry gets what the first try led to, whatever the campaign has come to ask for since.
            let known =
                self.store.look(entry(wish, &ResolvedCode::NotNeeded, &draft), call.received_at).await?;
            let Some(request) = known.request else { return Err(unmet) };
            return self.answer_again(call, wish, request).await;
        }
        let mut known = ExistingState::default();
        let mut source = Source::Nothing;
        let mut staleness = Staleness::Cached;
        let mut receipt = None;
        for round in 1..=MAX_ATTEMPTS {
            let mut resolved = self.resolved(call, wish, &known, staleness).await?;
            let source_before = source;
            if source == Source::Nothing && round == 1 {
                let entry = entry(wish, &resolved, &draft);
                let (read, is_complete) = self.store.find_in(&call.prefetched, entry, call.received_at)?;
                known = read;
                source = if is_complete { Source::Read } else { Source::Nothing };
            }
            if wish.receipt_id.is_some() && source == Source::Nothing {
                // What is wrong with a receipt is told before anything is decided.
                known = self.store.look(entry(wish, &resolved, &draft), call.received_at).await?;
                source = Source::Read;
            }
            if source == Source::Read && source_before != source {
                receipt = known.receipt.take().or(receipt);
                resolved = self.resolved(call, wish, &known, staleness).await?;
            }
            let mut finding = resolved.finding(&known.code, Some(&wish.phone));
            if finding == CodeStatus::Invalid && staleness == Staleness::Cached {
                staleness = Staleness::BeforeRejecting;
                let fresh = self.resolved(call, wish, &known, staleness).await?;
                if fresh.name() != resolved.name() {
                    // What is known is of another record.
                    known.code = CodeLookup::NoRecordNeeded;
                    source = Source::Nothing;
                }
                resolved = fresh;
                finding = resolved.finding(&known.code, Some(&wish.phone));
            }
            let mut submission = draft.clone();
            let mut entry = entry(wish, &resolved, &draft);
            if let Some(request) = known.request.take() {
                return self.answer_again(call, wish, request).await;
            }
            // A replay of the consumer's own code comes before any fault of the receipt that comes along.
            if wish.receipt_id.is_some() && !matches!(finding, CodeStatus::OwnedByCaller(_)) {
                receipt = Some(self.usable(receipt, call).await?);
            }
            let checks = PhoneChecks {
                throttle: finding != CodeStatus::NotNeeded || receipt.as_ref().is_some_and(Receipt::is_typed),
                open_receipts: receipt.is_some(),
            };

            let written = match decide(&call.campaign, &known.entrant, &finding, checks, call.received_at) {
                Decision::Replay(earlier) => {
                    if let Some(answer) = self.replay(call, wish, entry, earlier).await? {
                        return Ok(answer);
                    }
                    known = self.store.look(entry, call.received_at).await?;
                    source = Source::Read;
                    receipt = known.receipt.take().or(receipt);
                    continue;
                }
                Decision::Enter => {
                    submission.code_key = resolved.name().map(|name| name.key(&call.scope));
                    submission.receipt_id = wish.receipt_id;
                    self.stand(&mut submission, &resolved, wish, call);
                    entry.submission = &submission;
                    source = Source::Conditions;
                    self.store.enter(entry, &known.entrant, &call.campaign, checks, call.received_at).await?
                }
                Decision::Refuse(key) => {
                    let guessed = finding == CodeStatus::Invalid && key == MessageKey::Invalid;
                    if source == Source::Nothing || (guessed && source == Source::Conditions) {
                        known = self.store.look(entry, call.received_at).await?;
                        source = Source::Read;
                        continue;
                    }
                    submission.status = SubmissionStatus::rejected(key);
                    submission.reasons = vec![key.as_str().to_owned()];
                    entry.submission = &submission;
                    source = Source::Nothing;
                    let wrong =
                        guessed.then(|| known.entrant.with_wrong_code(&call.campaign, call.received_at));
                    let wrong = wrong.as_ref().map(|wrong| (&known.entrant, wrong));
                    self.store.refuse(entry, wrong, call.received_at).await?
                }
            };
            match written {
                WriteResult::Committed => {
                    return Ok(Answer::new(submission));
                }
                WriteResult::ConditionFailed(now_known) => {
                    known = *now_known;
                    receipt = known.receipt.take().or(receipt);
                }
                WriteResult::Conflict { same_request } => return Err(contended(same_request)),
            }
            if round > 1 {
                backoff(round).await;
            }
        }
        Err(contended(false))
    }

    /// Answers with the consumer's earlier submission of the same code; `None` when it lost the code meanwhile.
    async fn replay(
        &self,
        call: &ApiRequest,
        wish: &CreateSubmissionRequest,
        entry: SubmissionWrite<'_>,
        earlier: SubmissionId,
    ) -> Result<Option<Answer>, Error> {
        // Read first: the write below holds while it has the code, so it was not rejected when it was read.
        let submission = self.submission(&call.scope, earlier).await?;
        if submission.status.state() == State::Rejected {
            return Ok(None);
        }
        Ok(match self.store.remember_replay(entry, earlier, call.received_at).await? {
            ReplayWrite::Recorded => Some(Answer { replayed: true, ..Answer::new(submission) }),
            ReplayWrite::KeyUsed(request) => Some(self.answer_again(call, wish, request).await?),
            ReplayWrite::CodeMoved => None,
            ReplayWrite::Conflict => return Err(contended(true)),
        })
    }

    /// How a submission that nothing speaks against stands at first: in, or open with its next step planned.
    fn stand(
        &self,
        submission: &mut Submission,
        resolved: &ResolvedCode,
        wish: &CreateSubmissionRequest,
        call: &ApiRequest,
    ) {
        let prize = resolved.prize().map(str::to_owned);
        let now = call.received_at;
        let (status, settling) = match (submission.receipt_id, resolved.acceptance()) {
            (Some(_), Acceptance::Immediate | Acceptance::Delayed) => {
                (SubmissionStatus::receipt_received(), Some(PendingSettlement::at_once(now, prize)))
            }
            (_, Acceptance::ByPartner) => {
                submission.partner_code = wish.code.clone();
                (SubmissionStatus::checking(), Some(PendingSettlement::asking(now)))
            }
            (None, Acceptance::Immediate) => {
                (SubmissionStatus::accepted(call.campaign.entries_per_submission, prize), None)
            }
            (None, Acceptance::Delayed) => {
                let settled_at = now.after(self.hasten.apply(SENTINEL_DELAY));
                (SubmissionStatus::unanswered(), Some(PendingSettlement::at_once(settled_at, prize)))
            }
            (_, Acceptance::StaysPending(MessageKey::ReceiptReceived)) => (
                SubmissionStatus::receipt_received(),
                Some(PendingSettlement::at_once(now, prize).escalate(now)),
            ),
            (_, Acceptance::StaysPending(_)) => {
                (SubmissionStatus::checking(), Some(PendingSettlement::at_once(now, prize).escalate(now)))
            }
        };
        submission.status = status;
        submission.settling = settling;
    }

    /// The receipt, when a submission can use it.
    async fn usable(&self, receipt: Option<Receipt>, call: &ApiRequest) -> Result<Receipt, Error> {
        let at_fault = |code: ErrorCode| Error::from(code).with_field("receipt_id");
        let receipt = receipt.ok_or_else(|| at_fault(ErrorCode::NotFound))?;
        if receipt.state() == ReceiptState::Attached {
            return Err(at_fault(ErrorCode::ReceiptAlreadyAttached));
        }
        let receipt = self.uploads.reconcile(receipt, call.received_at).await?;
        match (&receipt.source, receipt.arrived) {
            (ReceiptSource::Typed { .. }, _) => Ok(receipt),
            (ReceiptSource::Photo { .. }, None) => Err(at_fault(ErrorCode::ReceiptNotUploaded)),
            (ReceiptSource::Photo { .. }, Some(arrived)) if arrived.bytes > MAX_BYTES => {
                Err(at_fault(ErrorCode::FileTooLarge))
            }
            (ReceiptSource::Photo { .. }, Some(arrived)) if arrived.photo_type.is_none() => {
                Err(at_fault(ErrorCode::FileWrongType))
            }
            (ReceiptSource::Photo { .. }, Some(_)) => Ok(receipt),
        }
    }

    /// What the code is, given what is known; an imported code's own record says which batch it is of.
    async fn resolved(
        &self,
        call: &ApiRequest,
        wish: &CreateSubmissionRequest,
        known: &ExistingState,
        staleness: Staleness,
    ) -> Result<ResolvedCode, Error> {
        let Some(code) = &wish.code else { return Ok(ResolvedCode::NotNeeded) };
        if call.campaign.code == CodePolicy::Partner {
            return Ok(self
                .verifier
                .resolve_partner_code(&call.scope, code, &wish.phone, call.now())
                .await?);
        }
        let batch = known.code.imported_batch();
        Ok(self.verifier.resolve(&call.scope, code, Some(&wish.phone), batch, staleness, call.now()).await?)
    }

    /// Answers with what the Idempotency-Key led to before.
    async fn answer_again(
        &self,
        call: &ApiRequest,
        wish: &CreateSubmissionRequest,
        request: IdempotencyRecord<SubmissionId>,
    ) -> Result<Answer, Error> {
        if !wish.body_hash.matches(&request.body_hash) {
            return Err(ErrorCode::IdempotencyKeyReused.into());
        }
        let submission = self.submission(&call.scope, request.record_id).await?;
        let age = call.received_at.since(submission.created_at);
        let first_asks = submission.revision == 0
            && submission.settling.as_ref().is_some_and(|settling| settling.is_under_way(call.received_at));
        if first_asks && age < BUDGET {
            // The first try is with the partner; once its time is up, the submission is given as it stands.
            return Err(Error::from(ErrorCode::IdempotencyInProgress).with_retry_after(BUDGET - age));
        }
        // The earlier submission may have been rejected since.
        let replayed = request.replayed && submission.status.state() != State::Rejected;
        Ok(Answer { replayed, idempotent_replay: true, ..Answer::new(submission) })
    }

    /// A submission that another record speaks of; they are written together, so it is there.
    async fn submission(&self, scope: &Scope, id: SubmissionId) -> Result<Submission, Error> {
        let found = self.store.submissions().get(scope, id).await?;
        found.ok_or_else(|| Error::internal("a record names a submission that is not there"))
    }
}

/// What is to be written, or looked at, for a request.
fn entry<'a>(
    wish: &'a CreateSubmissionRequest,
    resolved: &'a ResolvedCode,
    submission: &'a Submission,
) -> SubmissionWrite<'a> {
    let CreateSubmissionRequest { key, body_hash, receipt_id, .. } = wish;
    SubmissionWrite {
        key,
        body_hash: body_hash.as_str(),
        code: resolved.name(),
        receipt: *receipt_id,
        submission,
    }
}

/// The submission before anything is decided.
fn draft(call: &ApiRequest, wish: &CreateSubmissionRequest) -> Submission {
    Submission {
        submission_id: random::submission_id(),
        reference: random::reference(),
        scope: call.scope.clone(),
        phone: wish.phone.clone(),
        code_key: None,
        receipt_id: None,
        receipt: None,
        purchase: None,
        partner_code: None,
        upstream: None,
        status: SubmissionStatus::rejected(MessageKey::ServiceUnavailable),
        reasons: Vec::new(),
        day: call.received_at.day_in(call.campaign.timezone),
        region: wish.region.clone(),
        claimed: wish.claimed.clone(),
        decision: None,
        settling: None,
        revision: 0,
        created_at: call.received_at,
        updated_at: call.received_at,
        request_id: Some(call.http.ids.request.clone()),
        history: Vec::new(),
    }
}

/// Nothing was written, so the same request can be sent again.
fn contended(same_request: bool) -> Error {
    if same_request {
        Error::from(ErrorCode::IdempotencyInProgress).with_retry_after(IN_PROGRESS_WAIT)
    } else {
        Error::internal("others kept changing the same records")
    }
}
