use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lambda_http::{Body, Response};
use tokio::time::{Instant, timeout, timeout_at};

use crate::app::auth::{AuthContext, Authenticator, Caller, Credentials};
use crate::aws::{Aws, StartSecret};
use crate::clock::Clock;
use crate::config::{ConfigError, Env};
use crate::domain::{Campaign, Language, Scope, Timestamp};
use crate::error::{Error, ErrorCode};
use crate::http::reply::Reply;
use crate::http::request::{Request, SVC_TEST_TIME};
use crate::http::routes::{self, Route};
use crate::store::batch::{BatchGet, BatchItems};
use crate::telemetry::{LogLine, RequestFields, RequestIds, Telemetry};

#[derive(Clone, Debug)]
pub struct Responder {
    clock: Clock,
    telemetry: Telemetry,
    docs_base: Arc<str>,
}

impl Responder {
    pub fn from_env(env: &Env, clock: Clock, telemetry: Telemetry) -> Result<Self, ConfigError> {
        Ok(Self {
            clock,
            telemetry,
            docs_base: env.required("DOCS_URL")?.into(),
        })
    }

    /// No trailing slash.
    pub fn docs_base(&self) -> &str {
        &self.docs_base
    }
}

#[derive(Clone)]
pub struct AppContext {
    pub env: Env,
    pub aws: Aws,
    pub authenticator: Arc<Authenticator>,
    responder: Responder,
}

impl AppContext {
    pub fn new(env: Env, responder: Responder) -> Result<Self, ConfigError> {
        let aws = Aws::for_function(&env)?;
        Self::with_aws(aws, env, responder)
    }

    pub fn with_aws(aws: Aws, env: Env, responder: Responder) -> Result<Self, ConfigError> {
        let authenticator = Arc::new(Authenticator::from_env(&env, &aws.dynamodb())?);
        Ok(Self {
            env,
            aws,
            authenticator,
            responder,
        })
    }
}

#[derive(Clone)]
pub struct ApiRequest {
    pub received_at: Timestamp,
    /// Time for the campaign's rules: the test's, or [`Self::received_at`].
    pub domain_now: Timestamp,
    pub deadline: Instant,
    pub scope: Scope,
    pub campaign: Arc<Campaign>,
    pub http: Request,
    pub prefetched: BatchItems,
    clock: Clock,
}

impl ApiRequest {
    /// The present time, for writes after a long wait.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn language(&self) -> Language {
        self.http.language
    }

    pub fn path_id<Id: FromStr>(&self) -> Result<Id, Error> {
        let id = self.http.path_id().and_then(|id| id.parse().ok());
        id.ok_or_else(|| ErrorCode::NotFound.into())
    }
}

/// Parse, one call into the domain, render.
pub trait Endpoint: Send + Sync + Sized + 'static {
    const ROUTE: Route;
    /// Fetched before the first event.
    const SECRETS: &[StartSecret] = &[];

    fn connect(context: &AppContext) -> Result<Self, ConfigError>;

    /// Adds the endpoint's records to a batch that is read because nothing recent is known of the
    /// key.
    fn prefetch(
        &self,
        _request: &Request,
        _scope: &Scope,
        _campaign: Option<&Campaign>,
        _batch: &mut BatchGet,
    ) {
    }

    fn handle(&self, request: ApiRequest) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// Well below API Gateway's timeout.
pub const REQUEST_BUDGET: Duration = Duration::from_secs(10);

/// Below the Lambda timeout, so that callers get the contract's error.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(19);

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait HttpHandler: Send + Sync {
    fn name(&self) -> &'static str;

    fn responder(&self) -> &Responder;

    fn answer(&self, request: lambda_http::Request) -> BoxFuture<'_, Response<Body>>;
}

pub struct ApiHandler<O> {
    context: AppContext,
    handler: O,
}

impl<O: Endpoint> ApiHandler<O> {
    pub fn new(context: AppContext) -> Result<Self, ConfigError> {
        Ok(Self {
            handler: O::connect(&context)?,
            context,
        })
    }

    pub async fn prepare(&self) {
        self.context.aws.prepare(O::SECRETS).await;
    }

