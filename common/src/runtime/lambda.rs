//! The Lambda runtime of functions.

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

/// Serves an endpoint of the API until Lambda ends the environment.
///
/// Opens the connection to DynamoDB and runs [`Endpoint::prepare`] before the first event: a function has more CPU
/// then.
///
/// # Errors
/// When the environment is misconfigured, or Lambda's runtime interface fails.
pub async fn serve<O: Endpoint>() -> Result<(), Error> {
    let env = Env::from_process();
    let aws = Aws::for_function(&env)?;
    let responder = responder(&env)?;
    let set_up = async {
        let function = ApiHandler::<O>::new(AppContext::with_aws(aws.clone(), env, responder)?)?;
        function.prepare().await;
        Ok::<_, ConfigError>(function)
    };
    let function = while_opening(&aws, set_up).await?;
    serve_function(function).await
}

/// Runs a set-up while a connection to DynamoDB opens; both are done at the end.
async fn while_opening<T>(aws: &Aws, set_up: impl Future<Output = T>) -> T {
    // The connection is polled first, so that the network works meanwhile.
    let ((), ready) = tokio::join!(aws.open_dynamodb(), set_up);
    ready
}

/// The responder of a function on Lambda. Call it once in a process: it installs the log.
pub fn responder(env: &Env) -> Result<Responder, ConfigError> {
    Responder::from_env(env, Clock::system(), Telemetry::cloud_watch(env))
}

/// Serves a handler of API requests until Lambda ends the environment.
///
/// # Errors
/// When Lambda's runtime interface fails.
pub async fn serve_function(function: impl HttpHandler + 'static) -> Result<(), Error> {
    let function = Arc::new(function);
    // Raw, because `lambda_http` cannot read every event, and Lambda would then reply instead of us.
    let running = lambda_runtime::run(service_fn(move |event: LambdaEvent<Box<RawValue>>| {
        let function = Arc::clone(&function);
        // Boxed, because a function's future can be deep, and would be reserved on the stack at start.
        let answered: BoxFuture<'_, _> = Box::pin(async move {
            let (event, context) = event.into_parts();
            let answering = api_gateway::answer(&*function, &event);
            Ok::<_, Error>(telemetry::in_invocation(context.request_id, answering).await)
        });
        answered
    }));
    in_task(running).await
}

/// Runs a future in a task of its own: waking the main task would take two system calls each time.
async fn in_task(
    running: impl Future<Output = Result<(), Error>> + Send + 'static,
) -> Result<(), Error> {
    tokio::spawn(running).await?
}

/// Serves a handler of events until Lambda ends the environment.
///
/// Opens the connection to DynamoDB and runs [`EventHandler::prepare`] before the first event, as [`serve`] does.
///
/// # Errors
/// When the environment is misconfigured, or Lambda's runtime interface fails.
pub async fn serve_events<F: EventHandler>() -> Result<(), Error> {
    let env = Env::from_process();
    let telemetry = Telemetry::cloud_watch(&env);
    let context = EventContext::new(env, Clock::system(), telemetry)?;
    let set_up = async {
        let function = F::connect(&context)?;
        function.prepare().await;
        Ok::<_, ConfigError>(function)
    };
    let function = Arc::new(while_opening(&context.aws, set_up).await?);
    let running = lambda_runtime::run(service_fn(move |event: LambdaEvent<F::Event>| {
        let function = Arc::clone(&function);
        // Lambda sends the event again after an error. Boxed for the same reason as above.
        let handled: BoxFuture<'_, _> = Box::pin(async move {
            let (event, context) = event.into_parts();
            let handling = telemetry::in_invocation(context.request_id, function.handle(event));
            handling.await.map_err(Error::from)
        });
        handled
    }));
    in_task(running).await
}
