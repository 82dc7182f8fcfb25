//! `POST /api/v1/codes/check`: whether a code could be used, without using it.

use std::time::Duration;

use common::app::code_verifier::{CodeVerifier, ResolvedCode, Staleness};
use common::config::ConfigError;
use common::domain::admission::CodeStatus;
use common::domain::campaign::{Campaign, CodePolicy};
use common::domain::code::Code;
use common::domain::message::MessageKey;
use common::domain::phone::Phone;
use common::domain::scope::Scope;
use common::domain::sliding_window::SlidingWindow;
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
use common::store::rate_limits::{RateLimitDecision, RateLimitRule, RateLimits};
use common::store::submission_writes::CodeLookup;

/// Pre-checks from one address range: enough for a family's packs, useless for guessing.
const PER_RANGE: SlidingWindow = SlidingWindow { limit: 30, span: Duration::from_secs(10 * 60) };

/// The operation.
pub struct CheckCode {
    limits: RateLimits,
    verifier: CodeVerifier,
}

impl Endpoint for CheckCode {
    const ROUTE: Route = routes::CHECK_CODE;

    fn connect(context: &AppContext) -> Result<Self, ConfigError> {
        let (env, client) = (&context.env, &context.aws.dynamodb());
        let verifier =
            CodeVerifier::new(Codes::from_env(env, client)?, CodeBooks::from_env(env, &context.aws)?);
        Ok(Self { limits: RateLimits::from_env(env, client)?, verifier })
    }

    async fn prepare(&self) {
        self.verifier.prepare().await;
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
        self.verifier.take_over(&request.prefetched, &request.scope, request.received_at)?;
        let (code, phone) = read(&request)?;
        let range = request.http.client_network();
        let key = request.scope.key(format_args!("check-range#{range}"));
        let limits = match self
            .limits
            .hit(&[RateLimitRule { name: "address", key, window: PER_RANGE }], request.received_at)
            .await?
        {
            RateLimitDecision::Admitted(limits) => limits,
            RateLimitDecision::Refused { retry_after, limits } => {
                let detail = "This address range has used up its 30 pre-checks of 10 minutes. Without \
                              SVC-Client-IP, all calls of your server count together.";
                return Err(Error::from(ErrorCode::RateLimited)
                    .with_detail(detail)
                    .with_retry_after(retry_after)
                    .with_limits(limits));
            }
        };
        let (precheck, message_key) = match request.campaign.code {
            CodePolicy::Service => verdict(&self.find(&request, &code, phone.as_ref()).await?),
            // Only a submission can tell.
            CodePolicy::Partner | CodePolicy::None => (PrecheckResult::Unsupported, None),
        };
        let message = message_key.map(|key| request.campaign.messages.text(key, request.language()));
        let reply = Reply::ok(&PrecheckObject { precheck, message_key, message })?;
        Ok(reply.with_limits(limits).with_outcome(message_key.map_or("usable", MessageKey::as_str)))
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
    async fn find(
        &self,
        request: &ApiRequest,
        code: &Code,
        phone: Option<&Phone>,
    ) -> Result<CodeStatus, Error> {
        match self.find_by(request, code, phone, Staleness::Cached).await? {
            CodeStatus::Invalid => self.find_by(request, code, phone, Staleness::BeforeRejecting).await,
            finding => Ok(finding),
        }
    }

    async fn find_by(
        &self,
        request: &ApiRequest,
        code: &Code,
        phone: Option<&Phone>,
        staleness: Staleness,
    ) -> Result<CodeStatus, Error> {
        let ApiRequest { scope, received_at: now, .. } = request;
        let mut resolved = self.verifier.resolve(scope, code, phone, None, staleness, *now).await?;
        let lookup = self.lookup(request, &resolved).await?;
        if let Some(batch) = lookup.imported_batch() {
            // An imported code's own record says which batch it is of, and so whether it counts.
            resolved = self.verifier.resolve(scope, code, phone, Some(batch), staleness, *now).await?;
        }
        Ok(resolved.finding(&lookup, phone))
    }

    async fn lookup(&self, request: &ApiRequest, resolved: &ResolvedCode) -> Result<CodeLookup, Error> {
        let Some(name) = resolved.name() else { return Ok(CodeLookup::NoRecordNeeded) };
        let record = self.verifier.codes().get(&request.scope, name).await?;
        Ok(CodeLookup::new(name, record))
    }
}

fn verdict(finding: &CodeStatus) -> (PrecheckResult, Option<MessageKey>) {
    match finding.refusal() {
        Some(MessageKey::Invalid) => (PrecheckResult::Invalid, Some(MessageKey::Invalid)),
        Some(key @ (MessageKey::AlreadyUsed | MessageKey::CodeHeld)) => {
            (PrecheckResult::AlreadyUsed, Some(key))
        }
        // What else a sentinel asks for is not about the code.
        Some(_) | None => (PrecheckResult::Valid, None),
    }
}
