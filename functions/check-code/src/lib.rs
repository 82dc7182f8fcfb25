//! `POST /api/v1/codes/check`: checks a code without using it.

use std::time::Duration;

use common::app::code_verifier::{CodeQuery, CodeVerifier, Staleness};
use common::app::request_limits;
use common::aws::StartSecret;
use common::aws::deployment_secret::DeploymentSecrets;
use common::config::ConfigError;
use common::domain::{
    Campaign, Code, CodeLookup, CodePolicy, CodeStatus, MessageKey, Phone, Scope, SlidingWindow,
};
use common::error::{Error, ErrorCode};
use common::http::code_check::{PrecheckObject, PrecheckResult};
use common::http::fields::Fields;
use common::http::reply::Reply;
use common::http::request::Request;
use common::http::routes::{self, Route};
use common::runtime::http_handler::{ApiRequest, AppContext, Endpoint};
use common::store::batch::BatchGet;
use common::store::code_books::CodeBooks;
use common::store::codes::Codes;
use common::store::rate_limits::{RateLimitRule, RateLimits};

/// Enough for a family's packs, too low for guessing.
const PER_RANGE: SlidingWindow = SlidingWindow {
    limit: 30,
    span: Duration::from_mins(10),
};
const RANGE_LIMIT_REACHED: &str = "This address range has used up its 30 pre-checks of 10 minutes. Without \
                                   SVC-Client-IP, all calls of your server count together.";

pub struct CheckCode {
    limits: RateLimits,
    secrets: DeploymentSecrets,
    verifier: CodeVerifier,
}

impl Endpoint for CheckCode {
    const ROUTE: Route = routes::CHECK_CODE;
    const SECRETS: &[StartSecret] = &[StartSecret::Deployment];

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        let (env, client) = (&context.env, &context.aws.dynamodb());
        let books = CodeBooks::from_env(env, &context.aws)?;
        let secrets = books.secrets().clone();
        let verifier = CodeVerifier::new(Codes::from_env(env, client)?, books);
        Ok(Self {
            limits: RateLimits::from_env(env, client)?,
            secrets,
            verifier,
        })
    }

    fn prefetch(
        &self,
        _request: &Request,
        scope: &Scope,
        _campaign: Option<&Campaign>,
        batch: &mut BatchGet,
    ) {
        self.verifier.add_to(batch, scope);
    }

    async fn handle(&self, request: ApiRequest) -> Result<Reply, Error> {
        let ApiRequest {
            scope,
            campaign,
            received_at: now,
            ..
        } = &request;
        self.verifier
            .cache_prefetched(&request.prefetched, scope, *now)?;
        let (code, phone) = read(&request)?;
        let range = request.http.client_network();
        let key = scope.key(format_args!("check-range#{range}"));
        let rules = [RateLimitRule {
            name: "address",
            key,
            window: PER_RANGE,
        }];
        let limits =
            request_limits::enforce(&self.limits, &rules, *now, |_| RANGE_LIMIT_REACHED).await?;
        let (precheck, message_key) = match campaign.code {
            CodePolicy::Service => precheck(&self.status(&request, &code, phone).await?),
            // Only a submission gets an answer from the partner.
            CodePolicy::Partner | CodePolicy::None => (PrecheckResult::Unsupported, None),
        };
        let message = message_key.map(|key| campaign.messages.text(key, request.language()));
        let reply = Reply::ok(&PrecheckObject {
            precheck,
            message_key,
            message,
        })?;
        Ok(reply
            .with_limits(limits)
            .with_outcome(message_key.map_or("usable", MessageKey::as_str)))
    }
}

fn read(request: &ApiRequest) -> Result<(Code, Option<Phone>), Error> {
    let (code, phone) = request.http.json()?.read(|fields| {
        let code = fields.required("code", Fields::code);
        let phone = fields.phone_or("phone", ErrorCode::ValidationFailed);
        Some((code?, phone))
    })?;
    if code.sentinel().is_some() && request.scope.environment.is_live() {
        return Err(Error::from(ErrorCode::SentinelWithLiveKey).with_field("code"));
    }
    Ok((code, phone))
}

impl CheckCode {
    async fn status(
        &self,
        request: &ApiRequest,
        code: &Code,
        phone: Option<Phone>,
    ) -> Result<CodeStatus, Error> {
        let ApiRequest {
            scope,
            campaign,
            received_at: now,
            ..
        } = request;
        let consumer = match phone {
            Some(phone) => Some(self.secrets.consumer(scope, phone).await?),
            None => None,
        };
        let query = CodeQuery {
            scope,
            policy: campaign.code,
            code,
            consumer: consumer.as_ref(),
        };
        let mut status = CodeStatus::Invalid;
        for staleness in Staleness::ALL {
            let resolved = self.verifier.resolve(query, None, staleness, *now).await?;
            let record = match resolved.key() {
                Some(key) => self.verifier.codes().lookup(scope, key).await?,
                None => CodeLookup::NoRecord,
            };
            let judging = self
                .verifier
                .judge(query, resolved, &record, staleness, *now);
            status = judging.await?.status;
            if status != CodeStatus::Invalid {
                break;
            }
        }
        Ok(status)
    }
}

fn precheck(status: &CodeStatus) -> (PrecheckResult, Option<MessageKey>) {
    match status.rejection() {
        Some(MessageKey::Invalid) => (PrecheckResult::Invalid, Some(MessageKey::Invalid)),
        Some(key @ (MessageKey::AlreadyUsed | MessageKey::CodeHeld)) => {
            (PrecheckResult::AlreadyUsed, Some(key))
        }
        // Other outcomes of test codes do not make the code invalid.
        Some(_) | None => (PrecheckResult::Valid, None),
    }
}
