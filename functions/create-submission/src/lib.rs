//! `POST /api/v1/submissions`: a consumer enters, or learns why not.
//!
//! `wish` reads the request; `enter` decides and writes, once and for good.

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
use crate::service::{Answer, SubmissionService};

/// The operation.
pub struct CreateSubmission {
    desk: SubmissionService,
}

impl Endpoint for CreateSubmission {
    const ROUTE: Route = routes::CREATE_SUBMISSION;

    fn connect(setup: &AppContext) -> Result<Self, ConfigError> {
        Ok(Self { desk: SubmissionService::from_context(setup)? })
    }

    async fn prepare(&self) {
        self.desk.prepare().await;
    }

    fn prefetch(&self, request: &Request, scope: &Scope, campaign: Option<&Campaign>, batch: &mut BatchGet) {
        // What is wrong with a request is told once its key is known to be good.
        let wish = CreateSubmissionRequest::parse(request, scope.environment).ok();
        self.desk.prefetch(wish, scope, campaign, batch);
    }

    async fn handle(&self, call: ApiRequest) -> Result<Reply, Error> {
        let wish =
            CreateSubmissionRequest::parse(&call.http, call.scope.environment)?.for_campaign(&call.campaign);
        let Answer { submission, replayed, idempotent_replay, notes } = self.desk.enter(&call, &wish).await?;
        let object =
            SubmissionObject::new(&submission, &call.campaign, call.language(), replayed, call.now());
        let reply = Reply::ok(&object)?
            .with_outcome(submission.status.message_key().as_str())
            .with_notes(notes)
            .with_subject(submission.submission_id)
            .with_reference(&submission.reference);
        Ok(if idempotent_replay { reply.idempotent_replayed() } else { reply })
    }
}
