//! Creates submissions within a time budget, and takes the first step of those that a partner decides.

use std::time::Duration;

use common::app::code_verifier::{CodeQuery, CodeVerifier};
use common::app::partner_gateway::{Answered, AskedFrom, PartnerGateway};
use common::app::uploads::Uploads;
use common::aws::deployment_secret::DeploymentSecrets;
use common::aws::settle_queue::SettleQueues;
use common::config::{self, ConfigError};
use common::domain::campaign::{Campaign, CodePolicy};
use common::domain::ids::SubmissionId;
use common::domain::message::MessageKey;
use common::domain::partner::PartnerRules;
use common::domain::partner::outcome::{PartnerOutcome, Unanswered};
use common::domain::phone::Phone;
use common::domain::retry::{RetryContext, RetrySpeedup};
use common::domain::scope::Scope;
use common::domain::settling::Dependency;
use common::domain::submission::Submission;
use common::error::Error;
use common::http::reply::LogFields;
use common::random;
use common::runtime::http_handler::{ApiRequest, AppContext};
use common::store::batch::BatchGet;
use common::store::code_books::CodeBooks;
use common::store::submission_writes::{RecordKeys, SettleResult, SubmissionStore};
use common::telemetry;
use tokio::time::{Instant, timeout_at};

use crate::answer::{Answer, AnswerOrigin};
use crate::creation::Creation;
use crate::request::{CreateSubmissionRequest, IdentifiedRequest};

/// A throttled phone is refused after a multiple of this time. Good and wrong codes take different calls, which all end
/// well within it, so the reply time does not reveal which one it was.
const THROTTLED_REPLY_STEP: Duration = Duration::from_millis(200);
/// The part of the request's budget reserved for recording the partner's answer.
const WRITE_RESERVE: Duration = Duration::from_secs(1);

pub(crate) struct SubmissionService {
    store: SubmissionStore,
    verifier: CodeVerifier,
    uploads: Uploads,
    partners: PartnerGateway,
    queues: SettleQueues,
    secrets: DeploymentSecrets,
    speedup: RetrySpeedup,
}

impl SubmissionService {
    pub(crate) fn from_context(context: &AppContext) -> Result<Self, ConfigError> {
        let AppContext { env, aws, .. } = context;
        let store = SubmissionStore::from_env(env, &aws.dynamodb())?;
        let books = CodeBooks::from_env(env, aws)?;
        Ok(Self {
            secrets: books.secrets().clone(),
            verifier: CodeVerifier::new(store.codes().clone(), books),
            uploads: Uploads::from_env(env, aws, store.receipts().clone())?,
            partners: PartnerGateway::from_env(env, aws)?,
            queues: SettleQueues::from_env(&Dependency::ALL, env, aws)?,
            speedup: config::retry_speedup(env)?,
            store,
        })
    }

    pub(crate) fn store(&self) -> &SubmissionStore {
        &self.store
    }

    pub(crate) fn verifier(&self) -> &CodeVerifier {
        &self.verifier
    }

    pub(crate) fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    pub(crate) fn speedup(&self) -> RetrySpeedup {
        self.speedup
    }

    /// Fetches the deployment secret before the first event.
    pub(crate) async fn prepare(&self) {
        self.verifier.prepare().await;
    }

    /// Adds the code book and the records that decide the request to a batch read. The code's record is included only
    /// if this environment has the campaign and its code book in its cache.
    pub(crate) fn prefetch(
        &self,
        request: Option<CreateSubmissionRequest>,
        scope: &Scope,
        campaign: Option<&Campaign>,
        batch: &mut BatchGet,
    ) {
        self.verifier.add_to(batch, scope);
        let (Some(request), Some(version)) = (request, self.secrets.cached_version_for_phones())
        else {
            return;
        };
        let (request, policy) = match campaign {
            Some(campaign) => (request.for_campaign(campaign), campaign.code),
            None => (request, CodePolicy::None),
        };
        let CreateSubmissionRequest {
            key,
            phone,
            code,
            receipt_id,
            ..
        } = &request;
        let consumer = version.secret.consumer(scope, phone.clone());
        let query = code.as_ref().map(|code| CodeQuery {
            scope,
            policy,
            code,
            consumer: Some(&consumer),
        });
        let code_key = query.and_then(|query| self.verifier.key_by_cached_book(query));
        let code = code_key.as_ref();
        let entrant = &consumer.id;
        self.store.add_to(
            batch,
            RecordKeys {
                scope,
                key,
                entrant,
                code,
                receipt: *receipt_id,
            },
        );
    }

