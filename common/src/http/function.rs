//! A function behind the API: reads the event, passes the gate, runs its operation, answers in the
//! contract's shape whatever happens, and writes one line about it.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::event::{HttpEvent, HttpReply};
use super::reply::Reply;
use super::request::{Request, RequestIds};
use crate::clock::Clock;
use crate::config::{ConfigError, Env};
use crate::connection::Aws;
use crate::domain::campaign::Campaign;
use crate::domain::ids::IdempotencyKey;
use crate::domain::message::Language;
use crate::domain::moment::Moment;
use crate::domain::scope::Scope;
use crate::error::{Error, ErrorCode};
use crate::gate::{Admitted, Gate};
use crate::http::body::JsonBody;
use crate::http::routes::{self, Route};
use crate::telemetry::{self, RequestLine, Telemetry};

/// What stands around every reply, whoever makes it.
#[derive(Clone, Debug)]
pub struct Frame {
    clock: Clock,
    telemetry: Telemetry,
    docs_base: Arc<str>,
}

impl Frame {
    /// `DOCS_URL` is where the reference pages are, without a slash at the end.
    ///
    /// # Errors
    /// Names the variable when it is missing.
    pub fn from_env(env: &Env, clock: Clock, telemetry: Telemetry) -> Result<Self, ConfigError> {
        Ok(Self { clock, telemetry, docs_base: env.required("DOCS_URL")?.into() })
    }

    /// Where the reference pages are, without a slash at the end.
    pub fn docs_base(&self) -> &str {
        &self.docs_base
    }
}

/// What the operations of one process share.
#[derive(Clone)]
pub struct Setup {
    /// The variables.
    pub env: Env,
    /// The connection to AWS.
    pub aws: Aws,
    /// The gate, with its caches.
    pub gate: Arc<Gate>,
    frame: Frame,
}

impl Setup {
    /// Connects to what the environment names.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn new(env: Env, frame: Frame) -> Result<Self, ConfigError> {
        let aws = Aws::of_function(&env)?;
        Self::over(aws, env, frame)
    }

    /// The same over a connection that is there.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn over(aws: Aws, env: Env, frame: Frame) -> Result<Self, ConfigError> {
        let gate = Arc::new(Gate::from_env(&env, &aws.dynamodb())?);
        Ok(Self { env, aws, gate, frame })
    }
}

/// A call that passed the gate.
#[derive(Clone)]
pub struct Call {
    /// When it came.
    pub now: Moment,
    /// The campaign and environment that the key selects.
    pub scope: Scope,
    /// The campaign's configuration.
    pub campaign: Arc<Campaign>,
    /// The request.
    pub request: Request,
    clock: Clock,
}

impl Call {
    /// The time by now, for what is written after a long wait.
    pub fn later(&self) -> Moment {
        self.clock.now()
    }

    /// The language of the copy.
    pub fn language(&self) -> Language {
        self.request.language
    }

    /// The Idempotency-Key, which has to be there.
    ///
    /// # Errors
    /// `idempotency_key_required`, `idempotency_key_invalid`.
    pub fn required_idempotency_key(&self) -> Result<IdempotencyKey, Error> {
        self.idempotency_key()?.ok_or_else(|| ErrorCode::IdempotencyKeyRequired.into())
    }

    /// The Idempotency-Key, where there is one.
    ///
    /// # Errors
    /// `idempotency_key_invalid`.
    pub fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Error> {
        let value = self.request.header("idempotency-key");
        value.map(str::parse).transpose().map_err(|_| ErrorCode::IdempotencyKeyInvalid.into())
    }

    /// The id in the path, of a record that may be there.
    ///
    /// # Errors
    /// `not_found` when it is no id.
    pub fn path_id<Id: FromStr>(&self) -> Result<Id, Error> {
        let id = self.request.path_id.as_deref().and_then(|id| id.parse().ok());
        id.ok_or_else(|| ErrorCode::NotFound.into())
    }

    /// The JSON object of the body.
    ///
    /// # Errors
    /// `validation_failed` without a field.
    pub fn json(&self) -> Result<JsonBody, Error> {
        JsonBody::of(&self.request)
    }
}

/// One operation of the API: parse, one call into the domain, render.
pub trait Operation: Send + Sync + Sized + 'static {
    /// Its place in the API.
    const ROUTE: Route;

    /// Connects to the tables it uses.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    fn connect(setup: &Setup) -> Result<Self, ConfigError>;

    /// Answers a call that passed the gate.
    fn handle(&self, call: Call) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// Less than any function of the API may take on Lambda, so that a caller gets the contract's error when the
/// tables do not answer. What was written by then stays, and a retry finds it.
const LONGEST_REQUEST: Duration = Duration::from_secs(19);

