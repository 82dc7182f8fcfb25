//! The stack for targets that call whole functions.

use std::sync::LazyLock;
use std::time::Duration;

use api_docs::ApiDocs;
use check_code::CheckCode;
use common::app::auth::DEFAULT_PER_MINUTE;
use common::app::job::EventContext;
use common::aws::Aws;
use common::clock::Clock;
use common::config::Env;
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::http::routes::Route;
use common::runtime::api_gateway;
use common::runtime::event_handler::EventHandler;
use common::runtime::http_handler::{ApiHandler, AppContext, Endpoint, HttpHandler, Responder};
use common::runtime::sqs_batch::{SqsBatchResponse, SqsEvent};
use common::store::api_keys::{ApiKeyRecord, KeyHash};
use common::telemetry::Telemetry;
use create_receipt::CreateReceipt;
use create_submission::CreateSubmission;
use get_campaign::GetCampaign;
use get_receipt::GetReceipt;
use get_submission::GetSubmission;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpResponse as Reply;
use local::demo::samples;
use local::stack::as_function;
use lookup_submissions::LookupSubmissions;
use mark_receipt_uploaded::{MarkReceiptUploaded, StorageEvent};
use ops_core::tables::Tables;
use refresh_upload_url::RefreshUploadUrl;
use serde_json::Value;
use serde_json::value::to_raw_value;
use service_tests::service::{self, NOON};
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;
use tokio::runtime::Runtime;

const CAMPAIGN: &str = "sample-events";
/// A live key besides the sample events' test key.
const LIVE_KEY: &str = "svc_live_KeyOfTheFuzzing";
/// Longer than any rate limit's window.
const LIMITS_FORGET: Duration = Duration::from_secs(11 * 60);

/// All functions, with the sample events' campaign.
pub(super) struct Service {
    runtime: Runtime,
    clock: Clock,
    routes: Vec<(Route, Box<dyn HttpHandler>)>,
    api_docs: ApiDocs,
    marker: MarkReceiptUploaded,
    receipts: SettleReceipts,
    partners: SettlePartners,
    /// Keeps the functions' stack running.
    _stack: service::Service,
}

impl Service {
    pub(super) fn shared() -> &'static Self {
        static SHARED: LazyLock<Service> = LazyLock::new(Service::start);
        &SHARED
    }

    fn start() -> Self {
        let clock = Clock::manual(NOON);
        let stack = service::Service::with_clock(clock.clone());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(load(&stack.env, &clock));
        let _context = runtime.enter();
        let frame = Responder::from_env(&stack.env, clock.clone(), Telemetry::Off)
            .expect("a whole environment");
        let routes = vec![
            function::<GetCampaign>(&stack.env, &frame),
            function::<CheckCode>(&stack.env, &frame),
            function::<CreateSubmission>(&stack.env, &frame),
            function::<LookupSubmissions>(&stack.env, &frame),
            function::<GetSubmission>(&stack.env, &frame),
            function::<CreateReceipt>(&stack.env, &frame),
            function::<RefreshUploadUrl>(&stack.env, &frame),
            function::<GetReceipt>(&stack.env, &frame),
        ];
        let marker = background(&stack.env, &clock, "mark-receipt-uploaded");
        let receipts = background(&stack.env, &clock, "settle-receipts");
        let partners = background(&stack.env, &clock, "settle-partners");
        drop(_context);
        let api_docs = ApiDocs::new(frame);
        Self {
            runtime,
            clock,
            routes,
            api_docs,
            marker,
            receipts,
            partners,
            _stack: stack,
        }
    }

    /// Answers with the function for this path.
    pub(super) fn answer(&self, method: &str, path: &str, event: &Value) -> Reply {
        self.clock.advance(LIMITS_FORGET);
        let is_of = |route: &Route| route.method == method && route.matches(path).is_some();
        let function = self
            .routes
            .iter()
            .find(|(route, _)| is_of(route))
            .map(|(_, function)| &**function);
        let event = to_raw_value(event).expect("JSON");
        self.runtime.block_on(api_gateway::answer(
            function.unwrap_or(&self.api_docs),
            &event,
        ))
    }

    pub(super) fn settle_receipts(&self, event: SqsEvent) -> SqsBatchResponse {
        self.runtime
            .block_on(self.receipts.handle(event))
            .expect("a batch is always answered")
    }

    pub(super) fn settle_partners(&self, event: SqsEvent) -> SqsBatchResponse {
        self.runtime
            .block_on(self.partners.handle(event))
            .expect("a batch is always answered")
    }

    pub(super) fn mark(&self, event: StorageEvent) {
        self.runtime
            .block_on(self.marker.handle(event))
            .expect("storage and table answer");
    }
}

fn function<O: Endpoint>(env: &Env, frame: &Responder) -> (Route, Box<dyn HttpHandler>) {
    let setup = AppContext::new(as_function(env, O::ROUTE.function), frame.clone())
        .expect("a whole environment");
    (
        O::ROUTE,
        Box::new(ApiHandler::<O>::new(setup).expect("a whole environment")),
    )
}

fn background<F: EventHandler>(env: &Env, clock: &Clock, name: &str) -> F {
    let background = EventContext::new(as_function(env, name), clock.clone(), Telemetry::Off);
    F::connect(&background.expect("a whole environment")).expect("a whole environment")
}

async fn load(env: &Env, clock: &Clock) {
    samples::load(env, clock).await.expect("the samples");
    let aws = Aws::for_function(env).expect("a whole environment");
    let tables = Tables::from_env(env, &aws).expect("a whole environment");
    let campaign: CampaignSlug = CAMPAIGN.parse().expect("a slug");
    let hash = KeyHash::digest(LIVE_KEY);
    let record = ApiKeyRecord {
        key_id: hash.key_id().to_owned(),
        scope: Scope {
            campaign,
            environment: Environment::Live,
        },
        label: None,
        per_minute: DEFAULT_PER_MINUTE,
        created_at: clock.now(),
        valid_until: None,
        revoked_at: None,
    };
    tables.api_keys.put(hash, record).await.expect("the table");
}
