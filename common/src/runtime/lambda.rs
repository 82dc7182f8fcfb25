use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, service_fn};
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

pub type Served = Result<(), Error>;

/// Runs [`Aws::prepare`] before the first event: a function has more CPU then.
pub fn serve<O: Endpoint>() -> Served {
    block_on(async {
        let env = Env::from_process();
        let aws = Aws::for_function(&env)?;
        let responder = responder(&env)?;
        let set_up =
            async { ApiHandler::<O>::new(AppContext::with_aws(aws.clone(), env, responder)?) };
        // The network works while clients and tables are set up.
        let ((), function) = tokio::join!(biased; aws.prepare(O::SECRETS), set_up);
        run(function?).await
    })
}

pub fn serve_handler<H: HttpHandler + 'static>(new: impl FnOnce(Responder) -> H) -> Served {
    block_on(async { run(new(responder(&Env::from_process())?)).await })
}

fn block_on(serving: impl Future<Output = Served>) -> Served {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(serving)
}

/// Call it once in a process: it installs the log.
fn responder(env: &Env) -> Result<Responder, ConfigError> {
    Responder::from_env(env, Clock::system(), Telemetry::cloud_watch(env))
}

async fn run(function: impl HttpHandler + 'static) -> Served {
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
async fn in_task(running: impl Future<Output = Served> + Send + 'static) -> Served {
    tokio::spawn(running).await?
}

pub fn serve_events<F: EventHandler>() -> Served {
    block_on(async {
        let env = Env::from_process();
        let telemetry = Telemetry::cloud_watch(&env);
        let context = EventContext::new(env, Clock::system(), telemetry)?;
        let connecting = async { F::connect(&context) };
        let preparing = context.aws.prepare(F::SECRETS);
        let ((), function) = tokio::join!(biased; preparing, connecting);
        run_events(Arc::new(function?)).await
    })
}

async fn run_events<F: EventHandler>(function: Arc<F>) -> Served {
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
