//! `POST /api/v1/submissions`: enters a consumer, or says why not.
//!
//! `request` reads the request; `service` gives it its time and asks the partner; `creation` decides and writes by the
//! records in `state`; `answer` is the submission that it leads to.

mod answer;
mod creation;
mod request;
mod service;
mod state;

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

/// The operation.
pub struct CreateSubmission {
    service: SubmissionService,
}

impl Endpoint for CreateSubmission {
    const ROUTE: Route = routes::CREATE_SUBMISSION;

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        Ok(Self { service: SubmissionService::from_context(context)? })
    }

    async fn prepare(&self) {
        self.service.prepare().await;
    }

    fn prefetch(&self, request: &Request, scope: &Scope, campaign: Option<&Campaign>, batch: &mut BatchGet) {
        // The faults of a request are told once its API key is known to be good.
        let request = CreateSubmissionRequest::parse(request, scope.environment).ok();
        self.service.prefetch(request, scope, campaign, batch);
    }

    async fn handle(&self, api: ApiRequest) -> Result<Reply, Error> {
        let request = CreateSubmissionRequest::parse(&api.http, api.scope.environment)?;
        let answer = self.service.create(&api, &request.for_campaign(&api.campaign)).await?;
        let submission = &answer.submission;
        let replayed = answer.is_replayed();
        let object = SubmissionObject::new(submission, &api.campaign, api.language(), replayed, api.now());
        let reply = Reply::ok(&object)?
            .with_outcome(submission.status.message_key().as_str())
            .with_subject(submission.submission_id)
            .with_reference(&submission.reference);
        let reply = if answer.is_idempotent_replay() { reply.idempotent_replayed() } else { reply };
        Ok(reply.with_notes(answer.log_fields))
    }
}
