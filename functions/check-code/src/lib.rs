//! `POST /api/v1/codes/check`: whether a code could be used, without using it.

use std::time::Duration;

use common::config::ConfigError;
use common::domain::campaign::{Campaign, CodePolicy};
use common::domain::code::Code;
use common::domain::entry::CodeFinding;
use common::domain::message::MessageKey;
use common::domain::phone::Phone;
use common::domain::scope::Scope;
use common::domain::sliding_window::SlidingWindow;
use common::error::{Error, ErrorCode};
use common::http::fields::Fields;
use common::http::function::{Call, Operation, Setup};
use common::http::reply::Reply;
use common::http::request::Request;
use common::http::routes::{self, Route};
use common::judge::{Candidate, CodeJudge, Freshness};
use common::store::batch::BatchGet;
use common::store::code_books::CodeBooks;
use common::store::codes::Codes;
use common::store::ledger::CodeStanding;
use common::store::rate_limits::{Hit, Limited, RateLimits};
use serde::Serialize;

/// Pre-checks from one address range: enough for a family's packs, useless for guessing.
const PER_RANGE: SlidingWindow = SlidingWindow { limit: 30, span: Duration::from_secs(10 * 60) };

/// The operation.
pub struct CheckCode {
    limits: RateLimits,
    judge: CodeJudge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Precheck {
    Valid,
    Invalid,
    AlreadyUsed,
    Unsupported,
}

#[derive(Serialize)]
struct PrecheckObject<'a> {
    precheck: Precheck,
    message_key: Option<MessageKey>,
    message: Option<&'a str>,
}

impl Operation for CheckCode {
    const ROUTE: Route = routes::CHECK_CODE;

    fn connect(setup: &Setup) -> Result<Self, ConfigError> {
        let (env, client) = (&setup.env, &setup.aws.dynamodb());
        let judge = CodeJudge::new(Codes::from_env(env, client)?, CodeBooks::from_env(env, &setup.aws)?);
        Ok(Self { limits: RateLimits::from_env(env, client)?, judge })
    }

    async fn prepare(&self) {
        self.judge.prepare().await;
    }

    fn prefetch(
        &self,
        _request: &Request,
        scope: &Scope,
        _campaign: Option<&Campaign>,
        batch: &mut BatchGet,
    ) {
        self.judge.add_to(batch, scope);
    }

    async fn handle(&self, call: Call) -> Result<Reply, Error> {
        self.judge.take_over(&call.prefetched, &call.scope, call.now)?;
        let (code, phone) = read(&call)?;
        let range = call.request.consumer_range();
        let key = call.scope.key(format_args!("check-range#{range}"));
        let limits =
            match self.limits.hit(&[Limited { name: "address", key, window: PER_RANGE }], call.now).await? {
                Hit::Admitted(limits) => limits,
                Hit::Refused { retry_after, limits } => {
                    let detail = "This address range has used up its 30 pre-checks of 10 minutes. Without \
                              SVC-Client-IP, all calls of your server count together.";
                    return Err(Error::from(ErrorCode::RateLimited)
                        .with_detail(detail)
                        .with_retry_after(retry_after)
                        .with_limits(limits));
                }
            };
        let (precheck, message_key) = match call.campaign.code {
            CodePolicy::Service => verdict(&self.find(&call, &code, phone.as_ref()).await?),
            // Only a submission can tell.
            CodePolicy::Partner | CodePolicy::None => (Precheck::Unsupported, None),
        };
        let message = message_key.map(|key| call.campaign.messages.copy(key, call.language()));
        let reply = Reply::ok(&PrecheckObject { precheck, message_key, message })?;
        Ok(reply.with_limits(limits).with_outcome(message_key.map_or("usable", MessageKey::as_str)))
    }
}

fn read(call: &Call) -> Result<(Code, Option<Phone>), Error> {
    let (code, phone) = call.request.json()?.read(|fields| {
        let code = fields.required("code", Fields::code);
        let phone = fields.phone_or("phone", ErrorCode::ValidationFailed);
        Some((code?, phone))
    })?;
    if code.sentinel().is_some() && call.scope.environment.is_live() {
        return Err(Error::from(ErrorCode::SentinelWithLiveKey).with_field("code"));
    }
    Ok((code, phone))
}

impl CheckCode {
    async fn find(&self, call: &Call, code: &Code, phone: Option<&Phone>) -> Result<CodeFinding, Error> {
        match self.find_by(call, code, phone, Freshness::Usual).await? {
            CodeFinding::Wrong => self.find_by(call, code, phone, Freshness::ForANo).await,
            finding => Ok(finding),
        }
    }

    async fn find_by(
        &self,
        call: &Call,
        code: &Code,
        phone: Option<&Phone>,
        freshness: Freshness,
    ) -> Result<CodeFinding, Error> {
        let Call { scope, now, .. } = call;
        let mut candidate = self.judge.candidate(scope, code, phone, None, freshness, *now).await?;
        let standing = self.standing(call, &candidate).await?;
        if let Some(batch) = standing.imported_batch() {
            // An imported code's own record says which batch it is of, and so whether it counts.
            candidate = self.judge.candidate(scope, code, phone, Some(batch), freshness, *now).await?;
        }
        Ok(candidate.finding(&standing, phone))
    }

    async fn standing(&self, call: &Call, candidate: &Candidate) -> Result<CodeStanding, Error> {
        let Some(name) = candidate.name() else { return Ok(CodeStanding::Free) };
        let record = self.judge.codes().get(&call.scope, name).await?;
        Ok(CodeStanding::of(name, record))
    }
}

fn verdict(finding: &CodeFinding) -> (Precheck, Option<MessageKey>) {
    match finding.refusal() {
        Some(MessageKey::Invalid) => (Precheck::Invalid, Some(MessageKey::Invalid)),
        Some(key @ (MessageKey::AlreadyUsed | MessageKey::CodeHeld)) => (Precheck::AlreadyUsed, Some(key)),
        // What else a sentinel asks for is not about the code.
        Some(_) | None => (Precheck::Valid, None),
    }
}