/// A future that can be kept in a table of functions.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Anything that answers API Gateway's events.
pub trait HttpFunction: Send + Sync {
    /// Answers one event; never fails.
    fn answer(&self, event: HttpEvent) -> BoxFuture<'_, HttpReply>;
}

/// An operation with all that stands around it.
pub struct Function<O> {
    setup: Setup,
    operation: O,
}

impl<O: Operation> Function<O> {
    /// Connects an operation to its tables.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn new(setup: Setup) -> Result<Self, ConfigError> {
        Ok(Self { operation: O::connect(&setup)?, setup })
    }

    async fn run(
        &self,
        request: Request,
        now: Moment,
        admitted: &mut Option<Admitted>,
    ) -> Result<Reply, Error> {
        // API Gateway takes a fixed path sent with another method for one with an id in it.
        let methods = routes::methods_of(&request.path);
        if !methods.is_empty() && !methods.contains(&request.method.as_str()) {
            return Err(Error::method_not_allowed(methods));
        }
        let authorization = request.header("authorization");
        let named_campaign = request.header("svc-campaign");
        let Admitted { scope, campaign, .. } =
            admitted.insert(self.setup.gate.admit(authorization, named_campaign, now).await?).clone();
        let clock = self.setup.frame.clock.clone();
        self.operation.handle(Call { now, scope, campaign, request, clock }).await
    }
}

impl<O: Operation> HttpFunction for Function<O> {
    fn answer(&self, event: HttpEvent) -> BoxFuture<'_, HttpReply> {
        Box::pin(async move {
            let mut admitted = None;
            let request = Request::from_event(event);
            let ids = request.ids.clone();
            let figures: &[_] =
                if request.has_malformed_client_ip() { &[("MalformedClientIp", 1)] } else { &[] };
            let frame = &self.setup.frame;
            let now = frame.now();
            let working = contain_panic(self.run(request, now, &mut admitted));
            let result = tokio::time::timeout(LONGEST_REQUEST, working).await;
            let result = result.unwrap_or_else(|_| Err(Error::internal("the request took too long")));
            frame.reply_counting(O::ROUTE.function, &ids, now, admitted.as_ref(), result, figures)
        })
    }
}

/// Runs the work of a request; a panic in it becomes an internal error like any other.
async fn contain_panic(work: impl Future<Output = Result<Reply, Error>>) -> Result<Reply, Error> {
    let result = AssertUnwindSafe(work).catch_unwind().await;
    result.unwrap_or_else(|_| Err(Error::internal("the operation panicked")))
}

/// What somebody who guesses is counted as.
fn guess(outcome: Option<&str>, is_success: bool, is_live: bool) -> Option<&'static str> {
    match outcome? {
        "key_unknown" | "key_malformed" | "key_revoked" => Some("KeyRefused"),
        "invalid" if is_success && is_live => Some("WrongCode"),
        "rate_limited" if is_live => Some("SlowedDown"),
        _ => None,
    }
}

impl Frame {
    /// The time now.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Renders the result of a request, and writes the line about it.
    pub fn reply(
        &self,
        operation: &str,
        ids: &RequestIds,
        started: Moment,
        admitted: Option<&Admitted>,
        result: Result<Reply, Error>,
    ) -> HttpReply {
        self.reply_counting(operation, ids, started, admitted, result, &[])
    }

    /// The same, with more figures in the line than the result has.
    fn reply_counting(
        &self,
        operation: &str,
        ids: &RequestIds,
        started: Moment,
        admitted: Option<&Admitted>,
        result: Result<Reply, Error>,
        counted: &[(&'static str, u64)],
    ) -> HttpReply {
        let (mut reply, causes) = match result {
            Ok(reply) => {
                let causes = reply.notes.causes.clone();
                (reply, causes)
            }
            Err(error) => {
                let causes = match &error {
                    Error::Refused(_) => Vec::new(),
                    Error::Internal(cause) => telemetry::causes(cause.as_ref()),
                };
                let code = error.code().as_str();
                (Reply::error(&error, &self.docs_base, &ids.request).with_outcome(code), causes)
            }
        };
        if let Some(admitted) = admitted {
            reply.limits.insert(0, admitted.ceiling);
        }
        let mut figures = reply.notes.figures.clone();
        figures.extend(counted);
        let is_live = admitted.is_some_and(|admitted| admitted.scope.environment.is_live());
        figures.extend(guess(reply.outcome, reply.status.is_success(), is_live).map(|name| (name, 1)));
        self.telemetry.request(&RequestLine {
            at: started,
            duration_ms: self.now().since(started).as_millis(),
            ids,
            operation,
            scope: admitted.map(|admitted| &admitted.scope),
            key_id: admitted.map(|admitted| admitted.key_id.as_str()),
            status: reply.status.as_u16(),
            outcome: reply.outcome,
            figures: &figures,
            causes: &causes,
        });
        reply.into_event(&ids.request)
    }
}
