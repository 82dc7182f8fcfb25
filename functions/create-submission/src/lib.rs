//! `POST /api/v1/submissions`: enters a consumer, or says why not.

mod created;
mod creation;
mod first_step;
mod known_records;
mod request;

use std::time::Duration;

use common::app::code_verifier::{CodeQuery, CodeVerifier};
use common::app::partner_gateway::PartnerGateway;
use common::app::uploads::Uploads;
use common::app::winning_moments::WinningMoments;
use common::aws::StartSecret;
use common::aws::deployment_secret::DeploymentSecrets;
use common::aws::settle_queue::SettleQueues;
use common::config::{self, ConfigError};
use common::domain::{Campaign, Dependency, MessageKey, RetrySpeedup, Scope};
use common::error::Error;
use common::http::reply::Reply;
use common::http::request::Request;
use common::http::routes::{self, Route};
use common::http::submission::SubmissionObject;
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use common::store::batch::BatchGet;
use common::store::code_books::CodeBooks;
use common::store::submission_writes::SubmissionStore;
use tokio::time::{Instant, timeout_at};

use crate::created::{CreatedSubmission, Origin};
use crate::creation::Creation;
use crate::request::CreateSubmissionRequest;

/// A throttled phone waits for a multiple of this, above all calls, so that time does not tell good
/// codes from wrong ones.
const THROTTLED_REPLY_STEP: Duration = Duration::from_millis(200);

pub struct CreateSubmission {
    store: SubmissionStore,
    verifier: CodeVerifier,
    uploads: Uploads,
    partners: PartnerGateway,
    moments: WinningMoments,
    queues: SettleQueues,
    secrets: DeploymentSecrets,
    speedup: RetrySpeedup,
}

impl Endpoint for CreateSubmission {
    const ROUTE: Route = routes::CREATE_SUBMISSION;
    const SECRETS: &[StartSecret] = &[StartSecret::Deployment, StartSecret::Moments];

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        let AppContext { env, aws, .. } = context;
        let store = SubmissionStore::from_env(env, &aws.dynamodb())?;
        let books = CodeBooks::from_env(env, aws)?;
        Ok(Self {
            secrets: books.secrets().clone(),
            verifier: CodeVerifier::new(store.codes().clone(), books),
            uploads: Uploads::from_env(env, aws, store.receipts().clone())?,
            partners: PartnerGateway::from_env(env, aws)?,
            moments: WinningMoments::from_env(env, aws, &store)?,
            queues: SettleQueues::from_env(&Dependency::ALL, env, aws)?,
            speedup: config::retry_speedup(env)?,
            store,
        })
    }

    /// The code's record only if campaign and code book are cached.
    fn prefetch(
        &self,
        request: &Request,
        scope: &Scope,
        campaign: Option<&Campaign>,
        batch: &mut BatchGet,
    ) {
        self.verifier.add_to(batch, scope);
        self.moments.add_to(batch, scope, campaign);
        // `handle` reports it after the API key was checked.
        let request = CreateSubmissionRequest::parse(request, scope.environment);
        let secret = self.secrets.cached_version_for_phones();
        let (Ok(request), Some(version)) = (request, secret) else {
            return;
        };
        let consumer = version.secret.consumer(scope, request.phone.clone());
        let key = |campaign: &Campaign| {
            let code = request.code_for(campaign)?;
            self.verifier.key_by_cached_book(CodeQuery {
                scope,
                policy: campaign.code,
                code: &code,
                consumer: Some(&consumer),
            })
        };
        let code = campaign.and_then(key);
        let keys = request.record_keys(scope, &consumer.id);
        self.store.add_to(batch, keys.with_code(code.as_ref()));
    }

    async fn handle(&self, api: ApiRequest) -> Result<Reply, Error> {
        let request = CreateSubmissionRequest::parse(&api.http, api.scope.environment)?;
        let created = self.create(&api, &request).await?;
        let submission = &created.submission;
        let (campaign, language) = (&api.campaign, api.language());
        let replayed = created.is_replayed();
        let object = SubmissionObject::new(submission, campaign, language, replayed, api.now());
        let reply = Reply::ok(&object)?
            .with_outcome(submission.status.message_key().as_str())
            .with_subject(submission.submission_id)
            .with_reference(&submission.reference());
        let reply = if created.is_idempotent_replay() {
            reply.idempotent_replayed()
        } else {
            reply
        };
        Ok(reply.with_log_fields(created.log_fields))
    }
}

impl CreateSubmission {
    /// A write completed before the timeout stays, and a retry finds it.
    async fn create(
        &self,
        api: &ApiRequest,
        request: &CreateSubmissionRequest,
    ) -> Result<CreatedSubmission, Error> {
        let started = Instant::now();
        let creating = async {
            let version = self.secrets.version_for_phones().await?;
            let creation = Creation::new(self, api, request, &version.secret);
            creation.run().await
        };
        let in_time = timeout_at(api.deadline, Box::pin(creating)).await;
        let mut created = in_time.unwrap_or_else(|_| Err(Error::late()))?;
        if created.origin != Origin::New {
            return Ok(created);
        }
        if created.submission.status.message_key() == MessageKey::RateLimited {
            wait_for_throttled_reply(started).await;
        }
        self.take_first_step(api, &mut created, &request.phone)
            .await?;
        self.queues.wake(&created.submission, api.now()).await;
        Ok(created)
    }
}

async fn wait_for_throttled_reply(started: Instant) {
    let steps = started.elapsed().as_millis() / THROTTLED_REPLY_STEP.as_millis() + 1;
    let steps = u32::try_from(steps).unwrap_or(u32::MAX);
    tokio::time::sleep_until(started + THROTTLED_REPLY_STEP.saturating_mul(steps)).await;
}
