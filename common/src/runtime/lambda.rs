//! Running a function on AWS Lambda.

use std::sync::Arc;

use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::value::RawValue;

use crate::aws::Aws;
use crate::clock::Clock;
use crate::config::{ConfigError, Env};
use crate::runtime::api_gateway;
use crate::runtime::event_handler::{EventContext, EventHandler};
use crate::runtime::http_handler::{ApiHandler, AppContext, BoxFuture, Endpoint, HttpHandler, Responder};
use crate::telemetry::{self, Telemetry};

pub use lambda_runtime::Error;

/// Serves an operation of the API until Lambda ends the environment.
///
/// The connection to DynamoDB is opened before the first event, and what requests would wait for is fetched: a
/// function has more of the processor then.
///
/// # Errors
/// When the environment is not set up for it, or Lambda's runtime interface fails.
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

/// Sets something up while a connection to DynamoDB is being opened; both are there in the end.
async fn while_opening<T>(aws: &Aws, set_up: impl Future<Output = T>) -> T {
    // The opening is polled first, so that the network has its time meanwhile.
    let ((), ready) = tokio::join!(aws.open_dynamodb(), set_up);
    ready
}

/// What renders and logs the replies of a function on Lambda. Once in a process, because its log is.
///
/// # Errors
/// Names the variable that is missing.
pub fn responder(env: &Env) -> Result<Responder, ConfigError> {
    Responder::from_env(env, Clock::system(), Telemetry::cloud_watch(env))
}

/// Serves anything that answers requests to the API until Lambda ends the environment.
///
/// # Errors
/// When Lambda's runtime interface fails.
pub async fn serve_function(function: impl HttpHandler + 'static) -> Result<(), Error> {
    let function = Arc::new(function);
    // As it is, because `lambda_http` does not read every event, and Lambda would answer those by itself.
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Box<RawValue>>| {
        let function = Arc::clone(&function);
        // Boxed, because what a function does can be deep, and would be set aside on the stack at start.
        let answered: BoxFuture<'_, _> = Box::pin(async move {
            let (event, context) = event.into_parts();
            let answering = api_gateway::answer(&*function, &event);
            Ok::<_, Error>(telemetry::in_invocation(context.request_id, answering).await)
        });
        answered
    }))
    .await
}

/// Serves a function that takes events until Lambda ends the environment. Its connection, too, is opened first.
///
/// # Errors
/// When the environment is not set up for it, or Lambda's runtime interface fails.
pub async fn serve_events<F: EventHandler>() -> Result<(), Error> {
    let env = Env::from_process();
    let telemetry = Telemetry::cloud_watch(&env);
    let context = EventContext::new(env, Clock::system(), telemetry)?;
    let function = Arc::new(while_opening(&context.aws, async { F::connect(&context) }).await?);
    lambda_runtime::run(service_fn(move |event: LambdaEvent<F::Event>| {
        let function = Arc::clone(&function);
        // An error makes Lambda send the event again. Boxed for the same reason as above.
        let handled: BoxFuture<'_, _> = Box::pin(async move {
            let (event, context) = event.into_parts();
            let handling = telemetry::in_invocation(context.request_id, function.handle(event));
            handling.await.map_err(Error::from)
        });
        handled
    }))
    .await
}
