//! Stacks for tests: a shared one, and separate ones to move the clock or inject faults.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock, OnceLock};

use aws_sdk_dynamodb::Client;
use common::app::job::EventContext;
use common::aws::Aws;
use common::clock::Clock;
use common::config::{ConfigError, Env};
use common::domain::code_record::{CodeHold, CodeKey};
use common::domain::entrant::Entrant;
use common::domain::ids::EntrantId;
use common::domain::key_encryption::DeploymentSecret;
use common::domain::phone::Phone;
use common::domain::scope::Scope;
use common::domain::submission::OperatorDecision;
use common::domain::timestamp::Timestamp;
use common::error::StoreError;
use common::runtime::event_handler::EventHandler;
use common::runtime::http_handler::{ApiHandler, AppContext, Endpoint, Responder};
use common::store::api_keys::ApiKeys;
use common::store::campaigns::Campaigns;
use common::store::code_books::CodeBooks;
use common::store::codes::Codes;
use common::store::draws::Draws;
use common::store::entrants::Entrants;
use common::store::retention::RetentionTable;
use common::store::submission_writes::SubmissionStore;
use common::telemetry::Telemetry;
use local::sqs::QueueClock;
use local::stack::{EndpointProxy, Options, Stack, as_function};

use crate::iam_guard::{self, Allows, Call, Record};
use crate::interceptor::Interceptor;
use crate::roles::policies;
use crate::serving::{Serving, on_a_thread};

/// Manual clocks start on 15 June 2050, 12:00 UTC: later than the machine's clock, by which the
/// embedded database deletes expired items.
pub const NOON: Timestamp = Timestamp::from_millis(2_538_907_200_000);

/// The same for all stacks, as several can share a database.
pub const DEPLOYMENT_SECRET: &str = "the-deployments-secret-of-every-stack-of-the-tests";

/// A stack that runs until the last clone is dropped.
#[derive(Clone)]
pub struct Service {
    pub base_url: String,
    pub env: Env,
    /// `env` for child processes.
    pub variables: BTreeMap<String, String>,
    pub clock: Clock,
    /// Clock of the queues.
    pub queue_clock: QueueClock,
    pub tables: Tables,
    _serving: Arc<Serving>,
}

/// Direct access, to set up campaigns and check records.
#[derive(Clone)]
pub struct Tables {
    pub campaigns: Campaigns,
    pub keys: ApiKeys,
    pub codes: Codes,
    pub code_books: CodeBooks,
    pub entrants: Entrants,
    pub store: SubmissionStore,
    pub draws: Draws,
    pub retention: RetentionTable,
}

impl Tables {
    fn from_env(env: &Env) -> Result<Self, ConfigError> {
        let aws = Aws::for_function(env)?;
        let client = &aws.dynamodb();
        Ok(Self {
            campaigns: Campaigns::from_env(env, client)?,
            keys: ApiKeys::from_env(env, client)?,
            codes: Codes::from_env(env, client)?,
            code_books: CodeBooks::from_env(env, &aws)?,
            entrants: Entrants::from_env(env, client)?,
            store: SubmissionStore::from_env(env, client)?,
            draws: Draws::from_env(env, client)?,
            retention: RetentionTable::from_env(env, client)?,
        })
    }
}

/// Variables, with others in place of some.
pub fn env_with(env: &Env, others: &[(&str, &str)]) -> Env {
    let others = others
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    env.clone().overridden_by(others.collect())
}

impl Service {
    /// Shared by this program's tests. Without streams, which slow down a large database.
    pub fn shared() -> Self {
        static SHARED: OnceLock<Started> = OnceLock::new();
        SHARED
            .get_or_init(|| {
                start_on_a_thread(Options {
                    streams: false,
                    ..Options::default()
                })
            })
            .service()
    }

    pub fn with_options(options: Options) -> Self {
        start_on_a_thread(options).service()
    }

    /// A separate stack with the system's clock, and without background work.
    pub fn without_background() -> Self {
        Self::with_options(Options {
            background: false,
            ..Options::default()
        })
    }

