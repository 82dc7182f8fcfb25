//! `POST /api/v1/submissions`: enters a consumer, or says why not.
//!
//! `request` parses the request; `service` enforces the time budget and asks the partner; `creation` decides and
//! writes, based on the records in `known_records`; `answer` is the resulting submission.

mod answer;
mod creation;
mod known_records;
mod request;
mod service;

use common::config::ConfigError;
use common::domain::campaign::Campaign;
use common::domain::scope::Scope;
use common::error::Error;
use common::http::reply::Reply;
use common::http::request::Request;
use common::http::routes::{self, Route};
use common::http::submission::SubmissionObject;
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use common::store::batch::BatchGet;

use crate::request::CreateSubmissionRequest;
use crate::service::SubmissionService;

pub struct CreateSubmission {
    service: SubmissionService,
}

impl Endpoint for CreateSubmission {
    const ROUTE: Route = routes::CREATE_SUBMISSION;

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        Ok(Self {
            service: SubmissionService::from_context(context)?,
        })
    }

    async fn prepare(&self) {
        self.service.prepare().await;
    }

    fn prefetch(
        &self,
        request: &Request,
        scope: &Scope,
        campaign: Option<&Campaign>,
        batch: &mut BatchGet,
    ) {
        // `handle` reports an invalid request, after the API key was checked.
        let request = CreateSubmissionRequest::parse(request, scope.environment).ok();
        self.service.prefetch(request, scope, campaign, batch);
    }

    async fn handle(&self, api: ApiRequest) -> Result<Reply, Error> {
        let request = CreateSubmissionRequest::parse(&api.http, api.scope.environment)?;
        let answer = self
            .service
            .create(&api, request.for_campaign(&api.campaign))
            .await?;
        let submission = &answer.submission;
        let replayed = answer.is_replayed();
        let object = SubmissionObject::new(
            submission,
            &api.campaign,
            api.language(),
            replayed,
            api.now(),
        );
        let reply = Reply::ok(&object)?
            .with_outcome(submission.status.message_key().as_str())
            .with_subject(submission.submission_id)
            .with_reference(&submission.reference());
        let reply = if answer.is_idempotent_replay() {
            reply.idempotent_replayed()
        } else {
            reply
        };
        Ok(reply.with_log_fields(answer.log_fields))
    }
}