    /// Creates a submission (accepted, pending or rejected), or answers with an earlier one.
    ///
    /// A write that completed before the timeout stays, and a retry of the request finds it.
    pub(crate) async fn create(
        &self,
        api: &ApiRequest,
        request: CreateSubmissionRequest,
    ) -> Result<Answer, Error> {
        let started = Instant::now();
        let creating = async {
            let version = self.secrets.version_for_phones().await?;
            let mut request = request;
            loop {
                let identified = IdentifiedRequest::new(request, &api.scope, &version.secret);
                let identified =
                    identified.ok_or_else(|| Error::internal("a phone cannot be encrypted"))?;
                if let Some(answer) = Creation::new(self, api, &identified).run().await? {
                    return Ok((answer, identified.consumer.phone));
                }
                // Another submission of the scope has this reference.
                request = identified.request;
            }
        };
        let in_time = timeout_at(api.deadline, Box::pin(creating)).await;
        let (answer, phone) = in_time.unwrap_or_else(|_| Err(Error::late()))?;
        if answer.origin != AnswerOrigin::New {
            return Ok(answer);
        }
        if answer.submission.status.message_key() == MessageKey::RateLimited {
            wait_for_throttled_reply(started).await;
        }
        let answer = self.take_first_step(api, answer, &phone).await?;
        self.queues.wake(&answer.submission, api.now()).await;
        Ok(answer)
    }

    /// Asks the partner about a new submission that was written with that step claimed.
    async fn take_first_step(
        &self,
        api: &ApiRequest,
        mut answer: Answer,
        phone: &Phone,
    ) -> Result<Answer, Error> {
        let settling = answer.submission.settling.as_ref();
        if settling.is_some_and(|settling| settling.is_under_way(api.received_at)) {
            let Answer {
                submission,
                log_fields,
                ..
            } = &mut answer;
            *submission =
                Box::pin(self.ask_partner(api, submission.clone(), phone, log_fields)).await?;
        }
        Ok(answer)
    }

    /// Asks the partner about a submission just written, and records the outcome. If anything fails here, the
    /// submission stays pending and is settled later.
    async fn ask_partner(
        &self,
        api: &ApiRequest,
        before: Submission,
        phone: &Phone,
        log_fields: &mut LogFields,
    ) -> Result<Submission, Error> {
        let left = api.deadline.saturating_duration_since(Instant::now());
        let limit = PartnerRules::MAX_TIMEOUT.min(left.saturating_sub(WRITE_RESERVE));
        let clock = || api.now();
        let asked = self.partners.ask(
            &before,
            phone,
            &api.campaign,
            limit,
            AskedFrom::Request,
            clock,
        );
        let answered = asked.await;
        let Answered { outcome, lease } = answered.unwrap_or_else(|error| {
            log_fields.error_chain = telemetry::error_chain(&error);
            PartnerOutcome::NoAnswer(Unanswered::service_failed()).into()
        });
        log_fields.metrics.extend(outcome.metrics());
        let retry = RetryContext {
            now: api.now(),
            speedup: self.speedup,
            jitter: random::unit_f64(),
        };
        let entries = api.campaign.entries_per_submission;
        let Ok(after) = outcome.apply(&before, entries, retry) else {
            self.partners.release(lease, before.submission_id).await;
            return Ok(before);
        };
        let wrong_code_in = outcome.is_wrong_code().then_some(&*api.campaign);
        let store = self.store.with_deadline(api.deadline);
        let settling = store.settle(&before, &after, wrong_code_in);
        let releasing = self.partners.release(lease, before.submission_id);
        let (settled, ()) = tokio::join!(settling, releasing);
        match settled {
            Ok(SettleResult::Committed) => Ok(after),
            // An operator changed the submission first.
            Ok(SettleResult::StaleRevision | SettleResult::ReceiptAlreadyUsed) => {
                self.submission(&api.scope, before.submission_id).await
            }
            Err(error) => {
                // The submission stays as written and is settled after this step's lease expires.
                log_fields
                    .error_chain
                    .extend(telemetry::error_chain(&error));
                Ok(before)
            }
        }
    }

    /// Reads a submission that another record names. Both were written in one transaction, so it exists.
    pub(crate) async fn submission(
        &self,
        scope: &Scope,
        id: SubmissionId,
    ) -> Result<Submission, Error> {
        let found = self.store.submissions().get(scope, id).await?;
        found.ok_or_else(|| Error::internal("a record names a submission that is not there"))
    }
}

async fn wait_for_throttled_reply(started: Instant) {
    let steps = started.elapsed().as_millis() / THROTTLED_REPLY_STEP.as_millis() + 1;
    let steps = u32::try_from(steps).unwrap_or(u32::MAX);
    tokio::time::sleep_until(started + THROTTLED_REPLY_STEP.saturating_mul(steps)).await;
}