    /// A stack with this clock, without streams.
    pub fn with_clock(clock: Clock) -> Self {
        Self::with_options(Options {
            clock,
            streams: false,
            ..Options::default()
        })
    }

    /// A stack whose clock stands at [`NOON`].
    pub fn at_noon() -> Self {
        Self::with_clock(Clock::manual(NOON))
    }

    /// [`Self::at_noon`] without background work.
    pub fn still() -> Self {
        Self::with_options(Options {
            clock: Clock::manual(NOON),
            background: false,
            ..Options::default()
        })
    }

    /// A stack without background work, over the shared database, with intercepted calls.
    pub async fn intercepted() -> (Self, Interceptor) {
        let options = Options {
            background: false,
            ..Options::default()
        };
        Self::shared().intercepted_beside(options).await
    }
}

impl Service {
    /// A second stack over the database.
    pub fn beside(&self, options: Options) -> Self {
        Self::with_options(Options {
            dynamodb_url: Some(self.database_url()),
            streams: false,
            ..options
        })
    }

    /// [`Self::beside`], with intercepted calls.
    pub async fn intercepted_beside(&self, options: Options) -> (Self, Interceptor) {
        let interceptor = Interceptor::default();
        let url = interceptor.in_front_of(&self.database_url()).await;
        let options = Options {
            dynamodb_url: Some(url),
            streams: false,
            ..options
        };
        (Self::with_options(options), interceptor)
    }

    pub fn database_url(&self) -> String {
        self.variable("AWS_ENDPOINT_URL_DYNAMODB")
    }

    /// The stack with other variables for new functions.
    pub fn with_env(&self, env: Env) -> Self {
        Self {
            env,
            ..self.clone()
        }
    }

    /// The stack with other values of some variables for new functions.
    pub fn with_variables(&self, others: &[(&str, &str)]) -> Self {
        self.with_env(env_with(&self.env, others))
    }

