//! `GET /api/v1/submissions/{id}`: the current state of a submission.

use common::config::ConfigError;
use common::domain::SubmissionId;
use common::error::{Error, ErrorCode};
use common::http::reply::Reply;
use common::http::routes::{self, Route};
use common::http::submission::SubmissionObject;
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use common::store::submissions::Submissions;

pub struct GetSubmission {
    submissions: Submissions,
}

impl Endpoint for GetSubmission {
    const ROUTE: Route = routes::GET_SUBMISSION;

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        Ok(Self {
            submissions: Submissions::from_env(&context.env, &context.aws.dynamodb())?,
        })
    }

    async fn handle(&self, request: ApiRequest) -> Result<Reply, Error> {
        let id = request.path_id::<SubmissionId>()?;
        let submission = self
            .submissions
            .get(&request.scope, id)
            .await?
            .ok_or(ErrorCode::NotFound)?;
        let object = SubmissionObject::new(
            &submission,
            &request.campaign,
            request.language(),
            false,
            request.received_at,
        );
        let reply = Reply::ok(&object)?.with_subject(submission.submission_id);
        Ok(reply.with_reference(&submission.reference()))
    }
}
