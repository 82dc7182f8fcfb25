//! `POST /api/v1/submissions/lookup`: a phone's latest submissions.

use std::time::Duration;

use common::app::request_limits;
use common::aws::StartSecret;
use common::aws::deployment_secret::DeploymentSecrets;
use common::config::ConfigError;
use common::domain::{RateLimitStatus, SlidingWindow};
use common::error::Error;
use common::http::fields::Fields;
use common::http::lookup::{LookupEntry, LookupObject};
use common::http::reply::Reply;
use common::http::routes::{self, Route};
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use common::store::entrants::Entrants;
use common::store::rate_limits::{RateLimitRule, RateLimits};
use common::store::submissions::{SubmissionSummary, Submissions};

const MAX_SUBMISSIONS: u8 = 50;
const SPAN: Duration = Duration::from_mins(10);
/// Enough for the phone's owner, too low for watching someone else.
const PER_PHONE: SlidingWindow = SlidingWindow {
    limit: 5,
    span: SPAN,
};
/// Too low for scanning phone numbers.
const PER_RANGE: SlidingWindow = SlidingWindow {
    limit: 30,
    span: SPAN,
};

pub struct LookupSubmissions {
    limits: RateLimits,
    submissions: Submissions,
    entrants: Entrants,
    secrets: DeploymentSecrets,
}

impl Endpoint for LookupSubmissions {
    const ROUTE: Route = routes::LOOKUP_SUBMISSIONS;
    const SECRETS: &[StartSecret] = &[StartSecret::Deployment];

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        let (env, client) = (&context.env, &context.aws.dynamodb());
        Ok(Self {
            limits: RateLimits::from_env(env, client)?,
            submissions: Submissions::from_env(env, client)?,
            entrants: Entrants::from_env(env, client)?,
            secrets: DeploymentSecrets::from_env(env, &context.aws)?,
        })
    }

    async fn handle(&self, request: ApiRequest) -> Result<Reply, Error> {
        let phone = request
            .http
            .json()?
            .read(|fields| fields.required("phone", Fields::phone))?;
        let ApiRequest {
            scope,
            campaign,
            received_at: now,
            ..
        } = &request;

        let entrant = self.secrets.consumer(scope, phone).await?.id;
        let range = request.http.client_network();
        let rules = [
            RateLimitRule {
                name: "phone",
                key: scope.key(format_args!("lookup-phone#{}", entrant.as_str())),
                window: PER_PHONE,
            },
            RateLimitRule {
                name: "address",
                key: scope.key(format_args!("lookup-range#{range}")),
                window: PER_RANGE,
            },
        ];
        let limits = request_limits::enforce(&self.limits, &rules, *now, reached_limit).await?;

        let today = request.domain_now.day_in(campaign.timezone);
        let (recent, counts) = tokio::try_join!(
            self.submissions.recent(scope, &entrant, MAX_SUBMISSIONS),
            self.entrants.get(scope, &entrant, &today)
        )?;
        let entry = |recent: SubmissionSummary| LookupEntry {
            id: recent.submission_id.to_string(),
            reference: recent.reference().to_string(),
            date: recent.day,
            display_status: recent.status.display_status(),
            message: campaign
                .messages
                .text(recent.status.message_key(), request.language()),
            entries: recent.status.entries(),
        };
        let reply = Reply::ok(&LookupObject {
            submissions: recent.into_iter().map(entry).collect(),
            total_entries: counts.entries,
            timezone: campaign.timezone.name(),
        })?;
        Ok(reply.with_limits(limits))
    }
}

fn reached_limit(limits: &[RateLimitStatus]) -> &'static str {
    if limits
        .iter()
        .any(|limit| limit.name == "address" && limit.is_reached())
    {
        "This address range has used up its 30 look-ups of 10 minutes. Without SVC-Client-IP, all calls of your server \
         count together."
    } else {
        "This phone has used up its 5 look-ups of 10 minutes."
    }
}