    /// The stack whose new functions reach these endpoints through an interceptor.
    pub async fn behind(&self, interceptor: &Interceptor, endpoints: &[&'static str]) -> Self {
        self.with_env(interceptor.in_front_of_all(endpoints, &self.env).await)
    }

    /// A function that handles events, with its access key.
    pub fn function<F: EventHandler>(&self, name: &str) -> F {
        connect(&self.env, &self.clock, name)
    }

    /// A function that answers requests, with its access key.
    pub fn endpoint<O: Endpoint>(&self) -> ApiHandler<O> {
        let env = as_function(&self.env, O::ROUTE.function);
        let responder = Responder::from_env(&env, self.clock.clone(), Telemetry::Off);
        let responder = responder.expect("the stack sets every variable");
        let context = AppContext::new(env, responder).expect("the stack sets every variable");
        ApiHandler::new(context).expect("the stack sets every variable")
    }

    /// Variables of a function's process: its access key selects the role.
    pub fn variables_of(&self, function: &str) -> BTreeMap<String, String> {
        let name = "AWS_ACCESS_KEY_ID";
        let key = as_function(&self.env, function).required(name);
        let mut variables = self.variables.clone();
        variables.insert(name.to_owned(), key.expect("the stack sets it"));
        variables
    }

    pub fn aws(&self) -> Aws {
        Aws::for_function(&self.env).expect("the stack sets every variable")
    }

    /// A variable of the stack.
    pub fn variable(&self, name: &'static str) -> String {
        self.env.required(name).expect("the stack sets it")
    }

    /// The stack with another clock for new functions.
    pub fn seen_by(&self, clock: Clock) -> Self {
        Self {
            clock,
            ..self.clone()
        }
    }

    pub fn dynamodb(&self) -> Client {
        self.aws().dynamodb()
    }

    /// Adds to the blocklist, or removes.
    pub async fn set_blocked(
        &self,
        scope: &Scope,
        phone: &Phone,
        blocked: bool,
    ) -> Result<(), StoreError> {
        let (id, entrants) = (entrant_id(scope, phone), &self.tables.entrants);
        let decision = OperatorDecision {
            by: "asha".to_owned(),
            at: self.clock.now(),
            why: None,
            confirmed: None,
            identity: None,
        };
        let changed = if blocked {
            entrants.block(scope, &id, &phone.masked(), &decision).await
        } else {
            entrants.unblock(scope, &id, &decision).await
        };
        changed.map(drop)
    }

    /// A phone's counts as of a day.
    pub async fn entrant(
        &self,
        scope: &Scope,
        phone: &Phone,
        day: &str,
    ) -> Result<Entrant, StoreError> {
        self.tables
            .entrants
            .get(scope, &entrant_id(scope, phone), day)
            .await
    }

    /// All codes of a scope that are held or redeemed.
    pub async fn holds(&self, scope: &Scope) -> Vec<CodeHold> {
        let client = self.dynamodb();
        let table = self.variable("CODES_TABLE");
        let pages = client
            .scan()
            .table_name(table)
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        let items = pages
            .collect::<Result<Vec<_>, _>>()
            .await
            .expect("the table");
        let keys = items
            .iter()
            .filter_map(|item| CodeKey::parse(scope, item.get("code")?.as_s().ok()?));
        let mut holds = Vec::new();
        for key in keys {
            let record = self.tables.codes.get(scope, &key).await.expect("the table");
            holds.extend(record.and_then(|record| record.hold));
        }
        holds
    }
}

/// A function that handles events, with its access key.
pub fn connect<F: EventHandler>(env: &Env, clock: &Clock, name: &str) -> F {
    let context = EventContext::new(as_function(env, name), clock.clone(), Telemetry::Off);
    F::connect(&context.expect("the stack sets every variable"))
        .expect("the stack sets every variable")
}

/// The id of a phone's records.
pub fn entrant_id(scope: &Scope, phone: &Phone) -> EntrantId {
    let secret = DeploymentSecret::new(DEPLOYMENT_SECRET).expect("long enough");
    secret.consumer(scope, phone.clone()).id
}

struct Started {
    base_url: String,
    variables: BTreeMap<String, String>,
    env: Env,
    clock: Clock,
    queue_clock: QueueClock,
    serving: Arc<Serving>,
}

impl Started {
    /// New clients: connections belong to a test's runtime.
    fn service(&self) -> Service {
        Service {
            base_url: self.base_url.clone(),
            env: self.env.clone(),
            variables: self.variables.clone(),
            clock: self.clock.clone(),
            queue_clock: self.queue_clock.clone(),
            tables: Tables::from_env(&self.env).expect("the stack sets every variable"),
            _serving: Arc::clone(&self.serving),
        }
    }
}

/// Allows functions what their roles allow.
fn by_the_template() -> EndpointProxy {
    static ALLOWS: LazyLock<Allows> = LazyLock::new(|| {
        let policies = policies();
        Arc::new(move |call: &Call| {
            policies
                .get(&call.caller)
                .is_some_and(|policy| policy.allows(call))
        })
    });
    iam_guard::front(Record::default(), Arc::clone(&ALLOWS))
}

fn start_on_a_thread(mut options: Options) -> Started {
    // The limit may be high enough anyway.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let (started, starting) = channel();
    options.proxy.get_or_insert_with(by_the_template);
    options
        .deployment_secret
        .get_or_insert_with(|| DEPLOYMENT_SECRET.to_owned());
    let clock = options.clock.clone();
    let serving = on_a_thread(async move {
        let stack = Stack::start(options).await.expect("the stack starts");
        let addresses = (
            stack.base_url().to_owned(),
            stack.env().clone(),
            stack.queue_clock(),
        );
        started.send(addresses).expect("a test waits");
        std::future::pending::<()>().await;
    });
    let (base_url, variables, queue_clock) = starting.recv().expect("the stack starts");
    let env = variables.clone().into_iter().collect();
    Started {
        base_url,
        variables,
        env,
        clock,
        queue_clock,
        serving: Arc::new(serving),
    }
}
