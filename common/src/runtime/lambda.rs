//! The Lambda runtime.

use std::sync::Arc;

use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::value::RawValue;

use crate::app::job::EventContext;
use crate::aws::Aws;
use crate::clock::Clock;
use crate::config::{ConfigError, Env};
use crate::runtime::api_gateway;
use crate::runtime::event_handler::EventHandler;
use crate::runtime::http_handler::{
    ApiHandler, AppContext, BoxFuture, Endpoint, HttpHandler, Responder,
};
use crate::telemetry::{self, Telemetry};

pub use lambda_runtime::Error;

/// Runs [`Aws::prepare`] before the first event: a function has more CPU then.
pub async fn serve<O: Endpoint>() -> Result<(), Error> {
    let env = Env::from_process();
    let aws = Aws::for_function(&env)?;
    let responder = responder(&env)?;
    let set_up = async { ApiHandler::<O>::new(AppContext::with_aws(aws.clone(), env, responder)?) };
    // The network works during set-up.
    let ((), function) = tokio::join!(biased; aws.prepare(O::NEEDS_SECRET), set_up);
    serve_function(function?).await
}

/// Call it once in a process: it installs the log.
pub fn responder(env: &Env) -> Result<Responder, ConfigError> {
    Responder::from_env(env, Clock::system(), Telemetry::cloud_watch(env))
}

pub async fn serve_function(function: impl HttpHandler + 'static) -> Result<(), Error> {
    let function = Arc::new(function);
    // Raw, because Lambda would reply to events that `lambda_http` cannot read.
    let running = lambda_runtime::run(service_fn(move |event: LambdaEvent<Box<RawValue>>| {
        let function = Arc::clone(&function);
        // Boxed: a function's deep future would be reserved on the stack at start.
        let answered: BoxFuture<'_, _> = Box::pin(async move {
            let (event, context) = event.into_parts();
            let answering = api_gateway::answer(&*function, &event);
            Ok::<_, Error>(telemetry::in_invocation(context.request_id, answering).await)
        });
        answered
    }));
    in_task(running).await
}

/// Waking the main task takes two system calls each time.
async fn in_task(
    running: impl Future<Output = Result<(), Error>> + Send + 'static,
) -> Result<(), Error> {
    tokio::spawn(running).await?
}

pub async fn serve_events<F: EventHandler>() -> Result<(), Error> {
    let env = Env::from_process();
    let telemetry = Telemetry::cloud_watch(&env);
    let context = EventContext::new(env, Clock::system(), telemetry)?;
    let ((), function) =
        tokio::join!(biased; context.aws.prepare(F::NEEDS_SECRET), async { F::connect(&context) });
    let function = Arc::new(function?);
    let running = lambda_runtime::run(service_fn(move |event: LambdaEvent<F::Event>| {
        let function = Arc::clone(&function);
        // Lambda sends the event again after an error. Boxed as above.
        let handled: BoxFuture<'_, _> = Box::pin(async move {
            let (event, context) = event.into_parts();
            let handling = telemetry::in_invocation(context.request_id, function.handle(event));
            handling.await.map_err(Error::from)
        });
        handled
    }));
    in_task(running).await
}