    async fn run(
        &self,
        request: Request,
        received_at: Timestamp,
        caller: &mut Caller,
    ) -> Result<Reply, Error> {
        let deadline = Instant::now() + REQUEST_BUDGET;
        // API Gateway matches a fixed path with another method to the path with an id.
        let methods = routes::methods_of(request.path());
        if !methods.is_empty() && !methods.contains(&request.method().as_str()) {
            return Err(Error::method_not_allowed(methods));
        }
        let credentials = Credentials {
            authorization: request.header("authorization"),
            campaign: request.header("svc-campaign"),
        };
        let prefetch = |scope: &Scope, campaign: Option<&Campaign>, batch: &mut BatchGet| {
            self.handler.prefetch(&request, scope, campaign, batch);
        };
        let AppContext {
            authenticator,
            responder,
            ..
        } = &self.context;
        let authenticating = authenticator.authenticate(credentials, prefetch, caller, received_at);
        let authenticated = timeout_at(deadline, authenticating)
            .await
            .map_err(|_| Error::late())?;
        let AuthContext {
            scope,
            campaign,
            prefetched,
        } = authenticated?;
        caller.test_time = request.test_time(scope.environment, received_at)?;
        let clock = responder.clock.clone();
        let http = request;
        let request = ApiRequest {
            received_at,
            domain_now: caller.test_time.unwrap_or(received_at),
            deadline,
            scope,
            campaign,
            http,
            prefetched,
            clock,
        };
        // Boxed: a test's thread has a stack of two megabytes.
        let handling = Box::pin(self.handler.handle(request));
        let Some(key) = &caller.key else {
            return handling.await;
        };
        let (result, ()) = tokio::join!(handling, authenticator.lease_ahead(key, received_at));
        result
    }
}

impl<O: Endpoint> HttpHandler for ApiHandler<O> {
    fn name(&self) -> &'static str {
        O::ROUTE.function
    }

    fn responder(&self) -> &Responder {
        &self.context.responder
    }

    fn answer(&self, request: lambda_http::Request) -> BoxFuture<'_, Response<Body>> {
        Box::pin(async move {
            let request = Request::new(request);
            let ids = request.ids.clone();
            let mut caller = Caller {
                has_malformed_ip: request.has_malformed_client_ip(),
                ..Caller::default()
            };
            let responder = self.responder();
            let received_at = responder.now();
            let working = contain_panic(self.run(request, received_at, &mut caller));
            let result = timeout(REQUEST_TIMEOUT, working).await;
            let result = result.unwrap_or_else(|_| Err(Error::late()));
            responder.reply(self.name(), &ids, received_at, &caller, result)
        })
    }
}

async fn contain_panic(work: impl Future<Output = Result<Reply, Error>>) -> Result<Reply, Error> {
    let result = AssertUnwindSafe(work).catch_unwind().await;
    result.unwrap_or_else(|_| Err(Error::internal("the handler panicked")))
}

/// For outcomes that, in large numbers, indicate guessing.
fn security_metric(
    outcome: Option<&str>,
    is_success: bool,
    is_live: bool,
    is_admitted: bool,
) -> Option<&'static str> {
    match outcome? {
        "key_unknown" | "key_malformed" | "key_revoked" => Some("KeyRefused"),
        "invalid" if is_success && is_live => Some("WrongCode"),
        "rate_limited" if is_live && is_admitted => Some("RateLimited"),
        _ => None,
    }
}

impl Responder {
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn reply(
        &self,
        function: &str,
        ids: &RequestIds,
        started: Timestamp,
        caller: &Caller,
        result: Result<Reply, Error>,
    ) -> Response<Body> {
        let mut reply =
            result.unwrap_or_else(|error| Reply::error(&error, &self.docs_base, &ids.request));
        if let Some(rate_limit) = caller.rate_limit {
            reply.limits.insert(0, rate_limit);
        }
        if let Some(time) = caller.test_time {
            reply = reply.with_header(SVC_TEST_TIME, time.to_string());
        }
        let mut metrics = reply.log_fields.metrics.clone();
        let malformed = caller.has_malformed_ip;
        metrics.extend(malformed.then_some(("MalformedClientIp", 1)));
        let scope = caller.key.as_ref().map(|key| &key.scope);
        let is_live = scope.is_some_and(|scope| scope.environment.is_live());
        // Until the key's rate limit admits a request, no limit on guesses is checked.
        let is_admitted = caller.rate_limit.is_some();
        let metric = security_metric(
            reply.outcome,
            reply.status.is_success(),
            is_live,
            is_admitted,
        );
        metrics.extend(metric.map(|name| (name, 1)));
        self.telemetry.log(&LogLine {
            at: started,
            duration_ms: self.now().since(started).as_millis(),
            function,
            scope,
            subject: reply.subject.as_deref(),
            outcome: reply.outcome,
            metrics: &metrics,
            error_chain: &reply.log_fields.error_chain,
            request: Some(RequestFields {
                ids,
                is_admitted,
                is_entry: function == routes::CREATE_SUBMISSION.function,
                key_id: caller.key.as_ref().map(|key| key.key_id.as_str()),
                reference: reply.reference.as_deref(),
                status: reply.status.as_u16(),
            }),
        });
        reply.into_response(&ids.request)
    }
}
